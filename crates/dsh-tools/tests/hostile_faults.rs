//! Attacks by faults, by depth and by number.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    dead_code,
    unused_imports,
    reason = "a test ends by panicking"
)]

#[path = "contract/fixture.rs"]
mod fixture;
#[path = "batch/world.rs"]
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use dsh_tools::*;
use fixture::{Does, Fixture, Probe, around, request, tool};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use world::World;

fn deep(levels: usize) -> Value {
    let mut value = json!(1);
    for _ in 0..levels {
        value = Value::Array(vec![value]);
    }
    value
}

/// A process of its own, which may end by an overflow of its stack.
fn survives(name: &str) -> bool {
    let exe = std::env::current_exe().unwrap();
    let status = std::process::Command::new(exe)
        .args(["--exact", name, "--ignored", "--nocapture", "--test-threads=1"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    status.success()
}

#[tokio::test]
#[ignore = "run by the test of the same name"]
async fn deep_value_of_a_wrapper_inner() {
    let fixture = Fixture::with(tool("t", |_| async { Ok(json!(1)) })).await;
    fixture
        .app
        .on(EXECUTE)
        .run_boxed(around::<ToolCall, ToolOutcome, _>(move |_, _| {
            Box::pin(async move { ToolOutcome::success(deep(100_000)) })
        }))
        .unwrap();
    let o = fixture.call("t").await;
    assert_eq!(o.code(), Some("INVALID_TOOL_OUTPUT"));
}

#[test]
fn a_deep_value_of_a_wrapper_is_invalid_output() {
    assert!(survives("deep_value_of_a_wrapper_inner"));
}

#[tokio::test]
#[ignore = "run by the test of the same name"]
async fn deep_value_of_a_body_inner() {
    let fixture = Fixture::with(tool("t", |_| async { Ok(deep(100_000)) })).await;
    let o = fixture.call("t").await;
    assert_eq!(o.code(), Some("INVALID_TOOL_OUTPUT"));
}

#[test]
fn a_deep_value_of_a_body_is_invalid_output() {
    assert!(survives("deep_value_of_a_body_inner"));
}

#[tokio::test]
#[ignore = "run by the test of the same name"]
async fn deep_meta_inner() {
    let t = tool("t", |_| async { Ok(json!(1)) }).presentation_meta(|_, _| Ok(deep(100_000)));
    let fixture = Fixture::with(t).await;
    let o = fixture.call("t").await;
    eprintln!("{:?}", o.code());
    drop(o);
}

#[test]
fn deep_presentation_meta_does_not_end_the_process() {
    assert!(survives("deep_meta_inner"));
}

#[tokio::test]
#[ignore = "run by the test of the same name"]
async fn deep_replacement_inner() {
    let fixture = Fixture::with(tool("t", |_| async { Ok(json!(1)) })).await;
    fixture
        .app
        .on(POST_EXECUTE)
        .run_boxed(around::<Settled, PostDecision, _>(move |_, _| {
            Box::pin(async move {
                PostDecision::Accept { replace: Some(Replacement::Value(deep(100_000))), contexts: vec![] }
            })
        }))
        .unwrap();
    let o = fixture.call("t").await;
    assert_eq!(o.code(), Some("INVALID_TOOL_OUTPUT"));
}

#[test]
fn a_deep_value_of_a_post_execute_policy_is_invalid_output() {
    assert!(survives("deep_replacement_inner"));
}

#[tokio::test]
#[ignore = "run by the test of the same name"]
async fn deep_replacement_of_a_failure_inner() {
    let fixture = Fixture::with(tool("t", |_| async { Err(ToolError::new("no")) })).await;
    fixture
        .app
        .on(POST_EXECUTE)
        .run_boxed(around::<Settled, PostDecision, _>(move |_, _| {
            Box::pin(async move {
                PostDecision::Accept { replace: Some(Replacement::Value(deep(100_000))), contexts: vec![] }
            })
        }))
        .unwrap();
    let o = fixture.call("t").await;
    assert!(o.is_error());
}

#[test]
fn a_deep_value_of_a_post_execute_policy_for_a_failure_is_dropped_without_recursion() {
    assert!(survives("deep_replacement_of_a_failure_inner"));
}

#[tokio::test]
#[ignore = "run by the test of the same name"]
async fn deep_arguments_inner() {
    let probe = Probe::named("probe");
    let fixture = Fixture::with(&probe).await;
    for text in [
        "[".repeat(100_000),
        format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000)),
        "{\"a\":".repeat(100_000),
    ] {
        let o = fixture.call_with("probe", &text).await;
        assert_eq!(o.code(), Some("INVALID_ARGS"));
    }
    let o = fixture.execute(CallRequest::new("c", "probe", deep(100_000))).await;
    assert!(o.is_error());
    // An unreadable one, cut off by a closed gate.
    let t = CancellationToken::new();
    t.cancel();
    let o = fixture.execute(CallRequest::new("c", "probe", deep(100_000)).cancellation(&t)).await;
    assert!(o.is_error());
    let o = fixture.execute(CallRequest::new("c", "nobody", deep(127))).await;
    assert_eq!(o.code(), Some("UNKNOWN_TOOL"));
}

#[test]
fn deep_arguments_do_not_end_the_process() {
    assert!(survives("deep_arguments_inner"));
}

#[tokio::test]
#[ignore = "run by the test of the same name"]
async fn request_dropped_inner() {
    let request = CallRequest::new("c", "probe", deep(100_000));
    drop(request);
}

#[test]
fn a_request_with_deep_arguments_that_is_never_executed_does_not_end_the_process() {
    assert!(survives("request_dropped_inner"));
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
async fn a_batch_survives_a_value_of_the_run_context_that_panics_when_dropped() {
    let world = World::new().await;
    world.offer(tool("a", |_| async { Ok(json!("a")) }));
    world.offer(tool("b", |_| async { Ok(json!("b")) }));
    world
        .app
        .on(PRE_EXECUTE)
        .run(async |call: &mut ToolCall, next: cordis::Next<'_, ToolCall, PreDecision>| {
            if call.name() == "a" {
                call.context().insert(Bomb);
            }
            next.run(call).await
        })
        .unwrap();
    let world = Arc::new(world);
    let w = world.clone();
    let batch = world.batch(&[("1", "a", "{}"), ("2", "b", "{}")]);
    let ended = tokio::spawn(async move { w.run(batch).await }).await;
    let log = world.log();
    assert!(ended.is_ok(), "{log:?}");
    assert_eq!(log.len(), 4, "{log:?}");
}

/// Panics while the ids of things are shown.
#[tokio::test]
async fn panics_everywhere_stay_one_outcome() {
    let fixture = Fixture::new().await;
    let told = fixture.told();
    let boom = |what: &'static str| -> ToolDefinition {
        let t = tool("t", move |_| {
            if what == "start" {
                panic!("start");
            }
            let bomb = (what == "future").then_some(Bomb);
            async move {
                let _bomb = bomb;
                if what == "body" {
                    std::panic::panic_any(Bomb);
                }
                Ok(json!(1))
            }
        });
        match what {
            "render" => t.render(|_, _| panic!("render")),
            "meta" => t.presentation_meta(|_, _| panic!("meta")),
            "finalize" => t.finalize(|_, _| panic!("finalize")),
            "parallel" => t.parallel_when(|_| panic!("parallel")),
            "present" => t.present_call(|_| panic!("present")),
            _ => t,
        }
    };
    for what in ["start", "future", "body", "render", "meta", "finalize", "parallel", "present"] {
        let effect = fixture.register(boom(what));
        let o = fixture.call("t").await;
        assert_eq!(told.lock().drain(..).count(), 1, "{what} {o:?}");
        let disposed = effect.dispose().await;
        assert!(disposed.still_running.is_empty(), "{what} {disposed:?}");
    }
}

fn rss() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[tokio::test]
async fn a_hundred_thousand_calls_leave_nothing() {
    let world = World::new().await;
    world.offer(tool("a", |run| async move {
        run.write("x");
        tokio::task::yield_now().await;
        Ok(json!("a"))
    }));
    world.offer(tool("fails", |run| async move {
        run.write("x");
        Err(ToolError::new("no"))
    }));
    world.offer(
        ToolDefinition::raw("blocks", "b", json!({"type": "object"})).run_blocking(|_, _| Ok(json!("b"))),
    );
    world.tools.get().unwrap().guard(&world.app, |_| None).unwrap();
    let one = async |i: usize| {
        for name in ["a", "fails"] {
            let _ = world
                .tools
                .get()
                .unwrap()
                .execute(&world.app, CallRequest::new("c", name, r#"{"a":1}"#))
                .await;
        }
        let t = CancellationToken::new();
        let _ = world
            .tools
            .get()
            .unwrap()
            .execute(&world.app, CallRequest::new("c", "a", r#"{"a":1}"#).cancellation(&t))
            .await;
        if i.is_multiple_of(10) {
            let _ =
                world.tools.get().unwrap().execute(&world.app, CallRequest::new("c", "blocks", "{}")).await;
            // Dropped half way.
            let tools = world.tools.get().unwrap();
            let mut f = Box::pin(tools.execute(&world.app, CallRequest::new("c", "a", "{}")));
            let _ = std::future::poll_fn(|cx| std::task::Poll::Ready(f.as_mut().poll(cx))).await;
            drop(f);
            let mut f = Box::pin(tools.execute(&world.app, CallRequest::new("c", "blocks", "{}")));
            let _ = std::future::poll_fn(|cx| std::task::Poll::Ready(f.as_mut().poll(cx))).await;
            drop(f);
        }
    };
    for i in 0..3_000 {
        one(i).await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (before, shown) = (rss(), world.app.inspect().to_string());
    for i in 0..33_000 {
        one(i).await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let after = rss();
    assert_eq!(shown, world.app.inspect().to_string());
    eprintln!("rss {before} -> {after}");
    assert!(after < before + 8_000_000, "{before} {after}");
}
