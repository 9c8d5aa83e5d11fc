//! Policies that want somebody asked.

use std::sync::Arc;
use std::time::Duration;

use dsh_agent::Agent;
use dsh_agent::testing::agent;
use dsh_approval::{ApprovalOutcome, ApprovalRequest, REQUEST};
use dsh_session::{CreateSession, NewEvent, SessionStore, TurnStart};
use dsh_tools::{CallRequest, PRE_EXECUTE, PreDecision, ToolCall, ToolOutcome};
use parking_lot::Mutex;
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Does, Fixture, Probe, around};

/// A policy that asks about every call, and an agent in an open turn.
async fn asking(reason: Option<&str>, service: bool) -> (Fixture, Probe, Agent) {
    let fixture = Fixture::new().await;
    fixture.watch();
    let probe = Probe::logging(Does::Echo, &fixture.log);
    fixture.register(&probe);
    fixture.decides(PreDecision::Ask { reason: reason.map(str::to_owned) });
    if service {
        let config = dsh_approval::Config::default();
        fixture.app.plugin(dsh_approval::plugin(), config).unwrap().ready().await.unwrap();
    }
    let options = CreateSession { id: Some("ada".to_owned()), ..CreateSession::default() };
    let session = SessionStore::new().create(&fixture.app, options).unwrap();
    session.append(NewEvent::new(&TurnStart { turn: 1 }).unwrap()).unwrap();
    let (agent, _) = agent(&fixture.app, session).unwrap();
    (fixture, probe, agent)
}

/// Answers every question, cancelling `token` first if there is one.
fn answering(
    fixture: &Fixture,
    outcome: ApprovalOutcome,
    token: Option<CancellationToken>,
) -> Arc<Mutex<Vec<ApprovalRequest>>> {
    let asked: Arc<Mutex<Vec<ApprovalRequest>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let answer = around::<ApprovalRequest, ApprovalOutcome, _>(move |request, _| {
        seen.lock().push(request.clone());
        if let Some(token) = &token {
            token.cancel();
        }
        Box::pin(async move { outcome })
    });
    fixture.app.on(REQUEST).run_boxed(answer).unwrap();
    asked
}

fn call(agent: &Agent) -> CallRequest {
    CallRequest::new("c1", "probe", json!({ "text": "x" })).agent(agent)
}

const ALLOWED: [&str; 7] = ["pre", "guard", "execute", "body", "post", "finalizer", "result"];
const DENIED: [&str; 4] = ["pre", "post", "finalizer", "result"];

// spec: tools/T57, approval-permissions/A20
#[tokio::test]
async fn a_yes_lets_the_call_through_and_the_question_says_what_it_is_about() {
    let (fixture, probe, agent) = asking(Some("looks odd"), true).await;
    let asked = answering(&fixture, ApprovalOutcome::AllowedOnce, None);
    assert_eq!(fixture.execute(call(&agent)).await, ToolOutcome::success(r#"probe {"text":"x"}"#));
    assert_eq!(fixture.log.take(), ALLOWED);
    assert_eq!(probe.runs(), 1);
    let asked = asked.lock();
    let question = &asked[0];
    assert_eq!(question.agent, agent);
    assert_eq!((question.tool_name.as_str(), question.call_id.as_deref()), ("probe", Some("c1")));
    assert_eq!(question.reason.as_deref(), Some("looks odd"));
    assert_eq!(question.arguments.as_deref(), Some(&json!({ "text": "x" })));
}

#[tokio::test]
async fn a_question_about_replaced_arguments_says_which_ones_they_are() {
    let (fixture, probe, agent) = asking(Some("looks odd"), true).await;
    let replace = around::<ToolCall, PreDecision, _>(|call, next| {
        let first = call.replacements() == 0;
        Box::pin(async move {
            if !first {
                return next.run(call).await;
            }
            PreDecision::Replace { arguments: Map::from_iter([("text".to_owned(), json!("y"))]) }
        })
    });
    fixture.app.on(PRE_EXECUTE).prepend().run_boxed(replace).unwrap();
    let asked = answering(&fixture, ApprovalOutcome::AllowedOnce, None);
    assert_eq!(fixture.execute(call(&agent)).await.text(), r#"probe {"text":"y"}"#);
    let asked = asked.lock();
    assert_eq!(asked.len(), 1);
    let told = r#"looks odd (a policy replaced the arguments; they are now {"text":"y"})"#;
    assert_eq!(asked[0].reason.as_deref(), Some(told));
    assert_eq!(asked[0].arguments.as_deref(), Some(&json!({ "text": "y" })));
    assert_eq!(probe.runs(), 1);
}

// spec: tools/T57, tools/T59, approval-permissions/A20, approval-permissions/A23
#[tokio::test]
async fn a_no_is_a_denial_that_is_reviewed() {
    for (answer, reason) in [
        (ApprovalOutcome::Rejected, "the user rejected tool \"probe\""),
        (ApprovalOutcome::Cancelled, "approval for tool \"probe\" was cancelled"),
    ] {
        let (fixture, probe, agent) = asking(None, true).await;
        answering(&fixture, answer, None);
        assert_eq!(fixture.execute(call(&agent)).await, ToolOutcome::denied(reason));
        assert_eq!(fixture.log.take(), DENIED);
        assert_eq!(probe.runs(), 0);
    }
}

// spec: tools/T57, approval-permissions/A20, approval-permissions/A22
#[tokio::test]
async fn without_anybody_who_answers_the_call_is_denied() {
    let (fixture, probe, agent) = asking(None, true).await;
    let outcome = fixture.execute(call(&agent)).await;
    assert!(outcome.is_denied() && outcome.text().contains("\"probe\" needs approval"), "{}", outcome.text());
    assert_eq!(fixture.log.take(), DENIED);
    // Neither is one of no agent, whom nobody is asked about.
    let asked = answering(&fixture, ApprovalOutcome::AllowedOnce, None);
    let outcome = fixture.call("probe").await;
    assert!(outcome.is_denied() && outcome.text().contains("\"probe\" needs approval"), "{}", outcome.text());
    assert_eq!((asked.lock().len(), probe.runs()), (0, 0));
}

// spec: tools/T57, approval-permissions/A20, approval-permissions/A22
#[tokio::test]
async fn without_the_service_the_call_is_denied_with_the_reason_of_who_asked() {
    for (reason, expected) in [
        (None, "tool \"probe\" requires approval (not yet supported)"),
        (Some("looks odd"), "looks odd"),
        (Some(""), ""),
    ] {
        let (fixture, probe, agent) = asking(reason, false).await;
        assert_eq!(fixture.execute(call(&agent)).await, ToolOutcome::denied(expected));
        assert_eq!(fixture.log.take(), DENIED);
        assert_eq!(probe.runs(), 0);
    }
}

// spec: tools/T61, approval-permissions/A22
#[tokio::test]
async fn a_question_that_cannot_be_asked_fails_the_call() {
    let (fixture, probe, agent) = asking(None, true).await;
    let end = dsh_session::TurnEnd { turn: 1, reason: dsh_session::TurnEndReason::Completed {} };
    let ended = agent.session().append(NewEvent::new(&end).unwrap());
    ended.unwrap();
    answering(&fixture, ApprovalOutcome::AllowedOnce, None);
    let outcome = fixture.execute(call(&agent)).await;
    assert!(outcome.is_error() && !outcome.is_denied(), "{}", outcome.text());
    assert_eq!(fixture.log.take(), ["pre", "finalizer", "result"]);
    assert_eq!(probe.runs(), 0);
}

// spec: cases/A2, tools/T58, approval-permissions/A24
#[tokio::test(start_paused = true)]
async fn a_cancellation_while_somebody_is_asked_ends_the_call_and_a_later_yes_does_not_count() {
    let (fixture, probe, agent) = asking(None, true).await;
    let said_yes = fixture.log.clone();
    let slow = around::<ApprovalRequest, ApprovalOutcome, _>(move |_, _| {
        let log = said_yes.clone();
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(10)).await;
            log.note("yes");
            ApprovalOutcome::AllowedOnce
        })
    });
    fixture.app.on(REQUEST).run_boxed(slow).unwrap();
    let token = crate::fixture::cancelled_after(Duration::from_secs(1));
    let outcome = fixture.execute(call(&agent).cancellation(&token)).await;
    assert_eq!(outcome, ToolOutcome::aborted_before_dispatch());
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(fixture.log.take(), DENIED);
    assert_eq!(probe.runs(), 0);
}

// spec: cases/A2, tools/T58, approval-permissions/A24
#[tokio::test]
async fn a_yes_together_with_the_cancellation_is_too_late() {
    let (fixture, probe, agent) = asking(None, true).await;
    let token = CancellationToken::new();
    answering(&fixture, ApprovalOutcome::AllowedOnce, Some(token.clone()));
    let outcome = fixture.execute(call(&agent).cancellation(&token)).await;
    assert_eq!(outcome, ToolOutcome::aborted_before_dispatch());
    assert_eq!(fixture.log.take(), DENIED);
    assert_eq!(probe.runs(), 0);
}

// spec: tools/T82, design/P7
#[tokio::test]
async fn a_yes_does_not_overrule_a_guard() {
    let (fixture, probe, agent) = asking(None, true).await;
    answering(&fixture, ApprovalOutcome::AllowedOnce, None);
    fixture.guard(|_| Some("guarded".to_owned()));
    assert_eq!(fixture.execute(call(&agent)).await, ToolOutcome::denied("guarded"));
    assert_eq!(probe.runs(), 0);
}

// spec: approval-permissions/A21
#[tokio::test]
async fn a_body_that_wants_more_asks_the_same_service_itself() {
    let (fixture, _, agent) = asking(None, true).await;
    let asked = answering(&fixture, ApprovalOutcome::AllowedOnce, None);
    let ctx = (**fixture.app).clone();
    fixture.register(crate::fixture::tool("escalates", move |run| {
        let ctx = ctx.clone();
        async move {
            let agent = run.agent().cloned().expect("an agent calls");
            let question = ApprovalRequest::new(&agent, "escalates")
                .of_call(run.call_id())
                .because("escalate sandbox to danger-full-access: it needs the network");
            let approvals = ctx.get(dsh_approval::APPROVAL).expect("the service is there");
            Ok(json!(approvals.get()?.request(&ctx, question).await?.as_str()))
        }
    }));
    let call = CallRequest::new("c1", "escalates", "{}").agent(&agent);
    assert_eq!(fixture.execute(call).await, ToolOutcome::success("allowed-once"));
    let reasons: Vec<_> = asked.lock().iter().map(|request| request.reason.clone()).collect();
    let own = "escalate sandbox to danger-full-access: it needs the network".to_owned();
    assert_eq!(reasons, [None, Some(own)], "first the policy's question, then the body's");
}
