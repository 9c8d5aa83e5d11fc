//! An app with the tools service, and a tool that does what the test wants.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cordis::{App, BoxError, Context, Fiber, Handle, ScopeKey, define};
use dsh_tools::{
    CallRequest, Config, ErrorInfo, TOOLS, Tool, ToolError, ToolOutcome, ToolRun, ToolRuntime, ToolSpec,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// What happened, in order.
pub(crate) type Log = Arc<Mutex<Vec<String>>>;

pub(crate) struct Fixture {
    pub(crate) app: App,
    pub(crate) tools: Handle<ToolRuntime>,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let app = App::new().unwrap();
        app.plugin(dsh_tools::plugin(), Config { body_grace_ms: 1_000 }).unwrap().ready().await.unwrap();
        let tools = app.get(TOOLS).unwrap();
        Self { app, tools }
    }

    /// Offers the probe to all.
    pub(crate) async fn with(probe: Probe) -> Self {
        let fixture = Self::new().await;
        fixture.tools.get().unwrap().register(&fixture.app, probe).unwrap();
        fixture
    }

    pub(crate) async fn call(&self, name: &str, arguments: &str) -> ToolOutcome {
        self.execute(request(name, arguments)).await
    }

    pub(crate) async fn call_as(&self, scope: &ScopeKey, name: &str) -> ToolOutcome {
        self.execute(CallRequest { scope: Some(scope.clone()), ..request(name, "{}") }).await
    }

    pub(crate) async fn execute(&self, request: CallRequest) -> ToolOutcome {
        self.tools.get().unwrap().execute(&self.app, request).await
    }

    /// Mounts a plugin that does `apply` with the tools when it starts.
    pub(crate) async fn plugin(
        &self,
        ctx: &Context,
        name: &'static str,
        apply: fn(&ToolRuntime, &Context) -> Result<(), BoxError>,
    ) -> Fiber {
        let body = async |ctx: &Context,
                          tools: Handle<ToolRuntime>,
                          apply: &fn(&ToolRuntime, &Context) -> Result<(), BoxError>|
               -> Result<(), BoxError> { apply(&*tools.get()?, ctx) };
        let fiber = ctx.plugin(define(name).needs(TOOLS).run(body), apply).unwrap();
        let _ = fiber.ready().await;
        fiber
    }
}

pub(crate) fn request(name: &str, arguments: &str) -> CallRequest {
    CallRequest {
        id: "call-1".to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        scope: None,
        cancellation: CancellationToken::new(),
    }
}

/// A tool that counts its runs.
#[derive(Clone)]
pub(crate) struct Probe {
    pub(crate) name: &'static str,
    pub(crate) does: Does,
    pub(crate) runs: Arc<AtomicUsize>,
    /// Dropped with the last copy of the probe.
    pub(crate) held: Arc<()>,
    pub(crate) log: Log,
}

/// What the body does.
#[derive(Clone, Copy)]
pub(crate) enum Does {
    /// Gives the arguments back.
    Echo,
    Fail,
    Panic,
    /// Waits for its cancellation, then succeeds all the same.
    Wait,
    /// Never ends.
    Hang,
}

impl Probe {
    pub(crate) fn new(does: Does) -> Self {
        Self { name: "probe", does, runs: Arc::default(), held: Arc::default(), log: Log::default() }
    }

    pub(crate) fn named(name: &'static str) -> Self {
        Self { name, ..Self::new(Does::Echo) }
    }

    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

impl Tool for Probe {
    type Arguments = Value;

    fn spec(&self) -> ToolSpec {
        let properties = json!({
            "text": { "type": "string" },
            "mode": { "type": "string", "enum": ["a", "b"] },
            "count": { "type": "integer" },
        });
        let parameters = json!({ "type": "object", "properties": properties });
        ToolSpec::new(self.name, "Does what the test wants.", parameters)
    }

    async fn run(&self, arguments: Value, run: &ToolRun<'_>) -> Result<String, ToolError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        self.log.lock().push("body".to_owned());
        match self.does {
            Does::Echo => Ok(format!("{} {arguments}", self.name)),
            Does::Fail => {
                Err(ToolError::new("no luck").with_kind(ErrorInfo::fixed("Probe", "P")).with_output("half"))
            }
            Does::Panic => panic!("the probe burst"),
            Does::Wait => {
                run.cancellation().cancelled().await;
                Ok("late".to_owned())
            }
            Does::Hang => {
                tokio::time::sleep(Duration::from_secs(3_600)).await;
                Ok("never".to_owned())
            }
        }
    }
}
