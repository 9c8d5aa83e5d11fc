//! The service: tools and guards are registered here, and calls are executed here.

use std::sync::Arc;
use std::time::Duration;

use cordis::{Context, Effect, ScopeKey};

use crate::call::{CallRequest, ToolCall};
use crate::config::Config;
use crate::outcome::ToolOutcome;
use crate::pipeline;
use crate::registry::{RegisterError, Registry};
use crate::tool::{Tool, ToolRun, ToolSpec};

/// The tools that agents can call, the guards of their calls, and the one path on which calls are executed.
///
/// What is registered through an agent's context is for that agent alone and goes with it; everything else is for
/// all.
pub struct ToolRuntime {
    registry: Arc<Registry>,
}

/// A tool was registered or is gone; see [`CHANGE`](crate::CHANGE).
#[derive(Clone, Debug)]
pub struct ToolsChange {
    /// The scope that it is for; none for all.
    pub scope: Option<ScopeKey>,
}

impl ToolRuntime {
    /// A runtime without tools.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self { registry: Arc::new(Registry::new(Duration::from_millis(config.body_grace_ms))) }
    }

    /// The tools that a call of `scope` can name, in the order of their registration; a nearer one takes the place of
    /// a farther one of the same name.
    #[must_use]
    pub fn specs(&self, scope: Option<&ScopeKey>) -> Vec<ToolSpec> {
        self.registry.specs(scope)
    }

    /// Offers a tool: to the agent of the context's scope, or to all. Bodies run as tasks of the context's plugin.
    ///
    /// # Errors
    /// The name is taken in the same scope, a listener of [`CHANGE`](crate::CHANGE) refused, or the context is
    /// inactive.
    pub fn register<T: Tool>(&self, ctx: &Context, tool: T) -> Result<Effect, RegisterError> {
        self.registry.register(ctx, tool)
    }

    /// Guards calls: those of the context's scope, or all. A guard gives a reason to refuse a call, or none; it can
    /// only narrow. Guards are asked after `tools/pre-execute` has allowed, and again right before each run of the
    /// body, global ones first. A guard that panics fails the call.
    ///
    /// # Errors
    /// The context is inactive.
    pub fn guard(
        &self,
        ctx: &Context,
        guard: impl Fn(&ToolCall) -> Option<String> + Send + Sync + 'static,
    ) -> Result<Effect, RegisterError> {
        self.registry.guard(ctx, Box::new(guard))
    }

    /// Executes a call. Whatever tools, guards and listeners do becomes the outcome; nothing of it fails this.
    ///
    /// # Cancel safety
    /// Dropping the future drops what runs, at its next await; `tools/result` is then not told. To end a call in
    /// order, cancel its token.
    ///
    /// # Examples
    /// ```no_run
    /// # use cordis::{Context, ScopeKey};
    /// # use dsh_tools::{CallRequest, TOOLS};
    /// # async fn run(ctx: &Context, agent: &ScopeKey) -> Result<(), Box<dyn std::error::Error>> {
    /// let tools = ctx.get(TOOLS).ok_or("no tools")?;
    /// let call = CallRequest {
    ///     id: "call_1".to_owned(),
    ///     name: "bash".to_owned(),
    ///     arguments: r#"{"command": "ls", "description": "list"}"#.to_owned(),
    ///     scope: Some(agent.clone()),
    ///     cancellation: Default::default(),
    /// };
    /// let outcome = tools.get()?.execute(ctx, call).await;
    /// println!("{}", outcome.content);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn execute(&self, ctx: &Context, request: CallRequest) -> ToolOutcome {
        pipeline::execute(&self.registry, ctx, request, None).await
    }

    /// Executes a call that the body of another one makes. It goes the same way, policies and guards included; only
    /// [`ToolCall::parent_id`] tells it from a call that a model asked for. That `run` is at hand is the proof of it.
    ///
    /// # Cancel safety
    /// As [`execute`](Self::execute).
    pub async fn execute_nested(
        &self,
        ctx: &Context,
        run: &ToolRun<'_>,
        request: CallRequest,
    ) -> ToolOutcome {
        pipeline::execute(&self.registry, ctx, request, Some(run.call_id())).await
    }
}
