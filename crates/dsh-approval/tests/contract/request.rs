//! The way of a question.

use std::sync::{Arc, Mutex};

use cordis::BoxError;
use dsh_approval::{ApprovalError, ApprovalOutcome, ApprovalPolicy, ApprovalRequest, REQUEST};
use dsh_session::{APPENDING, Appending, EVENT};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, answer, logged, pairs};

// spec: approval-permissions/A5, A81
#[tokio::test]
async fn a_question_outside_of_a_turn_fails_and_logs_nothing() {
    let fixture = Fixture::with(ApprovalPolicy::Ask);
    let _yes = answer(&fixture.app, ApprovalOutcome::AllowedOnce);
    let error = fixture.ask().await.unwrap_err();
    assert!(matches!(&error, ApprovalError::NoTurn { agent } if agent == "ada"), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("`approval/asked` and `approval/decided`"), "{text}");
    assert!(text.contains("from within the turn"), "{text}");
    fixture.open_turn(1);
    fixture.end_turn(1);
    assert!(matches!(fixture.ask().await, Err(ApprovalError::NoTurn { .. })));
    assert_eq!(fixture.session().len(), 2);
}

// spec: approval-permissions/A6, A12, A13
#[tokio::test]
async fn question_and_outcome_are_a_pair_under_one_fresh_id() {
    let fixture = Fixture::in_turn();
    let _yes = answer(&fixture.app, ApprovalOutcome::AllowedOnce);
    let full = fixture
        .question()
        .of_call("call-1")
        .because("writes outside")
        .with_arguments(Arc::new(json!({"a": 1})));
    assert_eq!(fixture.approvals.request(&fixture.app, full).await.unwrap(), ApprovalOutcome::AllowedOnce);
    assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::AllowedOnce);
    let log = logged(fixture.session());
    let ids: Vec<_> = log.iter().map(|(_, data)| data["id"].as_str().unwrap()).collect();
    assert_eq!((ids[0], ids[2]), (ids[1], ids[3]));
    assert_ne!(ids[0], ids[2]);
    assert!(ids.iter().all(|id| id.len() == 36), "{ids:?}");
    assert_eq!(
        log,
        [
            (
                "approval/asked".to_owned(),
                json!({"id": ids[0], "toolName": "bash", "callId": "call-1", "reason": "writes outside"})
            ),
            ("approval/decided".to_owned(), json!({"id": ids[0], "outcome": "allowed-once"})),
            ("approval/asked".to_owned(), json!({"id": ids[2], "toolName": "bash"})),
            ("approval/decided".to_owned(), json!({"id": ids[2], "outcome": "allowed-once"})),
        ]
    );
}

// spec: approval-permissions/A4
#[tokio::test]
async fn two_identical_questions_ask_twice() {
    let fixture = Fixture::in_turn();
    let asked = Arc::new(Mutex::new(Vec::new()));
    fixture
        .app
        .on(REQUEST)
        .with(asked.clone())
        .run(async |asked: &Arc<Mutex<Vec<String>>>, request: &mut ApprovalRequest, _| {
            let mut asked = asked.lock().unwrap();
            asked.push(request.tool_name.clone());
            if asked.len() == 1 { ApprovalOutcome::AllowedOnce } else { ApprovalOutcome::Rejected }
        })
        .unwrap();
    assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::AllowedOnce);
    assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::Rejected);
    assert_eq!(*asked.lock().unwrap(), ["bash", "bash"]);
}

// spec: approval-permissions/A7
#[tokio::test]
async fn a_question_that_is_cancelled_already_asks_nobody_and_wins_over_never() {
    let fixture = Fixture::with(ApprovalPolicy::Never);
    fixture.open_turn(1);
    let _yes = answer(&fixture.app, ApprovalOutcome::AllowedOnce);
    let token = CancellationToken::new();
    token.cancel();
    let outcome = fixture.approvals.request(&fixture.app, fixture.question().until(token)).await.unwrap();
    assert_eq!(outcome, ApprovalOutcome::Cancelled);
    assert_eq!(pairs(fixture.session()), [json!([{"toolName": "bash"}, "cancelled"])]);
}

// spec: approval-permissions/A12
#[tokio::test]
async fn a_question_that_the_log_does_not_take_is_not_asked() {
    let fixture = Fixture::in_turn();
    let _yes = answer(&fixture.app, ApprovalOutcome::AllowedOnce);
    refuse(&fixture, "approval/asked");
    let error = fixture.ask().await.unwrap_err();
    assert!(matches!(&error, ApprovalError::NotAsked { tool, .. } if tool == "bash"), "{error:?}");
    assert_eq!(logged(fixture.session()), []);
}

// spec: approval-permissions/A12
#[tokio::test]
async fn an_outcome_that_the_log_does_not_take_allows_nothing() {
    let fixture = Fixture::in_turn();
    let _yes = answer(&fixture.app, ApprovalOutcome::AllowedOnce);
    refuse(&fixture, "approval/decided");
    let error = fixture.ask().await.unwrap_err();
    assert!(matches!(&error, ApprovalError::NotDecided { tool, .. } if tool == "bash"), "{error:?}");
    assert_eq!(logged(fixture.session()).len(), 1);
}

// spec: approval-permissions/A12
#[tokio::test]
async fn observers_that_panic_change_nothing() {
    let fixture = Fixture::in_turn();
    let _yes = answer(&fixture.app, ApprovalOutcome::AllowedOnce);
    fixture.app.on(EVENT).run(|added| panic!("saw {}", added.event.kind())).unwrap();
    assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::AllowedOnce);
    assert_eq!(pairs(fixture.session()), [json!([{"toolName": "bash"}, "allowed-once"])]);
    assert_eq!(fixture.app.take_errors().len(), 2);
}

// spec: approval-permissions/A69
#[tokio::test]
async fn two_questions_of_one_step_are_two_pairs_that_may_interleave() {
    let fixture = Fixture::in_turn();
    let (first, second) = (tokio::sync::Notify::new(), tokio::sync::Notify::new());
    let gates = Arc::new((first, second));
    fixture
        .app
        .on(REQUEST)
        .with(gates.clone())
        .run(
            async |gates: &Arc<(tokio::sync::Notify, tokio::sync::Notify)>,
                   request: &mut ApprovalRequest,
                   _| {
                let gate = if request.tool_name == "one" { &gates.0 } else { &gates.1 };
                gate.notified().await;
                if request.tool_name == "one" {
                    ApprovalOutcome::Rejected
                } else {
                    ApprovalOutcome::AllowedOnce
                }
            },
        )
        .unwrap();
    let ask =
        |tool: &str| fixture.approvals.request(&fixture.app, ApprovalRequest::new(&fixture.agent, tool));
    let (one, two) = tokio::join!(
        async {
            let outcome = ask("one").await;
            (outcome.unwrap(), fixture.outcomes().len())
        },
        async {
            gates.1.notify_one();
            let outcome = ask("two").await.unwrap();
            let decided = fixture.outcomes().len();
            gates.0.notify_one();
            (outcome, decided)
        }
    );
    assert_eq!((one, two), ((ApprovalOutcome::Rejected, 2), (ApprovalOutcome::AllowedOnce, 1)));
    let kinds: Vec<_> = logged(fixture.session()).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["approval/asked", "approval/asked", "approval/decided", "approval/decided"]);
    assert_eq!(
        pairs(fixture.session()),
        [json!([{"toolName": "two"}, "allowed-once"]), json!([{"toolName": "one"}, "rejected"])]
    );
}

#[tokio::test]
async fn a_call_inside_of_a_call_asks_under_its_own_id() {
    let fixture = Fixture::in_turn();
    let _no = answer(&fixture.app, ApprovalOutcome::Rejected);
    let nested = fixture.question().of_call("call-1/sub-2");
    assert_eq!(fixture.approvals.request(&fixture.app, nested).await.unwrap(), ApprovalOutcome::Rejected);
    assert_eq!(
        pairs(fixture.session()),
        [json!([{"toolName": "bash", "callId": "call-1/sub-2"}, "rejected"])]
    );
}

/// Has the log refuse events of one type.
fn refuse(fixture: &Fixture, kind: &'static str) {
    fixture
        .app
        .on(APPENDING)
        .run(move |appending: &Appending| -> Result<(), BoxError> {
            if appending.event.kind() == kind { Err("the disk is full".into()) } else { Ok(()) }
        })
        .unwrap();
}
