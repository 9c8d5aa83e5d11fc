//! The tool `bash`: runs a command in the agent's workspace and gives what it printed.
//!
//! Read `tool`, then `process` (with `capture` and `decode`), then `render`.
//!
//! **Architecture Invariant:** a command is not confined. It runs with the rights of the user; only the folder that
//! it starts in is ours. Confinement is the work of a sandbox.

mod capture;
mod config;
mod decode;
mod environment;
mod process;
mod render;
mod tool;

use std::sync::Arc;
use std::time::Duration;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_tools::{TOOLS, ToolRuntime};

pub use config::{Config, ConfigError};

use process::Leftovers;
use tool::{Bash, bash};

/// How much longer than their grace time the end of background processes may take.
const ENDING: Duration = Duration::from_secs(5);

cordis::catalog!(plugin);

/// Offers `bash` to every agent, or to the agent whose context the plugin is mounted on.
///
/// When it is unloaded it ends what commands have left running in the background.
pub fn plugin() -> impl Plugin<Config = Config> {
    define("tool-bash").needs(TOOLS).validate(|config: &Config| Ok(config.check()?)).run(apply)
}

async fn apply(ctx: &Context, tools: Handle<ToolRuntime>, config: &Config) -> Result<(), BoxError> {
    let workspace = config.workspace()?;
    let leftovers = Arc::new(Leftovers::default());
    let (ending, grace) = (Arc::clone(&leftovers), config.grace());
    let effect = ctx.effect("background processes", move || async move { ending.end(grace).await })?;
    effect.with_limit(grace + ENDING);
    tools.get()?.register(ctx, bash(Bash { workspace, config: config.clone(), leftovers }))?;
    Ok(())
}
