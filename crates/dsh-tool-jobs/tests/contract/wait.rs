//! Waiting for a job.

use std::time::Duration;

use dsh_tool_jobs::Config;
use dsh_tools::CallRequest;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, completed, sent};

fn short() -> Config {
    Config { wait_timeout_ms: 200, max_wait_timeout_ms: 1_000, ..Config::default() }
}

async fn timed(fixture: &Fixture, arguments: Value) -> (String, Duration) {
    let start = Instant::now();
    let outcome = fixture.call("job_output", arguments).await;
    (outcome.text(), start.elapsed())
}

// spec: timeout-jobs-hooks/J30, timeout-jobs-hooks/J41
#[tokio::test(start_paused = true)]
async fn a_wait_ends_with_the_job_and_its_owner_knows_then() {
    let fixture = Fixture::new().await;
    let work = fixture.stream();
    work.say("all of it");
    let wait = fixture.call("job_output", json!({ "job_id": "bash-1", "wait": true }));
    let end = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        fixture.end(work, completed("exit code: 0")).await;
    };
    let (outcome, ()) = tokio::join!(wait, end);
    assert_eq!(outcome.text(), "all of it\n[status: completed, exit code: 0]");
    assert_eq!(sent(&fixture.inbox), []);
}

// spec: timeout-jobs-hooks/J39, timeout-jobs-hooks/J41
#[tokio::test(start_paused = true)]
async fn a_wait_takes_as_long_as_is_asked_for_within_bounds_and_leaves_the_job_alone() {
    let fixture = Fixture::with(short()).await;
    let work = fixture.stream();
    for (timeout, expected) in [
        (json!(null), 200),
        (json!(50), 50),
        (json!(0.5), 1),
        (json!(999.0), 999),
        (json!(1_001), 1_000),
        (json!(1e300), 1_000),
    ] {
        work.say("so far");
        let mut arguments = json!({ "job_id": "bash-1", "wait": true });
        if !timeout.is_null() {
            arguments["timeout_ms"] = timeout;
        }
        let (text, took) = timed(&fixture, arguments).await;
        assert_eq!(text, "so far\n[status: running]");
        let expected = Duration::from_millis(expected);
        assert!(
            took >= expected / 2 && took <= expected + Duration::from_millis(1),
            "{took:?} for {expected:?}"
        );
    }
    assert_eq!(*work.cancels.lock(), []);
    fixture.end(work, completed("exit code: 0")).await;
    assert_eq!(sent(&fixture.inbox).len(), 1);
}

// spec: timeout-jobs-hooks/J39
#[tokio::test(start_paused = true)]
async fn without_a_request_a_wait_takes_half_a_minute_and_never_more_than_ten() {
    let fixture = Fixture::new().await;
    let _work = fixture.stream();
    let (_, took) = timed(&fixture, json!({ "job_id": "bash-1", "wait": true })).await;
    assert!(took >= Duration::from_secs(30) && took < Duration::from_secs(31), "{took:?}");
    let (_, took) = timed(&fixture, json!({ "job_id": "bash-1", "wait": true, "timeout_ms": 9e9 })).await;
    assert!(took >= Duration::from_secs(600) && took < Duration::from_secs(601), "{took:?}");
}

// spec: timeout-jobs-hooks/J39, timeout-jobs-hooks/J41
#[tokio::test(start_paused = true)]
async fn a_timeout_policy_lets_a_wait_take_as_long_as_it_is_granted_at_most() {
    for config in [short(), Config::default()] {
        let fixture = Fixture::with(config).await;
        let timeout = |tool| fixture.tools.get().unwrap().get(tool, None).unwrap().timeout();
        let longest = Duration::from_millis(config.max_wait_timeout_ms);
        // A timeout of its own counts before a policy's default, and this one is over after the wait.
        assert!(timeout("job_output").is_some_and(|timeout| timeout > longest));
        assert_eq!([timeout("job_list"), timeout("job_kill")], [None, None]);
    }
}

// spec: timeout-jobs-hooks/J41
#[tokio::test(start_paused = true)]
async fn without_wait_nobody_waits_whatever_the_timeout() {
    let fixture = Fixture::new().await;
    let _work = fixture.stream();
    for arguments in [
        json!({ "job_id": "bash-1" }),
        json!({ "job_id": "bash-1", "wait": false, "timeout_ms": -1 }),
        json!({ "job_id": "bash-1", "timeout_ms": 5_000 }),
    ] {
        let (text, took) = timed(&fixture, arguments).await;
        assert_eq!((text.as_str(), took), ("(no new output)\n[status: running]", Duration::ZERO));
    }
}

// spec: timeout-jobs-hooks/J30
#[tokio::test]
async fn a_timeout_that_is_none_is_refused_with_its_value() {
    let fixture = Fixture::new().await;
    let _work = fixture.stream();
    for (timeout, shown) in [(json!(0), "0"), (json!(-1), "-1"), (json!(-0.5), "-0.5")] {
        let arguments = json!({ "job_id": "bash-1", "wait": true, "timeout_ms": timeout });
        let outcome = fixture.call("job_output", arguments).await;
        let expected =
            format!("Error: invalid wait timeout: expected a positive number of milliseconds, got {shown}");
        assert_eq!(outcome.text(), expected);
    }
}

// spec: timeout-jobs-hooks/J30, timeout-jobs-hooks/J41
#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_waits_no_longer_and_the_job_goes_on() {
    let fixture = Fixture::new().await;
    let work = fixture.stream();
    let token = CancellationToken::new();
    let arguments = json!({ "job_id": "bash-1", "wait": true });
    let request =
        CallRequest::new("call_1", "job_output", arguments).agent(&fixture.ada).cancellation(&token);
    let start = Instant::now();
    let cancel = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        token.cancel();
    };
    let (outcome, ()) = tokio::join!(fixture.execute(request), cancel);
    assert_eq!((outcome.text().as_str(), outcome.code()), ("Error: wait aborted", None));
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    assert_eq!(*work.cancels.lock(), []);
    // Nobody has heard of its end, so its owner is told.
    fixture.end(work, completed("exit code: 0")).await;
    assert_eq!(sent(&fixture.inbox).len(), 1);
}
