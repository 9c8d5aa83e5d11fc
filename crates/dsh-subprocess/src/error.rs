//! Why a program was not started.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use crate::spawn::MAX_GRACE;

/// Why no file was found for a program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The absolute path leads to nothing that can be run.
    #[error("{provider}: command \"{}\" is not an executable file", program.display())]
    NotExecutable {
        /// Who looked for it.
        provider: &'static str,
        /// The path.
        program: PathBuf,
    },
    /// No folder of `PATH` has it.
    #[error("{provider}: command \"{}\" was not found on PATH", program.display())]
    NotFound {
        /// Who looked for it.
        provider: &'static str,
        /// The name.
        program: OsString,
    },
    /// It would mean another file in another folder.
    #[error(
        "{provider}: command \"{}\" is a relative path: give an absolute path, or a bare name to look for on PATH",
        program.display()
    )]
    Relative {
        /// Who looked for it.
        provider: &'static str,
        /// The path.
        program: OsString,
    },
}

/// Why a program was not started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// No program was named.
    #[error("invalid argv: expected a non-empty program name at argv[0]")]
    NoProgram,
    /// The grace time is none that a timer takes.
    #[error(
        "invalid graceMs: expected a positive number of milliseconds, at most {}, got {given_ms}",
        MAX_GRACE.as_millis()
    )]
    Grace {
        /// What was given.
        given_ms: u128,
    },
    /// A variable to set is none.
    #[error(
        "invalid variable {name:?}: a name is not empty and has no `=`, and neither it nor its value has a NUL"
    )]
    Variable {
        /// The name.
        name: OsString,
    },
    /// It was cancelled before it began.
    #[error("aborted before spawn")]
    Cancelled,
    /// The program was not found.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// The folder to run in is none.
    #[error("cannot run in \"{}\"", cwd.display())]
    Cwd {
        /// The folder.
        cwd: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The system did not start it.
    #[error("cannot start \"{}\"", program.display())]
    Start {
        /// The program.
        program: OsString,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// What would kill it if the host died cannot be started.
    #[error("cannot start \"{}\": nothing would end it if this program were killed", program.display())]
    Watchdog {
        /// The program.
        program: OsString,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The provider is being unloaded.
    #[error("cannot start \"{}\": the subprocess service has ended", program.display())]
    Ended {
        /// The program.
        program: OsString,
    },
}

/// The system does not tell how a process ended.
#[derive(Clone, Debug, Error)]
#[error("cannot wait for process {id}")]
pub struct WaitError {
    /// The process.
    pub id: u32,
    /// Why.
    #[source]
    pub source: Arc<io::Error>,
}
