//! Telling a job to stop.

use std::error::Error;

use dsh_jobs::{JobHooks, JobStatus, KillError, KillOutcome, KillRequest, TerminalStatus};

use crate::fixture::{Fixture, completed, outcome, request, stubborn_work, work};

// spec: timeout-jobs-hooks/J29
#[tokio::test(start_paused = true)]
async fn a_job_that_runs_is_told_to_stop_and_for_what_reason() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let (job, mut work) = fixture.start(Some(&agent));
    fixture.changed.take();
    let KillOutcome::Requested(stopping) = fixture.kill(&job, Some(&agent), Some("no longer needed")) else {
        panic!("it runs")
    };
    assert_eq!((stopping.status, stopping.reported), (JobStatus::Stopping, true));
    assert_eq!(fixture.get(&job, Some(&agent)), stopping);
    assert_eq!(work.cancels(), [Some("no longer needed".to_owned())]);
    assert_eq!(fixture.changed.take(), [Some(agent.clone())]);
    assert!(fixture.done.take().is_empty(), "it has not ended");
    work.end(outcome(TerminalStatus::Killed));
    let told = fixture.told().await;
    assert_eq!((told[0].status, told[0].reported), (JobStatus::Killed, true));
}

// spec: timeout-jobs-hooks/J29
#[tokio::test(start_paused = true)]
async fn a_job_that_has_ended_is_reported_and_keeps_its_output() {
    let fixture = Fixture::new().await;
    let (job, mut work) = fixture.start(None);
    work.say("the last words");
    work.end(completed());
    fixture.told().await;
    assert!(!fixture.get(&job, None).reported);
    let KillOutcome::AlreadyFinished(ended) = fixture.kill(&job, None, Some("late")) else {
        panic!("it has ended")
    };
    assert_eq!((ended.status, ended.reported), (JobStatus::Completed, true));
    assert_eq!(work.cancels(), []);
    assert_eq!(fixture.read(&job, None), "the last words");
    assert_eq!(fixture.kill(&job, None, None), KillOutcome::AlreadyFinished(ended));
}

// spec: timeout-jobs-hooks/J29, design/P4
#[tokio::test(start_paused = true)]
async fn a_job_that_does_not_take_the_wish_is_as_it_was() {
    let fixture = Fixture::new().await;
    let (run, mut work) = stubborn_work("no permission");
    let job = fixture.try_start(request(None, run)).unwrap();
    fixture.changed.take();
    let error = kill_error(&fixture);
    assert_eq!(error.to_string(), "job work-1 could not be told to stop");
    assert_eq!(error.source().unwrap().to_string(), "no permission");
    assert_eq!(fixture.get(&job, None), job);
    assert_eq!(fixture.changed.take(), []);
    work.end(completed());
    assert!(!fixture.told().await[0].reported);
}

fn kill_error(fixture: &Fixture) -> KillError {
    let request = KillRequest { id: "work-1", caller: None, reason: None };
    fixture.jobs.get().unwrap().kill(request).unwrap_err()
}

// spec: timeout-jobs-hooks/J29, design/P4
#[tokio::test(start_paused = true)]
async fn a_producer_that_panics_when_it_is_to_stop_fails_the_kill_and_nothing_else() {
    let fixture = Fixture::new().await;
    let (run, mut work) = work();
    let panics = Box::new(|| {
        let hooks = run()?;
        Ok(JobHooks { cancel: Box::new(|_| panic!("no signal left")), ..hooks })
    });
    let job = fixture.try_start(request(None, panics)).unwrap();
    let error = kill_error(&fixture);
    assert!(error.source().unwrap().to_string().contains("no signal left"), "{error:?}");
    assert_eq!(fixture.get(&job, None), job);
    work.end(completed());
    fixture.told().await;
}

// spec: timeout-jobs-hooks/J29
#[tokio::test(start_paused = true)]
async fn a_job_can_be_told_again() {
    let fixture = Fixture::new().await;
    let (job, work) = fixture.start(None);
    fixture.kill(&job, None, Some("first"));
    let KillOutcome::Requested(again) = fixture.kill(&job, None, Some("second")) else { panic!() };
    assert_eq!(again.status, JobStatus::Stopping);
    assert_eq!(work.cancels(), [Some("first".to_owned()), Some("second".to_owned())]);
}
