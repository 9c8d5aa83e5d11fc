//! A command that runs on as a job.

use std::sync::Arc;

use cordis::{BoxError, Context, Handle};
use dsh_jobs::{JobHooks, JobOutcome, JobRequest, Jobs, KillRequest, TerminalStatus};
use dsh_shell::{Background, BackgroundEnd, BackgroundOutput, Shell, ShellRequest, push_line};
use dsh_tools::{ToolError, ToolRun};
use tokio::task::spawn_blocking;

use crate::value::BashValue;

/// What kind of job a command is.
const KIND: &str = "bash";
/// Why a job is stopped whose call was cancelled.
const ABORTED: &str = "the call that started it was cancelled";

/// Starts a command as a job of the agent that calls. What is refused before that has started no process, and a call that is
/// cancelled meanwhile leaves none.
///
/// The job is code of the plugin that `ctx` is of: the service ends it with that plugin, and waits for it.
pub(crate) async fn start(
    ctx: &Context,
    jobs: &Handle<dyn Jobs>,
    shell: &Handle<dyn Shell>,
    request: ShellRequest,
    run: &ToolRun,
) -> Result<BashValue, ToolError> {
    let spec = shell.get()?.resolve(request)?;
    let (label, shell) = (spec.command.clone(), shell.clone());
    let request = JobRequest {
        kind: KIND.to_owned(),
        label,
        output_limit_bytes: None,
        owner: run.agent().cloned(),
        run: Box::new(move || Ok(hooks(shell.get()?.start(spec).into()))),
    };
    let job = {
        let (ctx, jobs) = (ctx.clone(), jobs.clone());
        // The shell may wait for the disk.
        spawn_blocking(move || Ok::<_, ToolError>(jobs.get()?.start(&ctx, request)?)).await??
    };
    if run.is_cancelled() {
        // It may have ended, which is as well.
        let _ =
            jobs.get()?.kill(KillRequest { id: job.id.as_str(), caller: run.agent(), reason: Some(ABORTED) });
        return Err(ToolError::aborted());
    }
    Ok(BashValue::background(&job.id))
}

fn hooks(command: Arc<dyn Background>) -> JobHooks {
    let (ending, reading) = (Arc::clone(&command), Arc::clone(&command));
    JobHooks {
        // One that was told already, or has ended, is not told again.
        cancel: Box::new(move |_reason| {
            command.kill();
            Ok(())
        }),
        done: Box::pin(async move { outcome(ending.done().await) }),
        read_output: Some(Box::new(move || said(reading.read_output()))),
    }
}

/// What a reader is given: the text, and a line about what is missing of it.
fn said(output: BackgroundOutput) -> String {
    let BackgroundOutput { mut text, dropped, spill_paths } = output;
    if dropped > 0 {
        let paths: Vec<String> = spill_paths.iter().map(|path| path.display().to_string()).collect();
        let paths = if paths.is_empty() { "(unavailable)".to_owned() } else { paths.join(", ") };
        push_line(&mut text, &format!("[{dropped} bytes were dropped from memory; full output: {paths}]"));
    }
    text
}

/// What the job came to; an error, if nobody knows how the command ended.
fn outcome(end: BackgroundEnd) -> Result<JobOutcome, BoxError> {
    let BackgroundEnd { exit_code, signal, killed, lost } = end;
    if let Some(lost) = lost {
        return Err(lost.into());
    }
    let (status, detail) = match (signal, killed, exit_code) {
        (Some(signal), _, _) => (TerminalStatus::Killed, format!("signal: {signal}")),
        (None, true, _) => (TerminalStatus::Killed, "killed before exit".to_owned()),
        (None, false, Some(code)) => (TerminalStatus::Completed, format!("exit code: {code}")),
        (None, false, None) => return Err("the shell does not tell how the command ended".into()),
    };
    Ok(JobOutcome { status, detail: Some(detail), output: None })
}

#[cfg(test)]
mod tests;
