//! Bodies that do not listen: they hold neither their calls nor anybody else.

use std::sync::{Arc, mpsc};

use dsh_tools::{BlockingThreads, CallRequest, ToolDefinition, ToolOutcome, ToolRun};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::fixture::{Fixture, GRACE, hangs, ms, timed, timed_out};

// spec: timeout-jobs-hooks/J4, tools/T110
#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_listen_is_let_go_after_the_grace_time() {
    let fixture = Fixture::new().await;
    fixture.offer(hangs("probe").timeout(ms(100)));
    assert_eq!(timed(fixture.call("probe")).await, (ToolOutcome::failure(timed_out(100)), ms(100) + GRACE));
}

// spec: timeout-jobs-hooks/J4
#[tokio::test(start_paused = true)]
async fn a_body_that_needs_some_of_the_grace_time_is_waited_for() {
    let fixture = Fixture::new().await;
    let (send, ended) = mpsc::channel();
    let probe = crate::fixture::tool("probe", move |run: ToolRun| {
        let send = send.clone();
        async move {
            run.cancellation().cancelled().await;
            tokio::time::sleep(ms(900)).await;
            send.send(())?;
            Ok(json!("late"))
        }
    });
    fixture.offer(probe.timeout(ms(100)));
    assert_eq!(timed(fixture.call("probe")).await, (ToolOutcome::failure(timed_out(100)), ms(1_000)));
    assert_eq!(ended.try_recv(), Ok(()));
}

/// Blocks until the test lets it go; writes first and tells the test that it has begun.
fn blocks(begun: mpsc::Sender<()>, release: &Arc<Mutex<mpsc::Receiver<()>>>) -> ToolDefinition {
    let (begun, release) = (Mutex::new(begun), release.clone());
    ToolDefinition::raw("blocks", "Blocks its thread.", json!({ "type": "object" })).run_blocking(
        move |_arguments: Arc<Value>, run: ToolRun| {
            run.write("begun");
            let _ = begun.lock().send(());
            // Ends when the test drops the sender.
            let _ = release.lock().recv();
            Ok(json!("late"))
        },
    )
}

// spec: timeout-jobs-hooks/J4, timeout-jobs-hooks/J5
#[tokio::test(start_paused = true)]
async fn a_hundred_bodies_at_once_that_block_hold_no_call_and_no_worker() {
    let fixture = Arc::new(Fixture::new().await);
    let ((begun, has_begun), (release, released)) = (mpsc::channel(), mpsc::channel());
    let released = Arc::new(Mutex::new(released));
    fixture.offer(blocks(begun, &released).timeout(ms(100)));
    fixture.offer(crate::fixture::tool("quick", async |_run| Ok(json!("done"))).timeout(ms(100)));

    let calls: Vec<_> = (0..100)
        .map(|call| {
            let (fixture, request) =
                (fixture.clone(), CallRequest::new(format!("call_{call}"), "blocks", "{}"));
            tokio::spawn(async move { fixture.execute(request).await })
        })
        .collect();
    // The clock stands while somebody is at work, so all of them have begun before the first deadline.
    let mut count = 0;
    while count < 100 {
        count += has_begun.try_iter().count();
        tokio::task::yield_now().await;
    }
    assert_eq!(fixture.call("quick").await, ToolOutcome::success("done"));

    let expected = ToolOutcome::failure(timed_out(100).with_output("begun"));
    for call in calls {
        assert_eq!(call.await.unwrap(), expected);
    }
    let threads = fixture.tools.get().unwrap().blocking_threads();
    assert_eq!(threads, BlockingThreads { threads: 100, idle: 0, waiting: 0 });
    assert_eq!(fixture.call("quick").await, ToolOutcome::success("done"));
    drop(release);
}

// spec: timeout-jobs-hooks/J4
#[tokio::test(start_paused = true)]
async fn a_thousand_bodies_at_once_that_hang_end_together() {
    let fixture = Arc::new(Fixture::new().await);
    fixture.offer(hangs("probe").timeout(ms(100)));
    let (outcomes, took) = timed(async {
        let calls: Vec<_> = (0..1_000)
            .map(|_| {
                let fixture = fixture.clone();
                tokio::spawn(async move { fixture.call("probe").await })
            })
            .collect();
        let mut outcomes = Vec::new();
        for call in calls {
            outcomes.push(call.await.unwrap());
        }
        outcomes
    })
    .await;
    assert!(outcomes.iter().all(|outcome| *outcome == ToolOutcome::failure(timed_out(100))));
    assert_eq!(took, ms(100) + GRACE);
}

// spec: timeout-jobs-hooks/J4
#[tokio::test(start_paused = true)]
async fn whoever_offers_a_blocking_body_names_it_while_it_runs_past_its_call() {
    let fixture = Fixture::new().await;
    let ((begun, has_begun), (release, released)) = (mpsc::channel(), mpsc::channel());
    let released = Arc::new(Mutex::new(released));
    fixture.offer(blocks(begun, &released).timeout(ms(100)));
    assert!(!fixture.app.inspect().to_string().contains("let go"));
    let expected = ToolOutcome::failure(timed_out(100).with_output("begun"));
    let call = fixture.call("blocks");
    tokio::pin!(call);
    tokio::select! {
        biased;
        _ = &mut call => panic!("it blocks"),
        () = async {
            while has_begun.try_recv().is_err() {
                tokio::task::yield_now().await;
            }
        } => {}
    }
    assert_eq!(call.await, expected);
    let tree = fixture.app.inspect().to_string();
    assert!(tree.contains("body of tool \"blocks\" (call_1), let go"), "{tree}");
    drop(release);
}
