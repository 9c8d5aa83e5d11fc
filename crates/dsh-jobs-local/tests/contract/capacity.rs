//! How many jobs an owner may have, and when a place is free again.

use dsh_jobs::{JobStatus, KillOutcome, StartError, TerminalStatus};

use crate::fixture::{Fixture, completed, never, outcome, request};

fn is_full(fixture: &Fixture, owner: Option<&dsh_agent::Agent>) -> bool {
    matches!(fixture.try_start(request(owner, never())), Err(StartError::Full { .. }))
}

// spec: timeout-jobs-hooks/J24, cases/P7
#[tokio::test(start_paused = true)]
async fn the_eleventh_job_is_refused_until_one_has_really_ended() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let mut jobs: Vec<_> = (0..10).map(|_| fixture.start(Some(&agent))).collect();
    let refused = fixture.try_start(request(Some(&agent), never())).unwrap_err();
    assert!(matches!(refused, StartError::Full { limit: 10 }), "{refused:?}");
    for word in ["10", "job_kill", "ended", "again"] {
        assert!(refused.to_string().contains(word), "{refused}");
    }
    let (job, work) = &mut jobs[3];
    let KillOutcome::Requested(stopping) = fixture.kill(job, Some(&agent), None) else { panic!() };
    assert_eq!(stopping.status, JobStatus::Stopping);
    assert!(is_full(&fixture, Some(&agent)), "a job that is being stopped keeps its place");
    work.end(outcome(TerminalStatus::Killed));
    fixture.told().await;
    let (eleventh, _work) = fixture.start(Some(&agent));
    assert_eq!(eleventh.id.as_str(), "work-11");
    assert!(is_full(&fixture, Some(&agent)));
}

// spec: timeout-jobs-hooks/J24
#[tokio::test(start_paused = true)]
async fn every_end_frees_a_place() {
    let fixture = Fixture::with_limit(1).await;
    let ends = [TerminalStatus::Completed, TerminalStatus::Killed, TerminalStatus::Failed];
    for status in ends {
        let (job, mut work) = fixture.start(None);
        assert!(is_full(&fixture, None));
        work.end(outcome(status));
        assert_eq!(fixture.told().await[0].status, status.into());
        assert!(fixture.get(&job, None).finished_at.is_some());
    }
    let (_job, mut work) = fixture.start(None);
    work.settle(Err("it broke".into()));
    fixture.told().await;
    fixture.start(None);
}

// spec: timeout-jobs-hooks/J24
#[tokio::test(start_paused = true)]
async fn owners_and_nobody_have_places_of_their_own() {
    let fixture = Fixture::with_limit(1).await;
    let (one, other) = (fixture.agent("s-1"), fixture.agent("s-2"));
    let _works = [Some(&one), Some(&other), None].map(|owner| fixture.start(owner));
    for owner in [Some(&one), Some(&other), None] {
        assert!(is_full(&fixture, owner));
    }
}

// spec: timeout-jobs-hooks/J24
#[tokio::test(start_paused = true)]
async fn an_agent_that_takes_the_place_of_another_has_places_of_its_own() {
    let fixture = Fixture::with_limit(1).await;
    let old = fixture.agent("s-1");
    let (_job, _work) = fixture.start(Some(&old));
    let new = fixture.agent("s-1");
    let (_job, _work) = fixture.start(Some(&new));
    assert!(is_full(&fixture, Some(&new)));
}

// spec: timeout-jobs-hooks/J24, timeout-jobs-hooks/J31
#[tokio::test(start_paused = true)]
async fn the_place_is_free_when_the_end_is_told() {
    let fixture = Fixture::with_limit(1).await;
    let (_job, mut work) = fixture.start(None);
    let jobs = fixture.jobs.clone();
    let (app, started): (cordis::Context, std::sync::Arc<parking_lot::Mutex<Vec<bool>>>) =
        (fixture.app.clone(), std::sync::Arc::default());
    let results = started.clone();
    fixture
        .app
        .on(dsh_jobs::CHANGED)
        .once()
        .run(move |_| {
            let (run, _work) = crate::fixture::work();
            results.lock().push(jobs.get().unwrap().start(&app, request(None, run)).is_ok());
        })
        .unwrap();
    work.end(completed());
    fixture.told().await;
    assert_eq!(*started.lock(), [true]);
}
