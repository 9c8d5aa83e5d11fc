//! Which policy holds, and what `never` keeps from being asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use cordis::{Context, Effect};
use dsh_approval::{
    ApprovalOutcome, ApprovalPolicy, Approvals, REQUEST, UnknownPolicy, override_of, policy_text,
};
use dsh_session::{CreateSession, NewEvent, Seed, Session};
use serde_json::json;

use crate::fixture::{Fixture, logged, pairs};

const ASK: ApprovalPolicy = ApprovalPolicy::Ask;
const NEVER: ApprovalPolicy = ApprovalPolicy::Never;

/// Allows, and counts how often it was asked.
fn counting(ctx: &Context, prepended: bool) -> (Arc<AtomicU32>, Effect) {
    let asked = Arc::new(AtomicU32::new(0));
    let on = ctx.on(REQUEST);
    let on = if prepended { on.prepend() } else { on };
    let effect = on
        .with(asked.clone())
        .run(async |asked: &Arc<AtomicU32>, _, _| {
            asked.fetch_add(1, SeqCst);
            ApprovalOutcome::AllowedOnce
        })
        .unwrap();
    (asked, effect)
}

// spec: approval-permissions/A2
#[test]
fn the_policies_are_ask_and_never_and_ask_unless_it_is_said() {
    assert_eq!(ApprovalPolicy::default(), ASK);
    assert_eq!(Approvals::default().policy(&Session::detached("s-1")), ASK);
    assert_eq!(["ask", "never"].map(|name| name.parse::<ApprovalPolicy>().unwrap()), [ASK, NEVER]);
    assert_eq!(serde_json::to_value([ASK, NEVER]).unwrap(), json!(["ask", "never"]));
}

// spec: approval-permissions/A16, A83
#[test]
fn a_name_that_no_policy_has_is_refused_with_the_two_that_there_are() {
    let error = "always".parse::<ApprovalPolicy>().unwrap_err();
    assert_eq!(error, UnknownPolicy { given: "always".to_owned() });
    assert!(error.to_string().contains("use `ask` or `never`"), "{error}");
    assert!(serde_json::from_value::<ApprovalPolicy>(json!("Never")).is_err());
}

// spec: approval-permissions/A7, A8, A68
#[tokio::test]
async fn under_never_nobody_is_asked_however_they_were_registered() {
    let fixture = Fixture::with(NEVER);
    fixture.open_turn(1);
    let listeners = [
        counting(&fixture.app, false),
        counting(&fixture.app, true),
        counting(fixture.agent.context(), true),
    ];
    assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::Rejected);
    assert_eq!(listeners.each_ref().map(|(asked, _)| asked.load(SeqCst)), [0, 0, 0]);
    assert_eq!(pairs(fixture.session()), [json!([{"toolName": "bash"}, "rejected"])]);
}

// spec: approval-permissions/A68
#[tokio::test]
async fn under_never_without_answerers_the_outcome_is_rejected_not_unavailable() {
    let fixture = Fixture::with(NEVER);
    fixture.open_turn(1);
    assert_eq!(fixture.ask().await.unwrap(), ApprovalOutcome::Rejected);
}

// spec: approval-permissions/A14, A16, A19
#[tokio::test]
async fn the_last_policy_of_the_log_outranks_the_configured_one_in_both_directions() {
    for (configured, own) in [(ASK, NEVER), (NEVER, ASK)] {
        let fixture = Fixture::with(configured);
        let (approvals, session) = (&fixture.approvals, fixture.session());
        assert_eq!((approvals.policy(session), approvals.override_of(session)), (configured, None));
        approvals.set_policy(session, own).unwrap();
        assert_eq!((approvals.policy(session), approvals.override_of(session)), (own, Some(own)));
        approvals.set_policy(session, configured).unwrap();
        assert_eq!(override_of(session), Some(configured));
        fixture.open_turn(1);
        let (asked, _listener) = counting(&fixture.app, false);
        let expected =
            if configured == ASK { ApprovalOutcome::AllowedOnce } else { ApprovalOutcome::Rejected };
        assert_eq!(fixture.ask().await.unwrap(), expected);
        assert_eq!(asked.load(SeqCst), u32::from(configured == ASK));
    }
}

// spec: approval-permissions/A16, A81
#[tokio::test]
async fn setting_a_policy_appends_it_every_time_and_tells_no_model() {
    let fixture = Fixture::with(ASK);
    for policy in [ASK, ASK, NEVER] {
        fixture.approvals.set_policy(fixture.session(), policy).unwrap();
    }
    let set = |policy| ("approval/policy".to_owned(), json!({ "policy": policy }));
    assert_eq!(logged(fixture.session()), [set("ask"), set("ask"), set("never")]);
    assert_eq!(fixture.inbox.sent(), []);
    assert!(fixture.session().messages().is_empty());
}

// spec: approval-permissions/A15
#[tokio::test]
async fn a_policy_from_the_parent_says_so() {
    let fixture = Fixture::with(ASK);
    fixture.approvals.delegate_policy(fixture.session(), NEVER).unwrap();
    assert_eq!(
        logged(fixture.session()),
        [("approval/policy".to_owned(), json!({"policy": "never", "source": "delegation"}))]
    );
    assert_eq!(fixture.approvals.policy(fixture.session()), NEVER);
}

// spec: approval-permissions/A14
#[test]
fn an_event_that_names_no_policy_of_this_build_does_not_count() {
    let session = Session::detached("s-1");
    for data in [r#"{"policy":"never"}"#, r#"{"policy":"sometimes"}"#, "{}", "[]"] {
        session.append(NewEvent::raw("approval/policy", data).unwrap()).unwrap();
    }
    assert_eq!(override_of(&session), Some(NEVER));
}

// spec: approval-permissions/A73
#[tokio::test]
async fn a_session_that_is_opened_again_has_the_policy_of_its_log() {
    let fixture = Fixture::with(ASK);
    fixture.approvals.set_policy(fixture.session(), NEVER).unwrap();
    let seed = Some(Seed::from(fixture.session().events()));
    let again =
        fixture.store.create(&fixture.app, CreateSession { seed, ..CreateSession::default() }).unwrap();
    assert_eq!(fixture.approvals.policy(&again), NEVER);
}

#[test]
fn the_text_of_a_policy_names_it_and_says_what_to_expect() {
    let (ask, never) = (policy_text(ASK), policy_text(NEVER));
    assert!(ask.contains("`ask`") && ask.contains("answer") && ask.contains("refused"), "{ask}");
    assert!(!ask.contains("never"), "{ask}");
    assert!(never.contains("`never`") && never.contains("No approval prompts are shown"), "{never}");
    assert!(never.contains("rejected automatically") && never.contains("`sandbox_permissions`"), "{never}");
}
