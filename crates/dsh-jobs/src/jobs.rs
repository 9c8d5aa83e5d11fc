//! The service: where jobs are started, seen, read, awaited and stopped.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use cordis::{Context, Effect};
use dsh_agent::Agent;
use tokio_util::sync::CancellationToken;

use crate::error::{AttachError, JobError, KillError, StartError, WaitError};
use crate::request::JobRequest;
use crate::snapshot::JobSnapshot;

/// The jobs that run in the background.
///
/// A caller sees the jobs of its own session and those of nobody; `None` stands for a caller that is no agent, which sees those of nobody.
pub trait Jobs: Send + Sync {
    /// Starts a job of the plugin whose context `ctx` is: refused unless a controller serves the owner, kind, label and limit
    /// are right, the owner is live, and it has room for one more.
    ///
    /// What the request hands over is the plugin's code and ends with the plugin: when that unloads, its jobs are told to
    /// stop and waited for within the limit of a teardown; one that goes on is let go, and failed. The producer has to do nothing for it.
    ///
    /// # Errors
    /// See [`StartError`]. Nothing is registered then, no id is used up, and, unless it was the work itself that failed to
    /// begin, nothing was begun.
    fn start(&self, ctx: &Context, request: JobRequest) -> Result<JobSnapshot, StartError>;

    /// Says that somebody on `ctx` lets agents see and stop their jobs: all agents, or, on the context of a scope, those of that
    /// scope and below it. Ends with the effect, or with the context's plugin.
    ///
    /// # Errors
    /// See [`AttachError`].
    fn attach_controller(&self, ctx: &Context, label: &str) -> Result<Effect, AttachError>;

    /// The jobs that the caller sees, in the order in which they began. A provider may forget the oldest of those that have
    /// ended when others begin.
    fn list(&self, caller: Option<&Agent>) -> Vec<JobSnapshot>;

    /// One job.
    ///
    /// # Errors
    /// See [`JobError`].
    fn get(&self, id: &str, caller: Option<&Agent>) -> Result<JobSnapshot, JobError>;

    /// What a job said: since the last time if it says it while it runs, otherwise all of it once it has ended, each time. A job
    /// that has ended is reported from then on, also if its output cannot be read.
    ///
    /// Text and job belong together: what is given with a job that has ended is the last of what it said. What a provider keeps
    /// of it until it is read is bounded; the text says then how much of its middle was left out.
    ///
    /// # Errors
    /// See [`JobError`]. Nothing that was said is lost by it: an error is given when there is no text to give.
    fn read(&self, id: &str, caller: Option<&Agent>) -> Result<JobOutput, JobError>;

    /// Tells a job to stop. It keeps its place until it has ended. A job that has ended is reported from then on, and what it said
    /// can still be read.
    ///
    /// Told to stop by somebody, it does not have to be announced to its owner any more: it is reported.
    ///
    /// # Errors
    /// See [`KillError`]. Then the job is as it was.
    fn kill(&self, request: KillRequest<'_>) -> Result<KillOutcome, KillError>;

    /// Waits until a job has ended, which is reported then, or until the time is over, which gives the job as it is.
    ///
    /// # Errors
    /// See [`WaitError`]. The job is as it was.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing about the job.
    fn wait<'a>(
        &'a self,
        id: &'a str,
        time: Duration,
        caller: Option<&'a Agent>,
        cancellation: &'a CancellationToken,
    ) -> Pin<Box<dyn Future<Output = Result<JobSnapshot, WaitError>> + Send + 'a>>;
}

/// What a job said, and the job as it was then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOutput {
    /// What it said.
    pub text: String,
    /// The job.
    pub job: JobSnapshot,
}

/// Which job is to stop, who says so, and why.
#[derive(Clone, Copy, Debug)]
pub struct KillRequest<'a> {
    /// The job.
    pub id: &'a str,
    /// Who says so.
    pub caller: Option<&'a Agent>,
    /// Why.
    pub reason: Option<&'a str>,
}

/// What came of a wish to stop a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KillOutcome {
    /// It was told to stop.
    Requested(JobSnapshot),
    /// It had ended.
    AlreadyFinished(JobSnapshot),
}
