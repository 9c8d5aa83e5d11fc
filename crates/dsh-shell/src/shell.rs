//! Who runs commands.

use std::future::Future;
use std::pin::Pin;

use crate::background::Background;
use crate::error::ShellError;
use crate::request::{ShellRequest, ShellSpec};
use crate::result::ShellResult;

/// Runs commands.
pub trait Shell: Send + Sync {
    /// Makes a request definite: where it runs, for how long, and with which environment. Nothing runs yet.
    ///
    /// What a provider keeps: the folder becomes an absolute path, which need not exist. The time is the one that was asked for,
    /// or the configured one, up to the configured bound. Variables are the shell's own, over them the caller's, over both those
    /// of the host. Of the output no less is kept than the configuration says. The rest goes through as it is.
    ///
    /// # Errors
    /// A command that is empty or white space alone ([`ShellError::NoCommand`]), one that holds a NUL ([`ShellError::Nul`]), a
    /// time of zero ([`ShellError::NoTime`]); asked in this order.
    fn resolve(&self, request: ShellRequest) -> Result<ShellSpec, ShellError>;

    /// Runs a command until it ends by itself, at its time limit, or by cancellation. What it left behind in the background is
    /// not waited for.
    ///
    /// Of the two reasons to tell it to end the first counts. One that had ended by then was not told: neither
    /// [`timed_out`](ShellResult::timed_out) nor [`aborted`](ShellResult::aborted) is set. One that was told and gives a code
    /// has the code, and the reason beside it.
    ///
    /// # Errors
    /// The command could not be started, or was cancelled before it was; a folder that cannot be run in is
    /// [`ShellError::Workdir`]. However it ends, once it runs, is a result, unless the system does not tell
    /// ([`ShellError::Wait`]).
    ///
    /// # Cancel safety
    /// Dropping the future kills the command and all that it started.
    fn run(&self, spec: ShellSpec) -> Pin<Box<dyn Future<Output = Result<ShellResult, ShellError>> + Send>>;

    /// Starts a command that runs on. It has no time limit, outlives the shell's plugin, and ends with the processes' service
    /// at the latest. A command that cannot be started has ended at once, as killed, and its errors say why.
    ///
    /// Called in a runtime, where a thread may wait for the disk: a long command may have to be put into a file first.
    fn start(&self, spec: ShellSpec) -> Box<dyn Background>;
}
