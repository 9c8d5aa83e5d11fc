//! Runs commands with this machine's bash.
//!
//! A command goes to `bash -c`; one that is too long for an argument waits in a private file that bash reads first. What it
//! printed is kept whatever ends it. One that is told to end, or is let go, ends with all that it started; what a command that
//! ended by itself has left in the background runs on, until the subprocess service is unloaded.
//!
//! Read `config`, `local` (what a request becomes), `command` (how bash gets it), `run` with `live` (in the foreground), then
//! `background`.
//!
//! **Architecture Invariant:** the crate starts, signals and reaps nothing itself: that is the subprocess service's.
//!
//! **Architecture Invariant:** only the process itself says how it ended. That it was told to end is a fact beside that, noted
//! by whoever told it.
#![cfg(unix)]

mod background;
mod command;
mod config;
mod live;
mod local;
mod run;
mod signal;

use std::sync::Arc;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_shell::SHELL;
use dsh_subprocess::{SUBPROCESS, Subprocess};

pub use config::{Config, ConfigError};

use config::NAME;
use local::LocalShell;

cordis::catalog!(plugin);

/// Provides [`SHELL`].
///
/// Commands in the background outlive this plugin: they end with whoever holds them, or with the subprocess service. Those of the
/// tool `bash` end all the same, since its plugin needs the shell, is unloaded first, and ends its jobs.
///
/// Source: the reference's plugin `bash-local`.
pub fn plugin() -> impl Plugin<Config = Config> {
    define(NAME)
        .needs(SUBPROCESS)
        .provides(SHELL)
        .validate(|config: &Config| config.check().map_err(BoxError::from))
        .run(apply)
}

async fn apply(ctx: &Context, subprocess: Handle<dyn Subprocess>, config: &Config) -> Result<(), BoxError> {
    ctx.provide(SHELL, Arc::new(LocalShell::new(subprocess, config.clone())))?;
    Ok(())
}
