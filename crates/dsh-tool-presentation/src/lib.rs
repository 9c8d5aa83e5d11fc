//! How the tools of one agent are presented to its model: natively, through programs, or both ways.
//!
//! Mounted on an agent's context, it presents the tools of that agent, and of those below it, in the configured mode, whatever
//! the mode of all others is. When it is unloaded the agent inherits again.
//!
//! **Architecture Invariant:** a mode that needs programs is presented only while something runs them, so an agent whose code
//! runtime goes falls back to what it inherits.
//!
//! Source: plugin `agent-tool-presentation`.

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_tools::{CODE_RUNTIME, CodeRuntime, Mode, TOOLS, ToolRuntime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

cordis::catalog!(plugin);

/// How the tools are presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// The mode. It has no default: an agent without this plugin inherits.
    pub mode: Mode,
}

/// Presents the tools of the context's scope; with a mode that needs programs, while there is a
/// [code runtime](CODE_RUNTIME).
pub fn plugin() -> impl Plugin<Config = Config> {
    define("agent-tool-presentation").needs(TOOLS).run(apply)
}

async fn apply(ctx: &Context, tools: Handle<ToolRuntime>, config: &Config) -> Result<(), BoxError> {
    match config.mode {
        Mode::Native => {
            tools.get()?.present(ctx, Mode::Native)?;
        }
        mode @ (Mode::Code | Mode::Both) => {
            let needs = (TOOLS, CODE_RUNTIME);
            ctx.plugin(define("agent-tool-presentation/programs").needs(needs).run(present), mode)?;
        }
    }
    Ok(())
}

async fn present(
    ctx: &Context,
    (tools, _runtime): (Handle<ToolRuntime>, Handle<dyn CodeRuntime>),
    mode: &Mode,
) -> Result<(), BoxError> {
    tools.get()?.present(ctx, *mode)?;
    Ok(())
}
