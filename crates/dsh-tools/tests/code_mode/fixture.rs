//! An app with tools, a system prompt and a runtime whose programs are Rust closures.

use std::sync::Arc;

use cordis::testing::TestApp;
use cordis::{BoxError, BoxFuture, Context, Effect, Handle, Lease, ScopeKey};
use dsh_prompt::{AssembleContext, AssembleError, PromptAssembly, SYSTEM_PROMPT};
use dsh_tools::{
    CODE_RUNTIME, CallRequest, CodeOutcome, CodeRequest, CodeRuntime, Config, Mode, RUN_CODE, TOOLS,
    ToolDefinition, ToolOutcome, ToolRuntime,
};
use dsh_tools_invariants::testing::Watched;
use parking_lot::Mutex;
use serde_json::{Value, json};

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    tools: Handle<ToolRuntime>,
    _watched: Watched,
}

impl Fixture {
    pub(crate) async fn new(mode: Mode) -> Self {
        Self::with(mode, json!({})).await
    }

    /// With this configuration of the system prompt.
    pub(crate) async fn with(mode: Mode, prompt: Value) -> Self {
        let app = TestApp::new();
        let mut config = json!({ "includeHarnessIdentity": false });
        config.as_object_mut().unwrap().extend(prompt.as_object().unwrap().clone());
        let config: dsh_prompt::Config = serde_json::from_value(config).unwrap();
        app.plugin(dsh_prompt::plugin(), config).unwrap().ready().await.unwrap();
        app.plugin(dsh_prompt_invariants::plugin(), ()).unwrap().ready().await.unwrap();
        let config = Config { mode, ..Config::default() };
        app.plugin(dsh_tools::plugin(), config).unwrap().ready().await.unwrap();
        let _watched = dsh_tools_invariants::testing::watch(&app).await;
        app.quiet().await;
        let tools = app.get(TOOLS).unwrap();
        Self { app, tools, _watched }
    }

    pub(crate) fn tools(&self) -> Lease<'_, ToolRuntime> {
        self.tools.get().unwrap()
    }

    /// Runs this instead of every program.
    pub(crate) fn programs<F, Fut>(&self, language: &'static str, program: F) -> Effect
    where
        F: Fn(CodeRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = CodeOutcome> + Send + 'static,
    {
        let program: Box<Program> = Box::new(move |request| {
            let outcome = program(request);
            Box::pin(async move { Ok(outcome.await) })
        });
        let runtime: Arc<dyn CodeRuntime> = Arc::new(Closure { language, program });
        self.app.provide(CODE_RUNTIME, runtime).unwrap()
    }

    /// There is a runtime, and nothing is run.
    pub(crate) fn speaks(&self, language: &'static str) -> Effect {
        self.programs(language, async |_| CodeOutcome::completed(Vec::new(), None))
    }

    /// Offers a tool that gives its own name.
    pub(crate) fn offer(&self, ctx: &Context, name: &'static str) -> Effect {
        self.tools().register(ctx, named(name)).unwrap()
    }

    /// Offers a tool of these schemas.
    pub(crate) fn declare(
        &self,
        name: &'static str,
        description: &'static str,
        parameters: Value,
        output: Value,
    ) {
        let tool = ToolDefinition::raw(name, description, parameters).output(output);
        self.tools().register(&self.app, tool.run(async |_, _| Ok(Value::Null))).unwrap();
    }

    pub(crate) async fn assemble(&self, scope: Option<&ScopeKey>) -> Result<PromptAssembly, AssembleError> {
        let context = scope.map_or_else(AssembleContext::new, AssembleContext::scoped);
        let prompt = self.app.get(SYSTEM_PROMPT).unwrap();
        prompt.get().unwrap().assemble(&self.app, &context).await
    }

    /// The names of the tools that a prompt offers, and those of its sections on tools that have a text.
    pub(crate) async fn offered(&self, scope: Option<&ScopeKey>) -> (Vec<String>, Vec<String>) {
        let assembly = self.assemble(scope).await.unwrap();
        let tools = assembly.tools.iter().map(|tool| tool.name.clone()).collect();
        let sections = assembly.sections.iter().filter(|section| !section.text.is_empty());
        (tools, sections.map(|section| section.name.clone()).collect())
    }

    pub(crate) async fn section(&self, name: &str) -> String {
        let assembly = self.assemble(None).await.unwrap();
        assembly.sections.into_iter().find(|section| section.name == name).unwrap().text
    }

    /// The declarations inside of the section on programs.
    pub(crate) async fn declarations(&self) -> String {
        let text = self.section("tools:sdk").await;
        let (_, fenced) = text.split_once("```").unwrap();
        let (_, fenced) = fenced.split_once('\n').unwrap();
        fenced.strip_suffix("```").unwrap().to_owned()
    }

    pub(crate) async fn execute(&self, request: CallRequest) -> ToolOutcome {
        self.tools().execute(&self.app, request).await
    }

    /// Has a model of nobody run a program.
    pub(crate) async fn run(&self) -> ToolOutcome {
        self.execute(program("c1")).await
    }
}

/// A call of `run_code`.
pub(crate) fn program(id: &str) -> CallRequest {
    CallRequest::new(id, RUN_CODE, json!({ "code": "the program", "description": "Do it" }))
}

/// A tool that gives its own name.
pub(crate) fn named(name: &'static str) -> ToolDefinition {
    let parameters = json!({ "type": "object", "properties": {} });
    ToolDefinition::raw(name, "A tool.", parameters)
        .output(json!({ "type": "string" }))
        .run(async move |_, _| Ok(name.into()))
}

type Program = dyn Fn(CodeRequest) -> BoxFuture<'static, Result<CodeOutcome, BoxError>> + Send + Sync;

struct Closure {
    language: &'static str,
    program: Box<Program>,
}

impl CodeRuntime for Closure {
    fn language(&self) -> &str {
        self.language
    }

    fn isolation(&self) -> &str {
        "none"
    }

    fn run(&self, request: CodeRequest) -> BoxFuture<'static, Result<CodeOutcome, BoxError>> {
        (self.program)(request)
    }
}

/// What happened, in order; cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn say(&self, what: impl Into<String>) {
        self.0.lock().push(what.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl Log {
    pub(crate) fn has(&self, what: &str) -> bool {
        self.0.lock().iter().any(|said| said == what)
    }
}
