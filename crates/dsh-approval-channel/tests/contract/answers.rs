//! One answer for each question.

use std::sync::{Arc, Barrier};

use dsh_approval::{ApprovalOutcome, ApprovalRequest};
use dsh_approval_channel::{AnswerError, Decision, Question, QuestionId, REMEMBERED};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, in_turn, next_id};

const ALLOW: Decision = Decision::AllowOnce;
const REJECT: Decision = Decision::Reject;

// spec: approval-permissions/A3
#[tokio::test]
async fn a_program_is_shown_the_whole_question_and_its_answer_is_the_outcome() {
    for (decision, outcome) in [(ALLOW, ApprovalOutcome::AllowedOnce), (REJECT, ApprovalOutcome::Rejected)] {
        let fixture = Fixture::new().await;
        let mut questions = fixture.attach();
        let arguments = Arc::new(json!({"command": "ls"}));
        let request = fixture.question().of_call("call-1").because("looks").with_arguments(arguments.clone());
        let (answered, question) = tokio::join!(fixture.ask_for(request), async {
            let question = questions.next().await.unwrap();
            assert_eq!(fixture.pending(), std::slice::from_ref(&question));
            fixture.with(|channel| channel.answer(&question.id, decision)).unwrap();
            question
        });
        assert_eq!(answered, outcome);
        let expected = Question {
            id: question.id.clone(),
            agent: "ada".into(),
            tool_name: "bash".to_owned(),
            call_id: Some("call-1".to_owned()),
            reason: Some("looks".to_owned()),
            arguments: Some(arguments),
        };
        assert_eq!(question, expected);
        let id = question.id.as_str();
        assert_eq!(
            serde_json::to_value(&question).unwrap(),
            json!({"id": id, "agent": "ada", "toolName": "bash", "callId": "call-1", "reason": "looks", "arguments": {"command": "ls"}})
        );
        assert_eq!(fixture.pending(), []);
    }
}

// spec: cases/A3
#[tokio::test]
async fn the_first_answer_counts_and_the_second_is_told_so() {
    let fixture = Fixture::new().await;
    let (mut one, mut two) = (fixture.attach(), fixture.attach());
    let (outcome, ()) = tokio::join!(fixture.ask(), async {
        let id = next_id(&mut one).await;
        assert_eq!(next_id(&mut two).await, id);
        assert_eq!(one.answer(&id, REJECT), Ok(()));
        let late = AnswerError::AlreadyResolved { id: id.clone() };
        assert_eq!(two.answer(&id, ALLOW), Err(late.clone()));
        assert_eq!(one.answer(&id, REJECT), Err(late));
    });
    assert_eq!((outcome, fixture.decided()), (ApprovalOutcome::Rejected, 1));
}

// spec: cases/A3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_threads_that_answer_at_once_exactly_one_decides() {
    let fixture = Fixture::new().await;
    let mut questions = fixture.attach();
    let clients = [Arc::new(fixture.attach()), Arc::new(fixture.attach())];
    for round in 0..200 {
        let (outcome, winner) = tokio::join!(fixture.ask(), async {
            let id = next_id(&mut questions).await;
            let start = Arc::new(Barrier::new(2));
            let threads = [ALLOW, REJECT].map(|decision| {
                let client = clients[usize::from(decision == REJECT)].clone();
                let (id, start) = (id.clone(), start.clone());
                tokio::task::spawn_blocking(move || {
                    start.wait();
                    (decision, client.answer(&id, decision))
                })
            });
            let mut winners = Vec::new();
            for thread in threads {
                match thread.await.unwrap() {
                    (decision, Ok(())) => winners.push(decision),
                    (_, Err(error)) => assert_eq!(error, AnswerError::AlreadyResolved { id: id.clone() }),
                }
            }
            assert_eq!(winners.len(), 1, "round {round}");
            winners[0]
        });
        assert_eq!(outcome, ApprovalOutcome::from(winner));
        assert_eq!(fixture.decided(), round + 1);
    }
}

// spec: cases/A2, approval-permissions/A11
#[tokio::test]
async fn an_answer_after_the_cancellation_is_stale() {
    let fixture = Fixture::new().await;
    let mut questions = fixture.attach();
    let token = CancellationToken::new();
    let (outcome, id) = tokio::join!(fixture.ask_for(fixture.question().until(token.clone())), async {
        let id = next_id(&mut questions).await;
        token.cancel();
        // The asker has not been told yet.
        assert_eq!(questions.answer(&id, ALLOW), Err(AnswerError::Stale { id: id.clone() }));
        id
    });
    assert_eq!(outcome, ApprovalOutcome::Cancelled);
    assert_eq!(questions.answer(&id, ALLOW), Err(AnswerError::Stale { id }));
    assert_eq!((fixture.pending(), fixture.decided()), (Vec::new(), 1));
}

#[tokio::test]
async fn an_id_that_no_question_has_is_unknown() {
    let fixture = Fixture::new().await;
    let questions = fixture.attach();
    let id = QuestionId::from("made-up");
    assert_eq!(questions.answer(&id, ALLOW), Err(AnswerError::Unknown { id: id.clone() }));
    assert_eq!(fixture.with(|channel| channel.answer(&id, ALLOW)), Err(AnswerError::Unknown { id }));
}

#[tokio::test]
async fn a_question_that_ended_long_ago_is_forgotten() {
    let fixture = Fixture::new().await;
    let mut questions = fixture.attach();
    let mut ids = Vec::new();
    for _ in 0..=REMEMBERED {
        let (_, id) = tokio::join!(fixture.ask(), async {
            let id = next_id(&mut questions).await;
            questions.answer(&id, REJECT).unwrap();
            id
        });
        ids.push(id);
    }
    let answer = |id: &QuestionId| questions.answer(id, ALLOW).unwrap_err();
    assert_eq!(answer(&ids[0]), AnswerError::Unknown { id: ids[0].clone() });
    assert_eq!(answer(&ids[1]), AnswerError::AlreadyResolved { id: ids[1].clone() });
}

// spec: approval-permissions/A69
#[tokio::test]
async fn open_questions_are_answered_in_any_order() {
    let fixture = Fixture::new().await;
    let bob = in_turn(&fixture.app, "bob");
    let mut questions = fixture.attach();
    let (ada, of_bob, ()) =
        tokio::join!(fixture.ask(), fixture.ask_for(ApprovalRequest::new(&bob, "write")), async {
            let pending = [questions.next().await.unwrap(), questions.next().await.unwrap()];
            assert_eq!(fixture.pending(), pending);
            for question in pending.iter().rev() {
                let decision = if question.agent.as_str() == "ada" { ALLOW } else { REJECT };
                questions.answer(&question.id, decision).unwrap();
            }
        });
    assert_eq!((ada, of_bob), (ApprovalOutcome::AllowedOnce, ApprovalOutcome::Rejected));
}

#[tokio::test]
async fn a_program_hears_when_a_question_is_over() {
    let fixture = Fixture::new().await;
    let mut questions = fixture.attach();
    let token = CancellationToken::new();
    let handle = fixture.app.get(dsh_approval_channel::CHANNEL).unwrap();
    let (outcome, ()) = tokio::join!(fixture.ask_for(fixture.question().until(token.clone())), async {
        let id = next_id(&mut questions).await;
        let channel = handle.get().unwrap();
        let mut over = std::pin::pin!(channel.until_over(&id));
        tokio::select! {
            biased;
            () = &mut over => panic!("it is open"),
            () = std::future::ready(()) => {}
        }
        token.cancel();
        over.await;
        channel.until_over(&QuestionId::from("made-up")).await;
    });
    assert_eq!(outcome, ApprovalOutcome::Cancelled);
}
