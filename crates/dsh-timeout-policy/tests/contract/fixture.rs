//! An app with tools and the policy, and tools that take their time.

use std::time::Duration;

use cordis::testing::TestApp;
use cordis::{Fiber, Handle};
use dsh_timeout_policy::{Config, TOOL_TIMEOUT};
use dsh_tools::{
    CallRequest, ErrorInfo, Failure, TOOLS, ToolDefinition, ToolError, ToolOutcome, ToolRun, ToolRuntime,
};
use dsh_tools_invariants::testing::Watched;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a body may go on after its cancellation.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) tools: Handle<ToolRuntime>,
    _watched: Watched,
}

impl Fixture {
    /// Without the policy yet: what a test registers now is outside of it.
    pub(crate) async fn bare() -> Self {
        let app = TestApp::new();
        let grace = u64::try_from(GRACE.as_millis()).unwrap();
        let config = dsh_tools::Config { body_grace_ms: grace, ..dsh_tools::Config::default() };
        app.plugin(dsh_tools::plugin(), config).unwrap().ready().await.unwrap();
        let tools = app.get(TOOLS).unwrap();
        let _watched = dsh_tools_invariants::testing::watch(&app).await;
        Self { app, tools, _watched }
    }

    pub(crate) async fn new() -> Self {
        let fixture = Self::bare().await;
        fixture.mount(Config::default()).await;
        fixture
    }

    pub(crate) async fn mount(&self, config: Config) -> Fiber {
        let fiber = self.app.plugin(dsh_timeout_policy::plugin(), config).unwrap();
        fiber.ready().await.unwrap();
        fiber
    }

    pub(crate) fn offer(&self, tool: ToolDefinition) {
        self.tools.get().unwrap().register(&self.app, tool).unwrap();
    }

    pub(crate) async fn call(&self, name: &str) -> ToolOutcome {
        self.execute(request(name)).await
    }

    pub(crate) async fn execute(&self, request: CallRequest) -> ToolOutcome {
        self.tools.get().unwrap().execute(&self.app, request).await
    }
}

pub(crate) fn request(name: &str) -> CallRequest {
    CallRequest::new("call_1", name, "{}")
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A tool whose body is this.
pub(crate) fn tool<F, Fut>(name: &'static str, body: F) -> ToolDefinition
where
    F: Fn(ToolRun) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
{
    ToolDefinition::raw(name, "Does what the test wants.", json!({ "type": "object" }))
        .run(move |_arguments, run| body(run))
}

/// Waits for its cancellation and gives a value all the same.
pub(crate) fn waits(name: &'static str) -> ToolDefinition {
    tool(name, async |run| {
        run.cancellation().cancelled().await;
        Ok(json!("late"))
    })
}

/// Is done after some time, whether it is cancelled or not.
pub(crate) fn takes(name: &'static str, time: Duration) -> ToolDefinition {
    tool(name, move |_run| async move {
        tokio::time::sleep(time).await;
        Ok(json!("done"))
    })
}

/// Never ends, whatever it is told.
pub(crate) fn hangs(name: &'static str) -> ToolDefinition {
    tool(name, async |_run| std::future::pending().await)
}

pub(crate) fn timed_out(ms: u64) -> Failure {
    Failure::new(format!("tool call timed out after {ms}ms")).coded(TOOL_TIMEOUT)
}

pub(crate) fn aborted() -> ToolOutcome {
    ToolOutcome::failure(Failure::new("tool call aborted").coded(ErrorInfo::ABORTED))
}

/// Cancelled after some time.
pub(crate) fn cancelled_after(delay: Duration) -> CancellationToken {
    let token = CancellationToken::new();
    let later = token.clone();
    tokio::spawn(async move {
        tokio::time::sleep(delay).await;
        later.cancel();
    });
    token
}

/// What a future gives, and how long it took.
pub(crate) async fn timed<R>(future: impl Future<Output = R>) -> (R, Duration) {
    let start = Instant::now();
    let given = future.await;
    (given, start.elapsed())
}
