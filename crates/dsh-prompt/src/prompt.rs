//! The service: what prompts hold is registered here, and prompts are assembled here.

use std::fmt;

use cordis::{BoxError, Context, Effect, ScopeKey};
use dsh_llm::ToolSchema;

use crate::assemble::{self, AssembleError};
use crate::assembly::PromptAssembly;
use crate::config::Config;
use crate::context::AssembleContext;
use crate::registry::{RegisterError, Registry};
use crate::text::{PromptContext, PromptSection};
use crate::tool_order::ToolOrder;

const IDENTITY: &str = "You are an agent that works in the dsh harness.";

/// What agents are told before the conversation.
///
/// What is registered through an agent's context is for that agent and those below its scope, and goes with it; everything
/// else is for all. Of two sections, contexts or variables of one name the nearer one is seen.
///
/// # Examples
/// ```
/// use cordis::{App, BoxError};
/// use dsh_prompt::{AssembleContext, Config, PromptSection, SYSTEM_PROMPT};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), BoxError> {
/// let app = App::new()?;
/// app.plugin(dsh_prompt::plugin(), Config::default())?.ready().await?;
/// let prompt = app.get(SYSTEM_PROMPT).ok_or("no system prompt")?;
///
/// let agent = app.scope()?;
/// let persona = PromptSection::new("deployment:persona", 0, "You review code in {{cwd}}.");
/// prompt.get()?.section(agent.context(), persona)?;
/// prompt.get()?.variable(&app, "cwd", |_| Some("/src".to_owned()))?;
///
/// let assembly = prompt.get()?.assemble(&app, &AssembleContext::scoped(&agent)).await?;
/// assert!(assembly.render_prompt()?.ends_with("\n\nYou review code in /src."));
/// # Ok(())
/// # }
/// ```
pub struct SystemPrompt {
    registry: Registry,
    tool_order: Option<ToolOrder>,
}

/// What prompts hold has changed; see [`CHANGE`](crate::CHANGE).
#[derive(Clone, Debug)]
pub struct PromptChange {
    /// The scope that the change is for; none for all.
    pub scope: Option<ScopeKey>,
}

/// The tools that a provider offers for one assembly.
///
/// Source: `ToolProviderResult`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolContribution {
    /// The tools. Tools of one name are all kept.
    pub schemas: Vec<ToolSchema>,
    /// The names that a tool order may list, also of tools that are hidden here; those of `schemas` if absent.
    pub known_names: Option<Vec<String>>,
}

impl SystemPrompt {
    /// A prompt with what the configuration says, which is registered on `ctx` and goes with it.
    ///
    /// # Errors
    /// The context is inactive, or a listener of [`CHANGE`](crate::CHANGE) refused.
    pub fn new(ctx: &Context, config: &Config) -> Result<Self, RegisterError> {
        let prompt = Self { registry: Registry::new(), tool_order: config.tool_order.clone() };
        if config.include_harness_identity {
            prompt.section(ctx, PromptSection::new("harness:identity", -100, IDENTITY))?;
        }
        if !config.include_runtime_context {
            prompt.suppress_runtime_context(ctx)?;
        }
        prompt.section(ctx, PromptSection::new("deployment:persona", 0, config.persona.as_str()))?;
        Ok(prompt)
    }

    /// Adds a section to the system prompt.
    ///
    /// # Errors
    /// The order is not finite, the name is taken in the same scope, a listener of [`CHANGE`](crate::CHANGE) refused, or
    /// the context is inactive. Nothing is kept then.
    pub fn section(&self, ctx: &Context, section: PromptSection) -> Result<Effect, RegisterError> {
        self.registry.section(ctx, section.0)
    }

    /// Adds a context to the runtime context.
    ///
    /// # Errors
    /// As for [`section`](Self::section).
    pub fn context(&self, ctx: &Context, context: PromptContext) -> Result<Effect, RegisterError> {
        self.registry.context(ctx, context.0)
    }

    /// Gives templates a variable: `{{name}}`. The provider is asked in every assembly, also if a nearer one of the same
    /// name has the last word; it may have no value. A panic fails the assembly.
    ///
    /// # Errors
    /// The name is not one [of a variable](crate::is_variable_name), or as for [`section`](Self::section).
    pub fn variable(
        &self,
        ctx: &Context,
        name: impl Into<String>,
        provider: impl Fn(&AssembleContext) -> Option<String> + Send + Sync + 'static,
    ) -> Result<Effect, RegisterError> {
        self.registry.variable(ctx, name.into(), Box::new(provider))
    }

    /// Offers tools. The provider is asked in every assembly; an error or a panic of it fails the assembly. The same
    /// provider may be registered many times and is then asked as often.
    ///
    /// # Errors
    /// A listener of [`CHANGE`](crate::CHANGE) refused, or the context is inactive.
    pub fn tools(
        &self,
        ctx: &Context,
        provider: impl Fn(&AssembleContext) -> Result<ToolContribution, BoxError> + Send + Sync + 'static,
    ) -> Result<Effect, RegisterError> {
        self.registry.tools(ctx, Box::new(provider))
    }

    /// Leaves the runtime context out, as long as one suppressor is left that an assembly sees. Contexts are not asked
    /// for then.
    ///
    /// # Errors
    /// As for [`tools`](Self::tools).
    pub fn suppress_runtime_context(&self, ctx: &Context) -> Result<Effect, RegisterError> {
        self.registry.suppress_runtime_context(ctx)
    }

    /// Assembles a prompt: collects what the scope of `context` sees, and asks the listeners of
    /// [`ASSEMBLE`](crate::ASSEMBLE). Each call asks everything anew.
    ///
    /// # Errors
    /// A provider failed, a provider's tool has the [reserved name](crate::UNLISTED_TOOLS), several complete sections are
    /// seen, the tool order lists a tool that nobody knows, or a listener failed.
    ///
    /// # Cancel safety
    /// Nothing is kept: dropping the future drops the listener that runs, at its next await.
    pub async fn assemble(
        &self,
        ctx: &Context,
        context: &AssembleContext,
    ) -> Result<PromptAssembly, AssembleError> {
        assemble::assemble(&self.registry, self.tool_order.as_ref(), ctx, context).await
    }
}

impl fmt::Debug for SystemPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemPrompt").field("tool_order", &self.tool_order).finish_non_exhaustive()
    }
}
