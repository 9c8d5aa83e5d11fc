//! An app with tools and the policy, and a tool that does what the test wants.

use std::num::NonZeroUsize;
use std::time::Duration;

use cordis::testing::TestApp;
use cordis::{Effect, Fiber, Handle};
use dsh_metrics_policy::{Config, METRICS, Metrics, Series, Snapshot};
use dsh_tools::{
    CallRequest, ErrorInfo, TOOLS, ToolDefinition, ToolError, ToolOutcome, ToolRun, ToolRuntime,
};
use dsh_tools_invariants::testing::Watched;
use serde_json::{Value, json};

/// Tool, code, number of calls, and of those that were executed: how many and how many milliseconds together.
pub(crate) type Row = (String, String, u64, Option<(u64, u128)>);

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) tools: Handle<ToolRuntime>,
    pub(crate) metrics: Handle<Metrics>,
    pub(crate) policy: Fiber,
    _watched: Watched,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with(Config::default()).await
    }

    pub(crate) async fn with_rows(max_series: usize) -> Self {
        Self::with(Config { max_series: NonZeroUsize::new(max_series).unwrap() }).await
    }

    async fn with(config: Config) -> Self {
        let app = TestApp::new();
        app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap().ready().await.unwrap();
        let tools = app.get(TOOLS).unwrap();
        let policy = app.plugin(dsh_metrics_policy::plugin(), config).unwrap();
        policy.ready().await.unwrap();
        let metrics = app.get(METRICS).unwrap();
        let _watched = dsh_tools_invariants::testing::watch(&app).await;
        let fixture = Self { app, tools, metrics, policy, _watched };
        fixture.offer(probe());
        fixture
    }

    pub(crate) fn offer(&self, tool: ToolDefinition) -> Effect {
        self.tools.get().unwrap().register(&self.app, tool).unwrap()
    }

    /// Calls the probe.
    pub(crate) async fn call(&self, arguments: Value) -> ToolOutcome {
        self.execute(CallRequest::new("call_1", "probe", arguments)).await
    }

    pub(crate) async fn execute(&self, request: CallRequest) -> ToolOutcome {
        self.tools.get().unwrap().execute(&self.app, request).await
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.metrics.get().unwrap().snapshot()
    }

    /// What was counted so far.
    pub(crate) fn rows(&self) -> Vec<Row> {
        self.snapshot().series.iter().map(row).collect()
    }
}

fn row(series: &Series) -> Row {
    let took = series.durations.as_ref().map(|durations| (durations.count(), durations.total().as_millis()));
    (series.tool.to_string(), series.code.to_string(), series.calls, took)
}

/// A row as [`Fixture::rows`] gives it.
pub(crate) fn expected(tool: &str, code: &str, calls: u64, took: Option<(u64, u128)>) -> Row {
    (tool.to_owned(), code.to_owned(), calls, took)
}

/// Works for `ms` milliseconds, then fails with `code` if there is one.
pub(crate) fn probe() -> ToolDefinition {
    ToolDefinition::raw("probe", "Does what the test wants.", json!({ "type": "object" })).run(work)
}

pub(crate) async fn work(arguments: std::sync::Arc<Value>, run: ToolRun) -> Result<Value, ToolError> {
    let work = tokio::time::sleep(Duration::from_millis(arguments["ms"].as_u64().unwrap_or(0)));
    tokio::select! {
        () = work => {}
        () = run.cancellation().cancelled() => return Err(ToolError::aborted()),
    }
    match arguments["code"].as_str() {
        None => Ok(json!("done")),
        Some("") => Err(ToolError::new("no luck")),
        Some(code) => {
            let info = ErrorInfo { name: "ProbeError".into(), code: code.to_owned().into() };
            Err(ToolError::new("no luck").coded(info))
        }
    }
}
