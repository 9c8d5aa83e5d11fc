//! A command in the foreground.

use std::sync::Arc;
use std::time::Duration;

use dsh_shell::{ShellError, ShellOutput, ShellResult, ShellSpec};
use dsh_subprocess::{Collect, Collected, Process, SpawnError, Spill, Stream, Watch};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::command::CommandLine;
use crate::live::Telling;
use crate::local::{LocalShell, Started};
use crate::signal;

/// Why a command was told to end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    TimedOut,
    Aborted,
}

/// See [`Shell::run`](dsh_shell::Shell::run).
pub(crate) async fn run(shell: LocalShell, mut spec: ShellSpec) -> Result<ShellResult, ShellError> {
    let (timeout, cancellation) = (spec.timeout, spec.cancellation.clone());
    let line = CommandLine::written_aside(std::mem::take(&mut spec.command)).await?;
    if cancellation.is_cancelled() {
        return Err(SpawnError::Cancelled.into());
    }
    let telling = spec.live.take().map(Telling::new);
    let [out, err] = telling.as_ref().map_or([None, None], |telling| telling.watches().map(Some));
    let (out, err) = (collect(spec.max_stdout_bytes, out), collect(spec.max_stderr_bytes, err));
    let started = shell.spawn(line, spec, out, err)?;
    let Started { process, .. } = &started;
    let reason = until(process, timeout, &cancellation).await;
    // One that has ended is not told, however late that is noticed.
    let told = reason.filter(|_| process.terminate());
    let exit = process.collected().await?;
    if let Some(telling) = telling {
        telling.finish();
    }
    let result = ShellResult {
        exit_code: exit.code,
        signal: exit.signal.map(signal::name),
        timed_out: told == Some(Reason::TimedOut),
        aborted: told == Some(Reason::Aborted),
        timeout,
        stdout: output(process.output(Stream::Stdout)),
        stderr: output(process.output(Stream::Stderr)),
    };
    if let Some(script) = started.script {
        script.remove().await;
    }
    Ok(result)
}

/// Waits until the command ends by itself, or there is a reason to tell it to. What comes first counts; of several at once,
/// that it ended. The token is not the process's own: then it could end by it before this knows.
async fn until(process: &Process, timeout: Duration, cancellation: &CancellationToken) -> Option<Reason> {
    tokio::select! {
        biased;
        _ = process.exited() => None,
        () = cancellation.cancelled() => Some(Reason::Aborted),
        () = sleep(timeout) => Some(Reason::TimedOut),
    }
}

fn collect(max_bytes: usize, watch: Option<Watch>) -> Collect {
    Collect { watch, ..Collect::both_ends(max_bytes) }
}

fn output(collected: Option<Arc<dyn Collected>>) -> ShellOutput {
    let Some(collected) = collected else { return ShellOutput::default() };
    let cut = collected.text();
    let spill_path = match collected.spill() {
        Spill::File(path) if cut.is_truncated() => Some(path),
        _ => None,
    };
    ShellOutput { cut, spill_path }
}
