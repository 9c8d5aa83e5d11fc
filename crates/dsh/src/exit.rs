//! What the process tells its caller.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use crate::visible::visible_lines;

/// What failed when nobody could take what we print.
pub(crate) const UNWRITTEN: &str = "cannot write the output";

/// How a command ended; the numbers are part of the program's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything was done.
    Fine = 0,
    /// A run failed, was declined or was interrupted.
    Failed = 1,
    /// The input or the command line is wrong; nothing was run.
    BadInput = 2,
    /// The terminal of a run was closed.
    HungUp = 129,
    /// Ctrl-C at the question, and nothing was run; or Ctrl-C during a run.
    Interrupted = 130,
}

/// A command that could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    error: anyhow::Error,
}

impl Failure {
    /// The input or the command line is wrong.
    pub(crate) fn bad_input(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::BadInput, error: error.into() }
    }

    /// What went wrong.
    pub(crate) fn error(&self) -> &anyhow::Error {
        &self.error
    }

    /// Tells the user, unless the reason is that nobody reads what we print.
    pub(crate) fn report(&self) -> Exit {
        let unread = self.error.chain().any(|cause| {
            cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
        });
        if !unread {
            say(format_args!("error: {:#}", self.error));
        }
        self.exit
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self { exit: Exit::Failed, error: error.into() }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Prints a line for the user that is no output. If nobody reads it, nobody misses it.
///
/// It is written at once: what others write to the terminal meanwhile stands before or after it. Names and messages of others may be
/// in it: no character of it is a command to the terminal.
pub(crate) fn say(line: impl Display) {
    use io::Write as _;
    let _ = io::stderr().write_all(visible_lines(&format!("dsh: {line}\n")).as_bytes());
}
