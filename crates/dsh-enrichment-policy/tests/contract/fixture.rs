//! An app with tools and the policy, and a tool that keeps what its calls carry.

use std::sync::Arc;
use std::time::Duration;

use cordis::testing::TestApp;
use cordis::{Fiber, Handle};
use dsh_agent::Agent;
use dsh_agent::testing::agent;
use dsh_enrichment_policy::{CallTime, Config, TraceId};
use dsh_session::{CreateSession, SessionStore};
use dsh_tools::{CallRequest, Caller, RunContext, TOOLS, ToolDefinition, ToolOutcome, ToolRuntime};
use dsh_tools_invariants::testing::Watched;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// What a call carried when its body ran.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Carried {
    pub(crate) trace: Option<TraceId>,
    pub(crate) caller: Option<Caller>,
    /// How long ago it had begun.
    pub(crate) age: Option<Duration>,
    pub(crate) arguments: Value,
}

impl Carried {
    pub(crate) fn by(context: &RunContext, arguments: &Value) -> Self {
        Self {
            trace: context.get::<TraceId>().map(|trace| *trace),
            caller: context.get::<Caller>().map(|caller| Caller::clone(&caller)),
            age: context.get::<CallTime>().map(|time| time.elapsed()),
            arguments: arguments.clone(),
        }
    }
}

pub(crate) type Log = Arc<Mutex<Vec<Carried>>>;

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) tools: Handle<ToolRuntime>,
    pub(crate) sessions: SessionStore,
    pub(crate) seen: Log,
    _watched: Watched,
}

impl Fixture {
    /// With the tool `probe` and without the policy yet.
    pub(crate) async fn bare() -> Self {
        let app = TestApp::new();
        app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap().ready().await.unwrap();
        let tools = app.get(TOOLS).unwrap();
        let _watched = dsh_tools_invariants::testing::watch(&app).await;
        let fixture = Self { app, tools, sessions: SessionStore::new(), seen: Log::default(), _watched };
        let seen = fixture.seen.clone();
        let probe = ToolDefinition::raw("probe", "Keeps what it sees.", json!({ "type": "object" }));
        fixture.offer(probe.run(move |arguments, run| {
            seen.lock().push(Carried::by(run.context(), &arguments));
            async { Ok(json!("done")) }
        }));
        fixture
    }

    pub(crate) async fn new(config: Config) -> Self {
        let fixture = Self::bare().await;
        fixture.mount(config).await;
        fixture
    }

    pub(crate) async fn mount(&self, config: Config) -> Fiber {
        let fiber = self.app.plugin(dsh_enrichment_policy::plugin(), config).unwrap();
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

    /// What the call carries when its body runs.
    pub(crate) async fn carried(&self, request: CallRequest) -> Carried {
        self.execute(request).await;
        let [carried] = std::mem::take(&mut *self.seen.lock()).try_into().unwrap();
        carried
    }
}

pub(crate) fn call() -> CallRequest {
    CallRequest::new("call_1", "probe", r#"{ "text": "hello" }"#)
}

pub(crate) fn caller(name: &str) -> Caller {
    Caller { id: format!("id of {name}"), name: name.to_owned(), role: format!("role of {name}") }
}
