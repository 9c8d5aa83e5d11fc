//! An app with the tools service, and tools that say who they are.

use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{BoxError, Context, Fiber, Handle, Lease, ScopeKey, define};
use dsh_tools::{
    CHANGE, CallRequest, Config, RegisteredTool, TOOLS, ToolDefinition, ToolOutcome, ToolRuntime,
};
use dsh_tools_invariants::testing::Watched;
use parking_lot::Mutex;
use serde_json::{Value, json};

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) handle: Handle<ToolRuntime>,
    pub(crate) watched: Watched,
}

/// What a plugin does with the tools when it starts.
pub(crate) type Apply = Arc<dyn Fn(&ToolRuntime, &Context) -> Result<(), BoxError> + Send + Sync>;

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with(Config::default()).await
    }

    pub(crate) async fn with(config: Config) -> Self {
        let app = TestApp::new();
        app.plugin(dsh_tools::plugin(), config).unwrap().ready().await.unwrap();
        let handle = app.get(TOOLS).unwrap();
        let watched = dsh_tools_invariants::testing::watch(&app).await;
        Self { app, handle, watched }
    }

    pub(crate) fn tools(&self) -> Lease<'_, ToolRuntime> {
        self.handle.get().unwrap()
    }

    /// The names that a scope sees, in order.
    pub(crate) fn names(&self, scope: Option<&ScopeKey>) -> Vec<String> {
        names(&self.tools(), scope)
    }

    /// What the tool says that a scope sees under this name.
    pub(crate) fn said(&self, name: &str, scope: Option<&ScopeKey>) -> Option<String> {
        self.tools().get(name, scope).map(|tool| tool.schema().description.clone())
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolOutcome {
        self.tools().execute(&self.app, CallRequest::new("c1", name, arguments)).await
    }

    pub(crate) async fn call_in(&self, scope: &ScopeKey, name: &str) -> ToolOutcome {
        self.tools().execute(&self.app, CallRequest::new("c1", name, json!({})).scope(scope)).await
    }

    /// Mounts a plugin that does `apply` when it starts, and waits until it has started or failed.
    pub(crate) async fn plugin(
        &self,
        name: &'static str,
        apply: impl Fn(&ToolRuntime, &Context) -> Result<(), BoxError> + Send + Sync + 'static,
    ) -> Fiber {
        async fn body(ctx: &Context, tools: Handle<ToolRuntime>, apply: &Apply) -> Result<(), BoxError> {
            apply(&*tools.get()?, ctx)
        }
        let apply: Apply = Arc::new(apply);
        let fiber = self.app.plugin(define(name).needs(TOOLS).run(body), apply).unwrap();
        let _ = fiber.ready().await;
        fiber
    }

    /// The scopes of the changes that are told from now on, by their ids.
    pub(crate) fn changes(&self) -> Arc<Mutex<Vec<Option<u64>>>> {
        let told = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&told);
        let listener = move |change: &dsh_tools::ToolsChange| {
            seen.lock().push(change.scope.as_ref().map(ScopeKey::id));
            Ok::<(), BoxError>(())
        };
        self.app.on(CHANGE).run(listener).unwrap();
        told
    }
}

pub(crate) fn names(tools: &ToolRuntime, scope: Option<&ScopeKey>) -> Vec<String> {
    tools.list(scope).iter().map(|tool| tool.name().to_owned()).collect()
}

/// A tool whose description and value say which one it is.
pub(crate) fn marked(name: impl Into<String>, mark: impl Into<String>) -> ToolDefinition {
    let mark = mark.into();
    let value = json!(mark);
    ToolDefinition::raw(name.into(), mark, json!({ "type": "object" })).run(move |_, _| {
        let value = value.clone();
        async { Ok(value) }
    })
}

/// A tool that says its name.
pub(crate) fn named(name: &str) -> ToolDefinition {
    marked(name, name)
}

/// A tool that gives its arguments back.
pub(crate) fn echo(name: &'static str) -> dsh_tools::RawTool {
    ToolDefinition::raw(name, "Gives it back.", json!({ "type": "object" }))
}

pub(crate) async fn give_back(
    arguments: Arc<Value>,
    _run: dsh_tools::ToolRun,
) -> Result<Value, dsh_tools::ToolError> {
    Ok((*arguments).clone())
}

pub(crate) fn registered(fixture: &Fixture, name: &str) -> Arc<RegisteredTool> {
    fixture.tools().get(name, None).unwrap()
}
