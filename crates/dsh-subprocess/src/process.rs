//! A process that runs, and who starts it.

use std::ffi::OsStr;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::error::{ResolveError, SpawnError, WaitError};
use crate::output::{Cut, Delta};
use crate::spawn::SpawnSpec;

/// Starts programs, each in a process group of its own, and answers for what they start.
///
/// Whatever a program leaves behind when it ends (a server that it started in the background) runs on until the provider is
/// unloaded, which tells it to end, kills it after its grace time, and waits until it is gone. If the host dies in whatever
/// way, all of it is killed.
pub trait Subprocess: Send + Sync {
    /// The file that a program's name stands for: an absolute path is itself, a bare name is looked for in the `PATH` of the
    /// host.
    ///
    /// # Errors
    /// See [`ResolveError`]; a relative path is one.
    fn resolve_executable(&self, program: &OsStr) -> Result<PathBuf, ResolveError>;

    /// Starts a program. Called in a runtime.
    ///
    /// # Errors
    /// See [`SpawnError`]. Then nothing runs.
    fn spawn(&self, spec: SpawnSpec) -> Result<Process, SpawnError>;
}

/// A process that was started. Dropping it kills its group at once, unless the process has ended by itself.
pub struct Process {
    control: Arc<dyn Control>,
    stdin: Option<Writer>,
    stdout: Option<Reader>,
    stderr: Option<Reader>,
}

/// What a caller writes to.
pub type Writer = Pin<Box<dyn AsyncWrite + Send + Sync>>;
/// What a caller reads from.
pub type Reader = Pin<Box<dyn AsyncRead + Send + Sync>>;

/// A provider's side of a process.
pub trait Control: Send + Sync {
    /// The id of the process, which is its group's.
    fn id(&self) -> u32;

    /// Tells the group to end (SIGTERM) before it returns, and has it killed if it has not ended after its grace time. Once is
    /// enough; once the process has ended it does nothing.
    ///
    /// Whether the process had not ended: if not, nothing that it was told had a part in how it ended.
    fn terminate(&self) -> bool;

    /// Kills the group (SIGKILL) before it returns.
    fn kill(&self);

    /// How the process ended: as soon as it is reaped, whatever it has left behind and whoever holds its streams. Until then it
    /// waits, without a bound: also for a process that was killed and that the system does not let go.
    fn exited(&self) -> Pin<Box<dyn Future<Output = Result<Exit, WaitError>> + Send>>;

    /// As [`exited`](Self::exited), once all is collected of its streams that can be: all that the process itself has printed.
    /// A stream that something else holds open is still read for a bounded time. Then its pipe is closed, and what goes on to
    /// write to it gets SIGPIPE, which ends most programs.
    fn collected(&self) -> Pin<Box<dyn Future<Output = Result<Exit, WaitError>> + Send>>;

    /// What [`exited`](Self::exited) gives, if the process has ended by now, be it reaped or not.
    fn try_exited(&self) -> Option<Result<Exit, WaitError>>;

    /// What [`collected`](Self::collected) gives, if that is over.
    fn try_collected(&self) -> Option<Result<Exit, WaitError>>;

    /// What is kept of a stream so far, if it is collected.
    fn output(&self, stream: Stream) -> Option<Arc<dyn Collected>>;

    /// The caller has let go of the process: kills the group unless the process has ended by itself.
    fn let_go(&self);
}

/// What is kept of a stream.
pub trait Collected: Send + Sync {
    /// All that is kept so far, as text.
    fn text(&self) -> Cut;

    /// What is kept of the bytes from `offset` on, and how many of them were dropped.
    fn read(&self, offset: u64) -> Delta;

    /// The file with all of it, if there is one.
    fn spill(&self) -> Spill;
}

/// A stream of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Its output.
    Stdout,
    /// Its errors.
    Stderr,
}

/// How a process ended. Exactly one of the two facts is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The code that it gave.
    pub code: Option<i32>,
    /// The number of the signal that killed it.
    pub signal: Option<i32>,
}

/// Where all of a stream is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spill {
    /// Nobody asked for a file, or none is needed: nothing was dropped.
    None,
    /// In this file, which only the user can read, and which is there as long as the provider is and has room for it.
    File(PathBuf),
    /// Nowhere: the stream was longer than a file may be.
    TooLong,
    /// Nowhere, or nowhere any more: all files together would have become longer than the provider lets them. The oldest of
    /// those whose streams have ended go first.
    NoRoom,
    /// Nowhere: the file could not be written.
    Failed,
}

impl Process {
    /// A process with the ends of its pipes that the caller asked for.
    #[must_use]
    pub fn new(
        control: Arc<dyn Control>,
        stdin: Option<Writer>,
        stdout: Option<Reader>,
        stderr: Option<Reader>,
    ) -> Self {
        Self { control, stdin, stdout, stderr }
    }

    /// The id of the process, which is its group's.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.control.id()
    }

    /// What it reads from, once, if [`Stdin::Piped`](crate::Stdin::Piped) was asked for.
    pub fn take_stdin(&mut self) -> Option<Writer> {
        self.stdin.take()
    }

    /// Its output, once, if [`Output::Piped`](crate::Output::Piped) was asked for.
    pub fn take_stdout(&mut self) -> Option<Reader> {
        self.stdout.take()
    }

    /// Its errors, once, if [`Output::Piped`](crate::Output::Piped) was asked for.
    pub fn take_stderr(&mut self) -> Option<Reader> {
        self.stderr.take()
    }

    /// Tells it to end; whether it had not ended. See [`Control::terminate`].
    pub fn terminate(&self) -> bool {
        self.control.terminate()
    }

    /// See [`Control::kill`].
    pub fn kill(&self) {
        self.control.kill();
    }

    /// How it ended; see [`Control::exited`].
    ///
    /// # Errors
    /// The system does not tell.
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    pub fn exited(&self) -> impl Future<Output = Result<Exit, WaitError>> + Send + use<> {
        self.control.exited()
    }

    /// How it ended, once its streams are collected; see [`Control::collected`].
    ///
    /// # Errors
    /// The system does not tell.
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    pub fn collected(&self) -> impl Future<Output = Result<Exit, WaitError>> + Send + use<> {
        self.control.collected()
    }

    /// How it ended, if it has; see [`Control::try_exited`].
    #[must_use]
    pub fn try_exited(&self) -> Option<Result<Exit, WaitError>> {
        self.control.try_exited()
    }

    /// How it ended, if it has and its streams are collected; see [`Control::try_collected`].
    #[must_use]
    pub fn try_collected(&self) -> Option<Result<Exit, WaitError>> {
        self.control.try_collected()
    }

    /// What is kept of a stream so far, if it is collected.
    #[must_use]
    pub fn output(&self, stream: Stream) -> Option<Arc<dyn Collected>> {
        self.control.output(stream)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.control.let_go();
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("id", &self.id()).finish_non_exhaustive()
    }
}
