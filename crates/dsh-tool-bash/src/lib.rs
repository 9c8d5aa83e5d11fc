//! The tool `bash`: runs a command with the shell, and gives what it printed; or starts it as a background job.
//!
//! Read `tool` (the way of a call), then `arguments` and `workdir` (what is looked at first), `foreground` and `background`
//! (the two ways to run), `value` with `render` (what the model is given), then `cards` and `prompt`.
//!
//! **Architecture Invariant:** no process is started here. The shell runs commands and decides how long and with how much
//! output; the jobs service keeps what runs on.
//!
//! **Architecture Invariant:** a command is not confined. It runs with the rights of the user; a workspace bounds only the folder
//! that it starts in. Confinement is the work of a sandbox.
//!
//! **Architecture Invariant:** nothing that a model says reaches the environment of a command but the command itself.

mod config;

mod arguments;
mod value;
mod workdir;

mod render;

mod background;
mod foreground;

mod cards;
mod prompt;
mod tool;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_jobs::{JOBS, Jobs};
use dsh_shell::{SHELL, SHELL_ENV, Shell, ShellEnv};
use dsh_tools::{TOOLS, ToolRuntime};

pub use config::{Config, ConfigError};

use tool::{Bash, bash};

cordis::catalog!(plugin);

/// What the plugin works with: the tools, the shell, what the host tells commands, and the jobs.
type Needs = (Handle<ToolRuntime>, Handle<dyn Shell>, Option<Handle<ShellEnv>>, Option<Handle<dyn Jobs>>);

/// Offers `bash` to every agent, or to the agent whose context the plugin is mounted on.
///
/// When it is unloaded its commands are ended, those in the background too.
///
/// Source: the reference's plugin `tool-bash`.
pub fn plugin() -> impl Plugin<Config = Config> {
    define("tool-bash")
        .needs((TOOLS, SHELL, SHELL_ENV.optional(), JOBS.optional()))
        .validate(|config: &Config| Ok(config.workspace().map(drop)?))
        .run(apply)
}

async fn apply(ctx: &Context, (tools, shell, env, jobs): Needs, config: &Config) -> Result<(), BoxError> {
    let (workspace, background) = (config.workspace()?, config.enable_run_in_background);
    let bash = bash(Bash { ctx: ctx.clone(), shell, env, jobs, workspace, background })?;
    tools.get()?.register(ctx, bash)?;
    // Waits for a prompt; the tool itself needs none.
    ctx.plugin(prompt::plugin(), background)?;
    Ok(())
}
