//! What a producer hands over when it starts a job.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use cordis::BoxError;
use dsh_agent::Agent;

use crate::snapshot::TerminalStatus;

/// A job that is to be started.
pub struct JobRequest {
    /// What kind of work it is, such as `bash`; its id begins with it.
    pub kind: String,
    /// What it does, for a reader.
    pub label: String,
    /// How much of its output a reader is shown, in bytes, from 1 to 2^53 - 1; all of it if absent.
    pub output_limit_bytes: Option<u64>,
    /// The agent that it works for: a live one, which is held until the job has ended. A job of nobody is seen by all.
    pub owner: Option<Agent>,
    /// Begins the work. Called once all else is checked, on the caller's stack; if it fails, or panics, nothing is registered.
    pub run: JobStart,
}

/// Begins the work of a job.
pub type JobStart = Box<dyn FnOnce() -> Result<JobHooks, BoxError> + Send>;

/// A producer's side of a job that runs. Each part is run as code of the producer's plugin, outside of all locks, and may
/// use the service; all of them are dropped once the job has ended, or when the plugin unloads.
pub struct JobHooks {
    /// Tells the work to end, with a reason if there is one. It must return soon; the end comes by `done`. It may be told
    /// more than once.
    pub cancel: JobCancel,
    /// What the work comes to. An error or a panic counts as [`TerminalStatus::Failed`].
    pub done: JobDoneFuture,
    /// Gives what the work said since the last time; called once more when `done` is over, and not again after that. A job
    /// without it says what it has to say by its outcome.
    pub read_output: Option<JobRead>,
}

/// Tells the work of a job to end, for a reason if there is one.
pub type JobCancel = Box<dyn Fn(Option<&str>) -> Result<(), BoxError> + Send + Sync>;

/// What the work of a job comes to, when it does.
pub type JobDoneFuture = Pin<Box<dyn Future<Output = Result<JobOutcome, BoxError>> + Send>>;

/// Gives what the work of a job said since the last time.
pub type JobRead = Box<dyn Fn() -> String + Send + Sync>;

/// What a job came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOutcome {
    /// How it ended.
    pub status: TerminalStatus,
    /// The same in a few words.
    pub detail: Option<String>,
    /// What the work has to say, if it does not say it while it runs; left aside if there is a `read_output`.
    pub output: Option<String>,
}

impl fmt::Debug for JobRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobRequest")
            .field("kind", &self.kind)
            .field("label", &self.label)
            .field("output_limit_bytes", &self.output_limit_bytes)
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for JobHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobHooks").field("streams", &self.read_output.is_some()).finish_non_exhaustive()
    }
}
