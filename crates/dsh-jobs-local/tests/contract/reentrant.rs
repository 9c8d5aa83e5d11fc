//! Producers and listeners that use the service from inside of it, and unload what they stand on.

use std::sync::Arc;
use std::time::Duration;

use dsh_jobs::{CHANGED, DONE, JobHooks, JobStatus, KillOutcome, KillRequest, StartError};
use parking_lot::Mutex;

use crate::fixture::{Fixture, completed, never, obedient_work, request, until, work};

// spec: design/P3
#[tokio::test(start_paused = true)]
async fn work_may_use_the_service_while_it_begins() {
    let fixture = Fixture::with_limit(2).await;
    let (jobs, app, (inner, _inner_work), (run, _work)) =
        (fixture.jobs.clone(), cordis::Context::clone(&fixture.app), obedient_work(), work());
    let nested = Box::new(move || {
        let jobs = jobs.get()?;
        assert_eq!(jobs.list(None), []);
        let inner = jobs.start(&app, request(None, inner))?;
        assert_eq!(inner.id.as_str(), "work-1");
        // The outer one has its place already.
        let full = jobs.start(&app, request(None, never()));
        assert!(matches!(full, Err(StartError::Full { limit: 2 })));
        run()
    });
    let outer = fixture.try_start(request(None, nested)).unwrap();
    assert_eq!(outer.id.as_str(), "work-2");
    assert_eq!(fixture.list(None), ["work-1", "work-2"]);
}

// spec: design/P3
#[tokio::test(start_paused = true)]
async fn hooks_may_use_the_service() {
    let fixture = Fixture::new().await;
    let (other, other_work) = fixture.start(None);
    let (jobs, reads) = (fixture.jobs.clone(), fixture.jobs.clone());
    let (run, mut work) = work();
    let nested = Box::new(move || {
        let JobHooks { done, .. } = run()?;
        Ok(JobHooks {
            cancel: Box::new(move |_| {
                let jobs = jobs.get()?;
                assert_eq!(jobs.get("work-2", None)?.status, JobStatus::Running);
                jobs.kill(KillRequest { id: "work-1", caller: None, reason: Some("nested") })?;
                Ok(())
            }),
            done,
            read_output: Some(Box::new(move || {
                reads.get().unwrap().list(None).iter().map(|job| job.id.to_string() + "\n").collect()
            })),
        })
    });
    let job = fixture.try_start(request(None, nested)).unwrap();
    assert_eq!(fixture.read(&job, None), "work-1\nwork-2\n");
    fixture.kill(&job, None, None);
    assert_eq!(other_work.cancels(), [Some("nested".to_owned())]);
    assert_eq!(fixture.get(&other, None).status, JobStatus::Stopping);
    work.end(completed());
    fixture.told().await;
}

// spec: design/P3
#[tokio::test(start_paused = true)]
async fn listeners_may_use_the_service() {
    let fixture = Fixture::new().await;
    let outcomes: Arc<Mutex<Vec<KillOutcome>>> = Arc::default();
    let (jobs, sink) = (fixture.jobs.clone(), outcomes.clone());
    fixture
        .app
        .on(CHANGED)
        .once()
        .run(move |_| {
            let request = KillRequest { id: "work-1", caller: None, reason: Some("at once") };
            sink.lock().push(jobs.get().unwrap().kill(request).unwrap());
        })
        .unwrap();
    let (run, work) = obedient_work();
    fixture.try_start(request(None, run)).unwrap();
    assert!(matches!(&outcomes.lock()[..], [KillOutcome::Requested(_)]));
    assert_eq!(work.cancels(), [Some("at once".to_owned())]);
    assert_eq!(fixture.told().await[0].status, JobStatus::Killed);
}

// spec: design/P3
#[tokio::test(start_paused = true)]
async fn a_listener_of_an_end_may_unload_its_owner_its_plugin_and_the_service() {
    for what in 0..3 {
        let fixture = Fixture::new().await;
        let agent = fixture.agent("s-1");
        let producer = fixture.producer(&fixture.app).await;
        let fiber = match what {
            0 => agent.context().fiber(),
            1 => producer.clone(),
            _ => fixture.service.clone(),
        };
        let ended = fiber.clone();
        fixture.app.on(DONE).run(move |_| ended.cancel()).unwrap();
        let (run, mut work) = work();
        fixture.start_of(&producer.context(), request(Some(&agent), run)).unwrap();
        let (run, other_work) = obedient_work();
        fixture.start_of(&producer.context(), request(Some(&agent), run)).unwrap();
        work.end(completed());
        until(|| other_work.is_dropped()).await;
        let disposed = fiber.dispose().await;
        assert!(disposed.still_running.is_empty(), "{what}: {disposed:?}");
        fixture.app.assert_no_errors();
    }
}

// spec: design/P3
#[tokio::test(start_paused = true)]
async fn work_may_unload_its_own_plugin_by_its_end() {
    let fixture = Fixture::new().await;
    let producer = fixture.producer(&fixture.app).await;
    let fiber = producer.clone();
    let hooks = JobHooks {
        cancel: Box::new(|_| Ok(())),
        done: Box::pin(async move {
            let disposed = fiber.dispose().await;
            assert!(disposed.requested, "it would wait for itself");
            Ok(completed())
        }),
        read_output: None,
    };
    let job = fixture.start_of(&producer.context(), request(None, Box::new(move || Ok(hooks)))).unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(1), producer.dispose()).await.unwrap();
    assert!(ended.is_clean(), "{ended:?}");
    assert_eq!(fixture.get(&job, None).status, JobStatus::Completed);
}

// spec: design/P3
#[tokio::test(start_paused = true)]
async fn what_hooks_captured_may_use_the_service_when_it_is_dropped() {
    struct Looks(cordis::Handle<dyn dsh_jobs::Jobs>, Arc<Mutex<Vec<usize>>>);
    impl Drop for Looks {
        fn drop(&mut self) {
            let count = self.0.get().map_or(0, |jobs| jobs.list(None).len());
            self.1.lock().push(count);
        }
    }
    let fixture = Fixture::new().await;
    let seen: Arc<Mutex<Vec<usize>>> = Arc::default();
    let looks = Looks(fixture.jobs.clone(), seen.clone());
    let (run, mut work) = work();
    let captures = Box::new(move || {
        let JobHooks { done, read_output, .. } = run()?;
        let cancel = Box::new(move |_: Option<&str>| {
            let _ = &looks;
            Ok(())
        });
        Ok(JobHooks { cancel, done, read_output })
    });
    fixture.try_start(request(None, captures)).unwrap();
    work.end(completed());
    until(|| !seen.lock().is_empty()).await;
    assert_eq!(*seen.lock(), [1]);
    fixture.told().await;
}
