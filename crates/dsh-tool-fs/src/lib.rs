//! The tool `read`: gives the numbered lines of a text file in the agent's workspace.
//!
//! Read `tool`, then `file` (where a path leads) and `window` (which lines are given).
//!
//! No more than the first 64 MiB of a file are read. If it goes on, the answer says how many lines it has at least.
//!
//! **Architecture Invariant:** no path leads out of the workspace, neither by `..` nor by a link, also if what it
//! names changes while it is opened: the open file is what is judged.

mod config;
mod file;
mod tool;
mod window;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_tools::{TOOLS, ToolRuntime};

pub use config::{Config, ConfigError};

use tool::{Read, read};

cordis::catalog!(plugin);

/// Offers `read` to every agent, or to the agent whose context the plugin is mounted on.
pub fn plugin() -> impl Plugin<Config = Config> {
    define("tool-fs").needs(TOOLS).validate(|config: &Config| Ok(config.check()?)).run(apply)
}

async fn apply(ctx: &Context, tools: Handle<ToolRuntime>, config: &Config) -> Result<(), BoxError> {
    tools.get()?.register(ctx, read(Read { workspace: config.workspace()?, config: config.clone() }))?;
    Ok(())
}
