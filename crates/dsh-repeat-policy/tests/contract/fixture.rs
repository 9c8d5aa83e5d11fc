//! An app with tools and the policy, and agents whose calls a test makes.

use cordis::testing::TestApp;
use cordis::{Fiber, Handle};
use dsh_agent::Agent;
use dsh_agent::testing::agent;
use dsh_llm::Message;
use dsh_repeat_policy::Config;
use dsh_session::{CreateSession, SessionStore};
use dsh_tools::{CallRequest, TOOLS, ToolDefinition, ToolOutcome, ToolRuntime};
use dsh_tools_invariants::testing::Watched;
use serde_json::json;

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) tools: Handle<ToolRuntime>,
    pub(crate) sessions: SessionStore,
    pub(crate) ada: Agent,
    _watched: Watched,
}

impl Fixture {
    /// With the tools `look`, `grep` and `mcp_list`, the agent `ada`, and without the policy yet.
    pub(crate) async fn bare() -> Self {
        let app = TestApp::new();
        app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap().ready().await.unwrap();
        let _watched = dsh_tools_invariants::testing::watch(&app).await;
        let (tools, sessions) = (app.get(TOOLS).unwrap(), SessionStore::new());
        for name in ["look", "grep", "mcp_list"] {
            let tool = ToolDefinition::raw(name, "Does nothing.", json!({ "type": "object" }));
            let tool = tool.run(async |_, _| Ok(json!("nothing new")));
            tools.get().unwrap().register(&app, tool).unwrap();
        }
        let options = CreateSession { id: Some("ada".to_owned()), ..CreateSession::default() };
        let ada = agent(&app, sessions.create(&app, options).unwrap()).unwrap().0;
        Self { app, tools, sessions, ada, _watched }
    }

    pub(crate) async fn new(config: Config) -> Self {
        let fixture = Self::bare().await;
        fixture.mount(config).await;
        fixture
    }

    /// Reminds at these counts.
    pub(crate) async fn at(thresholds: &[u64]) -> Self {
        Self::new(Config { thresholds: thresholds.to_vec(), ..Config::default() }).await
    }

    pub(crate) async fn mount(&self, config: Config) -> Fiber {
        let fiber = self.app.plugin(dsh_repeat_policy::plugin(), config).unwrap();
        fiber.ready().await.unwrap();
        fiber
    }

    pub(crate) async fn execute(&self, request: CallRequest) -> ToolOutcome {
        self.tools.get().unwrap().execute(&self.app, request).await
    }

    pub(crate) async fn call_of(&self, agent: &Agent, tool: &str, arguments: &str) -> ToolOutcome {
        self.execute(CallRequest::new("call_1", tool, arguments).agent(agent)).await
    }

    pub(crate) async fn call(&self, tool: &str, arguments: &str) -> ToolOutcome {
        self.call_of(&self.ada, tool, arguments).await
    }

    /// Whether a call brings a reminder.
    pub(crate) async fn reminds(&self, tool: &str, arguments: &str) -> bool {
        is_reminder(&self.call(tool, arguments).await)
    }
}

/// Whether the outcome has one message, or none.
pub(crate) fn is_reminder(outcome: &ToolOutcome) -> bool {
    assert!(outcome.additional_contexts().len() <= 1, "{outcome:?}");
    !outcome.additional_contexts().is_empty()
}

/// The texts of the messages of an outcome.
pub(crate) fn texts(outcome: &ToolOutcome) -> Vec<String> {
    outcome.additional_contexts().iter().map(Message::text).collect()
}
