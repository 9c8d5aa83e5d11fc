//! An app with sessions, tools and the policy; what happens is noted in order.

use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{BoxError, Context, Effect, Fiber, Handle, Scope, ScopeKey};
use dsh_session::{CreateSession, FLUSH, SESSIONS, Session, SessionStore};
use dsh_tools::{
    CallRequest, Config, TOOLS, ToolDefinition, ToolError, ToolOutcome, ToolRun, ToolRuntime, tool,
};
use dsh_tools_invariants::testing::Watched;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Deserialize;

/// What happened, in order.
pub(crate) type Log = Arc<Mutex<Vec<String>>>;

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) sessions: Handle<SessionStore>,
    pub(crate) tools: Handle<ToolRuntime>,
    pub(crate) policy: Fiber,
    pub(crate) agent: Scope,
    pub(crate) session: Arc<Session>,
    pub(crate) log: Log,
    _watched: Watched,
}

impl Fixture {
    /// One agent with one session, and the tool `probe`.
    pub(crate) async fn new() -> Self {
        let app = TestApp::new();
        app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
        app.plugin(dsh_session_invariants::plugin(), ()).unwrap().ready().await.unwrap();
        let tools =
            app.plugin(dsh_tools::plugin(), Config { body_grace_ms: 1_000, ..Config::default() }).unwrap();
        tools.ready().await.unwrap();
        let policy = app.plugin(dsh_checkpoint_policy::plugin(), ()).unwrap();
        policy.ready().await.unwrap();
        let (sessions, tools) = (app.get(SESSIONS).unwrap(), app.get(TOOLS).unwrap());
        let _watched = dsh_tools_invariants::testing::watch(&app).await;
        let agent = app.scope().unwrap();
        let log = Log::default();
        let session = create(&sessions, agent.context(), "own");
        tools.get().unwrap().register(&app, probe(log.clone())).unwrap();
        Self { app, sessions, tools, policy, agent, session, log, _watched }
    }

    pub(crate) fn create(&self, ctx: &Context, id: &str) -> Arc<Session> {
        create(&self.sessions, ctx, id)
    }

    /// Notes every flush by the session's name.
    pub(crate) fn note_flushes(&self) -> Effect {
        let listener = async |log: &Log, session: &Arc<Session>| -> Result<(), BoxError> {
            // A flush takes its time.
            tokio::task::yield_now().await;
            log.lock().push(format!("flush {}", session.id()));
            Ok(())
        };
        self.app.on(FLUSH).global().with(self.log.clone()).run(listener).unwrap()
    }

    /// Calls the probe for the agent.
    pub(crate) async fn call(&self) -> ToolOutcome {
        self.call_of(Some(self.agent.key())).await
    }

    pub(crate) async fn call_of(&self, scope: Option<&ScopeKey>) -> ToolOutcome {
        self.execute(request("probe", scope)).await
    }

    pub(crate) async fn execute(&self, request: CallRequest) -> ToolOutcome {
        self.tools.get().unwrap().execute(&self.app, request).await
    }

    pub(crate) fn happened(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock())
    }
}

fn create(sessions: &Handle<SessionStore>, ctx: &Context, id: &str) -> Arc<Session> {
    let options = CreateSession { id: Some(id.to_owned()), ..CreateSession::default() };
    sessions.get().unwrap().create(ctx, options).unwrap()
}

pub(crate) fn request(name: &str, scope: Option<&ScopeKey>) -> CallRequest {
    let request = CallRequest::new("call-1", name, "{}");
    match scope {
        Some(scope) => request.scope(scope),
        None => request,
    }
}

/// Tools that take nothing.
#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// Notes that its body ran.
fn probe(log: Log) -> impl Into<ToolDefinition> {
    tool("probe", "Notes that it ran.").with(log).run(async |log: Arc<Log>, _: Nothing, _run| {
        log.lock().push("body".to_owned());
        Ok("done".to_owned())
    })
}

/// Calls the probe from its own body.
pub(crate) fn outer(ctx: Context, tools: Handle<ToolRuntime>, log: Log) -> impl Into<ToolDefinition> {
    tool("outer", "Calls another tool.").with((ctx, tools, log)).run(call_probe)
}

async fn call_probe(
    state: Arc<(Context, Handle<ToolRuntime>, Log)>,
    _: Nothing,
    run: ToolRun,
) -> Result<String, ToolError> {
    let (ctx, tools, log) = &*state;
    log.lock().push("outer body".to_owned());
    let inner = tools.get()?.execute_nested(ctx, &run, request("probe", run.scope())).await;
    Ok(inner.text())
}
