//! Cancelling a call.

use std::time::Duration;

use cordis::Next;
use dsh_tools::{CallRequest, EXECUTE, ErrorInfo, PRE_EXECUTE, PreDecision, ToolCall, ToolOutcome};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Does, Fixture, Probe, request};

fn aborted() -> ToolOutcome {
    ToolOutcome::failed("tool call aborted", Some(ErrorInfo::ABORTED))
}

fn aborted_before_dispatch() -> ToolOutcome {
    ToolOutcome::failed("tool call aborted before dispatch", Some(ErrorInfo::ABORTED_BEFORE_DISPATCH))
}

fn cancelled_after(delay: Duration) -> CancellationToken {
    let token = CancellationToken::new();
    let later = token.clone();
    tokio::spawn(async move {
        tokio::time::sleep(delay).await;
        later.cancel();
    });
    token
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_it_begins_reaches_nobody() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(probe.clone()).await;
    fixture
        .app
        .on(PRE_EXECUTE)
        .run(async |_: &mut ToolCall, _next: Next<'_, ToolCall, PreDecision>| panic!("no policy is asked"))
        .unwrap();
    let call = request("probe", "{}");
    call.cancellation.cancel();
    assert_eq!(fixture.execute(call).await, aborted_before_dispatch());
    assert_eq!(probe.runs(), 0);
}

#[tokio::test]
async fn a_call_that_is_cancelled_while_policies_think_does_not_run() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(probe.clone()).await;
    let call = request("probe", "{}");
    fixture
        .app
        .on(PRE_EXECUTE)
        .with(call.cancellation.clone())
        .run(async |token: &CancellationToken, call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>| {
            token.cancel();
            next.run(call).await
        })
        .unwrap();
    assert_eq!(fixture.execute(call).await, aborted_before_dispatch());
    assert_eq!(probe.runs(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_body_is_told_and_a_late_success_does_not_count() {
    let probe = Probe::new(Does::Wait);
    let fixture = Fixture::with(probe.clone()).await;
    let cancellation = cancelled_after(Duration::from_millis(100));
    assert_eq!(fixture.execute(CallRequest { cancellation, ..request("probe", "{}") }).await, aborted());
    assert_eq!(probe.runs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_listen_is_let_go_after_the_grace_time() {
    let probe = Probe::new(Does::Hang);
    let fixture = Fixture::with(probe.clone()).await;
    let start = tokio::time::Instant::now();
    let cancellation = cancelled_after(Duration::from_millis(100));
    assert_eq!(fixture.execute(CallRequest { cancellation, ..request("probe", "{}") }).await, aborted());
    assert_eq!(start.elapsed(), Duration::from_millis(1_100));
}

#[tokio::test(start_paused = true)]
async fn a_wrapper_can_end_what_is_below_it_and_only_that() {
    let fixture = Fixture::with(Probe::new(Does::Wait)).await;
    fixture
        .app
        .on(EXECUTE)
        .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            let (mut limited, limit) = call.limited();
            tokio::time::timeout(Duration::from_millis(100), next.run(&mut limited)).await.unwrap_or_else(
                |_| {
                    limit.cancel();
                    ToolOutcome::failed("took too long", None)
                },
            )
        })
        .unwrap();
    let call = request("probe", "{}");
    let caller = call.cancellation.clone();
    assert_eq!(fixture.execute(call).await, ToolOutcome::failed("took too long", None));
    assert!(!caller.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_limit_has_ended_can_be_run_again_from_further_out() {
    let fixture = Fixture::with(Probe::new(Does::Wait)).await;
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    fixture
        .app
        .on(EXECUTE)
        .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            let _ = next.clone().run(call).await;
            assert!(!call.cancellation().is_cancelled());
            next.run(call).await
        })
        .unwrap();
    fixture
        .app
        .on(EXECUTE)
        .with(runs.clone())
        .run(async |runs, call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            let (mut limited, limit) = call.limited();
            let run = runs.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
            tokio::time::timeout(Duration::from_millis(100), next.run(&mut limited)).await.unwrap_or_else(
                |_| {
                    limit.cancel();
                    ToolOutcome::failed(format!("run {run} took too long"), None)
                },
            )
        })
        .unwrap();
    let outcome = fixture.execute(request("probe", "{}")).await;
    assert_eq!(outcome, ToolOutcome::failed("run 2 took too long", None));
}

#[tokio::test(start_paused = true)]
async fn the_callers_cancellation_reaches_the_body_through_a_limit() {
    let fixture = Fixture::with(Probe::new(Does::Wait)).await;
    fixture
        .app
        .on(EXECUTE)
        .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            let (mut limited, _limit) = call.limited();
            next.run(&mut limited).await
        })
        .unwrap();
    let cancellation = cancelled_after(Duration::from_millis(100));
    assert_eq!(fixture.execute(CallRequest { cancellation, ..request("probe", "{}") }).await, aborted());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_waits_for_any_more_stops() {
    let probe = Probe::new(Does::Hang);
    let held = std::sync::Arc::downgrade(&probe.held);
    let fixture = Fixture::new().await;
    let effect = fixture.tools.get().unwrap().register(&fixture.app, probe).unwrap();
    assert!(tokio::time::timeout(Duration::from_millis(100), fixture.call("probe", "{}")).await.is_err());
    effect.dispose().await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(held.upgrade().is_none(), "the body is dropped");
}
