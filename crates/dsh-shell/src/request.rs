//! A command that is to be run.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use dsh_subprocess::Stdin;
use tokio_util::sync::CancellationToken;

/// A command as it is asked for. What is absent is left to the shell's configuration.
pub struct ShellRequest {
    /// The command line, never blank.
    pub command: String,
    /// The folder to run in.
    pub workdir: Option<PathBuf>,
    /// How long it may run in the foreground. The shell's upper bound holds all the same.
    pub timeout: Option<Duration>,
    /// What it reads.
    pub stdin: Stdin,
    /// Variables of the caller, over those of the shell.
    pub env: BTreeMap<String, String>,
    /// Variables of the host for this caller, over all others.
    pub managed_env: BTreeMap<String, String>,
    /// How much is kept of its output, in bytes, if that is more than the shell's configuration says. Foreground only.
    pub max_stdout_bytes: Option<usize>,
    /// Cancelled when the result is no longer wanted. Foreground only.
    pub cancellation: CancellationToken,
    /// Told what it prints while it runs, both streams as they come. Foreground only.
    pub live: Option<LiveOutput>,
}

/// Told of every piece of text that a command prints. It must return soon.
pub type LiveOutput = Box<dyn Fn(String) + Send + Sync>;

/// A command as it will be run: nothing is open any more.
pub struct ShellSpec {
    /// The command line.
    pub command: String,
    /// The folder to run in, an absolute path.
    pub workdir: PathBuf,
    /// How long it may run in the foreground.
    pub timeout: Duration,
    /// What it reads.
    pub stdin: Stdin,
    /// What it finds in its environment besides what it inherits.
    pub env: BTreeMap<String, String>,
    /// How much is kept of its output, in bytes.
    pub max_stdout_bytes: usize,
    /// How much is kept of its errors, in bytes.
    pub max_stderr_bytes: usize,
    /// Cancelled when the result is no longer wanted.
    pub cancellation: CancellationToken,
    /// Told what it prints while it runs.
    pub live: Option<LiveOutput>,
}

impl ShellRequest {
    /// A command about which nothing else is said.
    #[must_use]
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            workdir: None,
            timeout: None,
            stdin: Stdin::Closed,
            env: BTreeMap::new(),
            managed_env: BTreeMap::new(),
            max_stdout_bytes: None,
            cancellation: CancellationToken::new(),
            live: None,
        }
    }
}

impl fmt::Debug for ShellRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShellRequest")
            .field("command", &self.command)
            .field("workdir", &self.workdir)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ShellSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShellSpec")
            .field("command", &self.command)
            .field("workdir", &self.workdir)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
