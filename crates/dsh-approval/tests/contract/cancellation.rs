//! Questions that end before they are answered.

use std::sync::{Arc, Mutex};

use cordis::Next;
use dsh_approval::{ApprovalOutcome, ApprovalRequest, REQUEST};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, answer, logged, pairs};

type Slot = Arc<Mutex<Option<oneshot::Sender<ApprovalOutcome>>>>;

/// Puts the way to answer into the slot and waits.
async fn wait(
    slot: &Slot,
    _: &mut ApprovalRequest,
    _: Next<'_, ApprovalRequest, ApprovalOutcome>,
) -> ApprovalOutcome {
    let (decide, decision) = oneshot::channel();
    *slot.lock().unwrap() = Some(decide);
    decision.await.unwrap()
}

async fn asked(slot: &Slot) -> oneshot::Sender<ApprovalOutcome> {
    loop {
        if let Some(decide) = slot.lock().unwrap().take() {
            return decide;
        }
        tokio::task::yield_now().await;
    }
}

// spec: approval-permissions/A11, cases/A2
#[tokio::test]
async fn a_cancelled_question_is_over_at_once_and_takes_no_answer_any_more() {
    let fixture = Fixture::in_turn();
    let (slot, token) = (Slot::default(), CancellationToken::new());
    fixture.app.on(REQUEST).with(slot.clone()).run(wait).unwrap();
    let question = fixture.question().until(token.clone());
    let (outcome, late) = tokio::join!(fixture.approvals.request(&fixture.app, question), async {
        let decide = asked(&slot).await;
        token.cancel();
        decide
    });
    assert_eq!(outcome.unwrap(), ApprovalOutcome::Cancelled);
    assert!(late.send(ApprovalOutcome::AllowedOnce).is_err(), "nobody waits for it");
    assert_eq!(pairs(fixture.session()), [json!([{"toolName": "bash"}, "cancelled"])]);
    fixture.app.assert_no_errors();
}

// spec: approval-permissions/A11, cases/A2
#[tokio::test]
async fn an_answer_that_comes_with_the_cancellation_is_too_late() {
    let fixture = Fixture::in_turn();
    let token = CancellationToken::new();
    fixture
        .app
        .on(REQUEST)
        .run(async |request: &mut ApprovalRequest, _| {
            request.cancellation.cancel();
            ApprovalOutcome::AllowedOnce
        })
        .unwrap();
    let question = fixture.question().until(token);
    assert_eq!(fixture.approvals.request(&fixture.app, question).await.unwrap(), ApprovalOutcome::Cancelled);
    assert_eq!(fixture.outcomes(), ["cancelled"]);
}

// spec: approval-permissions/A11, cases/A2
#[tokio::test]
async fn an_answer_that_was_given_before_the_cancellation_but_not_yet_heard_is_too_late() {
    let fixture = Fixture::in_turn();
    let (slot, token) = (Slot::default(), CancellationToken::new());
    fixture.app.on(REQUEST).with(slot.clone()).run(wait).unwrap();
    let question = fixture.question().until(token.clone());
    let (outcome, ()) = tokio::join!(fixture.approvals.request(&fixture.app, question), async {
        asked(&slot).await.send(ApprovalOutcome::AllowedOnce).unwrap();
        token.cancel();
    });
    assert_eq!(outcome.unwrap(), ApprovalOutcome::Cancelled);
}

// spec: approval-permissions/A11
#[tokio::test]
async fn a_listener_cannot_put_the_end_of_the_question_off() {
    let fixture = Fixture::in_turn();
    let (slot, token) = (Slot::default(), CancellationToken::new());
    fixture
        .app
        .on(REQUEST)
        .run(async |request: &mut ApprovalRequest, next| {
            request.cancellation = CancellationToken::new();
            next.run(request).await
        })
        .unwrap();
    fixture.app.on(REQUEST).with(slot.clone()).run(wait).unwrap();
    let question = fixture.question().until(token.clone());
    let (outcome, ()) = tokio::join!(fixture.approvals.request(&fixture.app, question), async {
        let mut decide = asked(&slot).await;
        token.cancel();
        decide.closed().await;
    });
    assert_eq!(outcome.unwrap(), ApprovalOutcome::Cancelled);
}

// spec: approval-permissions/A11
#[tokio::test]
async fn a_question_that_is_answered_leaves_the_token_alone() {
    let fixture = Fixture::in_turn();
    let _yes = answer(&fixture.app, ApprovalOutcome::AllowedOnce);
    let token = CancellationToken::new();
    let question = fixture.question().until(token.clone());
    assert_eq!(
        fixture.approvals.request(&fixture.app, question).await.unwrap(),
        ApprovalOutcome::AllowedOnce
    );
    assert!(!token.is_cancelled());
    token.cancel();
    assert_eq!(fixture.outcomes(), ["allowed-once"]);
}

// spec: approval-permissions/A13
#[tokio::test]
async fn a_question_whose_asker_goes_away_is_logged_as_cancelled() {
    let fixture = Fixture::in_turn();
    let slot = Slot::default();
    fixture.app.on(REQUEST).with(slot.clone()).run(wait).unwrap();
    tokio::select! {
        biased;
        _ = fixture.ask() => unreachable!("nobody answers"),
        _ = asked(&slot) => {}
    }
    assert_eq!(pairs(fixture.session()), [json!([{"toolName": "bash"}, "cancelled"])]);
}

#[tokio::test]
async fn a_question_whose_asker_goes_away_after_the_turn_stays_open_in_the_log() {
    let fixture = Fixture::in_turn();
    let slot = Slot::default();
    fixture.app.on(REQUEST).with(slot.clone()).run(wait).unwrap();
    tokio::select! {
        biased;
        _ = fixture.ask() => unreachable!("nobody answers"),
        () = async { drop(asked(&slot).await); fixture.end_turn(1) } => {}
    }
    let log = logged(fixture.session());
    assert_eq!(log.iter().map(|(kind, _)| kind.as_str()).collect::<Vec<_>>(), ["approval/asked"]);
    assert_eq!(fixture.outcomes(), Vec::<Value>::new());
}
