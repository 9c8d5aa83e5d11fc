//! Which calls are run again, how often, and when.

use cordis::Next;
use dsh_retry_policy::{Config, DEFAULT_CODES};
use dsh_tools::{EXECUTE, ErrorInfo, Failure, ToolCall, ToolError, ToolOutcome};

use crate::fixture::{Fixture, TRANSPORT, exact, request, reset, reset_error};

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_for_a_passing_reason_is_run_again_until_it_succeeds() {
    let fixture = Fixture::new().await;
    fixture.offer(fixture.flaky(2).idempotent());
    assert_eq!(fixture.call().await, ToolOutcome::success(3));
    assert_eq!(fixture.runs_ms(), [0, 200, 600]);
}

#[tokio::test(start_paused = true)]
async fn waits_double_up_to_their_bound_and_the_last_failure_stands() {
    let fixture = Fixture::bare().await;
    fixture.mount(Config { max_retries: 5, ..exact() }).await;
    fixture.offer(fixture.flaky(100).idempotent());
    assert_eq!(fixture.call().await, ToolOutcome::failure(reset(6)));
    assert_eq!(fixture.runs_ms(), [0, 200, 600, 1_400, 2_400, 3_400]);
    assert_eq!(fixture.elapsed_ms(), 3_400);
}

#[tokio::test(start_paused = true)]
async fn each_call_has_its_own_count() {
    let fixture = Fixture::new().await;
    fixture.offer(fixture.flaky(100).idempotent());
    assert_eq!(fixture.call().await, ToolOutcome::failure(reset(4)));
    assert_eq!(fixture.call().await, ToolOutcome::failure(reset(8)));
}

#[tokio::test(start_paused = true)]
async fn no_retries_means_one_run() {
    let fixture = Fixture::bare().await;
    fixture.mount(Config { max_retries: 0, ..exact() }).await;
    fixture.offer(fixture.flaky(1).idempotent());
    assert_eq!(fixture.call().await, ToolOutcome::failure(reset(1)));
    assert_eq!(fixture.runs_ms(), [0]);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_was_entered_is_not_run_again_unless_its_tool_says_so() {
    let fixture = Fixture::new().await;
    fixture.offer(fixture.flaky(1));
    assert_eq!(fixture.call().await, ToolOutcome::failure(reset(1)));
    assert_eq!((fixture.runs_ms(), fixture.elapsed_ms()), (vec![0], 0));
}

/// Fails the first calls that it sees before their bodies are entered.
async fn unready(
    times: &std::sync::atomic::AtomicU32,
    call: &mut ToolCall,
    next: Next<'_, ToolCall, ToolOutcome>,
) -> ToolOutcome {
    use std::sync::atomic::Ordering::Relaxed;
    match times.fetch_update(Relaxed, Relaxed, |times| times.checked_sub(1)) {
        Ok(_) => ToolOutcome::failure(Failure::new("not ready").coded(TRANSPORT)),
        Err(_) => next.run(call).await,
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_body_was_not_entered_is_run_again_for_any_tool() {
    let fixture = Fixture::new().await;
    fixture.app.on(EXECUTE).with(std::sync::atomic::AtomicU32::new(2)).run(unready).unwrap();
    fixture.offer(fixture.flaky(0));
    assert_eq!(fixture.call().await, ToolOutcome::success(1));
    assert_eq!(fixture.runs_ms(), [600]);
}

#[tokio::test(start_paused = true)]
async fn once_entered_a_body_is_not_run_again_whatever_came_before() {
    let fixture = Fixture::new().await;
    fixture.app.on(EXECUTE).with(std::sync::atomic::AtomicU32::new(1)).run(unready).unwrap();
    fixture.offer(fixture.flaky(1));
    assert_eq!(fixture.call().await, ToolOutcome::failure(reset(1)));
    assert_eq!(fixture.runs_ms(), [200]);
}

#[tokio::test(start_paused = true)]
async fn failures_that_do_not_pass_stand() {
    let fixture = Fixture::new().await;
    for info in [
        None,
        Some(ErrorInfo::INVALID_ARGS),
        Some(ErrorInfo::INVALID_TOOL_OUTPUT),
        Some(ErrorInfo::fixed("NetError", "AUTH")),
        Some(ErrorInfo::fixed("NetError", "TRANSPORT ")),
    ] {
        let (failure, given) = match info {
            None => (Failure::new("no"), ToolError::new("no")),
            Some(info) => (Failure::new("no").coded(info.clone()), ToolError::new("no").coded(info)),
        };
        let probe = fixture.probe(move |_number, _run| std::future::ready(Err(given.clone())));
        let offered = fixture.offer(probe.idempotent());
        assert_eq!(fixture.call().await, ToolOutcome::failure(failure));
        offered.dispose().await;
    }
    assert_eq!(fixture.runs_ms(), [0; 5]);
}

#[tokio::test(start_paused = true)]
async fn by_default_calls_that_were_late_and_connections_that_broke_pass() {
    assert_eq!(
        DEFAULT_CODES,
        ["TOOL_TIMEOUT", "TRANSPORT", "TIMEOUT", "RATE_LIMIT", "SERVER", "WEB_FETCH_TIMEOUT"]
    );
    for code in DEFAULT_CODES {
        let fixture = Fixture::new().await;
        let probe = fixture.probe(move |number, _run| async move {
            match number {
                1 => Err(ToolError::new("once").coded(ErrorInfo::fixed("Error", code))),
                number => Ok(number.into()),
            }
        });
        fixture.offer(probe.idempotent());
        assert_eq!(fixture.call().await, ToolOutcome::success(2), "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_codes_that_pass_are_those_that_are_configured() {
    let fixture = Fixture::bare().await;
    fixture.mount(Config { codes: vec!["BUSY".to_owned()], ..exact() }).await;
    let probe = fixture.probe(|number, _run| async move {
        match number {
            1 => Err(ToolError::new("busy").coded(ErrorInfo::fixed("LockError", "BUSY"))),
            number => Err(reset_error(number)),
        }
    });
    fixture.offer(probe.idempotent());
    assert_eq!(fixture.call().await, ToolOutcome::failure(reset(2)));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_succeeds_is_run_once_and_waits_for_nothing() {
    let fixture = Fixture::new().await;
    fixture.offer(fixture.flaky(0).idempotent());
    assert_eq!(fixture.execute(request()).await, ToolOutcome::success(1));
    assert_eq!((fixture.runs_ms(), fixture.elapsed_ms()), (vec![0], 0));
}

#[tokio::test(start_paused = true)]
async fn calls_that_failed_together_do_not_come_back_together() {
    let fixture = std::sync::Arc::new(Fixture::bare().await);
    let jitter = Config { max_retries: 1, base_delay_ms: 1_000, jitter: 0.5, ..Config::default() };
    fixture.mount(jitter).await;
    fixture.offer(fixture.flaky(50).idempotent());
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let fixture = fixture.clone();
            tokio::spawn(async move { fixture.call().await })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    let again: Vec<_> = fixture.runs_ms().split_off(50);
    assert_eq!(again.len(), 50);
    // A timer ends within the millisecond after its delay.
    assert!(again.iter().all(|ms| (500..=1_501).contains(ms)), "{again:?}");
    let different: std::collections::BTreeSet<_> = again.iter().collect();
    assert!(different.len() > 25, "{again:?}");
}
