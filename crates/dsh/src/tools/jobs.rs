//! What becomes of the jobs that a call has started: they end with the program, and may be waited for.

use std::time::Duration;

use anyhow::Context as _;
use dsh_jobs::{JOBS, JobSnapshot, JobStatus, Jobs, WaitError};
use tokio_util::sync::CancellationToken;

use crate::exit::{Exit, say};
use crate::tools::host::Host;
use crate::tools::trace::Trace;
use crate::visible::visible;

/// How long what a job says may wait to be told.
const LOOK: Duration = Duration::from_millis(200);
/// After so many looks at a job that says nothing the user is told that it is waited for.
const SILENT_LOOKS: u32 = 50;

/// Says of each job of the agent that it ends with the program, and what to do about it.
pub(crate) fn say_that_they_end(host: &Host) -> anyhow::Result<()> {
    let jobs = host.app.get(JOBS).context("no plugin provides the jobs")?;
    for job in jobs.get()?.list(Some(&host.agent)) {
        let id = &job.id;
        if job.status.is_terminal() {
            say(format_args!("job {id} has ended: {}; --wait shows what it said", ended(&job)));
        } else {
            say(format_args!(
                "job {id} still runs, and is ended now with dsh; --wait waits for it and shows what it says"
            ));
        }
    }
    Ok(())
}

/// Waits for each job of the agent, and tells what it says meanwhile. A job that was stopped, or that broke, is a failure,
/// and so is it not to be waited for any more.
pub(crate) async fn wait(
    host: &Host,
    trace: &Trace,
    cancellation: &CancellationToken,
) -> anyhow::Result<Exit> {
    let jobs = host.app.get(JOBS).context("no plugin provides the jobs")?;
    let jobs = jobs.get()?;
    let mut exit = Exit::Fine;
    for job in jobs.list(Some(&host.agent)) {
        match ending(&*jobs, host, trace, &job, cancellation).await {
            Ok(JobStatus::Completed) => {}
            Ok(_) => exit = Exit::Failed,
            Err(WaitError::Aborted) => {
                say(format_args!("job {} is not waited for any more: it is ended now with dsh", job.id));
                return Ok(Exit::Failed);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(exit)
}

async fn ending(
    jobs: &dyn Jobs,
    host: &Host,
    trace: &Trace,
    job: &JobSnapshot,
    cancellation: &CancellationToken,
) -> Result<JobStatus, WaitError> {
    let (id, caller) = (job.id.as_str(), Some(&host.agent));
    trace.waits_for(job);
    let (mut untold, mut silent) = (String::new(), 0);
    loop {
        jobs.wait(id, LOOK, caller, cancellation).await?;
        let output = jobs.read(id, caller)?;
        silent = if output.text.is_empty() { silent + 1 } else { 0 };
        untold.push_str(&output.text);
        if output.job.status.is_terminal() {
            trace.job(&output.job, &untold);
            return Ok(output.job.status);
        }
        // The end of a line that has not been said yet is waited for.
        let rest = untold.split_off(untold.rfind('\n').map_or(0, |end| end + 1));
        let told = std::mem::replace(&mut untold, rest);
        if !told.is_empty() {
            trace.job(&output.job, &told);
        }
        if silent == SILENT_LOOKS {
            say(format_args!("still waiting for job {id}, which says nothing (Ctrl-C ends it)"));
            silent = 0;
        }
    }
}

/// How a job ended, in words.
pub(crate) fn ended(job: &JobSnapshot) -> String {
    let status = job.status.as_str();
    job.detail
        .as_deref()
        .map_or_else(|| status.to_owned(), |detail| format!("{status} ({})", visible(detail)))
}
