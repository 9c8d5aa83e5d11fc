//! Guards: the last word before a body runs.

use std::sync::Arc;

use cordis::{Effect, Next};
use dsh_tools::{EXECUTE, PRE_EXECUTE, PostDecision, PreDecision, TOOLS, ToolCall, ToolOutcome};
use parking_lot::Mutex;

use crate::fixture::{Does, Fixture, Probe, around};

fn refuse(call: &ToolCall) -> Option<String> {
    Some(format!("no {}", call.name()))
}

// spec: cases/A4, design/P7, tools/T59, tools/T82
#[tokio::test]
async fn a_denied_call_never_runs_its_body_whatever_listeners_do() {
    for guard_first in [true, false] {
        let probe = Probe::new(Does::Echo);
        let fixture = Fixture::with(&probe).await;
        if guard_first {
            fixture.guard(refuse);
        }
        fixture
            .app
            .on(PRE_EXECUTE)
            .prepend()
            .run(async |_: &mut ToolCall, _next: Next<'_, ToolCall, PreDecision>| PreDecision::Allow)
            .unwrap();
        let insists = async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            let _ = next.clone().run(call).await;
            next.run(call).await
        };
        fixture.app.on(EXECUTE).prepend().run(insists).unwrap();
        fixture.reviews(PostDecision::replace_text("fine"));
        if !guard_first {
            fixture.guard(refuse);
        }
        let outcome = fixture.call("probe").await;
        assert!(outcome.is_denied() && outcome.is_error());
        assert_eq!(probe.runs(), 0);
    }
}

// spec: tools/T80
#[tokio::test]
async fn the_first_reason_is_final_and_later_guards_are_not_asked() {
    let fixture = Fixture::with(&Probe::new(Does::Echo)).await;
    fixture.guard(|_| None);
    fixture.guard(refuse);
    fixture.guard(|_| panic!("a later guard is not asked"));
    let outcome = fixture.call("probe").await;
    assert_eq!((outcome.text().as_str(), outcome.code()), ("Error: no probe", None));
}

// spec: tools/T3, tools/T80
#[tokio::test]
async fn global_guards_are_asked_first_then_from_the_farthest_scope_to_the_nearest() {
    let fixture = Fixture::with(&Probe::new(Does::Echo)).await;
    let root = fixture.app.scope().unwrap();
    let (child, other) = (fixture.app.scope_under(&root).unwrap(), fixture.app.scope().unwrap());
    let tools = fixture.tools.get().unwrap();
    for (ctx, name) in [
        (child.context(), "own"),
        (root.context(), "ancestor"),
        (&**fixture.app, "one"),
        (&**fixture.app, "two"),
        (other.context(), "foreign"),
    ] {
        let log = fixture.log.clone();
        let asked = move |_: &ToolCall| {
            log.note(name);
            None
        };
        tools.guard(ctx, asked).unwrap();
    }
    fixture.call_as(child.key(), "probe").await;
    assert_eq!(fixture.log.take(), ["one", "two", "ancestor", "own"]);
    fixture.call_as(root.key(), "probe").await;
    assert_eq!(fixture.log.take(), ["one", "two", "ancestor"]);
    fixture.call("probe").await;
    assert_eq!(fixture.log.take(), ["one", "two"]);
}

// spec: tools/T81
#[tokio::test]
async fn one_function_registered_twice_is_two_guards() {
    let fixture = Fixture::with(&Probe::new(Does::Echo)).await;
    let first = fixture.guard(refuse);
    let second = fixture.guard(refuse);
    first.dispose().await;
    first.dispose().await;
    assert!(fixture.call("probe").await.is_denied());
    second.dispose().await;
    assert!(!fixture.call("probe").await.is_denied());
}

// spec: tools/T116
#[tokio::test]
async fn an_empty_reason_is_a_denial() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(&probe).await;
    let guard = fixture.guard(|_| Some(String::new()));
    let outcome = fixture.call("probe").await;
    assert_eq!((&outcome, outcome.text().as_str()), (&ToolOutcome::denied(""), "Error: "));
    guard.dispose().await;
    fixture.decides(PreDecision::Deny { reason: String::new() });
    assert_eq!(fixture.call("probe").await, ToolOutcome::denied(""));
    assert_eq!(probe.runs(), 0);
}

// spec: cases/A1, design/P7
#[tokio::test]
async fn a_guard_of_a_scope_refuses_its_calls_and_those_below_and_no_others() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(&probe).await;
    let (agent, other) = (fixture.app.scope().unwrap(), fixture.app.scope().unwrap());
    let child = fixture.app.scope_under(&agent).unwrap();
    fixture.tools.get().unwrap().guard(agent.context(), refuse).unwrap();
    assert!(fixture.call_as(agent.key(), "probe").await.is_denied());
    assert!(fixture.call_as(child.key(), "probe").await.is_denied());
    assert_eq!(probe.runs(), 0);
    assert!(!fixture.call_as(other.key(), "probe").await.is_denied());
    assert!(!fixture.call("probe").await.is_denied());
    assert_eq!(probe.runs(), 2);
    agent.close().await;
    assert!(!fixture.call_as(child.key(), "probe").await.is_denied());
}

// spec: tools/T61, tools/T84, design/P4
#[tokio::test]
async fn a_guard_that_panics_fails_the_call_before_its_body_and_is_named() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(&probe).await;
    let careless = fixture
        .plugin(&fixture.app, "careless", |tools, ctx| {
            tools.guard(ctx, |_| panic!("what was that"))?;
            Ok(())
        })
        .await;
    let outcome = fixture.call("probe").await;
    assert_eq!(outcome.text(), "Error: a guard of `careless` panicked: what was that");
    assert_eq!(probe.runs(), 0);
    careless.dispose().await;
    assert!(!fixture.call("probe").await.is_error());
}

// spec: design/P7
#[tokio::test]
async fn a_guard_that_comes_while_wrappers_run_is_asked_before_the_body() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(&probe).await;
    fixture
        .app
        .on(EXECUTE)
        .with((**fixture.app).clone())
        .run(async |ctx: &cordis::Context, call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            ctx.get(TOOLS).unwrap().get().unwrap().guard(ctx, refuse).unwrap();
            next.run(call).await
        })
        .unwrap();
    assert!(fixture.call("probe").await.is_denied());
    assert_eq!(probe.runs(), 0);
}

/// A guard that does something once, when it is asked first.
fn once(fixture: &Fixture, does: impl Fn(&cordis::Context) + Send + Sync + 'static) -> Effect {
    let (ctx, first) = ((**fixture.app).clone(), Mutex::new(true));
    fixture.guard(move |_| {
        let first = std::mem::take(&mut *first.lock());
        if first {
            does(&ctx);
        }
        None
    })
}

// spec: tools/T4, tools/T83
#[tokio::test]
async fn a_guard_added_by_a_guard_is_asked_in_the_same_pass() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(&probe).await;
    once(&fixture, |ctx| {
        ctx.get(TOOLS).unwrap().get().unwrap().guard(ctx, refuse).unwrap();
    });
    assert_eq!(fixture.call("probe").await, ToolOutcome::denied("no probe"));
    assert_eq!(probe.runs(), 0);
}

// spec: tools/T4, tools/T83
#[tokio::test]
async fn a_guard_that_takes_the_place_of_the_last_one_is_asked_before_the_body_at_the_latest() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(&probe).await;
    fixture.watch();
    let _ = fixture.log.take();
    let own: Arc<Mutex<Option<Effect>>> = Arc::default();
    let of_guard = Arc::clone(&own);
    let agent = fixture.app.scope().unwrap();
    let ctx = agent.context().clone();
    let replaces = move |_: &ToolCall| {
        let effect = of_guard.lock().take();
        if let Some(effect) = effect {
            effect.cancel();
            ctx.get(TOOLS).unwrap().get().unwrap().guard(&ctx, refuse).unwrap();
        }
        None
    };
    let effect = fixture.tools.get().unwrap().guard(agent.context(), replaces).unwrap();
    *own.lock() = Some(effect);
    assert_eq!(fixture.call_as(agent.key(), "probe").await, ToolOutcome::denied("no probe"));
    assert_eq!(probe.runs(), 0);
}

// spec: tools/T83
#[tokio::test]
async fn a_guard_that_is_removed_before_its_turn_is_not_asked() {
    let fixture = Fixture::with(&Probe::new(Does::Echo)).await;
    let later: Arc<Mutex<Option<Effect>>> = Arc::default();
    let of_guard = Arc::clone(&later);
    once(&fixture, move |_| {
        let effect = of_guard.lock().take();
        effect.unwrap().cancel();
    });
    *later.lock() = Some(fixture.guard(refuse));
    assert!(!fixture.call("probe").await.is_denied());
}

// spec: tools/T56, tools/T82
#[tokio::test]
async fn guards_narrow_what_policies_allow_and_do_not_hear_of_what_they_deny() {
    let fixture = Fixture::with(&Probe::new(Does::Echo)).await;
    let log = fixture.log.clone();
    fixture.guard(move |_| {
        log.note("guard");
        None
    });
    let lenient = around::<ToolCall, PreDecision, _>(|call, next| {
        let rest = next.run(call);
        Box::pin(async move {
            let _ = rest.await;
            PreDecision::Allow
        })
    });
    let strict = fixture.decides(PreDecision::Deny { reason: "policy".to_owned() });
    assert_eq!(fixture.call("probe").await, ToolOutcome::denied("policy"));
    assert_eq!(fixture.log.take(), Vec::<String>::new());
    fixture.app.on(PRE_EXECUTE).prepend().run_boxed(lenient).unwrap();
    assert!(!fixture.call("probe").await.is_denied(), "a policy may overrule another");
    drop(strict);
    fixture.guard(refuse);
    assert!(fixture.call("probe").await.is_denied(), "and no guard");
}

// spec: tools/T5, design/P1
#[tokio::test]
async fn unloading_the_plugin_of_a_guard_lets_calls_through_again() {
    let fixture = Fixture::with(&Probe::new(Does::Echo)).await;
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
