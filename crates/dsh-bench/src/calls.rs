//! Apps with a tool, policies, guards and other agents, and calls of that tool.

use std::hint::black_box;
use std::time::Duration;

use cordis::{App, Context, Handle, Next, Scope};
use cordis_bench::host::app_on;
use dsh_tools::{
    Arguments, CallRequest, Config, EXECUTE, GivenArguments, POST_EXECUTE, PRE_EXECUTE, PostDecision,
    PreDecision, RESULT, Settled, TOOLS, ToolCall, ToolDefinition, ToolOutcome, ToolRuntime,
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// How many listeners each station of [`Host::policies`] has, and how many guards there are.
pub const EACH: usize = 3;

/// What a model writes for the tool [`echo`].
pub const TEXT: &str = r#"{"text":"hello"}"#;

/// What a model writes with 200 objects beside the text.
#[must_use]
pub fn long_text() -> String {
    let data: Vec<Value> =
        (0..200).map(|id| json!({ "id": id, "name": format!("n{id}"), "ok": true })).collect();
    json!({ "text": "hello", "data": data }).to_string()
}

/// The same, read already.
#[must_use]
pub fn long_arguments() -> Arguments {
    Arguments::parse(&long_text()).unwrap()
}

/// The JSON schema of the parameters of [`echo`].
#[must_use]
pub fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": { "text": { "type": "string" }, "data": { "type": "array", "items": {} } },
        "required": ["text"],
    })
}

/// A tool that gives back its text; its arguments and its value are checked.
#[must_use]
pub fn echo() -> ToolDefinition {
    ToolDefinition::raw("echo", "Gives back its text.", parameters())
        .checked()
        .output(json!({ "type": "string" }))
        .run(async |arguments, _run| Ok(arguments["text"].clone()))
}

/// An app with the tool service and one tool.
pub struct Host {
    app: App,
    tools: Handle<ToolRuntime>,
    caller: Option<Scope>,
    others: Vec<Scope>,
    cancellation: CancellationToken,
}

impl Host {
    /// Nothing but the tool.
    #[must_use]
    pub fn bare(runtime: &Runtime) -> Self {
        Self::offering(runtime, echo())
    }

    /// Nothing but the tool, which has to be called `echo`.
    #[must_use]
    pub fn offering(runtime: &Runtime, tool: ToolDefinition) -> Self {
        let app = app_on(runtime);
        runtime.block_on(async {
            let tools = app.plugin(dsh_tools::plugin(), Config::default()).unwrap();
            tools.ready().await.unwrap();
        });
        let tools = app.get(TOOLS).unwrap();
        tools.get().unwrap().register(&app, tool).unwrap();
        Self { app, tools, caller: None, others: Vec::new(), cancellation: CancellationToken::new() }
    }

    /// With [`EACH`] listeners of each station, as many guards, and the policy of time limits: each lets everything pass.
    #[must_use]
    pub fn policies(runtime: &Runtime) -> Self {
        let mut host = Self::limited(runtime);
        for _ in 0..EACH {
            host.listen_before();
            host.listen_around();
            host.listen_after();
            host.listen_to_results();
            host.guard();
        }
        host
    }

    /// With the policy of time limits, and a limit on the tool.
    #[must_use]
    pub fn limited(runtime: &Runtime) -> Self {
        let host = Self::offering(runtime, echo().timeout(Duration::from_secs(60)));
        runtime.block_on(async {
            let config = dsh_timeout_policy::Config::default();
            let policy = host.app.plugin(dsh_timeout_policy::plugin(), config).unwrap();
            policy.ready().await.unwrap();
        });
        host
    }

    /// The policies, calls of an agent with a listener and a guard of its own, and `others` that have the same.
    #[must_use]
    pub fn beside(runtime: &Runtime, others: usize) -> Self {
        let mut host = Self::policies(runtime);
        host.caller = Some(host.agent());
        host.others = (0..others).map(|_| host.agent()).collect();
        host
    }

    fn agent(&self) -> Scope {
        let scope = self.app.scope().unwrap();
        scope.context().on(PRE_EXECUTE).run(before).unwrap();
        self.guard_on(scope.context());
        scope
    }

    /// One more listener of `tools/pre-execute`.
    pub fn listen_before(&mut self) {
        self.app.on(PRE_EXECUTE).run(before).unwrap();
    }

    /// One more listener of `tools/execute`.
    pub fn listen_around(&mut self) {
        self.app.on(EXECUTE).run(around).unwrap();
    }

    /// One more listener of `tools/post-execute`.
    pub fn listen_after(&mut self) {
        self.app.on(POST_EXECUTE).run(after).unwrap();
    }

    /// One more listener of `tools/result`.
    pub fn listen_to_results(&mut self) {
        self.app
            .on(RESULT)
            .run(|settled: &Settled| {
                black_box(settled);
            })
            .unwrap();
    }

    /// One more guard.
    pub fn guard(&mut self) {
        self.guard_on(&self.app);
    }

    fn guard_on(&self, ctx: &Context) {
        self.tools
            .get()
            .unwrap()
            .guard(ctx, |call: &ToolCall| black_box(call).agent().map(|_| String::new()))
            .unwrap();
    }

    /// Calls the tool.
    pub async fn call(&self, arguments: impl Into<GivenArguments>) -> ToolOutcome {
        let mut request = CallRequest::new("call_1", "echo", arguments).cancellation(&self.cancellation);
        if let Some(caller) = &self.caller {
            request = request.scope(caller.key());
        }
        let outcome = self.tools.get().unwrap().execute(&self.app, request).await;
        assert!(!outcome.is_error(), "{}", outcome.text());
        outcome
    }
}

async fn before(call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>) -> PreDecision {
    next.run(call).await
}

async fn around(call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>) -> ToolOutcome {
    next.run(call).await
}

async fn after(settled: &mut Settled, next: Next<'_, Settled, PostDecision>) -> PostDecision {
    next.run(settled).await
}
