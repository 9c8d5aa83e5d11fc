//! The user's switch while an agent is at work.

use std::sync::{Arc, Mutex};

use dsh_agent::{Target, Wakeup};
use dsh_approval::{ApprovalOutcome, ApprovalPolicy, PolicyError, REQUEST};
use dsh_llm::{Role, Source};
use dsh_session::APPENDING;
use serde_json::json;
use tokio::sync::oneshot;

use crate::fixture::{Fixture, answer, logged};

const ASK: ApprovalPolicy = ApprovalPolicy::Ask;
const NEVER: ApprovalPolicy = ApprovalPolicy::Never;

// spec: approval-permissions/A17
#[tokio::test]
async fn a_switch_is_logged_and_the_model_is_told_before_its_next_step() {
    let fixture = Fixture::with(ASK);
    fixture.approvals.set_policy_of(&fixture.agent, NEVER).unwrap();
    assert_eq!(logged(fixture.session()), [("approval/policy".to_owned(), json!({"policy": "never"}))]);
    let sent = fixture.inbox.take();
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].target, sent[0].wakeup), (Target::NextStep, Wakeup::Wait));
    let message = &sent[0].message;
    assert_eq!(message.role, Role::User);
    assert!(matches!(&message.source, Source::Plugin { plugin, .. } if plugin == "user-approval"));
    let text = message.text();
    assert!(text.contains("user changed") && text.contains("from `ask` to `never`"), "{text}");
}

// spec: approval-permissions/A17
#[tokio::test]
async fn a_switch_to_the_policy_that_holds_does_nothing() {
    let fixture = Fixture::with(NEVER);
    fixture.approvals.set_policy_of(&fixture.agent, NEVER).unwrap();
    assert_eq!((fixture.session().len(), fixture.inbox.sent()), (0, Vec::new()));
}

// spec: approval-permissions/A74
#[tokio::test]
async fn a_switch_inside_of_a_turn_holds_for_the_next_question() {
    let fixture = Fixture::in_turn();
    let _yes = answer(&fixture.app, ApprovalOutcome::AllowedOnce);
    assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::AllowedOnce);
    fixture.approvals.set_policy_of(&fixture.agent, NEVER).unwrap();
    assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::Rejected);
    fixture.approvals.set_policy_of(&fixture.agent, ASK).unwrap();
    assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::AllowedOnce);
}

// spec: approval-permissions/A75
#[tokio::test]
async fn a_switch_does_not_answer_a_question_that_is_open() {
    type Slot = Arc<Mutex<Option<oneshot::Sender<ApprovalOutcome>>>>;
    let fixture = Fixture::in_turn();
    let slot = Slot::default();
    fixture
        .app
        .on(REQUEST)
        .with(slot.clone())
        .run(async |slot: &Slot, _, _| {
            let (decide, decision) = oneshot::channel();
            *slot.lock().unwrap() = Some(decide);
            decision.await.unwrap()
        })
        .unwrap();
    let (outcome, ()) = tokio::join!(fixture.ask(), async {
        fixture.approvals.set_policy_of(&fixture.agent, NEVER).unwrap();
        tokio::task::yield_now().await;
        assert_eq!(fixture.outcomes(), Vec::<serde_json::Value>::new());
        let decide = slot.lock().unwrap().take().unwrap();
        decide.send(ApprovalOutcome::AllowedOnce).unwrap();
    });
    assert_eq!(outcome.unwrap(), ApprovalOutcome::AllowedOnce);
}

// spec: approval-permissions/A16, A17
#[tokio::test]
async fn a_switch_that_the_log_does_not_take_changes_nothing_and_tells_nobody() {
    let fixture = Fixture::with(ASK);
    fixture.app.on(APPENDING).run(|_| Err("the disk is full".into())).unwrap();
    let error = fixture.approvals.set_policy_of(&fixture.agent, NEVER).unwrap_err();
    assert!(matches!(error, PolicyError::NotSet { .. }), "{error:?}");
    assert_eq!((fixture.approvals.policy(fixture.session()), fixture.inbox.sent()), (ASK, Vec::new()));
}
