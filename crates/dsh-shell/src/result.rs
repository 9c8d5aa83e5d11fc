//! How a command ended, and what it said.

use std::path::PathBuf;
use std::time::Duration;

use dsh_subprocess::Cut;

/// How a command ended, and what it said. Each is a fact of its own: a command can be told to end by its time limit and
/// give the code 0 all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellResult {
    /// The code that it gave, unless a signal killed it.
    pub exit_code: Option<i32>,
    /// The name of the signal that killed it: `SIG` and what `kill -l` calls it, such as `SIGKILL`; a real-time signal has its
    /// number, such as `SIG34`.
    pub signal: Option<String>,
    /// It was told to end by its time limit.
    pub timed_out: bool,
    /// It was told to end because its result was no longer wanted.
    pub aborted: bool,
    /// The time limit that held.
    pub timeout: Duration,
    /// What it printed.
    pub stdout: ShellOutput,
    /// What it printed as errors.
    pub stderr: ShellOutput,
}

/// What is kept of a stream of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellOutput {
    /// The text, and how much of it is missing.
    pub cut: Cut,
    /// The file with all of it, if something is missing and there is one.
    pub spill_path: Option<PathBuf>,
}

/// Adds a line to what a command printed, which may have stopped within one.
///
/// # Examples
/// ```
/// let mut text = "no newline".to_owned();
/// dsh_shell::push_line(&mut text, "[exit code: 1]");
/// assert_eq!(text, "no newline\n[exit code: 1]");
/// ```
pub fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
}
