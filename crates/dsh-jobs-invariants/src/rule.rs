//! What a job keeps to, and how it is told that it does not.

use thiserror::Error;

/// A rule of jobs that does not hold.
///
/// Source: the rules of the reference's checker.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Rule {
    /// An id is the kind, a hyphen, and a number from 1.
    #[error("job {id:?} id must be \"{kind}-\" followed by a positive integer")]
    Id {
        /// The id.
        id: String,
        /// The job's kind.
        kind: String,
    },
    /// A label says something.
    #[error("job {id:?} label must be non-empty")]
    Label {
        /// The job's id.
        id: String,
    },
    /// A job began at a moment that every reader of JSON keeps exact.
    #[error("job {id:?} startedAt must be a non-negative epoch integer")]
    StartedAt {
        /// The job's id.
        id: String,
    },
    /// A job that has ended says when.
    #[error("job {id:?} finishedAt must be present for a terminal status")]
    Unfinished {
        /// The job's id.
        id: String,
    },
    /// A job that has not ended does not say when.
    #[error("job {id:?} finishedAt must be absent for a live status")]
    Finished {
        /// The job's id.
        id: String,
    },
    /// A job ended at such a moment, not before it began.
    #[error("job {id:?} finishedAt must be an epoch integer not before startedAt")]
    FinishedAt {
        /// The job's id.
        id: String,
    },
    /// The end of a job is told with the agent that it worked for.
    #[error("job {id:?} ownerSession does not match its completion owner")]
    Owner {
        /// The job's id.
        id: String,
    },
}

/// A job breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invariant violated by \"@deepseek-ai/dsh-jobs\": {rule}")]
#[non_exhaustive]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
}
