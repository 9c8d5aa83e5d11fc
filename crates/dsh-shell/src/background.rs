//! A command that runs in the background.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use dsh_subprocess::WaitError;

/// A command that runs in the background. Dropping the handle kills it and all that it started, unless it has ended.
pub trait Background: Send + Sync {
    /// Whether it runs. It does until all that it printed can be read, and until it is known whether [`kill`](Self::kill) had a
    /// part in its end.
    fn status(&self) -> BackgroundStatus;

    /// What it printed since the last time; each piece is given once, and a character never in two halves.
    fn read_output(&self) -> BackgroundOutput;

    /// Tells it to end, and kills it if it does not after its grace time. Whether this call did: false once it was told to, or
    /// has ended, whether or not that was noticed.
    fn kill(&self) -> bool;

    /// How it ended, once all that it printed can be read.
    fn done(&self) -> Pin<Box<dyn Future<Output = BackgroundEnd> + Send>>;
}

/// Whether a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackgroundStatus {
    /// It does.
    Running,
    /// It has ended, and was not killed.
    Exited,
    /// It was killed, or never started.
    Killed,
}

/// What a command printed since the last time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackgroundOutput {
    /// The text: its output, then, if there are errors, a line `[stderr]` and the errors. The line begins at the start of one
    /// ([`push_line`](crate::push_line)), and is there each time that errors are given.
    pub text: String,
    /// How many bytes of it were dropped from memory.
    pub dropped: u64,
    /// The files with all of the streams of which something was dropped; none if there is no file.
    pub spill_paths: Vec<PathBuf>,
}

/// How a command ended.
#[derive(Clone, Debug, Default)]
pub struct BackgroundEnd {
    /// The code that it gave, unless a signal killed it.
    pub exit_code: Option<i32>,
    /// The name of the signal that killed it, as in [`ShellResult::signal`](crate::ShellResult::signal).
    pub signal: Option<String>,
    /// It was told to end by [`Background::kill`], or was never started.
    pub killed: bool,
    /// Why nothing tells how it ended; then it gave neither a code nor a signal.
    pub lost: Option<WaitError>,
}
