//! An app with tools and the policy, and tools that count their runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cordis::testing::TestApp;
use cordis::{Fiber, Handle};
use dsh_agent::Agent;
use dsh_agent::testing::agent;
use dsh_role_policy::Config;
use dsh_session::{CreateSession, SessionStore};
use dsh_tools::{CallRequest, Caller, TOOLS, ToolDefinition, ToolOutcome, ToolRuntime};
use dsh_tools_invariants::testing::Watched;
use serde_json::{Value, json};

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) tools: Handle<ToolRuntime>,
    runs: Arc<AtomicUsize>,
    sessions: SessionStore,
    _watched: Watched,
}

impl Fixture {
    /// With the tools `read`, `write` and `grep`, and without the policy yet.
    pub(crate) async fn bare() -> Self {
        let app = TestApp::new();
        app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap().ready().await.unwrap();
        let tools = app.get(TOOLS).unwrap();
        let _watched = dsh_tools_invariants::testing::watch(&app).await;
        let fixture = Self { app, tools, runs: Arc::default(), sessions: SessionStore::new(), _watched };
        for name in ["read", "write", "grep"] {
            let runs = fixture.runs.clone();
            let tool = ToolDefinition::raw(name, "Counts its runs.", json!({ "type": "object" }));
            let tool = tool.run(move |_, _| {
                runs.fetch_add(1, Ordering::Relaxed);
                async { Ok(json!("done")) }
            });
            fixture.offer(tool);
        }
        fixture
    }

    pub(crate) async fn new(config: Value) -> Self {
        let fixture = Self::bare().await;
        fixture.mount(config).await;
        fixture
    }

    pub(crate) async fn mount(&self, config: Value) -> Fiber {
        let config: Config = serde_json::from_str(&config.to_string()).unwrap();
        let fiber = self.app.plugin(dsh_role_policy::plugin(), config).unwrap();
        fiber.ready().await.unwrap();
        fiber
    }

    pub(crate) fn offer(&self, tool: ToolDefinition) {
        self.tools.get().unwrap().register(&self.app, tool).unwrap();
    }

    pub(crate) fn agent(&self, id: &str) -> Agent {
        let options = CreateSession { id: Some(id.to_owned()), ..CreateSession::default() };
        agent(&self.app, self.sessions.create(&self.app, options).unwrap()).unwrap().0
    }

    pub(crate) async fn execute(&self, request: CallRequest) -> ToolOutcome {
        self.tools.get().unwrap().execute(&self.app, request).await
    }

    /// Whether a call of somebody of this role runs.
    pub(crate) async fn may(&self, role: &str, tool: &str) -> bool {
        self.runs_with(call(tool).with(caller(role))).await
    }

    /// Whether the call runs its tool, which it does unless it is denied.
    pub(crate) async fn runs_with(&self, request: CallRequest) -> bool {
        let before = self.runs();
        let outcome = self.execute(request).await;
        let ran = self.runs() > before;
        assert_eq!(outcome.is_denied(), !ran, "{outcome:?}");
        ran
    }

    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }
}

pub(crate) fn caller(role: &str) -> Caller {
    Caller { id: "u1".to_owned(), name: "Ada".to_owned(), role: role.to_owned() }
}

pub(crate) fn call(tool: &str) -> CallRequest {
    CallRequest::new("call_1", tool, "{}")
}

/// An owner, a reader and somebody who may do nothing.
pub(crate) fn three_roles() -> Value {
    json!({ "roles": { "owner": ["*"], "reader": ["read", "grep"], "guest": [] } })
}
