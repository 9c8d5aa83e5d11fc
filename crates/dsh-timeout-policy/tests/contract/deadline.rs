//! What a deadline does to a call, and what it leaves alone.

use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{Next, State};
use dsh_timeout_policy::TOOL_TIMEOUT;
use dsh_tools::{EXECUTE, ErrorInfo, POST_EXECUTE, PostDecision, Settled, ToolCall, ToolError, ToolOutcome};
use parking_lot::Mutex;
use serde_json::json;

use crate::fixture::{Fixture, ms, request, takes, timed, timed_out, tool, waits};

/// Where a call was when it passed: outside of the policy, and inside of it.
type Passed = Arc<Mutex<Vec<usize>>>;

async fn pass(passed: &Passed, call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>) -> ToolOutcome {
    passed.lock().push(std::ptr::from_ref(call).addr());
    next.run(call).await
}

async fn watched() -> (Fixture, Passed) {
    let (fixture, passed) = (Fixture::bare().await, Passed::default());
    fixture.app.on(EXECUTE).with(passed.clone()).run(pass).unwrap();
    fixture.mount(dsh_timeout_policy::Config::default()).await;
    fixture.app.on(EXECUTE).with(passed.clone()).run(pass).unwrap();
    (fixture, passed)
}

// spec: timeout-jobs-hooks/J2
#[tokio::test(start_paused = true)]
async fn a_call_of_a_tool_without_a_timeout_is_handed_on_as_it_is() {
    let (fixture, passed) = watched().await;
    fixture.offer(takes("slow", ms(3_600_000)));
    let (outcome, took) = timed(fixture.call("slow")).await;
    assert_eq!(outcome, ToolOutcome::success("done"));
    assert_eq!(took, ms(3_600_000));
    let passed = passed.lock();
    assert_eq!(passed.len(), 2);
    assert_eq!(passed[0], passed[1]);
}

// spec: timeout-jobs-hooks/J2
#[tokio::test(start_paused = true)]
async fn a_call_of_a_tool_that_nobody_offers_is_handed_on_as_it_is() {
    let (fixture, passed) = watched().await;
    assert_eq!(fixture.call("nothing").await.code(), Some("UNKNOWN_TOOL"));
    let passed = passed.lock();
    assert_eq!(passed.len(), 2);
    assert_eq!(passed[0], passed[1]);
}

// spec: timeout-jobs-hooks/J3
#[tokio::test(start_paused = true)]
async fn a_call_of_a_tool_with_a_timeout_goes_on_as_one_of_its_own() {
    let (fixture, passed) = watched().await;
    fixture.offer(takes("quick", ms(1)).timeout(ms(100)));
    assert_eq!(fixture.call("quick").await, ToolOutcome::success("done"));
    let passed = passed.lock();
    assert_eq!(passed.len(), 2);
    assert_ne!(passed[0], passed[1]);
}

// spec: timeout-jobs-hooks/J2
#[tokio::test(start_paused = true)]
async fn the_timeout_is_that_of_the_tool_that_the_caller_sees() {
    let fixture = Fixture::new().await;
    let scope = fixture.app.scope().unwrap();
    fixture.offer(waits("probe").timeout(ms(300)));
    fixture.tools.get().unwrap().register(scope.context(), waits("probe").timeout(ms(20))).unwrap();
    let of_scope = fixture.execute(request("probe").scope(scope.key())).await;
    assert_eq!(of_scope, ToolOutcome::failure(timed_out(20)));
    assert_eq!(fixture.call("probe").await, ToolOutcome::failure(timed_out(300)));
}

// spec: timeout-jobs-hooks/J3
#[tokio::test(start_paused = true)]
async fn the_body_is_told_at_the_deadline_and_not_before() {
    let fixture = Fixture::new().await;
    fixture.offer(waits("probe").timeout(ms(100)));
    let (outcome, took) = timed(fixture.call("probe")).await;
    assert_eq!(outcome, ToolOutcome::failure(timed_out(100)));
    assert_eq!(took, ms(100));
}

// spec: timeout-jobs-hooks/J3
#[tokio::test(start_paused = true)]
async fn whoever_comes_after_a_deadline_sees_a_call_that_is_not_cancelled() {
    let fixture = Fixture::bare().await;
    let seen: Arc<Mutex<Vec<(&str, bool)>>> = Arc::default();
    fixture
        .app
        .on(EXECUTE)
        .with(seen.clone())
        .run(async |seen: &Arc<Mutex<_>>, call: &mut ToolCall, next: Next<'_, _, _>| {
            let outcome = next.run(call).await;
            seen.lock().push(("outside", call.is_cancelled()));
            outcome
        })
        .unwrap();
    fixture.mount(dsh_timeout_policy::Config::default()).await;
    fixture
        .app
        .on(EXECUTE)
        .with(seen.clone())
        .run(async |seen: &Arc<Mutex<_>>, call: &mut ToolCall, next: Next<'_, _, _>| {
            let outcome = next.run(call).await;
            seen.lock().push(("inside", call.is_cancelled()));
            outcome
        })
        .unwrap();
    fixture
        .app
        .on(POST_EXECUTE)
        .with(seen.clone())
        .run(async |seen: &Arc<Mutex<_>>, settled: &mut Settled, _next: Next<'_, Settled, PostDecision>| {
            seen.lock().push(("after", settled.call().is_cancelled()));
            PostDecision::accept()
        })
        .unwrap();
    fixture.offer(waits("probe").timeout(ms(100)));
    let call = request("probe");
    assert_eq!(fixture.execute(call).await, ToolOutcome::failure(timed_out(100)));
    assert_eq!(*seen.lock(), [("inside", true), ("outside", false), ("after", false)]);
}

// spec: timeout-jobs-hooks/J3
#[tokio::test(start_paused = true)]
async fn a_listener_inside_that_panics_leaves_the_call_outside_as_it_was() {
    let fixture = Fixture::new().await;
    fixture
        .app
        .on(EXECUTE)
        .run(async |call: &mut ToolCall, _next: Next<'_, ToolCall, ToolOutcome>| {
            call.cancellation().cancelled().await;
            panic!("the listener burst")
        })
        .unwrap();
    fixture.offer(waits("probe").timeout(ms(100)));
    let call = request("probe");
    let caller = tokio_util::sync::CancellationToken::new();
    let (outcome, took) = timed(fixture.execute(call.cancellation(&caller))).await;
    assert!(outcome.as_failure().unwrap().message().contains("the listener burst"), "{outcome:?}");
    assert_eq!(took, ms(100));
    assert!(!caller.is_cancelled());
}

// spec: timeout-jobs-hooks/J5
#[tokio::test(start_paused = true)]
async fn a_late_value_does_not_count() {
    let fixture = Fixture::new().await;
    fixture.offer(takes("probe", ms(150)).timeout(ms(100)));
    let (outcome, took) = timed(fixture.call("probe")).await;
    assert_eq!(outcome, ToolOutcome::failure(timed_out(100)));
    assert_eq!(outcome.text(), "Error: tool call timed out after 100ms");
    assert_eq!(
        outcome.as_failure().unwrap().info(),
        Some(&ErrorInfo::fixed("ToolTimeoutError", "TOOL_TIMEOUT"))
    );
    assert_eq!(TOOL_TIMEOUT, ErrorInfo::fixed("ToolTimeoutError", "TOOL_TIMEOUT"));
    assert_eq!(took, ms(150));
}

// spec: timeout-jobs-hooks/J5
#[tokio::test(start_paused = true)]
async fn neither_does_a_late_error() {
    let fixture = Fixture::new().await;
    let probe = tool("probe", async |run| {
        run.cancellation().cancelled().await;
        Err(ToolError::new("the provider was aborted").coded(ErrorInfo::fixed("ProbeError", "PROBE")))
    });
    fixture.offer(probe.timeout(ms(100)));
    assert_eq!(fixture.call("probe").await, ToolOutcome::failure(timed_out(100)));
}

// spec: timeout-jobs-hooks/J5
#[tokio::test(start_paused = true)]
async fn what_the_body_had_written_stays_in_front_of_the_error() {
    let fixture = Fixture::new().await;
    for (name, does) in [("value", 0), ("error", 1), ("hang", 2)] {
        let body = tool(name, move |run| async move {
            run.write("one\n");
            tokio::time::sleep(ms(60)).await;
            run.write("two\n");
            run.cancellation().cancelled().await;
            run.write("and a bit");
            match does {
                0 => Ok(json!("late")),
                1 => Err(ToolError::aborted()),
                _ => std::future::pending().await,
            }
        });
        fixture.offer(body.timeout(ms(100)));
        let outcome = fixture.call(name).await;
        assert_eq!(
            outcome,
            ToolOutcome::failure(timed_out(100).with_output("one\ntwo\nand a bit")),
            "{name}"
        );
        assert_eq!(outcome.text(), "one\ntwo\nand a bit\nError: tool call timed out after 100ms");
    }
}

// spec: timeout-jobs-hooks/J7
#[tokio::test(start_paused = true)]
async fn a_body_that_ends_in_time_keeps_its_result() {
    let fixture = Fixture::new().await;
    fixture.offer(takes("in time", ms(99)).timeout(ms(100)));
    fixture.offer(takes("at once", ms(0)).timeout(ms(100)));
    fixture.offer(tool("fails", async |_run| Err(ToolError::new("no luck"))).timeout(ms(100)));
    assert_eq!(fixture.call("in time").await, ToolOutcome::success("done"));
    assert_eq!(fixture.call("at once").await, ToolOutcome::success("done"));
    assert_eq!(fixture.call("fails").await, ToolOutcome::failed("no luck"));
}

// spec: timeout-jobs-hooks/J7
#[tokio::test(start_paused = true)]
async fn a_deadline_that_was_met_cancels_nothing_later() {
    let fixture = Fixture::new().await;
    let kept: Arc<Mutex<Vec<tokio_util::sync::CancellationToken>>> = Arc::default();
    let keeps = kept.clone();
    let probe = tool("probe", move |run| {
        keeps.lock().push(run.cancellation().clone());
        async move {
            tokio::time::sleep(ms(10)).await;
            Ok(json!("done"))
        }
    });
    fixture.offer(probe.timeout(ms(100)));
    assert_eq!(fixture.call("probe").await, ToolOutcome::success("done"));
    tokio::time::sleep(ms(10_000)).await;
    assert!(!kept.lock()[0].is_cancelled());
}

// spec: timeout-jobs-hooks/J8
#[tokio::test(start_paused = true)]
async fn no_timeout_is_longer_than_a_timer_can_be() {
    let fixture = Fixture::new().await;
    fixture.offer(waits("probe").timeout(std::time::Duration::MAX));
    let (outcome, took) = timed(fixture.call("probe")).await;
    assert_eq!(outcome, ToolOutcome::failure(timed_out(2_147_483_647)));
    assert_eq!(took, ms(2_147_483_647));
}

// spec: timeout-jobs-hooks/J5
#[tokio::test(start_paused = true)]
async fn a_fraction_of_a_millisecond_is_said_too() {
    let fixture = Fixture::new().await;
    fixture.offer(waits("probe").timeout(std::time::Duration::from_micros(2_500)));
    let outcome = fixture.call("probe").await;
    assert_eq!(outcome.as_failure().unwrap().message(), "tool call timed out after 2.5ms");
}

// spec: timeout-jobs-hooks/J1
#[tokio::test(start_paused = true)]
async fn the_listener_goes_with_its_plugin() {
    let fixture = Fixture::bare().await;
    let policy = fixture.mount(dsh_timeout_policy::Config::default()).await;
    fixture.offer(takes("probe", ms(150)).timeout(ms(100)));
    assert_eq!(fixture.call("probe").await, ToolOutcome::failure(timed_out(100)));
    let disposed = policy.dispose().await;
    assert!(disposed.still_running.is_empty(), "{disposed:?}");
    assert_eq!(fixture.call("probe").await, ToolOutcome::success("done"));
}

// spec: timeout-jobs-hooks/J1
#[tokio::test(start_paused = true)]
async fn without_tools_the_policy_waits_for_them() {
    let app = TestApp::new();
    let policy = app.plugin(dsh_timeout_policy::plugin(), dsh_timeout_policy::Config::default()).unwrap();
    app.quiet().await;
    assert_eq!(policy.state(), State::Pending);
    app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap();
    app.quiet().await;
    assert_eq!(policy.state(), State::Active);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_takes_its_deadline_along() {
    let fixture = Fixture::new().await;
    let held = Arc::new(());
    let lent = held.clone();
    let probe = tool("probe", move |_run| {
        let lent = lent.clone();
        async move {
            let _lent = lent;
            std::future::pending().await
        }
    });
    fixture.offer(probe.timeout(ms(100)));
    assert!(tokio::time::timeout(ms(50), fixture.call("probe")).await.is_err());
    // This one and the tool's own: the body's is gone.
    assert_eq!(Arc::strong_count(&held), 2);
}
