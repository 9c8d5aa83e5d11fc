//! What `job_kill` does.

use dsh_jobs::{JobOutcome, TerminalStatus};
use serde_json::json;

use crate::fixture::{Cancel, Fixture, Start, completed, said, sent};

// spec: timeout-jobs-hooks/J29, timeout-jobs-hooks/J44
#[tokio::test]
async fn a_live_job_is_told_to_stop_with_the_reason() {
    let fixture = Fixture::new().await;
    let work = fixture.stream();
    let started = work.job.started_at;
    work.say("so far");
    let outcome = fixture.call("job_kill", json!({ "job_id": "bash-1", "reason": "no more" })).await;
    assert_eq!(outcome.text(), "cancellation was requested for job bash-1");
    let job = json!({
        "id": "bash-1", "kind": "bash", "label": "echo hi", "status": "stopping", "startedAt": started,
    });
    assert_eq!(outcome.value(), Some(&json!({ "outcome": "cancellation-requested", "job": job })));
    assert_eq!(*work.cancels.lock(), [Some("no more".to_owned())]);
    let read = fixture.call("job_output", json!({ "job_id": "bash-1" })).await;
    assert_eq!(read.text(), "so far\n[status: stopping]");
    let cancels = work.cancels.clone();
    fixture.call("job_kill", json!({ "job_id": "bash-1" })).await;
    assert_eq!(cancels.lock().last(), Some(&None));
}

// spec: timeout-jobs-hooks/J29, timeout-jobs-hooks/J44
#[tokio::test]
async fn of_a_job_that_had_ended_its_end_is_told_and_its_output_kept() {
    let fixture = Fixture::new().await;
    let work = fixture.stream();
    work.say("the last words");
    let cancels = work.cancels.clone();
    fixture.end(work, completed("exit code: 0")).await;
    let outcome = fixture.call("job_kill", json!({ "job_id": "bash-1" })).await;
    assert_eq!(
        outcome.text(),
        "nothing to cancel: job bash-1 had already finished [status: completed, exit code: 0]"
    );
    let value = outcome.value().unwrap();
    assert_eq!(
        (&value["outcome"], &value["job"]["status"]),
        (&json!("already-finished"), &json!("completed"))
    );
    assert_eq!(*cancels.lock(), []);
    let read = fixture.call("job_output", json!({ "job_id": "bash-1" })).await;
    assert_eq!(read.text(), "the last words\n[status: completed, exit code: 0]");
}

// spec: timeout-jobs-hooks/J29
#[tokio::test]
async fn a_job_that_does_not_take_the_wish_is_as_it_was() {
    let fixture = Fixture::new().await;
    let work = fixture.start(Start { cancel: Cancel::Fails, ..Start::of(&fixture.ada) });
    let outcome = fixture.call("job_kill", json!({ "job_id": "bash-1" })).await;
    assert!(outcome.is_error() && outcome.text().contains("it does not stop"), "{}", outcome.text());
    let read = fixture.call("job_output", json!({ "job_id": "bash-1" })).await;
    assert_eq!(read.text(), "(no new output)\n[status: running]");
    fixture.end(work, said("")).await;
    assert_eq!(sent(&fixture.inbox).len(), 1);
}

// spec: timeout-jobs-hooks/J53
#[tokio::test]
async fn of_the_end_of_a_job_that_was_told_to_stop_nobody_is_told() {
    let fixture = Fixture::new().await;
    let work = fixture.stream();
    fixture.call("job_kill", json!({ "job_id": "bash-1" })).await;
    let killed = JobOutcome { status: TerminalStatus::Killed, detail: None, output: None };
    fixture.end(work, killed).await;
    assert_eq!(sent(&fixture.inbox), []);
}
