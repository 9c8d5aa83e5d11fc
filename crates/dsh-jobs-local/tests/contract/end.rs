//! How jobs end by themselves, and what is told of it.

use std::sync::Arc;

use dsh_jobs::{CHANGED, DONE, JobHooks, JobOutcome, JobStatus, TerminalStatus};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, completed, is_pending, request, until, work};

// spec: timeout-jobs-hooks/J21, timeout-jobs-hooks/J22, timeout-jobs-hooks/J31
#[tokio::test(start_paused = true)]
async fn an_end_is_recorded_with_its_detail_and_its_time() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    for (status, detail) in [
        (TerminalStatus::Completed, Some("exit code: 0")),
        (TerminalStatus::Killed, Some("signal: SIGKILL")),
        (TerminalStatus::Failed, None),
    ] {
        let (job, mut work) = fixture.start(Some(&agent));
        let detail = detail.map(str::to_owned);
        work.end(JobOutcome { status, detail: detail.clone(), output: None });
        let told = fixture.told().await;
        assert_eq!((told[0].status, &told[0].detail), (status.into(), &detail));
        assert!(told[0].finished_at.unwrap() >= told[0].started_at);
        assert_eq!(fixture.get(&job, Some(&agent)), told[0]);
    }
    fixture.app.assert_no_errors();
}

// spec: timeout-jobs-hooks/J31
#[tokio::test(start_paused = true)]
async fn an_end_that_is_an_error_is_a_failure() {
    let fixture = Fixture::new().await;
    let (_job, mut work) = fixture.start(None);
    work.settle(Err("the pipe burst".into()));
    let told = fixture.told().await;
    assert_eq!((told[0].status, told[0].detail.as_deref()), (JobStatus::Failed, Some("the pipe burst")));
}

/// An error that panics when it is shown.
#[derive(Debug)]
struct Mute;

impl std::fmt::Display for Mute {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("no words")
    }
}

impl std::error::Error for Mute {}

// spec: timeout-jobs-hooks/J31, design/P4
#[tokio::test(start_paused = true)]
async fn an_end_whose_error_panics_when_it_is_shown_is_a_failure_all_the_same() {
    let fixture = Fixture::with_limit(1).await;
    let (_job, mut work) = fixture.start(None);
    work.settle(Err(Box::new(Mute)));
    let told = fixture.told().await;
    let detail = told[0].detail.as_deref().unwrap();
    assert!(told[0].status == JobStatus::Failed && detail.contains("no words"), "{told:?}");
    fixture.start(None);
}

// spec: timeout-jobs-hooks/J31, design/P4
#[tokio::test(start_paused = true)]
async fn an_end_that_panics_is_a_failure_of_the_job_alone() {
    let fixture = Fixture::new().await;
    let (other, _work) = fixture.start(None);
    let hooks = JobHooks {
        cancel: Box::new(|_| Ok(())),
        done: Box::pin(async { panic!("the waiting burst") }),
        read_output: None,
    };
    fixture.try_start(request(None, Box::new(move || Ok(hooks)))).unwrap();
    let told = fixture.told().await;
    assert_eq!((told[0].id.as_str(), told[0].status), ("work-2", JobStatus::Failed));
    assert_eq!(told[0].detail.as_deref(), Some("panicked: the waiting burst"));
    assert_eq!(fixture.get(&other, None).status, JobStatus::Running);
}

// spec: timeout-jobs-hooks/J31, timeout-jobs-hooks/J32
#[tokio::test(start_paused = true)]
async fn first_those_who_wait_are_told_then_of_the_change_then_of_the_end() {
    let fixture = Fixture::new().await;
    let (job, mut work) = fixture.start(None);
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let (jobs, changes) = (fixture.jobs.clone(), log.clone());
    fixture
        .app
        .on(CHANGED)
        .run(move |_| {
            let job = jobs.get().unwrap().get("work-1", None).unwrap();
            changes.lock().push(format!("changed: {} reported: {}", job.status.as_str(), job.reported));
        })
        .unwrap();
    let ends = log.clone();
    fixture
        .app
        .on(DONE)
        .run(move |done| ends.lock().push(format!("done: reported: {}", done.job.reported)))
        .unwrap();
    let (token, jobs) = (CancellationToken::new(), fixture.jobs.get().unwrap());
    let mut wait = jobs.wait(job.id.as_str(), std::time::Duration::MAX, None, &token);
    assert!(is_pending(&mut wait).await);
    work.end(completed());
    wait.await.unwrap();
    fixture.told().await;
    assert_eq!(*log.lock(), ["changed: completed reported: true", "done: reported: true"]);
}

// spec: timeout-jobs-hooks/J32, design/P4
#[tokio::test(start_paused = true)]
async fn the_end_is_told_once_to_everybody_whatever_one_of_them_does() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let heard: Arc<Mutex<Vec<(&str, String)>>> = Arc::default();
    fixture.app.on(DONE).run(|_| panic!("the listener burst")).unwrap();
    let late = heard.clone();
    fixture.app.on(DONE).run(move |done| late.lock().push(("late", done.job.id.to_string()))).unwrap();
    let (_job, mut work) = fixture.start(Some(&agent));
    work.end(completed());
    until(|| !heard.lock().is_empty()).await;
    fixture.app.quiet().await;
    assert_eq!(*heard.lock(), [("late", "work-1".to_owned())]);
    let done = fixture.done.take();
    assert_eq!(done.len(), 1);
    assert_eq!(done[0].owner.as_ref(), Some(&agent));
    let errors = fixture.app.take_errors();
    assert_eq!(errors.len(), 1, "{errors:#?}");
}

// spec: timeout-jobs-hooks/J32
#[tokio::test(start_paused = true)]
async fn the_end_is_told_along_the_scopes_of_its_owner() {
    let fixture = Fixture::new().await;
    let (one, other) = (fixture.agent("s-1"), fixture.agent("s-2"));
    let heard: Arc<Mutex<Vec<(&str, String)>>> = Arc::default();
    for (name, ctx) in [("app", &**fixture.app), ("one", one.context()), ("other", other.context())] {
        let heard = heard.clone();
        ctx.on(DONE).run(move |done| heard.lock().push((name, done.job.id.to_string()))).unwrap();
    }
    for owner in [Some(&one), None] {
        let (_job, mut work) = fixture.start(owner);
        work.end(completed());
        fixture.told().await;
    }
    let expected = [("app", "work-1"), ("one", "work-1"), ("app", "work-2")];
    assert_eq!(*heard.lock(), expected.map(|(name, id)| (name, id.to_owned())));
}

// spec: timeout-jobs-hooks/J32
#[tokio::test(start_paused = true)]
async fn a_listener_goes_with_its_plugin() {
    let fixture = Fixture::new().await;
    let plugin = fixture.producer(&fixture.app).await;
    let heard: Arc<Mutex<usize>> = Arc::default();
    let count = heard.clone();
    plugin.context().on(DONE).run(move |_| *count.lock() += 1).unwrap();
    for _ in 0..2 {
        let (_job, mut work) = fixture.start(None);
        work.end(completed());
        fixture.told().await;
        plugin.dispose().await;
    }
    assert_eq!(*heard.lock(), 1);
}

// spec: design/P6
#[tokio::test(start_paused = true)]
async fn nothing_is_registered_for_a_job_that_has_ended() {
    let fixture = Fixture::new().await;
    let producer = fixture.producer(&fixture.app).await;
    let (service, before) = (fixture.service.context(), fixture.app.effects(&producer.context()));
    let idle = fixture.app.effects(&service);
    let mut held = Vec::new();
    for _ in 0..3 {
        let (run, mut work) = work();
        fixture.start_of(&producer.context(), request(None, run)).unwrap();
        assert!(fixture.app.effects(&producer.context()) > before);
        work.end(completed());
        fixture.told().await;
        held.push(work);
    }
    until(|| fixture.app.effects(&service) == idle).await;
    until(|| fixture.app.effects(&producer.context()) == before).await;
    assert!(held.iter().all(crate::fixture::Work::is_dropped), "what the producer handed over is gone");
}
