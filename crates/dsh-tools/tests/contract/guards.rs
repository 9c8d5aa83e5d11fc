//! Guards: a denied call never runs its body.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cordis::Next;
use dsh_tools::{
    EXECUTE, POST_EXECUTE, PRE_EXECUTE, PostDecision, PreDecision, Settled, TOOLS, ToolCall, ToolOutcome,
};

use crate::fixture::{Does, Fixture, Probe};

fn refuse(call: &ToolCall) -> Option<String> {
    Some(format!("no {}", call.name()))
}

// spec: cases/A4, design/P7
#[tokio::test]
async fn a_denied_call_never_runs_its_body_whatever_listeners_do() {
    for guard_first in [true, false] {
        let probe = Probe::new(Does::Echo);
        let fixture = Fixture::with(probe.clone()).await;
        let guard = || fixture.tools.get().unwrap().guard(&fixture.app, refuse).unwrap();
        if guard_first {
            guard();
        }
        fixture
            .app
            .on(PRE_EXECUTE)
            .prepend()
            .run(async |_: &mut ToolCall, _next: Next<'_, ToolCall, PreDecision>| PreDecision::Allow)
            .unwrap();
        fixture
            .app
            .on(EXECUTE)
            .prepend()
            .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
                let _ = next.clone().run(call).await;
                next.run(call).await
            })
            .unwrap();
        fixture
            .app
            .on(POST_EXECUTE)
            .run(async |_: &mut Settled, _next: Next<'_, Settled, PostDecision>| PostDecision::Replace {
                content: "fine".to_owned(),
            })
            .unwrap();
        if !guard_first {
            guard();
        }
        let outcome = fixture.call("probe", "{}").await;
        assert!(outcome.is_denied() && outcome.is_error());
        assert_eq!(probe.runs(), 0);
    }
}

#[tokio::test]
async fn the_model_reads_the_reason_of_the_first_guard() {
    let fixture = Fixture::with(Probe::new(Does::Echo)).await;
    let tools = fixture.tools.get().unwrap();
    tools.guard(&fixture.app, |_| None).unwrap();
    tools.guard(&fixture.app, refuse).unwrap();
    tools.guard(&fixture.app, |_| panic!("a later guard is not asked")).unwrap();
    let outcome = fixture.call("probe", "{}").await;
    assert_eq!((outcome.content.as_str(), outcome.code()), ("Error: no probe", None));
}

#[tokio::test]
async fn an_empty_reason_is_a_denial() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(probe.clone()).await;
    fixture.tools.get().unwrap().guard(&fixture.app, |_| Some(String::new())).unwrap();
    assert_eq!(fixture.call("probe", "{}").await, ToolOutcome::denied(""));
    assert_eq!(probe.runs(), 0);
}

// spec: cases/A1, design/P7
#[tokio::test]
async fn a_guard_of_a_scope_refuses_its_calls_and_those_below_and_no_others() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(probe.clone()).await;
    let (agent, other) = (fixture.app.scope().unwrap(), fixture.app.scope().unwrap());
    let child = fixture.app.scope_under(&agent).unwrap();
    fixture.tools.get().unwrap().guard(agent.context(), refuse).unwrap();
    assert!(fixture.call_as(agent.key(), "probe").await.is_denied());
    assert!(fixture.call_as(child.key(), "probe").await.is_denied());
    assert_eq!(probe.runs(), 0);
    assert!(!fixture.call_as(other.key(), "probe").await.is_denied());
    assert!(!fixture.call("probe", "{}").await.is_denied());
    assert_eq!(probe.runs(), 2);
    agent.close().await;
    assert!(!fixture.call_as(child.key(), "probe").await.is_denied());
}

// spec: cases/A1
#[tokio::test]
async fn a_guard_for_all_refuses_every_agent() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(probe.clone()).await;
    let agent = fixture.app.scope().unwrap();
    let child = fixture.app.scope_under(&agent).unwrap();
    fixture.tools.get().unwrap().guard(&fixture.app, refuse).unwrap();
    for scope in [agent.key(), child.key()] {
        assert!(fixture.call_as(scope, "probe").await.is_denied());
    }
    assert_eq!(probe.runs(), 0);
}

#[tokio::test]
async fn a_guard_that_panics_fails_the_call_before_its_body() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(probe.clone()).await;
    fixture
        .plugin(&fixture.app, "careless", |tools, ctx| {
            tools.guard(ctx, |_| panic!("what was that"))?;
            Ok(())
        })
        .await;
    let outcome = fixture.call("probe", "{}").await;
    assert_eq!(outcome.content, "Error: a guard of `careless` panicked: what was that");
    assert_eq!(probe.runs(), 0);
}

#[tokio::test]
async fn a_guard_that_comes_while_wrappers_run_is_asked_before_the_body() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(probe.clone()).await;
    fixture
        .app
        .on(EXECUTE)
        .with((*fixture.app).clone())
        .run(async |ctx: &cordis::Context, call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            ctx.get(TOOLS).unwrap().get().unwrap().guard(ctx, refuse).unwrap();
            next.run(call).await
        })
        .unwrap();
    assert!(fixture.call("probe", "{}").await.is_denied());
    assert_eq!(probe.runs(), 0);
}

#[tokio::test]
async fn guards_narrow_what_policies_allow_and_do_not_hear_of_what_they_deny() {
    let fixture = Fixture::with(Probe::new(Does::Echo)).await;
    let asked = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&asked);
    fixture
        .tools
        .get()
        .unwrap()
        .guard(&fixture.app, move |_| {
            seen.store(true, Ordering::SeqCst);
            None
        })
        .unwrap();
    fixture
        .app
        .on(PRE_EXECUTE)
        .run(async |_: &mut ToolCall, _next: Next<'_, ToolCall, PreDecision>| PreDecision::Deny {
            reason: "policy".to_owned(),
        })
        .unwrap();
    assert_eq!(fixture.call("probe", "{}").await, ToolOutcome::denied("policy"));
    assert!(!asked.load(Ordering::SeqCst));
}

#[tokio::test]
async fn unloading_the_plugin_of_a_guard_lets_calls_through_again() {
    let fixture = Fixture::with(Probe::new(Does::Echo)).await;
    let agent = fixture.app.scope().unwrap();
    let guard = fixture
        .plugin(agent.context(), "strict", |tools, ctx| {
            tools.guard(ctx, refuse)?;
            Ok(())
        })
        .await;
    assert!(fixture.call_as(agent.key(), "probe").await.is_denied());
    guard.dispose().await;
    assert!(!fixture.call_as(agent.key(), "probe").await.is_denied());
}
