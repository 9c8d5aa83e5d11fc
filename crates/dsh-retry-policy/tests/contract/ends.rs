//! What ends a wait.

use std::sync::Arc;

use dsh_retry_policy::Config;
use dsh_tools::{RESULT, ToolOutcome};

use crate::fixture::{Fixture, cancelled_after, exact, ms, request, reset};

fn slow() -> Config {
    Config { base_delay_ms: 5_000, max_delay_ms: 5_000, ..exact() }
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_cancels_waits_no_longer_and_the_failure_stands() {
    let fixture = Fixture::bare().await;
    fixture.mount(slow()).await;
    fixture.offer(fixture.flaky(1).idempotent());
    let call = request().cancellation(&cancelled_after(ms(100)));
    assert_eq!(fixture.execute(call).await, ToolOutcome::failure(reset(1)));
    assert_eq!((fixture.runs_ms(), fixture.elapsed_ms()), (vec![0], 100));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_cancelled_while_it_ran_is_not_run_again() {
    let fixture = Fixture::new().await;
    let probe = fixture.probe(|number, run| async move {
        run.cancellation().cancelled().await;
        Err(crate::fixture::reset_error(number))
    });
    fixture.offer(probe.idempotent());
    let call = request().cancellation(&cancelled_after(ms(100)));
    assert_eq!(fixture.execute(call).await, ToolOutcome::failure(reset(1)));
    assert_eq!((fixture.runs_ms(), fixture.elapsed_ms()), (vec![0], 100));
}

#[tokio::test(start_paused = true)]
async fn unloading_the_policy_ends_its_waits() {
    let fixture = Arc::new(Fixture::bare().await);
    let policy = fixture.mount(slow()).await;
    fixture.offer(fixture.flaky(1).idempotent());
    let calling = fixture.clone();
    let call = tokio::spawn(async move { calling.call().await });
    tokio::time::sleep(ms(100)).await;
    assert!(!call.is_finished());
    let disposed = policy.dispose().await;
    assert!(disposed.still_running.is_empty(), "{disposed:?}");
    assert_eq!(call.await.unwrap(), ToolOutcome::failure(reset(1)));
    assert_eq!((fixture.runs_ms(), fixture.elapsed_ms()), (vec![0], 100));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_gone_after_the_wait_is_not_run_again() {
    let fixture = Arc::new(Fixture::new().await);
    let offered = fixture.offer(fixture.flaky(1).idempotent());
    let calling = fixture.clone();
    let call = tokio::spawn(async move { calling.call().await });
    tokio::time::sleep(ms(100)).await;
    offered.dispose().await;
    assert_eq!(call.await.unwrap(), ToolOutcome::failure(reset(1)));
}

#[tokio::test(start_paused = true)]
async fn a_tool_of_the_same_name_that_came_meanwhile_is_run_only_if_it_says_so_too() {
    for (idempotent, expected) in [(true, ToolOutcome::success(2)), (false, ToolOutcome::failure(reset(1)))] {
        let fixture = Arc::new(Fixture::new().await);
        let offered = fixture.offer(fixture.flaky(1).idempotent());
        let calling = fixture.clone();
        let call = tokio::spawn(async move { calling.call().await });
        tokio::time::sleep(ms(100)).await;
        offered.dispose().await;
        let other = fixture.flaky(1);
        fixture.offer(if idempotent { other.idempotent() } else { other });
        assert_eq!(call.await.unwrap(), expected);
    }
}

// spec: cases/D8
#[tokio::test(start_paused = true)]
async fn the_result_is_told_once_however_often_the_body_ran() {
    let fixture = Fixture::new().await;
    let results =
        cordis::testing::Recorder::of(&fixture.app, RESULT, |settled| settled.outcome().clone()).unwrap();
    fixture.offer(fixture.flaky(2).idempotent());
    fixture.call().await;
    assert_eq!(results.take(), [ToolOutcome::success(3)]);
}
