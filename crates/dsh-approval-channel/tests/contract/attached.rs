//! Who is attached, and what becomes of questions without them.

use dsh_approval::{ApprovalOutcome, REQUEST};
use dsh_approval_channel::{AnswerError, Decision};

use crate::fixture::{Fixture, next_id};

const ALLOW: Decision = Decision::AllowOnce;

// spec: approval-permissions/A9
#[tokio::test]
async fn while_nobody_is_attached_others_are_asked() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.ask().await, ApprovalOutcome::Unavailable);
    let _rest = fixture.app.on(REQUEST).run(async |_, _| ApprovalOutcome::Rejected).unwrap();
    assert_eq!(fixture.ask().await, ApprovalOutcome::Rejected);
    drop(fixture.attach());
    assert_eq!(fixture.ask().await, ApprovalOutcome::Rejected);
}

// spec: approval-permissions/A9
#[tokio::test]
async fn when_the_last_program_goes_its_open_questions_are_asked_elsewhere() {
    let fixture = Fixture::new().await;
    let _rest = fixture.app.on(REQUEST).run(async |_, _| ApprovalOutcome::Rejected).unwrap();
    let (mut one, two) = (fixture.attach(), fixture.attach());
    let (outcome, id) = tokio::join!(fixture.ask(), async {
        let id = next_id(&mut one).await;
        drop(two);
        tokio::task::yield_now().await;
        assert_eq!(fixture.pending().len(), 1, "one is still there");
        drop(one);
        id
    });
    assert_eq!((outcome, fixture.pending().len()), (ApprovalOutcome::Rejected, 0));
    let late = fixture.with(|channel| channel.answer(&id, ALLOW));
    assert_eq!(late, Err(AnswerError::Stale { id }));
}

#[tokio::test]
async fn a_program_that_comes_later_is_given_what_is_open() {
    let fixture = Fixture::new().await;
    let mut early = fixture.attach();
    let (outcome, ()) = tokio::join!(fixture.ask(), async {
        let id = next_id(&mut early).await;
        let mut late = fixture.attach();
        assert_eq!(next_id(&mut late).await, id);
        late.answer(&id, ALLOW).unwrap();
    });
    assert_eq!(outcome, ApprovalOutcome::AllowedOnce);
}

#[tokio::test]
async fn a_question_is_given_once_to_each_program_and_not_when_it_is_over() {
    let fixture = Fixture::new().await;
    let (mut quick, mut slow) = (fixture.attach(), fixture.attach());
    let answer_next = async |questions: &mut dsh_approval_channel::Questions| {
        let id = next_id(questions).await;
        questions.answer(&id, ALLOW).unwrap();
        id
    };
    let (_, first) = tokio::join!(fixture.ask(), answer_next(&mut quick));
    let (_, (second, seen)) = tokio::join!(fixture.ask(), async {
        let seen = next_id(&mut slow).await;
        (answer_next(&mut quick).await, seen)
    });
    assert_ne!(first, second);
    assert_eq!(seen, second, "the first was over before it was asked for");
}

#[tokio::test]
async fn giving_up_to_wait_for_a_question_loses_none() {
    let fixture = Fixture::new().await;
    let mut questions = fixture.attach();
    tokio::select! {
        biased;
        _ = questions.next() => panic!("there is none"),
        () = std::future::ready(()) => {}
    }
    let (outcome, ()) = tokio::join!(fixture.ask(), async {
        let id = next_id(&mut questions).await;
        questions.answer(&id, ALLOW).unwrap();
    });
    assert_eq!(outcome, ApprovalOutcome::AllowedOnce);
}
