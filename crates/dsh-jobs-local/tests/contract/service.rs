//! What becomes of the jobs when the service ends.

use std::sync::Arc;
use std::time::Duration;

use dsh_jobs::{CHANGED, DONE, JOBS, JobStatus, StartError, TerminalStatus};
use dsh_jobs_local::Config;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::fixture::{
    Fixture, completed, never, obedient_work, outcome, request, stubborn_work, until, work,
};

// spec: timeout-jobs-hooks/J35, timeout-jobs-hooks/J37
#[tokio::test(start_paused = true)]
async fn a_service_that_ends_ends_all_jobs_and_says_nothing() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let mut works: Vec<_> = [Some(&agent), None].into_iter().map(|owner| fixture.start(owner).1).collect();
    // Not through the plugin that watches, which needs the service and is unloaded before it.
    fixture.changed.take();
    let jobs = fixture.jobs.clone();
    let lease = jobs.get().unwrap();
    let end = tokio::spawn({
        let service = fixture.service.clone();
        async move { service.dispose().await }
    });
    until(|| works.iter().all(|work| work.cancels().len() == 1)).await;
    for work in &mut works {
        assert_eq!(work.cancels(), [Some("jobs service disposed".to_owned())]);
        assert!(!end.is_finished());
        work.end(outcome(TerminalStatus::Killed));
    }
    let disposed = end.await.unwrap();
    assert!(disposed.still_running.is_empty(), "{disposed:?}");
    assert!(lease.list(Some(&agent)).iter().all(|job| job.status == JobStatus::Killed && job.reported));
    assert_eq!(fixture.changed.take(), []);
    assert!(fixture.done.take().is_empty());
    assert!(works.iter().all(crate::fixture::Work::is_dropped));
    // The agent lives on, with nothing of the service's.
    assert!(agent.context().fiber().dispose().await.is_clean());
    assert!(works.iter().all(|work| work.cancels().len() == 1));
}

// spec: timeout-jobs-hooks/J35, timeout-jobs-hooks/J36
#[tokio::test(start_paused = true)]
async fn a_service_that_ends_waits_for_no_job_that_cannot_be_told_to_stop() {
    let fixture = Fixture::new().await;
    let (run, work) = stubborn_work("no permission");
    let job = fixture.try_start(request(None, run)).unwrap();
    let jobs = fixture.jobs.clone();
    let lease = jobs.get().unwrap();
    let disposed = fixture.service.dispose().await;
    assert!(disposed.still_running.is_empty(), "{disposed:?}");
    let ended = lease.get(job.id.as_str(), None).unwrap();
    assert_eq!(ended.status, JobStatus::Failed);
    assert!(ended.detail.unwrap().contains("no permission"));
    assert!(work.is_dropped(), "its end is not waited for, so nothing of it is kept");
}

// spec: timeout-jobs-hooks/J35
#[tokio::test(start_paused = true)]
async fn the_effects_on_agents_that_live_on_are_taken_back() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let before = fixture.app.effects(agent.context());
    fixture.start(Some(&agent)).1.end(completed());
    fixture.told().await;
    assert_eq!(fixture.app.effects(agent.context()), before + 1);
    fixture.service.dispose().await;
    assert_eq!(fixture.app.effects(agent.context()), before);
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn a_job_that_does_not_stop_is_given_up_with_the_service_and_named() {
    let fixture = Fixture::new().await;
    let (job, work) = fixture.start(None);
    let jobs = fixture.jobs.clone();
    let (lease, token) = (jobs.get().unwrap(), CancellationToken::new());
    let waits = lease.wait(job.id.as_str(), Duration::from_secs(60), None, &token);
    let (waited, disposed) = tokio::join!(waits, fixture.service.dispose());
    let step: Vec<_> = disposed.still_running.iter().map(|late| &*late.step).collect();
    assert_eq!(step, ["end of all jobs"]);
    assert_eq!(waited.unwrap().status, JobStatus::Failed);
    assert!(work.is_dropped());
}

// spec: timeout-jobs-hooks/J35
#[tokio::test(start_paused = true)]
async fn a_service_that_ends_starts_nothing() {
    let fixture = Fixture::new().await;
    let jobs = fixture.jobs.clone();
    let lease = jobs.get().unwrap();
    fixture.service.dispose().await;
    let refused = lease.start(&fixture.app, request(None, never())).unwrap_err();
    assert!(matches!(&refused, StartError::Ending { what } if what == "the jobs service"), "{refused:?}");
    assert_eq!(lease.list(None), []);
}

// spec: timeout-jobs-hooks/J33, timeout-jobs-hooks/J35
#[tokio::test(start_paused = true)]
async fn a_service_that_is_reloaded_begins_anew_and_is_heard() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let (changes, ends) = (heard.clone(), heard.clone());
    fixture.app.on(CHANGED).run(move |_| changes.lock().push("changed".into())).unwrap();
    fixture.app.on(DONE).run(move |done| ends.lock().push(done.job.id.to_string())).unwrap();
    let (run, _work) = obedient_work();
    fixture.try_start(request(Some(&agent), run)).unwrap();
    fixture.service.restart().await.unwrap();
    assert_eq!(std::mem::take(&mut *heard.lock()), ["changed"]);

    let jobs = fixture.app.get(JOBS).unwrap();
    assert_eq!(jobs.get().unwrap().list(Some(&agent)), []);
    let refused = jobs.get().unwrap().start(&fixture.app, request(Some(&agent), never())).unwrap_err();
    assert!(matches!(refused, StartError::NoController), "{refused:?}");
    jobs.get().unwrap().attach_controller(&fixture.app, "test").unwrap();
    let (run, mut work) = work();
    let job = jobs.get().unwrap().start(&fixture.app, request(Some(&agent), run)).unwrap();
    assert_eq!(job.id.as_str(), "work-1");
    work.end(completed());
    until(|| heard.lock().len() == 3).await;
    assert_eq!(*heard.lock(), ["changed", "changed", "work-1"]);
}

// spec: timeout-jobs-hooks/J35
#[tokio::test(start_paused = true)]
async fn a_new_limit_counts_after_an_update() {
    let fixture = Fixture::new().await;
    fixture.service.update(Config { max_active_jobs: 1.try_into().unwrap() }).await.unwrap();
    let jobs = fixture.app.get(JOBS).unwrap();
    let jobs = jobs.get().unwrap();
    jobs.attach_controller(&fixture.app, "test").unwrap();
    jobs.start(&fixture.app, request(None, work().0)).unwrap();
    let refused = jobs.start(&fixture.app, request(None, never()));
    assert!(matches!(refused, Err(StartError::Full { limit: 1 })));
}

// spec: timeout-jobs-hooks/J35, design/P1
#[tokio::test(start_paused = true)]
async fn an_app_that_is_shut_down_ends_its_jobs_without_news() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let told: Arc<Mutex<Vec<bool>>> = Arc::default();
    let sink = told.clone();
    fixture.app.on(DONE).run(move |done| sink.lock().push(done.job.reported)).unwrap();
    let producer = fixture.producer(&fixture.app).await;
    let (run, work) = obedient_work();
    fixture.start_of(&producer.context(), request(Some(&agent), run)).unwrap();
    let disposed = fixture.app.shutdown().await;
    assert!(disposed.still_running.is_empty(), "{disposed:?}");
    assert_eq!(work.cancels().len(), 1);
    assert!(work.is_dropped());
    // Told or not, it is nothing that its owner has to hear of.
    assert!(told.lock().iter().all(|reported| *reported));
}
