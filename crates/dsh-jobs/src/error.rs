//! Why something was not done with a job.

use cordis::{BoxError, Inactive};
use dsh_agent::AgentId;
use thiserror::Error;

/// Why a job was not started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// Nobody would let the owner see and stop it.
    #[error(
        "background jobs are unavailable: no job controller serves this agent, so nobody could look at its jobs or stop them; \
         run the work in the foreground, or have the host load the plugin `tool-jobs`"
    )]
    NoController,
    /// The kind is empty.
    #[error("invalid job kind: expected a non-empty string")]
    Kind,
    /// The label is empty.
    #[error("invalid job label: expected a non-empty string")]
    Label,
    /// The limit is none.
    #[error("invalid outputLimitBytes: expected a whole number from 1 to 9007199254740991, got {given}")]
    OutputLimit {
        /// What was given.
        given: u64,
    },
    /// Nobody knows which agents are live.
    #[error(
        "an owned job needs the registry of agents: run the work in the foreground, or have the host load a plugin that \
         provides the service `agents`"
    )]
    NoAgents,
    /// The owner is not the live agent of its id.
    #[error(
        "the owner of a job must be the live registered instance: agent `{agent}` is not; start the job for the agent that is \
         registered now"
    )]
    NotLive {
        /// The agent.
        agent: AgentId,
    },
    /// The owner has as many as it may.
    #[error(
        "the limit of {limit} background jobs is reached: stop one with `job_kill`, wait until it has ended, then try again"
    )]
    Full {
        /// How many there may be.
        limit: usize,
    },
    /// The owner, the plugin that starts the job, or the service is ending.
    #[error(
        "no job can be started any more: {what} is ending; run the work in the foreground, or start the job again once there \
         is a successor"
    )]
    Ending {
        /// Which of the three.
        what: String,
    },
    /// The work did not begin.
    #[error("the job did not start and left nothing behind; mend the cause, then start it again")]
    Run(#[source] BoxError),
}

/// A controller was not attached.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AttachError {
    /// The context is inactive.
    #[error(transparent)]
    Inactive(#[from] Inactive),
    /// Its entry was not made.
    #[error("the job controller `{label}` was not attached")]
    Refused {
        /// What it was to be called.
        label: String,
        /// Why.
        #[source]
        source: BoxError,
    },
}

/// A job cannot be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JobError {
    /// There is none of this id.
    #[error("unknown job {id}")]
    Unknown {
        /// The id.
        id: String,
    },
    /// It is not the caller's.
    #[error("job {id} belongs to another session")]
    Foreign {
        /// The id.
        id: String,
    },
    /// Its producer failed to give what it said.
    #[error("the output of job {id} cannot be read: {reason}")]
    Output {
        /// The id.
        id: String,
        /// What the producer said, or panicked with.
        reason: String,
    },
}

/// A job was not told to stop.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KillError {
    /// It cannot be looked at.
    #[error(transparent)]
    Job(#[from] JobError),
    /// Its work did not take the wish.
    #[error("job {id} could not be told to stop")]
    Cancel {
        /// The id.
        id: String,
        /// Why.
        #[source]
        source: BoxError,
    },
}

/// A job was not waited for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WaitError {
    /// It cannot be looked at.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The time is none.
    #[error("invalid wait timeout: expected a positive number of milliseconds, got {given_ms}")]
    Time {
        /// What was given.
        given_ms: u128,
    },
    /// The wait was cancelled.
    #[error("wait aborted")]
    Aborted,
}
