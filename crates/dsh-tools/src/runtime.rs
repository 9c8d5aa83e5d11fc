//! The service: tools, restrictions and guards are registered here, and calls are executed here.

use std::pin::pin;
use std::sync::Arc;

use cordis::{BoxError, Context, Effect, ScopeKey};
use dsh_llm::ToolSchema;
use serde_json::Value;

use crate::batch::{self, Batch, BatchError, ExecutionMode};
use crate::call::{CallRequest, ToolCall};
use crate::code_mode::Transport;
use crate::config::Config;
use crate::definition::ToolDefinition;
use crate::mode::{Mode, RUN_CODE};
use crate::nested::{self, Lane};
use crate::outcome::ToolOutcome;
use crate::pipeline;
use crate::register_error::RegisterError;
use crate::registered::RegisteredTool;
use crate::registry::Registry;
use crate::restriction::Restriction;
use crate::run::ToolRun;
use crate::threads::{Count, Threads};

/// The tools that agents can call, the guards of their calls, and the one path on which calls are executed.
///
/// What is registered through an agent's context is for that agent alone and goes with it; everything else is for
/// all.
pub struct ToolRuntime {
    shared: Arc<Shared>,
}

/// What the runtime and the calls under way share.
pub(crate) struct Shared {
    pub(crate) registry: Registry,
    pub(crate) config: Config,
    pub(crate) threads: Threads,
}

/// Who makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// A model asks for it.
    ByModel,
    /// The body of another call makes it.
    Nested,
}

impl Shared {
    /// Whether a call may run beside others. In code mode a tool cannot be called directly, so such a call runs alone.
    pub(crate) fn mode_of(
        &self,
        name: &str,
        arguments: &Value,
        scope: Option<&ScopeKey>,
        made: Made,
    ) -> ExecutionMode {
        let registry = &self.registry;
        let Some(tool) = registry.visible(name, scope) else { return ExecutionMode::Exclusive };
        let collapsed = made == Made::ByModel && name != RUN_CODE && registry.mode(scope) == Mode::Code;
        match !collapsed && tool.is_parallel(arguments) {
            true => ExecutionMode::Parallel,
            false => ExecutionMode::Exclusive,
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("config", &self.config).finish_non_exhaustive()
    }
}

/// A tool, a restriction or a presentation was registered or is gone; see [`CHANGE`](crate::CHANGE).
#[derive(Clone, Debug)]
pub struct ToolsChange {
    /// The scope that it is for; none for all.
    pub scope: Option<ScopeKey>,
}

/// The threads of bodies that block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockingThreads {
    /// How many there are.
    pub threads: usize,
    /// How many of them have no work.
    pub idle: usize,
    /// How many bodies wait for one.
    pub waiting: usize,
}

impl ToolRuntime {
    /// A runtime without tools. The tool `run_code` comes with the [plugin](crate::plugin), which lends it.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let shared = Shared {
            registry: Registry::new(config),
            threads: Threads::new(config.max_blocking_threads),
            config: config.clone(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Has programs be a way to the tools where a mode says so; `ctx` is the plugin that lends `run_code`.
    pub(crate) fn offer_programs(&self, ctx: &Context) -> Result<(), BoxError> {
        self.shared.registry.set_transport(Transport::new(ctx, &self.shared)?);
        Ok(())
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Offers a tool: to the agent of the context's scope, or to all. A tool of an agent shadows one of the same name that
    /// it inherits. Undoing the effect ends the bodies that run.
    ///
    /// # Errors
    /// A schema of the tool is not supported, its timeout is nothing, its name is reserved or taken in the same scope, a
    /// listener of [`CHANGE`](crate::CHANGE) refused, or the context is inactive.
    pub fn register(&self, ctx: &Context, tool: impl Into<ToolDefinition>) -> Result<Effect, RegisterError> {
        self.shared.registry.register(ctx, tool.into())
    }

    /// Guards calls: those of the context's scope, or all. A guard gives a reason to refuse a call, or none; it can
    /// only narrow. Guards are asked once policies and approval have let a call pass, and again before a second run of its
    /// body, global ones first, then from the farthest scope to the nearest. A guard that panics fails the call.
    ///
    /// # Errors
    /// The context is inactive.
    pub fn guard(
        &self,
        ctx: &Context,
        guard: impl Fn(&ToolCall) -> Option<String> + Send + Sync + 'static,
    ) -> Result<Effect, RegisterError> {
        self.shared.registry.guard(ctx, Box::new(guard))
    }

    /// Restricts the tools that the context's scope inherits, and with it all scopes below.
    ///
    /// # Errors
    /// The context has no scope or is inactive, the restriction says nothing, it names `run_code`, or it names tools that
    /// the scope does not inherit.
    pub fn restrict(&self, ctx: &Context, restriction: Restriction) -> Result<Effect, RegisterError> {
        self.shared.registry.restrict(ctx, restriction)
    }

    /// Presents the tools of the context's scope, and of all scopes below that do not say otherwise, in this way. Undoing
    /// the effect brings back what the scope inherits.
    ///
    /// # Errors
    /// The context has no scope or is inactive, the scope says already how its tools are presented, or a listener of
    /// [`CHANGE`](crate::CHANGE) refused.
    pub fn present(&self, ctx: &Context, mode: Mode) -> Result<Effect, RegisterError> {
        self.shared.registry.present(ctx, mode)
    }

    /// How the tools of a scope are presented to the model: as the nearest scope says, else as configured.
    #[must_use]
    pub fn mode(&self, scope: Option<&ScopeKey>) -> Mode {
        self.shared.registry.mode(scope)
    }

    /// The tool that a call of `scope` means by this name.
    #[must_use]
    pub fn get(&self, name: &str, scope: Option<&ScopeKey>) -> Option<Arc<RegisteredTool>> {
        self.shared.registry.visible(name, scope)
    }

    /// The tools that a call of `scope` can name: global ones in the order of their registration, then those of its
    /// ancestors, farthest first, then its own; a nearer one takes the place of a farther one of the same name. `run_code`
    /// is the last where programs are a way to the tools.
    #[must_use]
    pub fn list(&self, scope: Option<&ScopeKey>) -> Vec<Arc<RegisteredTool>> {
        self.shared.registry.view(scope)
    }

    /// What the model is told of them: name, description and parameters, and nothing else. Copies, made without recursion;
    /// whoever has schemas of unknown depth lets go of them by [`dismantle`](crate::dismantle).
    #[must_use]
    pub fn schemas(&self, scope: Option<&ScopeKey>) -> Vec<ToolSchema> {
        self.list(scope).iter().map(|tool| tool.schema_copy()).collect()
    }

    /// The threads of bodies that block.
    #[must_use]
    pub fn blocking_threads(&self) -> BlockingThreads {
        let Count { threads, idle, waiting } = self.shared.threads.count();
        BlockingThreads { threads, idle, waiting }
    }

    /// Executes a call. Whatever tools, guards and listeners do becomes the outcome; nothing of it fails this.
    ///
    /// # Cancel safety
    /// Dropping the future drops what runs, at its next await; `tools/result` is then not told. To end a call in
    /// order, cancel its token.
    ///
    /// # Examples
    /// ```no_run
    /// # use cordis::Context;
    /// # use dsh_agent::Agent;
    /// # use dsh_tools::{CallRequest, TOOLS};
    /// # async fn run(ctx: &Context, agent: &Agent) -> Result<(), Box<dyn std::error::Error>> {
    /// let tools = ctx.get(TOOLS).ok_or("no tools")?;
    /// let call = CallRequest::new("call_1", "bash", r#"{"command": "ls", "description": "list"}"#).agent(agent);
    /// let outcome = tools.get()?.execute(ctx, call).await;
    /// println!("{}", outcome.text());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn execute(&self, ctx: &Context, request: CallRequest) -> ToolOutcome {
        pipeline::execute(&self.shared, ctx, request, None).await
    }

    /// Executes the calls of one answer of a model, and writes call and result of each into the agent's log.
    ///
    /// Calls are started in their order: first the log has the call, then its policies are asked, one call at a time, then its
    /// body runs. Neighbours that may run beside each other do, as many at once as the batch says; any other call waits for
    /// what is before it and runs alone. Results are written in the order of the calls, each as an append to the
    /// conversation that names its call as its source; messages that came with it go to the agent's inbox, for the next step.
    ///
    /// A cancelled batch lets what runs come to its end and writes its result. Each call that was not started then gets its
    /// pair of events too, the result being `ABORTED_BEFORE_DISPATCH`; no policy is asked about it and
    /// [`RESULT`](crate::RESULT) does not tell it.
    ///
    /// The outcomes are in the order of the calls. A result that the log cannot hold is an error in log and outcome alike,
    /// and metadata that it cannot hold is left out.
    ///
    /// # Errors
    /// The log did not take an event, or the inbox takes none any more. Nothing is started then; what runs comes to its end
    /// and is told to [`RESULT`](crate::RESULT), and calls without a result stay without one.
    ///
    /// # Cancel safety
    /// Dropping the future drops what runs, at its next await. The log then has calls without results, as after a crash; see
    /// [`closers`](dsh_session::closers). To end a batch in order, cancel its token.
    pub async fn execute_batch(&self, ctx: &Context, batch: Batch) -> Result<Vec<ToolOutcome>, BatchError> {
        batch::run(&self.shared, ctx, batch).await
    }

    /// Whether a call that a model asks for may run beside others: if the tool is there, can be called directly, takes the
    /// arguments, and says so for them.
    #[must_use]
    pub fn execution_mode(&self, name: &str, arguments: &Value, scope: Option<&ScopeKey>) -> ExecutionMode {
        self.shared.mode_of(name, arguments, scope, Made::ByModel)
    }

    /// Runs a program, of which `run` is the outer call, and gives what it gives. It makes its calls through the [`Lane`].
    ///
    /// What the program started and did not wait for is cancelled when it ends, and awaited; what had not started by then
    /// does not start. When this returns, nothing of the program runs any more, and the log of the agent has an end for every
    /// start. Messages that came with results, images in them, and the wish to end the turn are the outer call's.
    ///
    /// # Cancel safety
    /// Dropping the future drops the program and what it started, at the next await; the log says that those calls were aborted.
    ///
    /// # Examples
    /// ```
    /// use dsh_tools::{NestedError, ToolRun, ToolRuntime};
    /// use serde_json::{Value, json};
    ///
    /// async fn both(tools: &ToolRuntime, run: &ToolRun) -> Result<(Value, Value), NestedError> {
    ///     tools
    ///         .with_lane(run, async |lane| {
    ///             let one = lane.call("read", json!({ "file_path": "one" }));
    ///             let two = lane.call("read", json!({ "file_path": "two" }));
    ///             Ok((one.await?, two.await?))
    ///         })
    ///         .await
    /// }
    /// ```
    pub async fn with_lane<R, F>(&self, run: &ToolRun, program: impl FnOnce(Lane) -> F) -> R
    where
        F: Future<Output = R>,
    {
        nested::run(&self.shared, run, program).await
    }

    /// Executes a call that the body of another one makes. It goes the same way, policies and guards included; only
    /// [`ToolCall::parent`] tells it from a call that a model asked for. That `run` is at hand is the proof of it.
    ///
    /// It is a call of the same agent in the same scope, whatever the request says, so that no guard is escaped by nesting. It
    /// is cancelled with the outer one, and by the request's own token. It starts with what travels with the outer one at that
    /// moment; where the request brings a value of the same type, with that.
    ///
    /// # Cancel safety
    /// As [`execute`](Self::execute).
    pub async fn execute_nested(&self, ctx: &Context, run: &ToolRun, request: CallRequest) -> ToolOutcome {
        let mut request = request.nested_in(run.call());
        let cancellation = run.cancellation().child_token();
        let own = request.below(cancellation.clone());
        let _open = run.call().progress().nested().opened();
        let mut nested = pin!(pipeline::execute(&self.shared, ctx, request, Some(run.as_parent())));
        if let Some(own) = own {
            tokio::select! {
                biased;
                outcome = &mut nested => return outcome,
                () = own.cancelled() => cancellation.cancel(),
            }
        }
        nested.await
    }
}

impl std::fmt::Debug for ToolRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolRuntime")
            .field("tools", &self.list(None))
            .field("layers", self.shared.registry.layers())
            .finish_non_exhaustive()
    }
}
