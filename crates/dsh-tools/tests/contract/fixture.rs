//! An app with the tools service, tools that do what a test wants, and a record of what happened.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cordis::testing::TestApp;
use cordis::{BoxError, BoxFuture, Context, Effect, Fiber, Handle, Next, ScopeKey, define};
use dsh_llm::{ContentBlock, Message};
use dsh_tools::{
    CallRequest, Config, EXECUTE, ErrorInfo, POST_EXECUTE, PRE_EXECUTE, PostDecision, PreDecision, RESULT,
    Settled, TOOLS, ToolCall, ToolDefinition, ToolError, ToolOutcome, ToolRun, ToolRuntime,
};
use dsh_tools_invariants::testing::Watched;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// What happened, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn note(&self, text: impl Into<String>) {
        self.0.lock().push(text.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }
}

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) tools: Handle<ToolRuntime>,
    pub(crate) log: Log,
    pub(crate) watched: Watched,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::configured(Config { body_grace_ms: 1_000, ..Config::default() }).await
    }

    pub(crate) async fn configured(config: Config) -> Self {
        let app = TestApp::new();
        app.plugin(dsh_tools::plugin(), config).unwrap().ready().await.unwrap();
        let tools = app.get(TOOLS).unwrap();
        let watched = dsh_tools_invariants::testing::watch(&app).await;
        Self { app, tools, log: Log::default(), watched }
    }

    /// Offers the tool to all.
    pub(crate) async fn with(tool: impl Into<ToolDefinition>) -> Self {
        let fixture = Self::new().await;
        fixture.register(tool);
        fixture
    }

    pub(crate) fn register(&self, tool: impl Into<ToolDefinition>) -> Effect {
        self.tools.get().unwrap().register(&self.app, tool).unwrap()
    }

    pub(crate) fn guard(
        &self,
        guard: impl Fn(&ToolCall) -> Option<String> + Send + Sync + 'static,
    ) -> Effect {
        self.tools.get().unwrap().guard(&self.app, guard).unwrap()
    }

    /// Policies that give this decision without asking the rest.
    pub(crate) fn decides(&self, decision: PreDecision) -> Effect {
        let listener = around::<ToolCall, PreDecision, _>(move |_, _| {
            let decision = decision.clone();
            Box::pin(async move { decision })
        });
        self.app.on(PRE_EXECUTE).run_boxed(listener).unwrap()
    }

    /// A wrapper that gives this outcome and leaves the body out.
    pub(crate) fn answers(&self, outcome: ToolOutcome) -> Effect {
        let listener = around::<ToolCall, ToolOutcome, _>(move |_, _| {
            let outcome = outcome.clone();
            Box::pin(async move { outcome })
        });
        self.app.on(EXECUTE).run_boxed(listener).unwrap()
    }

    /// A wrapper that makes something else of the outcome of the rest.
    pub(crate) fn turns(&self, turn: impl Fn(ToolOutcome) -> ToolOutcome + Send + Sync + 'static) -> Effect {
        let turn = Arc::new(turn);
        let listener = around::<ToolCall, ToolOutcome, _>(move |call, next| {
            let (turn, rest) = (Arc::clone(&turn), next.run(call));
            Box::pin(async move { turn(rest.await) })
        });
        self.app.on(EXECUTE).run_boxed(listener).unwrap()
    }

    /// A look at the outcome that gives this decision without asking the rest.
    pub(crate) fn reviews(&self, decision: PostDecision) -> Effect {
        let listener = around::<Settled, PostDecision, _>(move |_, _| {
            let decision = decision.clone();
            Box::pin(async move { decision })
        });
        self.app.on(POST_EXECUTE).run_boxed(listener).unwrap()
    }

    /// Notes each station that a call comes to.
    pub(crate) fn watch(&self) {
        let ctx = &self.app;
        ctx.on(PRE_EXECUTE)
            .with(self.log.clone())
            .run(async |log: &Log, call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>| {
                log.note("pre");
                next.run(call).await
            })
            .unwrap();
        let log = self.log.clone();
        self.guard(move |_| {
            log.note("guard");
            None
        });
        ctx.on(EXECUTE)
            .with(self.log.clone())
            .run(async |log: &Log, call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
                log.note("execute");
                next.run(call).await
            })
            .unwrap();
        ctx.on(POST_EXECUTE)
            .with(self.log.clone())
            .run(async |log: &Log, settled: &mut Settled, next: Next<'_, Settled, PostDecision>| {
                log.note("post");
                next.run(settled).await
            })
            .unwrap();
        let log = self.log.clone();
        ctx.on(RESULT).global().run(move |_| log.note("result")).unwrap();
    }

    /// Every outcome that is told, with the call's id.
    pub(crate) fn told(&self) -> Arc<Mutex<Vec<(String, ToolOutcome)>>> {
        let told: Arc<Mutex<Vec<_>>> = Arc::default();
        let seen = Arc::clone(&told);
        let hear = move |settled: &Settled| {
            seen.lock().push((settled.call().id().to_owned(), settled.outcome().clone()));
        };
        self.app.on(RESULT).global().run(hear).unwrap();
        told
    }

    pub(crate) async fn call(&self, name: &str) -> ToolOutcome {
        self.execute(request(name)).await
    }

    pub(crate) async fn call_with(&self, name: &str, arguments: &str) -> ToolOutcome {
        self.execute(CallRequest::new("c1", name, arguments)).await
    }

    pub(crate) async fn call_as(&self, scope: &ScopeKey, name: &str) -> ToolOutcome {
        self.execute(request(name).scope(scope)).await
    }

    pub(crate) async fn call_until(&self, name: &str, cancellation: &CancellationToken) -> ToolOutcome {
        self.execute(request(name).cancellation(cancellation)).await
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

    /// Mounts a plugin that offers this tool.
    pub(crate) async fn offers(&self, name: &'static str, probe: &Probe) -> Fiber {
        let body = async |ctx: &Context, tools: Handle<ToolRuntime>, probe: &Probe| -> Result<(), BoxError> {
            tools.get()?.register(ctx, probe)?;
            Ok(())
        };
        let fiber = self.app.plugin(define(name).needs(TOOLS).run(body), probe.clone()).unwrap();
        fiber.ready().await.unwrap();
        fiber
    }
}

pub(crate) fn request(name: &str) -> CallRequest {
    CallRequest::new("c1", name, "{}")
}

pub(crate) fn message(text: &str) -> Message {
    Message::user(vec![ContentBlock::text(text)])
}

pub(crate) fn contexts(outcome: &ToolOutcome) -> Vec<String> {
    outcome.additional_contexts().iter().map(Message::text).collect()
}

pub(crate) fn cancelled_after(delay: Duration) -> CancellationToken {
    let token = CancellationToken::new();
    let later = token.clone();
    tokio::spawn(async move {
        tokio::time::sleep(delay).await;
        later.cancel();
    });
    token
}

/// A listener that may capture: names the signature, so that the compiler sees its lifetimes.
pub(crate) fn around<A, R, F>(listener: F) -> F
where
    F: for<'a> Fn(&'a mut A, Next<'a, A, R>) -> BoxFuture<'a, R> + Send + Sync + 'static,
    A: 'static,
    R: 'static,
{
    listener
}

/// A tool `name` without parameters whose body is `body`, and whose value is of any shape.
pub(crate) fn tool<F, Fut>(name: &'static str, body: F) -> ToolDefinition
where
    F: Fn(ToolRun) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
{
    ToolDefinition::raw(name, "Does what the test wants.", json!({ "type": "object" }))
        .run(move |_, run| body(run))
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
#[derive(Clone, Copy, Debug)]
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

    pub(crate) fn logging(does: Does, log: &Log) -> Self {
        Self { log: log.clone(), ..Self::new(does) }
    }

    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    async fn run(self, arguments: Arc<Value>, run: ToolRun) -> Result<Value, ToolError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        self.log.note("body");
        match self.does {
            Does::Echo => Ok(json!(format!("{} {arguments}", self.name))),
            Does::Fail => {
                Err(ToolError::new("no luck").coded(ErrorInfo::fixed("Probe", "P")).with_output("half"))
            }
            Does::Panic => panic!("the probe burst"),
            Does::Wait => {
                run.write("waiting");
                run.cancellation().cancelled().await;
                Ok(json!("late"))
            }
            Does::Hang => {
                run.write("hanging");
                std::future::pending().await
            }
        }
    }
}

impl From<&Probe> for ToolDefinition {
    fn from(probe: &Probe) -> Self {
        let properties = json!({
            "text": { "type": "string" },
            "mode": { "type": "string", "enum": ["a", "b"] },
            "count": { "type": "integer" },
        });
        let parameters = json!({ "type": "object", "properties": properties });
        let (body, finalizer) = (probe.clone(), probe.log.clone());
        ToolDefinition::raw(probe.name, "Does what the test wants.", parameters)
            .checked()
            .output(json!({ "type": "string" }))
            .run(move |arguments, run| body.clone().run(arguments, run))
            .finalize(move |_, _| {
                finalizer.note("finalizer");
                None
            })
    }
}
