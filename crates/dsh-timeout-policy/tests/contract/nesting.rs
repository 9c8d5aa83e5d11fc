//! Deadlines beside other wrappers, and deadlines in deadlines.

use std::sync::Arc;
use std::time::Duration;

use cordis::{Handle, Next};
use dsh_timeout_policy::Config;
use dsh_tools::{
    CallRequest, EXECUTE, ErrorInfo, Failure, ToolCall, ToolDefinition, ToolOutcome, ToolRuntime,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::fixture::{Fixture, GRACE, hangs, ms, takes, timed, timed_out, tool, waits};

type Seen = Arc<Mutex<Vec<(&'static str, Option<String>)>>>;

async fn note(
    (name, seen): &(&'static str, Seen),
    call: &mut ToolCall,
    next: Next<'_, ToolCall, ToolOutcome>,
) -> ToolOutcome {
    let outcome = next.run(call).await;
    seen.lock().push((*name, outcome.code().map(str::to_owned)));
    outcome
}

// spec: timeout-jobs-hooks/J9
#[tokio::test(start_paused = true)]
async fn what_was_mounted_before_sees_the_deadline_and_what_comes_after_sees_the_body() {
    let (fixture, seen) = (Fixture::bare().await, Seen::default());
    fixture.app.on(EXECUTE).with(("before", seen.clone())).run(note).unwrap();
    fixture.mount(Config::default()).await;
    fixture.app.on(EXECUTE).with(("after", seen.clone())).run(note).unwrap();
    fixture.offer(waits("probe").timeout(ms(100)));
    fixture.call("probe").await;
    let told = |name, code: &str| (name, Some(code.to_owned()));
    assert_eq!(*seen.lock(), [told("after", "ABORTED"), told("before", "TOOL_TIMEOUT")]);
}

// spec: timeout-jobs-hooks/J9
#[tokio::test(start_paused = true)]
async fn the_time_of_what_was_mounted_before_does_not_count_and_that_of_what_comes_after_does() {
    async fn slow(
        time: &Duration,
        call: &mut ToolCall,
        next: Next<'_, ToolCall, ToolOutcome>,
    ) -> ToolOutcome {
        tokio::time::sleep(*time).await;
        next.run(call).await
    }
    let fixture = Fixture::bare().await;
    fixture.app.on(EXECUTE).with(ms(500)).run(slow).unwrap();
    fixture.mount(Config::default()).await;
    fixture.offer(takes("probe", ms(60)).timeout(ms(100)));
    assert_eq!(timed(fixture.call("probe")).await, (ToolOutcome::success("done"), ms(560)));
    fixture.app.on(EXECUTE).with(ms(50)).run(slow).unwrap();
    assert_eq!(timed(fixture.call("probe")).await, (ToolOutcome::failure(timed_out(100)), ms(610)));
}

#[tokio::test(start_paused = true)]
async fn a_wrapper_inside_that_ends_without_a_body_is_late_too() {
    let fixture = Fixture::new().await;
    fixture
        .app
        .on(EXECUTE)
        .run(async |_call: &mut ToolCall, _next: Next<'_, ToolCall, ToolOutcome>| {
            tokio::time::sleep(ms(150)).await;
            ToolOutcome::success("from a cache")
        })
        .unwrap();
    fixture.offer(waits("probe").timeout(ms(100)));
    assert_eq!(fixture.call("probe").await, ToolOutcome::failure(timed_out(100)));
}

/// A deadline of another kind, as another policy would make one.
async fn other(limit: &Duration, call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>) -> ToolOutcome {
    let (mut limited, token) = call.limited();
    let run = next.run(&mut limited);
    tokio::pin!(run);
    tokio::select! {
        biased;
        outcome = &mut run => return outcome,
        () = tokio::time::sleep(*limit) => {}
    }
    if call.is_cancelled() {
        return run.await;
    }
    token.cancel();
    run.await.into_failure(other_failure())
}

fn other_failure() -> Failure {
    Failure::new("the budget is used up").coded(ErrorInfo::fixed("BudgetError", "BUDGET"))
}

// spec: timeout-jobs-hooks/J10
#[tokio::test(start_paused = true)]
async fn of_two_deadlines_the_one_that_passed_gives_the_code() {
    for inside in [false, true] {
        for (limit, timeout, expected, takes_ms) in
            [(50, 100, other_failure(), 50), (100, 50, timed_out(50), 50)]
        {
            let fixture = Fixture::bare().await;
            if !inside {
                fixture.app.on(EXECUTE).with(ms(limit)).run(other).unwrap();
            }
            fixture.mount(Config::default()).await;
            if inside {
                fixture.app.on(EXECUTE).with(ms(limit)).run(other).unwrap();
            }
            fixture.offer(waits("probe").timeout(ms(timeout)));
            let (outcome, took) = timed(fixture.call("probe")).await;
            assert_eq!(outcome, ToolOutcome::failure(expected), "inside: {inside}, limit: {limit}");
            assert_eq!(took, ms(takes_ms));
        }
    }
}

// spec: timeout-jobs-hooks/J10
#[tokio::test(start_paused = true)]
async fn an_outer_deadline_that_passes_while_the_inner_one_waits_for_the_body_has_the_last_word() {
    let fixture = Fixture::bare().await;
    fixture.app.on(EXECUTE).with(ms(100)).run(other).unwrap();
    fixture.mount(Config::default()).await;
    fixture.offer(hangs("probe").timeout(ms(50)));
    let (outcome, took) = timed(fixture.call("probe")).await;
    assert_eq!(outcome, ToolOutcome::failure(other_failure()));
    assert_eq!(took, ms(50) + GRACE);
}

/// A tool whose body calls another one and tells what came of it.
fn calls(name: &'static str, fixture: &Fixture, inner: &'static str) -> ToolDefinition {
    let (tools, ctx): (Handle<ToolRuntime>, _) =
        (fixture.tools.clone(), cordis::Context::clone(&fixture.app));
    tool(name, move |run| {
        let (tools, ctx) = (tools.clone(), ctx.clone());
        async move {
            let request = CallRequest::new("call_2", inner, "{}").cancellation(run.cancellation());
            let outcome = tools.get()?.execute_nested(&ctx, &run, request).await;
            run.write(format!("{inner}: {}", outcome.code().unwrap_or("success")));
            Ok(outcome.value().cloned().unwrap_or(Value::Null))
        }
    })
}

// spec: timeout-jobs-hooks/J10
#[tokio::test(start_paused = true)]
async fn a_call_that_a_body_makes_has_a_deadline_of_its_own() {
    let fixture = Fixture::new().await;
    fixture.offer(waits("inner").timeout(ms(50)));
    fixture.offer(calls("outer", &fixture, "inner").timeout(ms(100)));
    assert_eq!(timed(fixture.call("outer")).await, (ToolOutcome::success(json!(null)), ms(50)));
}

// spec: timeout-jobs-hooks/J10
#[tokio::test(start_paused = true)]
async fn the_deadline_of_a_body_reaches_the_calls_that_it_makes() {
    let fixture = Fixture::new().await;
    fixture.offer(waits("inner").timeout(ms(200)));
    fixture.offer(calls("outer", &fixture, "inner").timeout(ms(100)));
    let expected = ToolOutcome::failure(timed_out(100).with_output("inner: ABORTED"));
    assert_eq!(timed(fixture.call("outer")).await, (expected, ms(100)));
}
