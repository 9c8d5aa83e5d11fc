//! In which turn an answer counts.

use dsh_approval::{ApprovalOutcome, ApprovalRequest, REQUEST};
use tokio::sync::mpsc;

use crate::fixture::{Fixture, answer, end_turn, logged, open_turn};

/// What the log holds of approval, as types.
fn kinds(fixture: &Fixture) -> Vec<String> {
    logged(fixture.session()).into_iter().map(|(kind, _)| kind).collect()
}

#[tokio::test]
async fn an_answer_that_comes_after_the_turn_has_ended_is_cancelled_and_not_logged() {
    for given in [ApprovalOutcome::AllowedOnce, ApprovalOutcome::Rejected, ApprovalOutcome::Unavailable] {
        let fixture = Fixture::in_turn();
        fixture
            .app
            .on(REQUEST)
            .with(given)
            .run(async |given: &ApprovalOutcome, request: &mut ApprovalRequest, _| {
                end_turn(request.agent.session(), 1);
                *given
            })
            .unwrap();
        assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::Cancelled);
        assert_eq!(kinds(&fixture), ["approval/asked"]);
    }
}

#[tokio::test]
async fn an_answer_that_comes_in_the_next_turn_is_cancelled_and_not_logged() {
    // A turn is told from another by where it began, and not by its number.
    for next in [1, 2] {
        let fixture = Fixture::in_turn();
        fixture
            .app
            .on(REQUEST)
            .with(next)
            .run(async |next: &u64, request: &mut ApprovalRequest, _| {
                end_turn(request.agent.session(), 1);
                open_turn(request.agent.session(), *next);
                ApprovalOutcome::AllowedOnce
            })
            .unwrap();
        assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::Cancelled);
        assert_eq!(kinds(&fixture), ["approval/asked"]);
    }
}

#[tokio::test]
async fn a_question_of_the_next_turn_is_answered_in_it() {
    let fixture = Fixture::in_turn();
    fixture.end_turn(1);
    fixture.open_turn(2);
    let _yes = answer(&fixture.app, ApprovalOutcome::AllowedOnce);
    assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::AllowedOnce);
    assert_eq!(kinds(&fixture), ["approval/asked", "approval/decided"]);
}

#[tokio::test]
async fn a_question_whose_asker_goes_away_in_the_next_turn_stays_open_in_the_log() {
    let fixture = Fixture::in_turn();
    let (asked, mut is_asked) = mpsc::unbounded_channel();
    fixture
        .app
        .on(REQUEST)
        .with(asked)
        .run(async |asked: &mpsc::UnboundedSender<()>, _, _| {
            asked.send(()).unwrap();
            std::future::pending().await
        })
        .unwrap();
    tokio::select! {
        biased;
        _ = fixture.ask() => unreachable!("nobody answers"),
        () = async { is_asked.recv().await.unwrap(); fixture.end_turn(1); fixture.open_turn(2) } => {}
    }
    assert_eq!(kinds(&fixture), ["approval/asked"]);
}
