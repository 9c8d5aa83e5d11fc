//! Which agents there are, and who is told.

use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{BoxFuture, Context};
use dsh_agent::testing::agent;
use dsh_agent::{
    AGENTS, Agent, AgentError, AgentFactory, AgentHandle, AgentId, Agents, CREATED, CreateAgent, DISPOSED,
    FactoryError, RegisterError, ResumeAgent,
};
use dsh_session::Session;
use parking_lot::Mutex;

type Heard = Arc<Mutex<Vec<String>>>;

async fn registry(app: &TestApp) -> (Agents, Heard) {
    app.plugin(dsh_agent::plugin(), ()).unwrap().ready().await.unwrap();
    let heard = Heard::default();
    let told = heard.clone();
    app.on(CREATED)
        .run(move |agent: &Agent| {
            told.lock().push(format!("+{}", agent.id()));
            Ok(())
        })
        .unwrap();
    let told = heard.clone();
    app.on(DISPOSED).run(move |agent| told.lock().push(format!("-{}", agent.id()))).unwrap();
    (app.get(AGENTS).unwrap().get().unwrap().clone(), heard)
}

fn named(ctx: &Context, id: &str) -> Agent {
    agent(ctx, Session::detached(id)).unwrap().0
}

// spec: agent-loop/S18, agent-loop/S19
#[tokio::test]
async fn an_agent_is_live_from_its_registration_to_its_end() {
    let app = TestApp::new();
    let (agents, heard) = registry(&app).await;
    let (one, two) = (named(&app, "one"), named(&app, "two"));
    let registered = agents.register(&app, &one).unwrap();
    let _two = agents.register(one.context(), &two).unwrap();
    assert_eq!(agents.get(&AgentId::from("one")), Some(one.clone()));
    assert_eq!(agents.list(), [one.clone(), two.clone()]);
    assert_eq!(agents.roots(), std::slice::from_ref(&one));
    assert!(agents.is_owned_by(two.id(), one.id()));
    assert!(!agents.is_owned_by(one.id(), one.id()));
    let twice = agents.register(&app, &named(&app, "one")).unwrap_err();
    assert!(matches!(twice, RegisterError::Exists(_)), "{twice}");
    registered.dispose().await;
    registered.dispose().await;
    assert_eq!(*heard.lock(), ["+one", "+two", "-one"]);
    let again = named(&app, "one");
    let _again = agents.register(&app, &again).unwrap();
    assert_eq!(agents.get(&AgentId::from("one")), Some(again));
}

// spec: agent-loop/S18
#[tokio::test]
async fn one_that_is_refused_is_told_to_be_gone_and_one_that_was_not_announced_is_not() {
    let app = TestApp::new();
    let (agents, heard) = registry(&app).await;
    let refusing = app.on(CREATED).run(|_: &Agent| Err("no".into())).unwrap();
    let refused = agents.register(&app, &named(&app, "one")).unwrap_err();
    assert!(matches!(refused, RegisterError::Refused { .. }), "{refused}");
    assert_eq!(std::mem::take(&mut *heard.lock()), ["+one", "-one"]);
    refusing.dispose().await;
    let quiet = agents.enter(&app, &named(&app, "one")).unwrap();
    assert!(quiet.is_live());
    quiet.detach();
    quiet.detach();
    assert!(!quiet.is_live());
    // It was gone before anybody was told.
    quiet.announce().unwrap();
    assert_eq!(*heard.lock(), Vec::<String>::new());
    assert_eq!(agents.list(), []);
}

// spec: agent-loop/S18, agent-loop/S24
#[tokio::test]
async fn one_that_is_registered_on_a_context_that_has_ended_is_not_live() {
    let app = TestApp::new();
    let (agents, heard) = registry(&app).await;
    let scope = app.scope().unwrap();
    let ended = scope.context().clone();
    scope.close().await;
    let refused = agents.register(&ended, &named(&app, "one")).unwrap_err();
    assert!(matches!(refused, RegisterError::Inactive(_)), "{refused}");
    assert_eq!(agents.list(), []);
    assert_eq!(*heard.lock(), Vec::<String>::new());
}

// spec: agent-loop/S18
#[tokio::test]
async fn one_that_leaves_while_it_is_announced_leaves_afterwards() {
    let app = TestApp::new();
    let (agents, heard) = registry(&app).await;
    let entered = Arc::new(agents.enter(&app, &named(&app, "one")).unwrap());
    let (leaving, seen, registry) = (entered.clone(), heard.clone(), agents.clone());
    app.on(CREATED)
        .run(move |agent: &Agent| {
            leaving.detach();
            seen.lock().push(format!("still {}", registry.get(agent.id()).is_some()));
            Ok(())
        })
        .unwrap();
    entered.announce().unwrap();
    entered.announce().unwrap();
    assert_eq!(*heard.lock(), ["+one", "still true", "-one"]);
    assert_eq!(agents.list(), []);
}

// spec: agent-loop/S18
#[tokio::test]
async fn an_end_that_is_late_does_not_touch_another_agent_of_that_id() {
    let app = TestApp::new();
    let (agents, _) = registry(&app).await;
    let first = agents.enter(&app, &named(&app, "one")).unwrap();
    first.detach();
    let second = named(&app, "one");
    let _second = agents.enter(&app, &second).unwrap();
    first.detach();
    assert_eq!(agents.list(), [second]);
}

struct Never;

impl AgentFactory for Never {
    fn create(
        self: Arc<Self>,
        _: Context,
        request: CreateAgent,
    ) -> BoxFuture<'static, Result<AgentHandle, AgentError>> {
        let agent = request.session.id.unwrap_or_default();
        Box::pin(async { Err(AgentError::Cancelled { agent }) })
    }

    fn resume(
        self: Arc<Self>,
        _: Context,
        _: ResumeAgent,
    ) -> BoxFuture<'static, Result<AgentHandle, AgentError>> {
        Box::pin(std::future::pending())
    }
}

// spec: agent-loop/S20
#[tokio::test]
async fn one_plugin_makes_agents_at_a_time() {
    let app = TestApp::new();
    let (agents, _) = registry(&app).await;
    assert!(matches!(agents.create(&app, CreateAgent::new("a")).await, Err(AgentError::NoLoop)));
    assert!(matches!(agents.resume(&app, ResumeAgent::new("a")).await, Err(AgentError::NoLoop)));
    let serving = agents.serve(&app, Arc::new(Never)).unwrap();
    let second = agents.serve(&app, Arc::new(Never)).unwrap_err();
    assert!(matches!(second, FactoryError::Taken { .. }), "{second}");
    assert!(matches!(agents.create(&app, CreateAgent::new("a")).await, Err(AgentError::Cancelled { .. })));
    let resuming = agents.resume(&app, ResumeAgent::new("a"));
    let (resumed, disposed) = tokio::join!(resuming, async {
        tokio::task::yield_now().await;
        serving.dispose().await
    });
    assert!(disposed.is_clean());
    assert!(matches!(resumed, Err(AgentError::LoopGone { .. })), "{resumed:?}");
    let _next = agents.serve(&app, Arc::new(Never)).unwrap();
    assert!(matches!(agents.create(&app, CreateAgent::new("a")).await, Err(AgentError::Cancelled { .. })));
}
