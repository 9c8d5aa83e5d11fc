//! The shell: how a command is run, in the foreground and in the background.
//!
//! A [`Shell`] first makes a request definite ([`Shell::resolve`]: where, how long, with which environment), then runs it. A
//! [`ShellEnv`] knows the variables of the host that an agent's commands find.
//!
//! Read `keys`, `request`, `shell`, `result`, `background`, then `env` with `contributor` and `registry`.
//!
//! **Architecture Invariant:** the crate is pure: a provider starts the processes. What a model says never reaches the
//! environment of a command.

mod background;
mod config;
mod contributor;
mod env;
mod error;
mod keys;
mod registry;
mod request;
mod result;
mod shell;

use std::sync::Arc;

use cordis::{BoxError, Context, Plugin, define};

pub use background::{Background, BackgroundEnd, BackgroundOutput, BackgroundStatus};
pub use config::{Config, NoHome};
pub use contributor::Contributor;
pub use env::{EnvError, ShellEnv};
pub use error::ShellError;
pub use keys::{SHELL, SHELL_ENV};
pub use registry::ContributorError;
pub use request::{LiveOutput, ShellRequest, ShellSpec};
pub use result::{ShellOutput, ShellResult, push_line};
pub use shell::Shell;

cordis::catalog!(plugin);

/// Provides [`SHELL_ENV`].
///
/// Source: the reference's plugin `shell-env`.
pub fn plugin() -> impl Plugin<Config = Config> {
    define("shell-env").provides(SHELL_ENV).run(apply)
}

async fn apply(ctx: &Context, (): (), config: &Config) -> Result<(), BoxError> {
    ctx.provide(SHELL_ENV, Arc::new(ShellEnv::new(config.home()?)))?;
    Ok(())
}
