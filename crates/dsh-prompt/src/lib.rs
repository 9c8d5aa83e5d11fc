//! What an agent is told before the conversation: sections, contexts, tools and variables, assembled anew for every step.
//!
//! Plugins register what they have to say, globally or for one agent's scope. An assembly collects what one scope sees,
//! lets listeners change it, and is rendered into the system prompt and the snapshot of the runtime context.
//!
//! Read `keys`, `text` and `context` (what is registered, and for whom it is asked), `prompt` (the service), `assemble` and
//! `collect` (the way of an assembly from top to bottom), then `render`.
//!
//! **Architecture Invariant:** nothing is kept from one assembly to the next. Every text, variable and tool is asked for
//! anew, so what a plugin contributed is gone from the next assembly when the plugin is.
//!
//! **Architecture Invariant:** what assembles a prompt is lent by the plugin that registered it: it runs as that plugin's code,
//! its panic is a failure with its name, and when the plugin is unloaded nothing of it runs any more.
//!
//! **Architecture Invariant:** this crate knows no agent. Whoever a prompt is for comes along as a [`Subject`], and its
//! scope decides what is seen.
//!
//! # Examples
//! ```
//! use cordis::App;
//! use dsh_prompt::{AssembleContext, Config, PromptSection, SYSTEM_PROMPT};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let app = App::new()?;
//! app.plugin(dsh_prompt::plugin(), Config::default())?.ready().await?;
//! let prompt = app.get(SYSTEM_PROMPT).ok_or("no prompt")?;
//! prompt.get()?.variable(&app, "shop", |_| Some("a workshop".to_owned()))?;
//! prompt.get()?.section(&app, PromptSection::new("who", 10, "You work in {{shop}}."))?;
//!
//! let polite = app.scope()?; // what is registered here is for this scope alone, and goes with it
//! prompt.get()?.section(polite.context(), PromptSection::new("tone", 20, "Be polite."))?;
//! let of_it = AssembleContext::scoped(polite.key());
//! let assembly = prompt.get()?.assemble(&app, &of_it).await?;
//! assert!(assembly.render_prompt()?.ends_with("You work in a workshop.\n\nBe polite."));
//! polite.close().await;
//! let assembly = prompt.get()?.assemble(&app, &AssembleContext::new()).await?;
//! assert!(assembly.render_prompt()?.ends_with("You work in a workshop."));
//! # Ok(())
//! # }
//! ```

mod assemble;
mod assembly;
mod collect;
mod config;
mod context;
mod contribution;
mod interpolate;
mod keys;
mod lent;
mod prompt;
mod registry;
mod render;
mod text;
mod tool_order;

use std::sync::Arc;

use cordis::{BoxError, Context, Plugin, define};

pub use assemble::AssembleError;
pub use assembly::{Assembling, PromptAssembly, PromptTemplate};
pub use config::Config;
pub use context::{AssembleContext, Subject};
pub use contribution::Contribution;
pub use interpolate::is_variable_name;
pub use keys::{ASSEMBLE, CHANGE, SYSTEM_PROMPT};
pub use prompt::{PromptChange, SystemPrompt, ToolContribution};
pub use registry::RegisterError;
pub use render::{RenderError, RenderFailure, join_contexts};
pub use text::{PromptContext, PromptSection, PromptText};
pub use tool_order::{InvalidToolOrder, ToolOrder, UNLISTED_TOOLS};

cordis::catalog!(plugin);

/// Provides [`SYSTEM_PROMPT`].
pub fn plugin() -> impl Plugin<Config = Config> {
    define("system-prompt").provides(SYSTEM_PROMPT).run(apply)
}

async fn apply(ctx: &Context, (): (), config: &Config) -> Result<(), BoxError> {
    ctx.provide(SYSTEM_PROMPT, Arc::new(SystemPrompt::new(ctx, config)?))?;
    Ok(())
}
