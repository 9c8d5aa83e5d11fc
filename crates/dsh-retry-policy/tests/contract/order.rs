//! Beside a deadline: outside of it each run has its own, inside all runs share one.

use std::time::Duration;

use cordis::Next;
use dsh_tools::{EXECUTE, ErrorInfo, Failure, ToolCall, ToolError, ToolOutcome};
use serde_json::json;

use crate::fixture::{Fixture, exact, ms, reset};

fn timed_out() -> Failure {
    Failure::new("tool call timed out after 100ms")
        .coded(ErrorInfo::fixed("ToolTimeoutError", "TOOL_TIMEOUT"))
}

/// A deadline as the timeout policy sets one.
async fn deadline(
    limit: &Duration,
    call: &mut ToolCall,
    next: Next<'_, ToolCall, ToolOutcome>,
) -> ToolOutcome {
    let (mut limited, token) = call.limited();
    let mut run = next.run(&mut limited);
    tokio::select! {
        biased;
        outcome = &mut run => return outcome,
        () = tokio::time::sleep(*limit) => {}
    }
    token.cancel();
    run.await.into_failure(timed_out())
}

#[tokio::test(start_paused = true)]
async fn mounted_before_a_deadline_each_run_has_one_of_its_own() {
    let fixture = Fixture::new().await;
    fixture.app.on(EXECUTE).with(ms(100)).run(deadline).unwrap();
    let probe = fixture.probe(|number, run| async move {
        match number {
            1 => {
                run.cancellation().cancelled().await;
                Err(ToolError::aborted())
            }
            _ => {
                tokio::time::sleep(ms(90)).await;
                Ok(json!("in time"))
            }
        }
    });
    fixture.offer(probe.idempotent());
    assert_eq!(fixture.call().await, ToolOutcome::success("in time"));
    assert_eq!((fixture.runs_ms(), fixture.elapsed_ms()), (vec![0, 300], 390));
}

#[tokio::test(start_paused = true)]
async fn mounted_after_a_deadline_all_runs_share_it_and_it_ends_a_wait() {
    let fixture = Fixture::bare().await;
    fixture.app.on(EXECUTE).with(ms(100)).run(deadline).unwrap();
    fixture.mount(exact()).await;
    fixture.offer(fixture.flaky(1).idempotent());
    assert_eq!(fixture.call().await, ToolOutcome::failure(timed_out()));
    assert_eq!((fixture.runs_ms(), fixture.elapsed_ms()), (vec![0], 100));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_was_late_is_not_run_again_unless_its_tool_says_so() {
    let fixture = Fixture::new().await;
    fixture.app.on(EXECUTE).with(ms(100)).run(deadline).unwrap();
    fixture.offer(fixture.probe(|_number, run| async move {
        run.cancellation().cancelled().await;
        Err(ToolError::aborted())
    }));
    assert_eq!(fixture.call().await, ToolOutcome::failure(timed_out()));
    assert_eq!(fixture.runs_ms(), [0]);
}

#[tokio::test(start_paused = true)]
async fn mounted_twice_the_outer_one_runs_the_inner_ones_runs_again() {
    let fixture = Fixture::bare().await;
    fixture.mount(dsh_retry_policy::Config { max_retries: 1, ..exact() }).await;
    fixture.mount(dsh_retry_policy::Config { max_retries: 1, ..exact() }).await;
    fixture.offer(fixture.flaky(100).idempotent());
    assert_eq!(fixture.call().await, ToolOutcome::failure(reset(4)));
    assert_eq!(fixture.runs_ms(), [0, 200, 400, 600]);
}
