//! Waiting for the end of a job.

use std::time::Duration;

use dsh_jobs::{JobSnapshot, JobStatus, WaitError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, completed, is_pending, until};

const MINUTE: Duration = Duration::from_secs(60);

// spec: timeout-jobs-hooks/J30, timeout-jobs-hooks/J31
#[tokio::test(start_paused = true)]
async fn all_who_wait_are_told_of_the_end_which_is_reported_by_that() {
    let fixture = Fixture::new().await;
    let (job, mut work) = fixture.start(None);
    let token = CancellationToken::new();
    let wait = || fixture.wait(&job, MINUTE, None, &token);
    let (first, second, ()) = tokio::join!(wait(), wait(), async {
        tokio::task::yield_now().await;
        work.end(completed());
    });
    let first: JobSnapshot = first.unwrap();
    assert_eq!((first.status, first.reported), (JobStatus::Completed, true));
    assert_eq!(second.unwrap(), first);
    assert_eq!(fixture.told().await, [first]);
}

// spec: timeout-jobs-hooks/J30
#[tokio::test(start_paused = true)]
async fn when_the_time_is_over_the_job_is_given_as_it_is() {
    let fixture = Fixture::new().await;
    let (job, mut work) = fixture.start(None);
    let (token, began) = (CancellationToken::new(), Instant::now());
    assert_eq!(fixture.wait(&job, Duration::from_millis(1_500), None, &token).await, Ok(job.clone()));
    assert_eq!(began.elapsed(), Duration::from_millis(1_500));
    work.end(completed());
    assert!(!fixture.told().await[0].reported, "nobody waits any more");
}

// spec: timeout-jobs-hooks/J30
#[tokio::test(start_paused = true)]
async fn a_job_that_has_ended_is_not_waited_for_and_is_reported() {
    let fixture = Fixture::new().await;
    let (job, mut work) = fixture.start(None);
    work.end(completed());
    fixture.told().await;
    let token = CancellationToken::new();
    token.cancel();
    // Cancelled or not.
    let ended = fixture.wait(&job, MINUTE, None, &token).await.unwrap();
    assert_eq!((ended.status, ended.reported), (JobStatus::Completed, true));
    assert!(fixture.get(&job, None).reported);
}

// spec: timeout-jobs-hooks/J30
#[tokio::test(start_paused = true)]
async fn the_time_is_more_than_none() {
    let fixture = Fixture::new().await;
    let (job, mut work) = fixture.start(None);
    let token = CancellationToken::new();
    let refused = fixture.wait(&job, Duration::ZERO, None, &token).await.unwrap_err();
    assert_eq!(refused, WaitError::Time { given_ms: 0 });
    assert!(refused.to_string().contains("wait timeout") && refused.to_string().ends_with("got 0"));
    work.end(completed());
    fixture.told().await;
    // Also of a job that has ended.
    assert_eq!(fixture.wait(&job, Duration::ZERO, None, &token).await, Err(refused));
    assert!(!fixture.get(&job, None).reported);
}

// spec: timeout-jobs-hooks/J30
#[tokio::test(start_paused = true)]
async fn the_longest_time_there_is_can_be_waited() {
    let fixture = Fixture::new().await;
    let (job, mut work) = fixture.start(None);
    let token = CancellationToken::new();
    let (ended, ()) = tokio::join!(fixture.wait(&job, Duration::MAX, None, &token), async {
        tokio::time::sleep(MINUTE).await;
        work.end(completed());
    });
    assert_eq!(ended.unwrap().status, JobStatus::Completed);
}

// spec: timeout-jobs-hooks/J30
#[tokio::test(start_paused = true)]
async fn a_wait_that_is_cancelled_leaves_the_job_alone() {
    let fixture = Fixture::new().await;
    let (job, mut work) = fixture.start(None);
    let token = CancellationToken::new();
    let (waited, ()) = tokio::join!(fixture.wait(&job, MINUTE, None, &token), async { token.cancel() });
    let error = waited.unwrap_err();
    assert_eq!(error, WaitError::Aborted);
    assert_eq!(error.to_string(), "wait aborted");
    assert_eq!(fixture.wait(&job, MINUTE, None, &token).await, Err(WaitError::Aborted));
    assert_eq!(fixture.get(&job, None), job);
    assert_eq!(work.cancels(), []);
    work.end(completed());
    assert!(!fixture.told().await[0].reported);
}

// spec: timeout-jobs-hooks/J30
#[tokio::test(start_paused = true)]
async fn a_wait_that_is_cancelled_just_before_the_end_does_not_swallow_it() {
    let fixture = Fixture::new().await;
    let (job, mut work) = fixture.start(None);
    let (token, jobs) = (CancellationToken::new(), fixture.jobs.get().unwrap());
    let mut wait = jobs.wait(job.id.as_str(), MINUTE, None, &token);
    assert!(is_pending(&mut wait).await);
    token.cancel();
    work.end(completed());
    // The wait is not polled before the end is told.
    assert!(!fixture.told().await[0].reported);
    assert_eq!(wait.await, Err(WaitError::Aborted));
    assert!(!fixture.get(&job, None).reported);
}

// spec: timeout-jobs-hooks/J30
#[tokio::test(start_paused = true)]
async fn a_wait_that_is_cancelled_after_the_end_still_gives_it() {
    let fixture = Fixture::new().await;
    let (job, mut work) = fixture.start(None);
    let (token, jobs) = (CancellationToken::new(), fixture.jobs.get().unwrap());
    let mut wait = jobs.wait(job.id.as_str(), MINUTE, None, &token);
    assert!(is_pending(&mut wait).await);
    work.end(completed());
    until(|| fixture.get(&job, None).status.is_terminal()).await;
    token.cancel();
    let ended = wait.await.unwrap();
    assert_eq!((ended.status, ended.reported), (JobStatus::Completed, true));
    assert!(fixture.told().await[0].reported);
}

// spec: timeout-jobs-hooks/J30
#[tokio::test(start_paused = true)]
async fn a_wait_that_is_dropped_with_the_end_on_its_way_does_not_swallow_it() {
    let fixture = Fixture::new().await;
    let (job, mut work) = fixture.start(None);
    let (token, jobs) = (CancellationToken::new(), fixture.jobs.get().unwrap());
    let mut wait = jobs.wait(job.id.as_str(), MINUTE, None, &token);
    assert!(is_pending(&mut wait).await);
    work.end(completed());
    until(|| fixture.get(&job, None).status.is_terminal()).await;
    drop(wait);
    assert!(!fixture.told().await[0].reported);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_nobody_polls_does_not_hold_the_end_up_for_long() {
    let fixture = Fixture::new().await;
    let (job, mut work) = fixture.start(None);
    let (token, jobs) = (CancellationToken::new(), fixture.jobs.get().unwrap());
    let mut wait = jobs.wait(job.id.as_str(), MINUTE, None, &token);
    assert!(is_pending(&mut wait).await);
    work.end(completed());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!fixture.done.take()[0].job.reported);
    assert!(wait.await.unwrap().reported);
}
