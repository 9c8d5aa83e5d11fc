//! Caller and deadline: the first reason counts.

use cordis::Next;
use dsh_timeout_policy::Config;
use dsh_tools::{EXECUTE, ToolCall, ToolError, ToolOutcome};

use crate::fixture::{
    Fixture, GRACE, aborted, cancelled_after, hangs, ms, request, takes, timed, timed_out, tool, waits,
};

// spec: timeout-jobs-hooks/J6, tools/T112
#[tokio::test(start_paused = true)]
async fn a_caller_who_cancels_first_gets_an_aborted_call() {
    let fixture = Fixture::new().await;
    fixture.offer(waits("probe").timeout(ms(100)));
    let call = request("probe").cancellation(&cancelled_after(ms(50)));
    assert_eq!(timed(fixture.execute(call)).await, (aborted(), ms(50)));
}

// spec: timeout-jobs-hooks/J6
#[tokio::test(start_paused = true)]
async fn a_deadline_that_passes_while_an_aborted_body_ends_changes_nothing() {
    let fixture = Fixture::new().await;
    fixture.offer(takes("probe", ms(150)).timeout(ms(100)));
    let call = request("probe").cancellation(&cancelled_after(ms(50)));
    assert_eq!(timed(fixture.execute(call)).await, (aborted(), ms(150)));
}

// spec: timeout-jobs-hooks/J6
#[tokio::test(start_paused = true)]
async fn an_error_of_a_body_that_its_caller_aborted_stays_although_the_deadline_passed() {
    let fixture = Fixture::new().await;
    let probe = tool("probe", async |_run| {
        tokio::time::sleep(ms(150)).await;
        Err(ToolError::new("no luck"))
    });
    fixture.offer(probe.timeout(ms(100)));
    let call = request("probe").cancellation(&cancelled_after(ms(50)));
    assert_eq!(fixture.execute(call).await, ToolOutcome::failed("no luck"));
}

// spec: timeout-jobs-hooks/J6
#[tokio::test(start_paused = true)]
async fn a_caller_who_cancels_after_the_deadline_reads_of_the_deadline() {
    let fixture = Fixture::new().await;
    fixture.offer(takes("probe", ms(150)).timeout(ms(100)));
    let call = request("probe").cancellation(&cancelled_after(ms(120)));
    assert_eq!(timed(fixture.execute(call)).await, (ToolOutcome::failure(timed_out(100)), ms(150)));
}

// spec: timeout-jobs-hooks/J6
#[tokio::test(start_paused = true)]
async fn a_body_that_is_let_go_is_told_of_by_whoever_cancelled_first() {
    let fixture = Fixture::new().await;
    fixture.offer(hangs("probe").timeout(ms(100)));
    let call = request("probe").cancellation(&cancelled_after(ms(150)));
    assert_eq!(timed(fixture.execute(call)).await, (ToolOutcome::failure(timed_out(100)), ms(100) + GRACE));
    let call = request("probe").cancellation(&cancelled_after(ms(50)));
    let (outcome, took) = timed(fixture.execute(call)).await;
    assert_eq!((outcome.code(), took), (Some("ABORTED"), ms(50) + GRACE));
}

// spec: tools/T111
#[tokio::test(start_paused = true)]
async fn a_call_that_a_listener_outside_has_cancelled_already_is_not_late() {
    let fixture = Fixture::bare().await;
    fixture
        .app
        .on(EXECUTE)
        .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            let (mut limited, limit) = call.limited();
            limit.cancel();
            next.run(&mut limited).await
        })
        .unwrap();
    fixture.mount(Config::default()).await;
    fixture.offer(waits("probe").timeout(ms(100)));
    assert_eq!(fixture.call("probe").await, ToolOutcome::aborted_before_dispatch());
}

// spec: timeout-jobs-hooks/J6, tools/T112
#[tokio::test(start_paused = true)]
async fn a_listener_outside_that_cancels_first_keeps_its_reason() {
    let fixture = Fixture::bare().await;
    fixture
        .app
        .on(EXECUTE)
        .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            let (mut limited, limit) = call.limited();
            tokio::spawn(async move {
                tokio::time::sleep(ms(50)).await;
                limit.cancel();
            });
            next.run(&mut limited).await
        })
        .unwrap();
    fixture.mount(Config::default()).await;
    fixture.offer(takes("probe", ms(150)).timeout(ms(100)));
    assert_eq!(timed(fixture.call("probe")).await, (aborted(), ms(150)));
}
