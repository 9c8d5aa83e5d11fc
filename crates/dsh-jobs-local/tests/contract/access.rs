//! Who sees which jobs.

use std::time::Duration;

use dsh_agent::Agent;
use dsh_jobs::{JobError, KillError, KillRequest, WaitError};
use tokio_util::sync::CancellationToken;

use crate::fixture::Fixture;

/// What each way to a job gives for a caller.
async fn errors(fixture: &Fixture, id: &str, caller: Option<&Agent>) -> Vec<JobError> {
    let jobs = fixture.jobs.get().unwrap();
    let mut errors = vec![jobs.get(id, caller).unwrap_err(), jobs.read(id, caller).unwrap_err()];
    match jobs.kill(KillRequest { id, caller, reason: None }).unwrap_err() {
        KillError::Job(error) => errors.push(error),
        other => panic!("{other:?}"),
    }
    match jobs.wait(id, Duration::from_secs(1), caller, &CancellationToken::new()).await.unwrap_err() {
        WaitError::Job(error) => errors.push(error),
        other => panic!("{other:?}"),
    }
    errors
}

// spec: timeout-jobs-hooks/J27
#[tokio::test(start_paused = true)]
async fn a_job_of_another_session_is_fenced_off() {
    let fixture = Fixture::new().await;
    let (owner, stranger) = (fixture.agent("s-1"), fixture.agent("s-2"));
    let (job, work) = fixture.start(Some(&owner));
    for caller in [Some(&stranger), None] {
        for error in errors(&fixture, "work-1", caller).await {
            assert_eq!(error, JobError::Foreign { id: "work-1".into() });
            assert_eq!(error.to_string(), "job work-1 belongs to another session");
        }
    }
    assert_eq!(work.cancels(), []);
    assert!(!fixture.get(&job, Some(&owner)).reported);
}

// spec: timeout-jobs-hooks/J27
#[tokio::test(start_paused = true)]
async fn a_job_that_there_is_not_is_unknown() {
    let fixture = Fixture::new().await;
    fixture.start(None);
    for id in ["work-2", "", "  ", "WORK-1", "work-1 "] {
        for error in errors(&fixture, id, None).await {
            assert_eq!(error.to_string(), format!("unknown job {id}"));
        }
    }
}

// spec: timeout-jobs-hooks/J27
#[tokio::test(start_paused = true)]
async fn a_caller_sees_its_own_jobs_and_those_of_nobody_in_the_order_of_their_start() {
    let fixture = Fixture::new().await;
    let (one, other) = (fixture.agent("s-1"), fixture.agent("s-2"));
    let _works = [Some(&one), None, Some(&other), Some(&one), None].map(|owner| fixture.start(owner));
    assert_eq!(fixture.list(Some(&one)), ["work-1", "work-2", "work-4", "work-5"]);
    assert_eq!(fixture.list(Some(&other)), ["work-2", "work-3", "work-5"]);
    assert_eq!(fixture.list(None), ["work-2", "work-5"]);
}

// spec: timeout-jobs-hooks/J27
#[tokio::test(start_paused = true)]
async fn a_job_of_nobody_is_everybodys_to_stop() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let (job, work) = fixture.start(None);
    work.say("hello");
    assert_eq!(fixture.read(&job, Some(&agent)), "hello");
    fixture.kill(&job, Some(&agent), None);
    assert_eq!(work.cancels(), [None]);
}

// spec: timeout-jobs-hooks/J27
#[tokio::test(start_paused = true)]
async fn the_session_counts_and_not_the_instance() {
    let fixture = Fixture::new().await;
    let old = fixture.agent("s-1");
    let (job, _work) = fixture.start(Some(&old));
    let new = fixture.agent("s-1");
    assert_eq!(fixture.get(&job, Some(&new)), job);
    assert_eq!(fixture.list(Some(&new)), ["work-1"]);
}
