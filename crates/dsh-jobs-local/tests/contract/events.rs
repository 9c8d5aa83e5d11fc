//! When it is told that an owner's jobs have changed.

use std::sync::Arc;

use dsh_agent::Agent;
use dsh_jobs::{CHANGED, JobStatus, TerminalStatus};
use parking_lot::Mutex;

use crate::fixture::{Fixture, obedient_work, outcome, request, until};

/// Whose jobs have changed, and where the last of them stands.
type Seen = (Option<Agent>, JobStatus);

// spec: timeout-jobs-hooks/J33
#[tokio::test(start_paused = true)]
async fn a_change_is_told_when_a_job_is_there_stopping_and_over() {
    let fixture = Fixture::new().await;
    for owner in [Some(fixture.agent("s-1")), None] {
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (sink, jobs) = (seen.clone(), fixture.jobs.clone());
        let listener = fixture
            .app
            .on(CHANGED)
            .run(move |changed| {
                // The change is there already when it is told.
                let jobs = jobs.get().unwrap().list(changed.owner.as_ref());
                sink.lock().push((changed.owner.clone(), jobs.last().unwrap().status));
            })
            .unwrap();
        let (job, mut work) = fixture.start(owner.as_ref());
        fixture.kill(&job, owner.as_ref(), None);
        work.end(outcome(TerminalStatus::Killed));
        fixture.told().await;
        let expected = [JobStatus::Running, JobStatus::Stopping, JobStatus::Killed];
        assert_eq!(*seen.lock(), expected.map(|status| (owner.clone(), status)));
        listener.dispose().await;
    }
}

// spec: timeout-jobs-hooks/J33
#[tokio::test(start_paused = true)]
async fn reading_and_waiting_change_nothing_that_is_told() {
    let fixture = Fixture::new().await;
    let (job, work) = fixture.start(None);
    fixture.changed.take();
    work.say("text");
    fixture.read(&job, None);
    let token = tokio_util::sync::CancellationToken::new();
    fixture.wait(&job, std::time::Duration::from_millis(1), None, &token).await.unwrap();
    assert_eq!(fixture.changed.take(), []);
}

// spec: timeout-jobs-hooks/J33, design/P4
#[tokio::test(start_paused = true)]
async fn a_listener_that_panics_keeps_nobody_from_hearing_of_a_change() {
    let fixture = Fixture::new().await;
    fixture.app.on(CHANGED).prepend().run(|_| panic!("the listener burst")).unwrap();
    let (_job, _work) = fixture.start(None);
    assert_eq!(fixture.changed.take(), [None]);
    until(|| !fixture.app.take_errors().is_empty()).await;
}

// spec: timeout-jobs-hooks/J33
#[tokio::test(start_paused = true)]
async fn a_change_is_told_along_the_scopes_of_its_owner() {
    let fixture = Fixture::new().await;
    let (one, other) = (fixture.agent("s-1"), fixture.agent("s-2"));
    let heard: Arc<Mutex<Vec<&str>>> = Arc::default();
    for (name, ctx) in [("one", one.context()), ("other", other.context())] {
        let heard = heard.clone();
        ctx.on(CHANGED).run(move |_| heard.lock().push(name)).unwrap();
    }
    let _works = [Some(&one), None, Some(&other)].map(|owner| fixture.start(owner));
    assert_eq!(*heard.lock(), ["one", "other"]);
}

// spec: timeout-jobs-hooks/J33, timeout-jobs-hooks/J34
#[tokio::test(start_paused = true)]
async fn the_removal_of_an_owners_jobs_is_told_last_and_only_if_there_are_any() {
    let fixture = Fixture::new().await;
    let (busy, idle) = (fixture.agent("s-1"), fixture.agent("s-2"));
    let (run, _work) = obedient_work();
    fixture.try_start(request(Some(&busy), run)).unwrap();
    fixture.changed.take();
    let counts: Arc<Mutex<Vec<usize>>> = Arc::default();
    let (sink, jobs) = (counts.clone(), fixture.jobs.clone());
    fixture
        .app
        .on(CHANGED)
        .run(move |changed| sink.lock().push(jobs.get().unwrap().list(changed.owner.as_ref()).len()))
        .unwrap();
    busy.context().fiber().dispose().await;
    // Stopping, over, removed.
    assert_eq!(*counts.lock(), [1, 1, 0]);
    fixture.changed.take();
    idle.context().fiber().dispose().await;
    assert_eq!(fixture.changed.take(), []);
}
