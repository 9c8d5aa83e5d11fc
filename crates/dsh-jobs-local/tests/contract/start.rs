//! What a start is refused for, in which order, and what is left then.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cordis::Context;
use dsh_agent::Agent;
use dsh_jobs::{JobId, JobRequest, JobStart, JobStatus, StartError};
use dsh_jobs_local::Config;

use crate::fixture::{Fixture, completed, never, request, work};

fn refusal(fixture: &Fixture, request: JobRequest) -> String {
    fixture.try_start(request).unwrap_err().to_string()
}

/// Nothing is registered or told, and the next job of the kind is the first one.
async fn nothing_is_left(fixture: &Fixture) {
    assert_eq!(fixture.jobs.get().unwrap().list(None), []);
    assert_eq!(fixture.changed.take(), []);
    assert_eq!(fixture.start(None).0.id, JobId::new("work", 1));
    fixture.app.assert_no_errors();
}

// spec: timeout-jobs-hooks/J22, timeout-jobs-hooks/J23
#[tokio::test(start_paused = true)]
async fn a_job_that_was_started_runs_and_is_known() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    let (job, _work) = fixture.start(Some(&agent));
    assert_eq!(job.id, JobId::new("work", 1));
    assert_eq!((&*job.kind, &*job.label), ("work", "some work"));
    assert_eq!(job.status, JobStatus::Running);
    assert_eq!(job.owner_session.as_ref(), Some(agent.id()));
    assert!(job.started_at > 1_600_000_000_000);
    assert!(!job.reported);
    assert_eq!((&job.detail, job.finished_at), (&None, None));
    assert_eq!(fixture.get(&job, Some(&agent)), job);
    assert_eq!(fixture.changed.take(), [Some(agent)]);
    assert!(fixture.done.take().is_empty());
}

// spec: timeout-jobs-hooks/J23
#[tokio::test(start_paused = true)]
async fn without_a_controller_there_are_no_jobs() {
    let fixture = Fixture::bare(Config::default()).await;
    let error = fixture.try_start(request(None, never())).unwrap_err();
    assert!(matches!(error, StartError::NoController), "{error:?}");
    assert!(error.to_string().contains("no job controller serves this agent"), "{error}");
    assert!(error.to_string().contains("the plugin `tool-jobs`"), "{error}");
    fixture.control(&fixture.app);
    nothing_is_left(&fixture).await;
}

// spec: timeout-jobs-hooks/J23
#[tokio::test(start_paused = true)]
async fn kind_and_label_are_not_empty() {
    let fixture = Fixture::new().await;
    let kind = JobRequest { kind: String::new(), ..request(None, never()) };
    assert_eq!(refusal(&fixture, kind), "invalid job kind: expected a non-empty string");
    let label = JobRequest { label: String::new(), ..request(None, never()) };
    assert_eq!(refusal(&fixture, label), "invalid job label: expected a non-empty string");
    nothing_is_left(&fixture).await;
}

// spec: timeout-jobs-hooks/J23
#[tokio::test(start_paused = true)]
async fn the_limit_of_output_is_a_positive_number_that_json_keeps() {
    let fixture = Fixture::new().await;
    for given in [0, 1 << 53, u64::MAX] {
        let limited = JobRequest { output_limit_bytes: Some(given), ..request(None, never()) };
        let refusal = refusal(&fixture, limited);
        assert!(refusal.contains("outputLimitBytes"), "{refusal}");
        assert!(refusal.ends_with(&format!("got {given}")), "{refusal}");
    }
    nothing_is_left(&fixture).await;
    for given in [1, (1 << 53) - 1] {
        let limited = JobRequest { output_limit_bytes: Some(given), ..request(None, work().0) };
        assert_eq!(fixture.try_start(limited).unwrap().output_limit_bytes, Some(given));
    }
}

// spec: timeout-jobs-hooks/J23
#[tokio::test(start_paused = true)]
async fn an_owned_job_needs_the_registry_of_agents_and_another_does_not() {
    let fixture = Fixture::bare(Config::default()).await;
    fixture.control(&fixture.app);
    let agent = fixture.agent("s-1");
    let refused = refusal(&fixture, request(Some(&agent), never()));
    assert!(refused.contains("provides the service `agents`"), "{refused}");
    nothing_is_left(&fixture).await;

    // It is looked up at each start, and its coming or going leaves the service and its jobs alone.
    let registry = fixture.provide_agents();
    let (job, _work) = fixture.start(Some(&agent));
    registry.dispose().await;
    fixture.app.quiet().await;
    assert_eq!(fixture.get(&job, Some(&agent)).status, JobStatus::Running);
    let refused = fixture.try_start(request(Some(&agent), never())).unwrap_err();
    assert!(matches!(refused, StartError::NoAgents), "{refused:?}");
}

// spec: timeout-jobs-hooks/J23
#[tokio::test(start_paused = true)]
async fn the_owner_is_the_live_registered_instance() {
    let fixture = Fixture::new().await;
    let stale = fixture.agent("s-1");
    let live = fixture.agent("s-1");
    let refused = refusal(&fixture, request(Some(&stale), never()));
    assert!(refused.contains("`s-1`") && refused.contains("live registered instance"), "{refused}");
    fixture.agents.remove(&live);
    let refused = fixture.try_start(request(Some(&live), never())).unwrap_err();
    assert!(matches!(&refused, StartError::NotLive { agent } if agent == live.id()), "{refused:?}");
    nothing_is_left(&fixture).await;
}

// spec: timeout-jobs-hooks/J23
#[tokio::test(start_paused = true)]
async fn an_owner_whose_scope_has_ended_starts_nothing() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent("s-1");
    agent.context().fiber().dispose().await;
    let refused = fixture.try_start(request(Some(&agent), never())).unwrap_err();
    for part in ["no job can be started any more: agent `s-1` is ending", "foreground", "again"] {
        assert!(refused.to_string().contains(part), "{refused}");
    }
    nothing_is_left(&fixture).await;
}

type Spoil = fn(&Fixture, &Agent, &mut JobRequest);

// spec: timeout-jobs-hooks/J23
#[tokio::test(start_paused = true)]
async fn what_is_wrong_is_found_in_a_fixed_order() {
    // Each of these is wrong, and all of those after it as well.
    let wrong: [(Spoil, &str); 5] = [
        (|_, _, request| request.kind.clear(), "invalid job kind"),
        (|_, _, request| request.label.clear(), "invalid job label"),
        (|_, _, request| request.output_limit_bytes = Some(0), "invalid outputLimitBytes"),
        (|_, stale, request| request.owner = Some(stale.clone()), "live registered instance"),
        (|_, _, _| {}, "the limit of 1 background jobs is reached"),
    ];
    let fixture = Fixture::bare(Config { max_active_jobs: 1.try_into().unwrap() }).await;
    fixture.provide_agents();
    let spoiled = |from: usize| {
        let (stale, live) = (fixture.agent("s-1"), fixture.agent("s-1"));
        let mut request = request(Some(&live), never());
        wrong[from..].iter().for_each(|(spoil, _)| spoil(&fixture, &stale, &mut request));
        request
    };
    assert!(refusal(&fixture, spoiled(0)).contains("no job controller"));
    fixture.control(&fixture.app);
    for (from, (_, expected)) in wrong.iter().enumerate().take(4) {
        let refusal = refusal(&fixture, spoiled(from));
        assert!(refusal.contains(expected), "{from}: {refusal}");
    }
    let agent = fixture.agent("s-1");
    let (_job, _work) = fixture.start(Some(&agent));
    let refused = refusal(&fixture, request(Some(&agent), never()));
    assert!(refused.contains(wrong[4].1) && refused.contains("job_kill"), "{refused}");
}

// spec: timeout-jobs-hooks/J25
#[tokio::test(start_paused = true)]
async fn work_that_does_not_begin_leaves_nothing() {
    let fixture = Fixture::with_limit(1).await;
    let (agent, before) = (fixture.agent("s-1"), fixture.app.effects(&fixture.app));
    let fails: JobStart = Box::new(|| Err("there is no such program".into()));
    let failed = fixture.try_start(request(None, fails)).unwrap_err();
    let StartError::Run(source) = &failed else { panic!("{failed:?}") };
    assert_eq!(source.to_string(), "there is no such program");
    for _ in 0..3 {
        let panics: JobStart = Box::new(|| panic!("the work burst"));
        let failed = fixture.try_start(request(Some(&agent), panics)).unwrap_err();
        let StartError::Run(source) = &failed else { panic!("{failed:?}") };
        assert!(source.to_string().contains("the work burst"), "{source}");
    }
    fixture.app.quiet().await;
    // Its place is free again, and the plugin has no registration of it.
    assert_eq!(fixture.app.effects(&fixture.app), before);
    assert_eq!(fixture.list(Some(&agent)), [""; 0]);
    nothing_is_left(&fixture).await;
    fixture.start(Some(&agent));
}

// spec: timeout-jobs-hooks/J24
#[tokio::test(start_paused = true)]
async fn a_start_that_is_refused_never_calls_the_work_and_drops_it() {
    let fixture = Fixture::with_limit(1).await;
    let held = Arc::new(AtomicUsize::new(0));
    let (_job, _work) = fixture.start(None);
    let counts = held.clone();
    let run: JobStart = Box::new(move || {
        counts.fetch_add(1, Ordering::Relaxed);
        Err("it ran".into())
    });
    let refused = fixture.try_start(request(None, run)).unwrap_err();
    assert!(matches!(refused, StartError::Full { limit: 1 }), "{refused:?}");
    assert_eq!((held.load(Ordering::Relaxed), Arc::strong_count(&held)), (0, 1));
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn a_plugin_that_is_unloaded_starts_nothing() {
    let fixture = Fixture::new().await;
    let producer = fixture.producer(&fixture.app).await;
    let ctx: Context = producer.context();
    producer.dispose().await;
    let refused = fixture.start_of(&ctx, request(None, never())).unwrap_err();
    assert!(refused.to_string().contains("`producer#"), "{refused}");
    nothing_is_left(&fixture).await;
}

// spec: timeout-jobs-hooks/J25
#[tokio::test(start_paused = true)]
async fn numbers_are_counted_for_each_kind_and_never_given_twice() {
    let fixture = Fixture::with_limit(3).await;
    let agent = fixture.agent("s-1");
    let start = |kind: &str, owner| {
        let (run, work) = work();
        let kind = kind.to_owned();
        (fixture.try_start(JobRequest { kind, ..request(owner, run) }).unwrap().id.to_string(), work)
    };
    let (first, mut bash_1) = start("bash", None);
    let (second, _bash_2) = start("bash", Some(&agent));
    let (third, _agent_1) = start("agent", None);
    assert_eq!([&*first, &*second, &*third], ["bash-1", "bash-2", "agent-1"]);
    bash_1.end(completed());
    fixture.told().await;
    agent.context().fiber().dispose().await;
    let (next, _bash_3) = start("bash", None);
    assert_eq!(next, "bash-3");
    // A refused one takes none.
    start("fill", None).1.say("");
    let refused = fixture.try_start(JobRequest { kind: "bash".into(), ..request(None, never()) });
    assert!(matches!(refused, Err(StartError::Full { .. })));
    let (run, _work) = work();
    let other = fixture.agent("s-2");
    let next = fixture.try_start(JobRequest { kind: "bash".into(), ..request(Some(&other), run) }).unwrap();
    assert_eq!(next.id.as_str(), "bash-4");
}
