//! Attacks on the way of a call.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    dead_code,
    unused_imports,
    reason = "a test ends by panicking"
)]

#[path = "contract/fixture.rs"]
mod fixture;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::time::Duration;

use cordis::BoxFuture;
use dsh_tools::*;
use fixture::{Does, Fixture, Probe, around, request, tool};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Holds calls in pre-execute until it is told.
fn gate(fixture: &Fixture) -> (Arc<Notify>, Arc<Notify>) {
    let (came, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (c, g) = (came.clone(), go.clone());
    fixture
        .app
        .on(PRE_EXECUTE)
        .global()
        .run_boxed(around::<ToolCall, PreDecision, _>(move |call, next| {
            let (c, g) = (c.clone(), g.clone());
            Box::pin(async move {
                c.notify_one();
                g.notified().await;
                next.run(call).await
            })
        }))
        .unwrap();
    (came, go)
}

#[tokio::test]
async fn closing_an_agents_scope_does_not_free_its_calls_of_its_guards() {
    let fixture = Fixture::new().await;
    let probe = Probe::named("probe");
    fixture.register(&probe);
    let scope = fixture.app.scope().unwrap();
    let key = scope.key().clone();
    fixture.tools.get().unwrap().guard(scope.context(), |_| Some("never".into())).unwrap();
    assert!(fixture.call_as(&key, "probe").await.is_denied());
    let (came, go) = gate(&fixture);
    let call = fixture.call_as(&key, "probe");
    let closing = async {
        came.notified().await;
        let _ = scope.fiber().dispose().await;
        go.notify_one();
    };
    let (outcome, ()) = tokio::join!(call, closing);
    assert_eq!(probe.runs(), 0, "{outcome:?}");
}

#[tokio::test]
async fn a_call_of_a_scope_that_is_closed_runs_no_body_that_its_guard_denied() {
    let fixture = Fixture::new().await;
    let probe = Probe::named("probe");
    fixture.register(&probe);
    let scope = fixture.app.scope().unwrap();
    let key = scope.key().clone();
    fixture.tools.get().unwrap().guard(scope.context(), |_| Some("never".into())).unwrap();
    assert!(fixture.call_as(&key, "probe").await.is_denied());
    let _ = scope.fiber().dispose().await;
    let outcome = fixture.call_as(&key, "probe").await;
    assert_eq!(probe.runs(), 0, "{outcome:?}");
}

#[tokio::test]
async fn a_call_of_a_scope_that_is_closed_does_not_see_what_it_was_restricted_from() {
    let fixture = Fixture::new().await;
    let probe = Probe::named("probe");
    fixture.register(&probe);
    let scope = fixture.app.scope().unwrap();
    let key = scope.key().clone();
    fixture.tools.get().unwrap().restrict(scope.context(), Restriction::deny(["probe"])).unwrap();
    assert_eq!(fixture.call_as(&key, "probe").await.code(), Some("UNKNOWN_TOOL"));
    let _ = scope.fiber().dispose().await;
    let outcome = fixture.call_as(&key, "probe").await;
    assert_eq!(probe.runs(), 0, "{outcome:?}");
}

/// A blocking body whose guards are asked again on its thread, slowly; the call is cancelled and let go meanwhile.
#[tokio::test]
async fn a_blocking_body_does_not_begin_after_its_call_was_let_go() {
    let fixture =
        Fixture::configured(Config { body_grace_ms: 20, max_blocking_threads: 1, ..Config::default() }).await;
    let (free, busy) = mpsc::channel::<()>();
    let busy = Arc::new(Mutex::new(busy));
    fixture.register(ToolDefinition::raw("busy", "b", json!({"type": "object"})).run_blocking(
        move |_, _| {
            let _ = busy.lock().recv();
            Ok(json!(1))
        },
    ));
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    fixture.register(ToolDefinition::raw("late", "b", json!({"type": "object"})).run_blocking(
        move |_, _| {
            counted.fetch_add(1, SeqCst);
            Ok(json!(1))
        },
    ));
    let fixture = Arc::new(fixture);
    let first = {
        let f = fixture.clone();
        tokio::spawn(async move { f.call("busy").await })
    };
    tokio::time::sleep(Duration::from_millis(50)).await;
    let token = CancellationToken::new();
    let second = {
        let (f, t) = (fixture.clone(), token.clone());
        tokio::spawn(async move { f.call_until("late", &t).await })
    };
    tokio::time::sleep(Duration::from_millis(50)).await;
    // A guard comes while the body waits for its thread, so it is asked there; and it is slow.
    let (asked_s, asked) = mpsc::channel::<()>();
    let (answer, answer_r) = mpsc::channel::<()>();
    let answer_r = Mutex::new(answer_r);
    let asked_s = Mutex::new(asked_s);
    fixture.guard(move |call| {
        if call.name() == "late" {
            let _ = asked_s.lock().send(());
            let _ = answer_r.lock().recv();
        }
        None
    });
    free.send(()).unwrap();
    first.await.unwrap();
    tokio::task::spawn_blocking(move || asked.recv().unwrap()).await.unwrap();
    token.cancel();
    let outcome = second.await.unwrap();
    assert!(outcome.is_error());
    drop(answer);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(runs.load(SeqCst), 0, "the body was begun after its call had ended: {outcome:?}");
}

/// EXECUTE's doc: guards are asked again before a second run of the body.
#[tokio::test]
async fn two_runs_of_a_blocking_body_at_once_are_both_judged() {
    let fixture =
        Fixture::configured(Config { body_grace_ms: 20, max_blocking_threads: 1, ..Config::default() }).await;
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    // The only thread has something else to do while both runs come.
    let (free, busy) = mpsc::channel::<()>();
    let busy = Arc::new(Mutex::new(busy));
    fixture.register(ToolDefinition::raw("busy", "b", json!({"type": "object"})).run_blocking(
        move |_, _| {
            let _ = busy.lock().recv();
            Ok(json!(1))
        },
    ));
    fixture.register(ToolDefinition::raw("one", "b", json!({"type": "object"})).run_blocking(move |_, _| {
        counted.fetch_add(1, SeqCst);
        Ok(json!(1))
    }));
    let asked = AtomicUsize::new(0);
    // A budget of one run.
    fixture.guard(move |call| {
        (call.name() == "one" && asked.fetch_add(1, SeqCst) > 0).then(|| "the budget is used up".into())
    });
    fixture
        .app
        .on(EXECUTE)
        .run_boxed(around::<ToolCall, ToolOutcome, _>(move |call, next| {
            Box::pin(async move {
                if call.name() == "busy" {
                    return next.run(call).await;
                }
                let (mut a, _ta) = call.limited();
                let (mut b, _tb) = call.limited();
                let other = next.clone();
                let (one, _two) = tokio::join!(other.run(&mut a), next.run(&mut b));
                one
            })
        }))
        .unwrap();
    let release = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        free.send(()).unwrap();
    };
    let both = async {
        tokio::time::sleep(Duration::from_millis(30)).await;
        fixture.call("one").await
    };
    let (_, (), outcome) = tokio::join!(fixture.call("busy"), release, both);
    assert_eq!(runs.load(SeqCst), 1, "{outcome:?}");
}

/// The same for a body that is polled.
#[tokio::test]
async fn two_runs_of_a_polled_body_at_once_are_both_judged() {
    let fixture = Fixture::new().await;
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    fixture.register(tool("one", move |_| {
        let counted = counted.clone();
        async move {
            counted.fetch_add(1, SeqCst);
            tokio::task::yield_now().await;
            Ok(json!(1))
        }
    }));
    let asked = AtomicUsize::new(0);
    fixture.guard(move |_| (asked.fetch_add(1, SeqCst) > 0).then(|| "the budget is used up".into()));
    fixture
        .app
        .on(EXECUTE)
        .run_boxed(around::<ToolCall, ToolOutcome, _>(move |call, next| {
            Box::pin(async move {
                let (mut a, _ta) = call.limited();
                let (mut b, _tb) = call.limited();
                let other = next.clone();
                let (one, _two) = tokio::join!(other.run(&mut a), next.run(&mut b));
                one
            })
        }))
        .unwrap();
    let outcome = fixture.call("one").await;
    assert_eq!(runs.load(SeqCst), 1, "{outcome:?}");
}

#[tokio::test]
async fn a_guard_that_comes_while_guards_are_asked_again_is_asked_too() {
    let fixture = Arc::new(Fixture::new().await);
    let probe = Probe::named("probe");
    fixture.register(&probe);
    let asked = AtomicUsize::new(0);
    let (tools, ctx) = (fixture.tools.clone(), (*fixture.app).clone());
    // An order of guards in which what comes is before what is being asked.
    let scope = fixture.app.scope().unwrap();
    fixture
        .tools
        .get()
        .unwrap()
        .guard(scope.context(), move |_| {
            if asked.fetch_add(1, SeqCst) == 1 {
                tools.get().unwrap().guard(&ctx, |_| Some("denied".into())).unwrap();
            }
            None
        })
        .unwrap();
    let (tools, ctx) = (fixture.tools.clone(), (*fixture.app).clone());
    fixture
        .app
        .on(EXECUTE)
        .global()
        .run_boxed(around::<ToolCall, ToolOutcome, _>(move |call, next| {
            tools.get().unwrap().guard(&ctx, |_| None).unwrap();
            Box::pin(next.run(call))
        }))
        .unwrap();
    let outcome = fixture.call_as(scope.key(), "probe").await;
    assert_eq!(probe.runs(), 0, "{outcome:?}");
}

struct Bomb;
impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("the bomb goes off");
        }
    }
}

#[tokio::test]
async fn a_value_of_the_run_context_that_panics_when_dropped_does_not_reach_the_caller() {
    let fixture = Fixture::with(tool("fine", |_| async { Ok(json!("fine")) })).await;
    fixture
        .app
        .on(PRE_EXECUTE)
        .run(async |call: &mut ToolCall, next: cordis::Next<'_, ToolCall, PreDecision>| {
            call.context().insert(Bomb);
            next.run(call).await
        })
        .unwrap();
    let told = fixture.told();
    let fixture = Arc::new(fixture);
    let f = fixture.clone();
    let ended = tokio::spawn(async move { f.call("fine").await }).await;
    assert_eq!(told.lock().len(), 1);
    assert_eq!(ended.expect("execute panicked").text(), "fine");
}

#[tokio::test(start_paused = true)]
async fn a_call_by_execute_nested_is_told_once_and_ends_with_the_outer_call() {
    let fixture = Fixture::new().await;
    let told = fixture.told();
    let entered = Arc::new(Notify::new());
    let e = entered.clone();
    fixture.register(tool("inner", move |run| {
        let e = e.clone();
        async move {
            e.notify_one();
            run.cancellation().cancelled().await;
            Ok(json!("inner"))
        }
    }));
    let (tools, ctx) = (fixture.tools.clone(), (*fixture.app).clone());
    fixture.register(tool("outer", move |run| {
        let (tools, ctx) = (tools.clone(), ctx.clone());
        async move {
            let tools = tools.get()?;
            let o = tools.execute_nested(&ctx, &run, CallRequest::new("n1", "inner", "{}")).await;
            Ok(json!(o.text()))
        }
    }));
    let token = CancellationToken::new();
    let call = fixture.call_until("outer", &token);
    let cancel = async {
        entered.notified().await;
        token.cancel();
    };
    let (outcome, ()) = tokio::join!(call, cancel);
    let ids: Vec<String> = told.lock().iter().map(|(id, _)| id.clone()).collect();
    assert_eq!(ids, ["n1", "c1"], "{outcome:?}");
}

#[tokio::test]
async fn a_run_that_outlives_its_call_makes_no_calls() {
    let fixture = Fixture::new().await;
    let inner = Probe::named("probe");
    fixture.register(&inner);
    let kept: Arc<Mutex<Option<ToolRun>>> = Arc::default();
    let k = kept.clone();
    fixture.register(tool("outer", move |run| {
        *k.lock() = Some(run);
        async move { Ok(json!("done")) }
    }));
    assert_eq!(fixture.call("outer").await.text(), "done");
    let run = kept.lock().take().unwrap();
    let tools = fixture.tools.get().unwrap();
    let ended = tools.with_lane(&run, |lane| async move { lane.call("probe", json!({})).await }).await;
    assert_eq!(inner.runs(), 0, "{ended:?}");
}
