//! How a hook runs.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::time::Duration;

use cordis::chain;
use dsh_shell::{Shell, ShellError, ShellRequest, ShellResult};
use dsh_subprocess::{Cut, Stdin};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::decode::decode;
use crate::dialect::Dialect;
use crate::ending::Ending;
use crate::output::HookOutput;
use crate::point::Point;

/// How long a hook may run unless its configuration says.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// How much of its output is kept at least: a hook that changes a call writes its arguments again.
const MAX_STDOUT_BYTES: usize = 4 << 20;

/// A hook that is to run.
#[derive(Clone, Debug)]
pub(crate) struct HookCommand<'a> {
    /// Whose hook it is.
    pub(crate) dialect: Dialect,
    /// The command line.
    pub(crate) command: &'a str,
    /// What it is told: JSON on one line, without the end of the line.
    pub(crate) payload: &'a str,
    /// Variables that it finds besides those of the shell.
    pub(crate) env: BTreeMap<String, String>,
    /// The folder to run in; the shell's if absent.
    pub(crate) cwd: Option<&'a Path>,
    /// How long it may run; [`DEFAULT_TIMEOUT`] if absent.
    pub(crate) timeout: Option<Duration>,
    /// Cancelled when nobody needs its answer any more.
    pub(crate) cancellation: CancellationToken,
    /// The point that it answers; see [`decode`].
    pub(crate) expected: Option<Point>,
}

/// How a hook ran.
#[derive(Clone, Debug, PartialEq)]
pub struct HookRun {
    /// What it answered.
    pub output: HookOutput,
    /// The code that it gave: none if it was killed, or did not run.
    pub exit_code: Option<i32>,
    /// What it printed as errors.
    pub stderr: String,
    /// What ended it if it was not left to end by itself, whatever code it gave then.
    pub ended: Option<Ending>,
    /// How long it took.
    pub duration: Duration,
}

/// Runs a hook and reads its answer. Never fails: a hook that cannot be run has answered nothing.
///
/// The shell is asked at once, and not needed any more by the future.
///
/// # Cancel safety
/// Dropping the future kills the hook and all that it started.
pub(crate) fn run_hook(
    shell: &dyn Shell,
    command: HookCommand<'_>,
) -> impl Future<Output = HookRun> + Send + use<> {
    let (began, expected) = (Instant::now(), command.expected);
    let result = shell.resolve(request(command)).map(|spec| shell.run(spec));
    async move {
        let result = match result {
            Ok(running) => running.await,
            Err(error) => Err(error),
        };
        ended(result, expected, began.elapsed())
    }
}

fn request(command: HookCommand<'_>) -> ShellRequest {
    let HookCommand { dialect, command, payload, env, cwd, timeout, cancellation, expected: _ } = command;
    let mut stdin = payload.as_bytes().to_vec();
    match dialect {
        Dialect::ClaudeCode => stdin.push(b'\n'),
        Dialect::Codex => {}
    }
    ShellRequest {
        workdir: cwd.map(Path::to_owned),
        timeout: Some(timeout.unwrap_or(DEFAULT_TIMEOUT)),
        stdin: Stdin::Bytes(stdin),
        env,
        max_stdout_bytes: Some(MAX_STDOUT_BYTES),
        cancellation,
        ..ShellRequest::new(command)
    }
}

fn ended(result: Result<ShellResult, ShellError>, expected: Option<Point>, duration: Duration) -> HookRun {
    let result = match result {
        Ok(result) => result,
        Err(error) => {
            let (output, ended) = (HookOutput::default(), Ending::NotRun { reason: chain(&error) });
            return HookRun { output, exit_code: None, stderr: String::new(), ended: Some(ended), duration };
        }
    };
    let stderr = text(&result.stderr.cut);
    let output = decode(result.exit_code, &text(&result.stdout.cut), &stderr, expected);
    HookRun { output, exit_code: result.exit_code, stderr, ended: ending(&result), duration }
}

/// What is kept of a stream. Where something is missing a line says so, which no JSON can contain.
fn text(cut: &Cut) -> String {
    let Cut { head, dropped, tail } = cut;
    if cut.is_truncated() { format!("{head}\n[{dropped} bytes dropped]\n{tail}") } else { head.clone() }
}

fn ending(result: &ShellResult) -> Option<Ending> {
    if result.timed_out {
        Some(Ending::TimeLimit { limit: result.timeout })
    } else if result.aborted {
        Some(Ending::Cancelled)
    } else if result.exit_code.is_none() {
        Some(Ending::Signal { name: result.signal.clone() })
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
