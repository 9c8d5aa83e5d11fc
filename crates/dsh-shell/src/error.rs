//! Why a command was not run.

use std::io;
use std::path::PathBuf;

use dsh_subprocess::SpawnError;
use thiserror::Error;

/// Why a command was not run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ShellError {
    /// There is no command.
    #[error("invalid command: expected a non-empty string")]
    NoCommand,
    /// The command holds a NUL, which no program can be given.
    #[error("invalid command: it holds a NUL character")]
    Nul,
    /// It may not run for any time.
    #[error("{shell}: request.timeoutMs must be a positive finite number")]
    NoTime {
        /// The plugin that runs commands.
        shell: &'static str,
    },
    /// The folder to run in is none.
    #[error("cannot run in \"{}\"", workdir.display())]
    Workdir {
        /// The folder.
        workdir: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A long command could not be put into a file.
    #[error("cannot put the command into a file, which is needed for one of its length")]
    Script(#[source] io::Error),
    /// The process was not started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// What the processes are started by has ended.
    #[error("cannot run the command: the subprocess service has ended")]
    Ended,
    /// The system does not tell how the command ended.
    #[error(transparent)]
    Wait(#[from] dsh_subprocess::WaitError),
}
