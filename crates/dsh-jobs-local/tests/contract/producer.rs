//! What becomes of the jobs of a plugin that is unloaded.

use std::sync::Arc;
use std::time::Duration;

use cordis::{BoxError, Context, Handle, State, define};
use dsh_jobs::{JOBS, JobHooks, JobStatus, Jobs, TerminalStatus};

use crate::fixture::{Fixture, obedient_work, outcome, request, stubborn_work, until, work};

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn a_plugin_that_is_unloaded_takes_its_jobs_along_once_they_have_ended() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let producer = fixture.producer(&fixture.app).await;
    let (others, others_work) = fixture.start(Some(&agent));
    let (run, mut work) = work();
    let job = fixture.start_of(&producer.context(), request(Some(&agent), run)).unwrap();
    let end = tokio::spawn({
        let producer = producer.clone();
        async move { producer.dispose().await }
    });
    until(|| !work.cancels().is_empty()).await;
    assert_eq!(work.cancels(), [Some("plugin unloaded".to_owned())]);
    assert_eq!(fixture.get(&job, Some(&agent)).status, JobStatus::Stopping);
    assert!(!end.is_finished());
    work.say("the last words");
    work.end(outcome(TerminalStatus::Killed));
    assert!(end.await.unwrap().is_clean());
    // The owner hears of it, and what was said can still be read.
    let told = fixture.told().await;
    assert_eq!((&told[0].id, told[0].status, told[0].reported), (&job.id, JobStatus::Killed, false));
    assert_eq!(fixture.read(&job, Some(&agent)), "the last words");
    assert!(work.is_dropped());
    assert_eq!(fixture.get(&others, Some(&agent)).status, JobStatus::Running);
    assert_eq!(others_work.cancels(), []);
    fixture.app.assert_no_errors();
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn nothing_of_a_job_runs_after_its_plugin_is_unloaded() {
    let fixture = Fixture::new().await;
    let producer = fixture.producer(&fixture.app).await;
    let (run, work) = work();
    let job = fixture.start_of(&producer.context(), request(None, run)).unwrap();
    // It does not stop, and is dropped at the limit.
    let began = tokio::time::Instant::now();
    let disposed = producer.dispose().await;
    assert_eq!(began.elapsed(), cordis::DEFAULT_LIMIT);
    let late: Vec<_> = disposed.still_running.iter().map(|late| &*late.step).collect();
    assert_eq!(late, ["end of the job"]);
    assert!(work.is_dropped());
    let ended = fixture.get(&job, None);
    assert_eq!(ended.status, JobStatus::Failed);
    assert!(ended.detail.unwrap().contains("orphaned"));
    let cancels = work.cancels();
    fixture.kill(&job, None, Some("late"));
    fixture.read(&job, None);
    assert_eq!(work.cancels(), cancels, "its code is not called any more");
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn many_jobs_that_do_not_stop_take_one_limit_together() {
    let fixture = Fixture::new().await;
    let producer = fixture.producer(&fixture.app).await;
    let works: Vec<_> = (0..5)
        .map(|_| {
            let (run, work) = work();
            fixture.start_of(&producer.context(), request(None, run)).unwrap();
            work
        })
        .collect();
    let began = tokio::time::Instant::now();
    producer.dispose().await;
    assert_eq!(began.elapsed(), cordis::DEFAULT_LIMIT);
    assert!(works.iter().all(|work| work.is_dropped() && work.cancels().len() == 1));
}

// spec: design/P1, timeout-jobs-hooks/J36
#[tokio::test(start_paused = true)]
async fn a_plugin_whose_job_cannot_be_told_to_stop_is_unloaded_at_once() {
    let fixture = Fixture::new().await;
    let producer = fixture.producer(&fixture.app).await;
    let (run, work) = stubborn_work("no permission");
    let job = fixture.start_of(&producer.context(), request(None, run)).unwrap();
    assert!(producer.dispose().await.is_clean());
    assert!(work.is_dropped());
    let ended = fixture.get(&job, None);
    assert_eq!((ended.status, ended.reported), (JobStatus::Failed, false));
    assert!(ended.detail.unwrap().contains("no permission"));
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn what_the_hooks_captured_is_dropped_with_the_plugin() {
    let fixture = Fixture::new().await;
    let producer = fixture.producer(&fixture.app).await;
    let held = Arc::new(());
    let (one, two, three) = (held.clone(), held.clone(), held.clone());
    let (run, _work) = obedient_work();
    let captures = Box::new(move || {
        let JobHooks { cancel, done, read_output } = run()?;
        Ok(JobHooks {
            cancel: Box::new(move |reason| {
                let _ = &one;
                cancel(reason)
            }),
            done: Box::pin(async move {
                let _two = two;
                done.await
            }),
            read_output: read_output.map(|read| {
                Box::new(move || {
                    let _ = &three;
                    read()
                }) as dsh_jobs::JobRead
            }),
        })
    });
    fixture.start_of(&producer.context(), request(None, captures)).unwrap();
    assert_eq!(Arc::strong_count(&held), 4);
    producer.dispose().await;
    assert_eq!(Arc::strong_count(&held), 1);
}

// spec: timeout-jobs-hooks/J34, timeout-jobs-hooks/J37
#[tokio::test(start_paused = true)]
async fn a_plugin_of_an_agent_that_ends_ends_its_jobs_as_the_owner_does() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    // The owner's own cleanup is older than the plugin, and so comes after it.
    let (run, first_work) = obedient_work();
    fixture.try_start(request(Some(&agent), run)).unwrap();
    let producer = fixture.producer(agent.context()).await;
    let (run, work) = obedient_work();
    fixture.start_of(&producer.context(), request(Some(&agent), run)).unwrap();
    assert!(agent.context().fiber().dispose().await.is_clean());
    for work in [first_work, work] {
        assert_eq!(work.cancels(), [Some("owner disposed".to_owned())]);
    }
    let told = fixture.done.take();
    assert!(told.len() == 2 && told.iter().all(|done| done.job.reported), "{told:#?}");
    assert_eq!(fixture.list(Some(&agent)), [""; 0]);
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn a_plugin_that_is_unloaded_while_its_work_begins_ends_the_job() {
    let fixture = Fixture::new().await;
    let producer = fixture.producer(&fixture.app).await;
    let (run, work) = obedient_work();
    let fiber = producer.clone();
    let unloads = Box::new(move || {
        fiber.cancel();
        run()
    });
    let job = fixture.start_of(&producer.context(), request(None, unloads)).unwrap();
    assert!(producer.dispose().await.is_clean());
    assert_eq!(work.cancels().len(), 1);
    assert_eq!(fixture.get(&job, None).status, JobStatus::Killed);
    assert!(work.is_dropped());
}

async fn needy(_ctx: &Context, _jobs: Handle<dyn Jobs>, _config: &()) -> Result<(), BoxError> {
    Ok(())
}

// spec: timeout-jobs-hooks/J35, design/P2
#[tokio::test(start_paused = true)]
async fn a_plugin_that_is_unloaded_because_the_service_ends_ends_its_jobs_as_the_service_does() {
    let fixture = Fixture::new().await;
    let producer = fixture.app.plugin(define("needy").needs(JOBS).run(needy), ()).unwrap();
    producer.ready().await.unwrap();
    let (run, work) = obedient_work();
    fixture.start_of(&producer.context(), request(None, run)).unwrap();
    fixture.changed.take();
    let disposed = fixture.service.dispose().await;
    assert!(disposed.is_clean(), "{disposed:?}");
    assert_eq!(work.cancels(), [Some("jobs service disposed".to_owned())]);
    assert!(work.is_dropped());
    assert_eq!(fixture.changed.take(), []);
    assert!(fixture.done.take().is_empty());
    assert_eq!(producer.state(), State::Pending);
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn an_effect_that_a_plugin_made_of_a_job_ends_that_job_alone() {
    let fixture = Fixture::new().await;
    let producer = fixture.producer(&fixture.app).await;
    let (run, works) = (obedient_work(), [obedient_work(), obedient_work()]);
    fixture.start_of(&producer.context(), request(None, run.0)).unwrap();
    let mut inside_works = Vec::new();
    let effect = producer
        .context()
        .effects("a turn", |inside| {
            for (run, work) in works {
                fixture.start_of(inside, request(None, run)).unwrap();
                inside_works.push(work);
            }
            Ok::<_, cordis::Inactive>(())
        })
        .unwrap();
    assert!(effect.dispose().await.is_clean());
    assert!(inside_works.iter().all(crate::fixture::Work::is_dropped));
    assert_eq!(run.1.cancels(), []);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!run.1.is_dropped());
}
