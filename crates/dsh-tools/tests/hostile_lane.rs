//! Attacks on lanes, batches and logs that refuse.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    dead_code,
    unused_imports,
    reason = "a test ends by panicking"
)]

#[path = "batch/world.rs"]
mod world;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use cordis::Next;
use dsh_tools::*;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use world::{World, log_of, raw};

/// Every await point: the outer future is dropped after n polls, for all n.
#[tokio::test]
async fn a_batch_dropped_at_any_poll_leaves_no_body_and_no_open_start() {
    for polls in 0..60 {
        let world = World::new().await;
        let live = Arc::new(());
        let l = live.clone();
        world.offer(
            raw("leaf")
                .run(move |_, run| {
                    let l = l.clone();
                    async move {
                        let _l = l;
                        run.write("x");
                        for _ in 0..3 {
                            tokio::task::yield_now().await;
                        }
                        Ok(json!("leaf"))
                    }
                })
                .parallel_when(|_| true),
        );
        world.program("outer", |lane, _| async move {
            let (a, b, c) =
                (lane.call("leaf", json!({})), lane.call("leaf", json!({})), lane.call("leaf", json!({})));
            let _ = (a.await, b.await);
            drop(c);
            Ok(json!(1))
        });
        world.watch();
        let batch = world.batch(&[("1", "leaf", "{}"), ("2", "outer", "{}"), ("3", "leaf", "{}")]);
        let mut run = Box::pin(world.run(batch));
        for _ in 0..polls {
            let ready =
                std::future::poll_fn(|cx| std::task::Poll::Ready(run.as_mut().poll(cx).is_ready())).await;
            if ready {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(run);
        assert_eq!(Arc::strong_count(&live), 2, "after {polls} polls");
        let log = world.log();
        let starts = log.iter().filter(|l| l.starts_with("start")).count();
        let ends = log.iter().filter(|l| l.starts_with("end ")).count();
        assert_eq!(starts, ends, "after {polls} polls: {log:#?}");
    }
}

/// What is asked of one agent's approval is not the answer to another: names of all kinds.
#[tokio::test]
async fn names_and_ids_of_all_kinds() {
    for name in [
        " ",
        "__proto__",
        "constructor",
        "a\u{0}b",
        "\u{202e}x",
        "x y",
        "{{x}}",
        "tools",
        "💥",
        &"n".repeat(100_000),
    ] {
        let world = World::new().await;
        let n: &'static str = Box::leak(name.to_owned().into_boxed_str());
        let made = world.tools.get().unwrap().register(&world.app, raw(n).run(async |_, _| Ok(json!("ok"))));
        let o = world.execute(CallRequest::new(name, name, "{}").agent(&world.agent)).await;
        let b = world.run(world.batch(&[(name, name, "{}"), (name, name, "{")])).await.unwrap();
        assert_eq!(b.len(), 2);
        if made.is_ok() {
            assert_eq!(o.text(), "ok");
            assert_eq!(b[0].text(), "ok");
        }
        assert_eq!(b[1].code(), Some("INVALID_ARGS"));
        let _ = format!("{:?}", world.app.inspect());
        let _ = world.app.inspect().to_string();
    }
}

/// A model (or a provider's adapter) that gives no id: the body must not run if its result can never be written.
#[tokio::test]
async fn a_call_without_an_id_costs_itself_and_not_its_batch() {
    let world = World::new().await;
    let runs = Arc::new(AtomicUsize::new(0));
    let n = runs.clone();
    world.offer(raw("write").run(move |_, _| {
        n.fetch_add(1, SeqCst);
        async { Ok(json!("done")) }
    }));
    let ended =
        world.run(world.batch(&[("1", "write", "{}"), ("", "write", "{}"), ("3", "write", "{}")])).await;
    let log = world.log();
    assert!(ended.is_ok(), "{ended:?}, runs {}, log {log:#?}", runs.load(SeqCst));
}

#[tokio::test]
async fn a_body_whose_result_no_log_can_hold_does_not_run() {
    let world = World::new().await;
    let runs = Arc::new(AtomicUsize::new(0));
    let n = runs.clone();
    world.offer(raw("write").run(move |_, _| {
        n.fetch_add(1, SeqCst);
        async { Ok(json!("done")) }
    }));
    let _ = world.run(world.batch(&[("", "write", "{}")])).await;
    assert_eq!(runs.load(SeqCst), 0, "{:#?}", world.log());
}

/// A lane of ten thousand calls, and a batch of ten thousand.
#[tokio::test]
async fn many_calls_take_linear_time() {
    let world = World::new().await;
    world.offer(raw("leaf").run(async |_, _| Ok(json!(1))).parallel_when(|_| true));
    world.program("outer", |lane, n| async move {
        let n = n["n"].as_u64().unwrap();
        let calls: Vec<_> = (0..n).map(|i| lane.call("leaf", json!({"i": i}))).collect();
        for c in calls {
            c.await?;
        }
        Ok(json!(1))
    });
    let mut times = Vec::new();
    for n in [2_000, 16_000] {
        let start = std::time::Instant::now();
        let o = world.execute(CallRequest::new("c", "outer", json!({"n": n})).agent(&world.agent)).await;
        assert!(!o.is_error(), "{}", o.text());
        times.push(start.elapsed());
    }
    eprintln!("lane {times:?}");
    assert!(times[1] < times[0] * 24, "{times:?}");
    let mut times = Vec::new();
    for n in [2_000, 16_000] {
        let ids: Vec<String> = (0..n).map(|i| format!("{i}")).collect();
        let calls: Vec<_> = ids.iter().map(|i| (&**i, "leaf", "{}")).collect();
        let start = std::time::Instant::now();
        world.run(world.batch(&calls)).await.unwrap();
        times.push(start.elapsed());
    }
    eprintln!("batch {times:?}");
    assert!(times[1] < times[0] * 24, "{times:?}");
}

/// A program that makes calls without end, none of which it waits for.
#[tokio::test(start_paused = true)]
async fn a_program_that_is_cancelled_leaves_nothing_behind() {
    let world = World::new().await;
    world.offer(
        raw("leaf")
            .run(async |_, run: ToolRun| {
                run.cancellation().cancelled().await;
                Ok(json!(1))
            })
            .parallel_when(|_| true),
    );
    world.program("outer", |lane, _| async move {
        for i in 0..100 {
            drop(lane.call("leaf", json!({"i": i})));
        }
        std::future::pending::<()>().await;
        Ok(json!(1))
    });
    world.cancel_after(10);
    let o = world.call("outer").await;
    assert_eq!(o.code(), Some("ABORTED"), "{o:?}");
    let log = world.log();
    let starts = log.iter().filter(|l| l.starts_with("start")).count();
    let ends = log.iter().filter(|l| l.starts_with("end ")).count();
    assert_eq!(starts, ends);
}

/// A listener of the session's own log that panics or refuses at each event.
#[tokio::test]
async fn a_blocking_body_whose_runtime_ends_leaves_the_process_alone() {
    let (send, wait) = std::sync::mpsc::channel::<()>();
    let done = Arc::new(AtomicUsize::new(0));
    let d = done.clone();
    let handle = std::thread::spawn(move || {
        let rt = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        rt.block_on(async {
            let world = World::new().await;
            let wait = Mutex::new(wait);
            world.offer(raw("b").run_blocking(move |_, run| {
                let _ = wait.lock().recv();
                run.write("after the end");
                d.fetch_add(1, SeqCst);
                Ok(json!(1))
            }));
            let world = Arc::new(world);
            let w = world.clone();
            tokio::spawn(async move { w.call("b").await });
            tokio::time::sleep(Duration::from_millis(100)).await;
        });
        rt.shutdown_timeout(Duration::from_millis(100));
    });
    handle.join().unwrap();
    drop(send);
    for _ in 0..100 {
        if done.load(SeqCst) == 1 {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the body did not end");
}

/// Calls polled by an executor that is not tokio's.
#[test]
fn a_cancelled_call_outside_of_a_runtime_is_an_outcome() {
    let rt = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (world, token) = rt.block_on(async {
        let world = World::new().await;
        world.offer(raw("hang").run(async |_, _| std::future::pending().await));
        (world, CancellationToken::new())
    });
    let tools = world.tools.get().unwrap();
    let mut call =
        Box::pin(tools.execute(&world.app, CallRequest::new("c", "hang", "{}").cancellation(&token)));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(call.as_mut().poll(&mut cx).is_pending());
    token.cancel();
    let polled =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| call.as_mut().poll(&mut cx).is_pending()));
    assert!(polled.is_ok(), "polling panicked");
}
