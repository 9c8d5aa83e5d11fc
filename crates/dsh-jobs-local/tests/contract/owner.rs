//! What becomes of the jobs of an agent that ends.

use std::sync::Arc;
use std::time::Duration;

use cordis::State;
use dsh_agent::testing::agent;
use dsh_jobs::{JobHooks, JobStatus, StartError, TerminalStatus};
use dsh_session::Session;
use parking_lot::Mutex;

use crate::fixture::{
    Fixture, completed, never, obedient_work, outcome, quiet_work, request, stubborn_work, until, work,
};

// spec: timeout-jobs-hooks/J34, timeout-jobs-hooks/J37
#[tokio::test(start_paused = true)]
async fn an_owner_that_ends_takes_its_jobs_along_once_they_have_ended() {
    let fixture = Fixture::new().await;
    let (agent, other) = (fixture.agent("s-1"), fixture.agent("s-2"));
    let (others, _others_work) = fixture.start(Some(&other));
    let (ended, mut ended_work) = fixture.start(Some(&agent));
    ended_work.end(completed());
    fixture.told().await;
    let (job, mut work) = fixture.start(Some(&agent));
    let end = tokio::spawn({
        let fiber = agent.context().fiber();
        async move { fiber.dispose().await }
    });
    until(|| !work.cancels().is_empty()).await;
    assert_eq!(work.cancels(), [Some("owner disposed".to_owned())]);
    // Reported, still there, and waited for.
    let stopping = fixture.get(&job, Some(&agent));
    assert_eq!((stopping.status, stopping.reported), (JobStatus::Stopping, true));
    assert!(fixture.get(&ended, Some(&agent)).reported);
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!end.is_finished());
    let refused = fixture.try_start(request(Some(&agent), never())).unwrap_err();
    assert!(matches!(refused, StartError::Ending { .. }), "{refused:?}");

    work.end(outcome(TerminalStatus::Killed));
    assert!(end.await.unwrap().is_clean());
    let told = fixture.done.take();
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].job.status, told[0].job.reported), (JobStatus::Killed, true));
    assert_eq!(fixture.list(Some(&agent)), [""; 0]);
    assert_eq!(fixture.list(Some(&other)), ["work-1"]);
    assert_eq!(fixture.get(&others, Some(&other)).status, JobStatus::Running);
    fixture.app.assert_no_errors();
}

// spec: timeout-jobs-hooks/J37
#[tokio::test(start_paused = true)]
async fn a_job_is_reported_before_it_is_told_to_stop() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let (run, _work) = obedient_work();
    let seen: Arc<Mutex<Vec<bool>>> = Arc::default();
    let (sink, jobs, owner) = (seen.clone(), fixture.jobs.clone(), agent.clone());
    let looks = Box::new(move || {
        let JobHooks { cancel, done, read_output } = run()?;
        let cancel = Box::new(move |reason: Option<&str>| {
            sink.lock().push(jobs.get()?.get("work-1", Some(&owner))?.reported);
            cancel(reason)
        });
        Ok(JobHooks { cancel, done, read_output })
    });
    fixture.try_start(request(Some(&agent), looks)).unwrap();
    agent.context().fiber().dispose().await;
    assert_eq!(*seen.lock(), [true]);
}

// spec: timeout-jobs-hooks/J34
#[tokio::test(start_paused = true)]
async fn all_jobs_of_an_owner_are_told_to_stop_before_one_is_waited_for() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let mut jobs: Vec<_> = (0..3).map(|_| fixture.start(Some(&agent))).collect();
    let end = tokio::spawn({
        let fiber = agent.context().fiber();
        async move { fiber.dispose().await }
    });
    until(|| jobs.iter().all(|(_, work)| work.cancels().len() == 1)).await;
    // The end of the last is no end of the others.
    for (_, work) in jobs.iter_mut().rev() {
        assert!(!end.is_finished());
        work.end(outcome(TerminalStatus::Killed));
        fixture.told().await;
    }
    assert!(end.await.unwrap().is_clean());
}

// spec: timeout-jobs-hooks/J23, timeout-jobs-hooks/J34
#[tokio::test(start_paused = true)]
async fn an_owner_is_given_one_cleanup_on_its_own_context() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let before = fixture.app.effects(agent.context());
    for _ in 0..3 {
        fixture.start(Some(&agent)).1.end(completed());
        fixture.told().await;
        assert_eq!(fixture.app.effects(agent.context()), before + 1);
    }
}

// spec: timeout-jobs-hooks/J34
#[tokio::test(start_paused = true)]
async fn the_end_of_an_agent_leaves_the_jobs_of_its_successor_alone() {
    let fixture = Fixture::new().await;
    let old = fixture.agent("s-1");
    let (run, _old_work) = obedient_work();
    let old_job = fixture.try_start(request(Some(&old), run)).unwrap();
    let new = fixture.agent("s-1");
    let (new_job, new_work) = fixture.start(Some(&new));
    assert_eq!(fixture.list(Some(&new)), ["work-1", "work-2"]);
    old.context().fiber().dispose().await;
    assert_eq!(fixture.list(Some(&new)), ["work-2"]);
    assert_eq!(new_work.cancels(), []);
    assert!(!fixture.get(&new_job, Some(&new)).reported);
    assert!(fixture.jobs.get().unwrap().get(old_job.id.as_str(), Some(&new)).is_err());
}

// spec: timeout-jobs-hooks/J36
#[tokio::test(start_paused = true)]
async fn a_job_that_cannot_be_told_to_stop_has_failed_at_once() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let (run, mut work) = stubborn_work("no permission");
    fixture.try_start(request(Some(&agent), run)).unwrap();
    // The producer goes on.
    assert!(agent.context().fiber().dispose().await.is_clean());
    let told = fixture.done.take();
    assert_eq!((told[0].job.status, told[0].job.reported), (JobStatus::Failed, true));
    let detail = told[0].job.detail.as_deref().unwrap();
    for part in ["cancel failed during teardown", "orphaned", "no permission"] {
        assert!(detail.contains(part), "{detail}");
    }
    assert_eq!(fixture.list(Some(&agent)), [""; 0]);
    // What it comes to later is nobody's news.
    assert!(!work.is_let_go());
    work.end(completed());
    until(|| work.is_dropped()).await;
    assert!(fixture.done.take().is_empty());
    fixture.app.assert_no_errors();
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn a_job_that_does_not_stop_is_given_up_at_the_limit_and_named() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let (job, _work) = fixture.start(Some(&agent));
    let disposed = agent.context().fiber().dispose().await;
    assert_eq!(disposed.still_running.len(), 1, "{disposed:?}");
    assert_eq!(disposed.still_running[0].step, "end of background jobs");
    let told = fixture.done.take();
    assert_eq!((&told[0].job.id, told[0].job.status), (&job.id, JobStatus::Failed));
    assert!(told[0].job.detail.as_deref().unwrap().contains("orphaned"));
    assert_eq!(fixture.list(Some(&agent)), [""; 0]);
    assert_eq!(agent.context().fiber().state(), State::Disposed);
}

// spec: timeout-jobs-hooks/J34
#[tokio::test(start_paused = true)]
async fn those_who_wait_for_a_job_of_an_owner_that_ends_get_its_end() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let (run, _work) = obedient_work();
    let job = fixture.try_start(request(Some(&agent), run)).unwrap();
    let (token, scope) = (tokio_util::sync::CancellationToken::new(), agent.context().fiber());
    let (waited, _) =
        tokio::join!(fixture.wait(&job, Duration::from_secs(60), Some(&agent), &token), scope.dispose());
    assert_eq!(waited.unwrap().status, JobStatus::Killed);
}

// spec: design/P6
#[tokio::test(start_paused = true)]
async fn nothing_is_kept_of_an_owner_that_has_ended() {
    let fixture = Fixture::new().await;
    let session = Session::detached("s-1");
    let (agent, _) = agent(&fixture.app, session.clone()).unwrap();
    fixture.agents.add(&agent, None);
    let (run, mut work) = quiet_work();
    fixture.try_start(request(Some(&agent), run)).unwrap();
    work.end(completed());
    fixture.told().await;
    let (run, _work) = obedient_work();
    fixture.try_start(request(Some(&agent), run)).unwrap();
    agent.context().fiber().dispose().await;
    // Refused now, and that leaves nothing either.
    fixture.try_start(request(Some(&agent), never())).unwrap_err();
    fixture.agents.remove(&agent);
    drop(agent);
    fixture.changed.take();
    fixture.done.take();
    until(|| Arc::strong_count(&session) == 1).await;
}

// spec: design/P6
#[tokio::test(start_paused = true)]
async fn an_agent_that_has_had_a_job_closes_with_its_last_clone() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let (_job, mut work) = fixture.start(Some(&agent));
    work.say("never read");
    work.end(completed());
    fixture.told().await;
    fixture.changed.take();
    fixture.agents.remove(&agent);
    let fiber = agent.context().fiber();
    drop(agent);
    until(|| fiber.state() == State::Disposed).await;
    let successor = fixture.agent("s-1");
    assert_eq!(fixture.list(Some(&successor)), [""; 0]);
    fixture.app.assert_no_errors();
}

// spec: design/P6, timeout-jobs-hooks/J32
#[tokio::test(start_paused = true)]
async fn an_agent_that_nobody_else_holds_lives_until_its_last_job_has_ended() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let (_job, mut work) = fixture.start(Some(&agent));
    fixture.changed.take();
    fixture.agents.remove(&agent);
    let (fiber, id) = (agent.context().fiber(), agent.id().clone());
    drop(agent);
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!((fiber.state(), work.cancels()), (State::Active, vec![]));
    work.end(completed());
    until(|| fixture.done.take().iter().any(|done| done.owner.as_ref().is_some_and(|it| *it.id() == id)))
        .await;
    fixture.changed.take();
    until(|| fiber.state() == State::Disposed).await;
    fixture.app.assert_no_errors();
}

// spec: design/P6, timeout-jobs-hooks/J36
#[tokio::test(start_paused = true)]
async fn a_job_that_was_given_up_keeps_nothing_of_its_owner() {
    let fixture = Fixture::new().await;
    let session = Session::detached("s-1");
    let (agent, _) = agent(&fixture.app, session.clone()).unwrap();
    fixture.agents.add(&agent, None);
    let (run, work) = stubborn_work("no permission");
    fixture.try_start(request(Some(&agent), run)).unwrap();
    agent.context().fiber().dispose().await;
    fixture.agents.remove(&agent);
    drop(agent);
    fixture.changed.take();
    fixture.done.take();
    assert!(!work.is_let_go(), "it goes on");
    until(|| Arc::strong_count(&session) == 1).await;
}

// spec: timeout-jobs-hooks/J34
#[tokio::test(start_paused = true)]
async fn a_job_that_begins_while_its_owner_ends_is_ended_too() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let (_first, _work) = {
        let (run, work) = obedient_work();
        (fixture.try_start(request(Some(&agent), run)).unwrap(), work)
    };
    let (run, work) = obedient_work();
    let (fiber, slow) = (agent.context().fiber(), work.cancels());
    assert_eq!(slow, []);
    let ends = Box::new(move || {
        fiber.cancel();
        run()
    });
    // The work has begun, so the job is there; its owner takes it along.
    fixture.try_start(request(Some(&agent), ends)).unwrap();
    assert!(agent.context().fiber().dispose().await.is_clean());
    assert_eq!(work.cancels(), [Some("owner disposed".to_owned())]);
    assert_eq!(fixture.list(Some(&agent)), [""; 0]);
    fixture.app.assert_no_errors();
}

// spec: timeout-jobs-hooks/J34
#[tokio::test(start_paused = true)]
async fn a_job_that_ends_by_itself_as_its_owner_does_ends_once() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let (_job, mut work) = {
        let (run, work) = work();
        (fixture.try_start(request(Some(&agent), run)).unwrap(), work)
    };
    work.end(completed());
    assert!(agent.context().fiber().dispose().await.is_clean());
    assert_eq!(fixture.done.take().len(), 1);
    assert_eq!(fixture.list(Some(&agent)), [""; 0]);
}
