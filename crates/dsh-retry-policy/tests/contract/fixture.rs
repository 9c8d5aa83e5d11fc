//! An app with tools and the policy, and tools that fail as the test wants.

use std::sync::Arc;
use std::time::Duration;

use cordis::testing::TestApp;
use cordis::{Effect, Fiber, Handle};
use dsh_retry_policy::Config;
use dsh_tools::{
    CallRequest, ErrorInfo, Failure, TOOLS, ToolDefinition, ToolError, ToolOutcome, ToolRun, ToolRuntime,
};
use dsh_tools_invariants::testing::Watched;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) const TRANSPORT: ErrorInfo = ErrorInfo::fixed("NetError", "TRANSPORT");

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) tools: Handle<ToolRuntime>,
    _watched: Watched,
    /// When bodies were entered, from the fixture's making.
    pub(crate) runs: Arc<Mutex<Vec<Duration>>>,
    start: Instant,
}

/// Waits of 200, 400, 800 … milliseconds up to 1 s, three times.
pub(crate) fn exact() -> Config {
    Config { max_retries: 3, max_delay_ms: 1_000, jitter: 0.0, ..Config::default() }
}

impl Fixture {
    /// Without the policy yet: what a test registers now is outside of it.
    pub(crate) async fn bare() -> Self {
        let app = TestApp::new();
        app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap().ready().await.unwrap();
        let tools = app.get(TOOLS).unwrap();
        let _watched = dsh_tools_invariants::testing::watch(&app).await;
        Self { app, tools, _watched, runs: Arc::default(), start: Instant::now() }
    }

    pub(crate) async fn new() -> Self {
        let fixture = Self::bare().await;
        fixture.mount(exact()).await;
        fixture
    }

    pub(crate) async fn mount(&self, config: Config) -> Fiber {
        let fiber = self.app.plugin(dsh_retry_policy::plugin(), config).unwrap();
        fiber.ready().await.unwrap();
        fiber
    }

    pub(crate) fn offer(&self, tool: ToolDefinition) -> Effect {
        self.tools.get().unwrap().register(&self.app, tool).unwrap()
    }

    /// A tool whose body is given the number of its run, from 1.
    pub(crate) fn probe<F, Fut>(&self, body: F) -> ToolDefinition
    where
        F: Fn(usize, ToolRun) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        let (runs, start) = (self.runs.clone(), self.start);
        let parameters = json!({ "type": "object" });
        ToolDefinition::raw("probe", "Does what the test wants.", parameters).run(move |_arguments, run| {
            let number = {
                let mut runs = runs.lock();
                runs.push(start.elapsed());
                runs.len()
            };
            body(number, run)
        })
    }

    /// Fails `times` times for a reason that passes, then gives the number of its run.
    pub(crate) fn flaky(&self, times: usize) -> ToolDefinition {
        self.probe(move |number, _run| async move {
            if number <= times { Err(reset_error(number)) } else { Ok(json!(number)) }
        })
    }

    pub(crate) async fn call(&self) -> ToolOutcome {
        self.execute(request()).await
    }

    pub(crate) async fn execute(&self, request: CallRequest) -> ToolOutcome {
        self.tools.get().unwrap().execute(&self.app, request).await
    }

    /// When bodies were entered.
    pub(crate) fn runs_ms(&self) -> Vec<u128> {
        self.runs.lock().iter().map(Duration::as_millis).collect()
    }

    pub(crate) fn elapsed_ms(&self) -> u128 {
        self.start.elapsed().as_millis()
    }
}

/// The failure of a run, for a reason that passes.
pub(crate) fn reset(run: usize) -> Failure {
    Failure::new(format!("run {run} was reset")).coded(TRANSPORT)
}

/// The same, as a body gives it.
pub(crate) fn reset_error(run: usize) -> ToolError {
    ToolError::new(reset(run).message()).coded(TRANSPORT)
}

pub(crate) fn request() -> CallRequest {
    CallRequest::new("call_1", "probe", "{}")
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
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
