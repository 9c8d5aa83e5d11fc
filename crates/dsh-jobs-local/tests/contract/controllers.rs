//! Who lets agents see and stop their jobs, and for whom there are none.

use dsh_agent::Agent;
use dsh_agent::testing::{agent, parts};
use dsh_jobs::StartError;
use dsh_jobs_local::Config;
use dsh_session::Session;

use crate::fixture::{Fixture, request, work};

fn is_served(fixture: &Fixture, owner: Option<&Agent>) -> bool {
    match fixture.try_start(request(owner, work().0)) {
        Ok(_) => true,
        Err(StartError::NoController) => false,
        Err(other) => panic!("{other:?}"),
    }
}

async fn uncontrolled() -> Fixture {
    let fixture = Fixture::bare(Config::default()).await;
    fixture.provide_agents();
    fixture
}

// spec: timeout-jobs-hooks/J26
#[tokio::test(start_paused = true)]
async fn a_controller_of_one_scope_serves_the_owners_of_that_scope_only() {
    let fixture = uncontrolled().await;
    let (one, other) = (fixture.agent("s-1"), fixture.agent("s-2"));
    fixture.control(one.context());
    assert!(is_served(&fixture, Some(&one)));
    assert!(!is_served(&fixture, Some(&other)));
    assert!(!is_served(&fixture, None));
}

// spec: timeout-jobs-hooks/J26
#[tokio::test(start_paused = true)]
async fn a_controller_serves_the_scopes_below_its_own() {
    let fixture = uncontrolled().await;
    let preset = fixture.app.scope().unwrap();
    let (_other, driver) = agent(&fixture.app, Session::detached("s-0")).unwrap();
    let scope = fixture.app.scope_under(preset.key()).unwrap();
    let child = Agent::new(parts(Session::detached("s-1"), scope, driver));
    fixture.agents.add(&child, None);
    assert!(!is_served(&fixture, Some(&child)));
    fixture.control(preset.context());
    assert!(is_served(&fixture, Some(&child)));
    preset.close().await;
    assert!(!is_served(&fixture, Some(&child)));
}

// spec: timeout-jobs-hooks/J26
#[tokio::test(start_paused = true)]
async fn a_controller_without_a_scope_serves_everybody() {
    let fixture = uncontrolled().await;
    let agent = fixture.agent("s-1");
    fixture.control(&fixture.app);
    assert!(is_served(&fixture, Some(&agent)));
    assert!(is_served(&fixture, None));
}

// spec: timeout-jobs-hooks/J26
#[tokio::test(start_paused = true)]
async fn once_the_last_controller_is_gone_starts_are_refused_again() {
    let fixture = uncontrolled().await;
    let producer = fixture.producer(&fixture.app).await;
    let first = fixture.control(&fixture.app);
    fixture.control(&producer.context());
    assert!(is_served(&fixture, None));
    first.dispose().await;
    assert!(is_served(&fixture, None), "one is left");
    producer.dispose().await;
    assert!(!is_served(&fixture, None));
}

// spec: timeout-jobs-hooks/J26
#[tokio::test(start_paused = true)]
async fn jobs_that_run_go_on_without_a_controller() {
    let fixture = uncontrolled().await;
    let controller = fixture.control(&fixture.app);
    let (job, work) = fixture.start(None);
    controller.dispose().await;
    work.say("still here");
    assert_eq!(fixture.read(&job, None), "still here");
    fixture.kill(&job, None, None);
    assert_eq!(work.cancels(), [None]);
}

// spec: timeout-jobs-hooks/J26
#[tokio::test(start_paused = true)]
async fn a_context_that_is_gone_attaches_no_controller() {
    let fixture = uncontrolled().await;
    let agent = fixture.agent("s-1");
    let ctx = agent.context().clone();
    ctx.fiber().dispose().await;
    assert!(fixture.jobs.get().unwrap().attach_controller(&ctx, "late").is_err());
    assert!(!is_served(&fixture, None));
}
