//! What a log keeps to, and how it is told that it does not.

use thiserror::Error;

/// A rule of approvals that does not hold.
///
/// Source: the texts of the reference's checker, except for [`Rule::Readable`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Rule {
    /// A question is asked inside of a turn.
    #[error("approval/asked appended outside any open turn")]
    AskedOutsideTurn,
    /// A question names a tool.
    #[error("approval/asked toolName must be non-empty")]
    NoToolName,
    /// A question that is open is not asked again.
    #[error("approval/asked repeated open id {id:?}")]
    RepeatedId {
        /// The question's id.
        id: String,
    },
    /// A question is decided inside of a turn.
    #[error("approval/decided appended outside any open turn")]
    DecidedOutsideTurn,
    /// An outcome is that of a question that is open.
    #[error("approval/decided has no matching approval/asked for id {id:?}")]
    NotAsked {
        /// The id.
        id: String,
    },
    /// An outcome is one of the four.
    #[error("approval/decided carries unknown outcome {outcome:?}")]
    UnknownOutcome {
        /// What stands there.
        outcome: String,
    },
    /// A policy is one of the two.
    #[error("approval/policy carries unknown policy {policy:?}")]
    UnknownPolicy {
        /// What stands there.
        policy: String,
    },
    /// The data is an object with the texts that the event has.
    #[error("{kind} cannot be read: {reason}")]
    Readable {
        /// The event's type.
        kind: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// An event breaks a rule where it stands, or would stand.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invariant violated by \"@deepseek-ai/dsh-user-approval\": {rule}")]
#[non_exhaustive]
pub struct Violation {
    /// The session's id.
    pub session: String,
    /// The event's number.
    pub seq: u64,
    /// The rule.
    pub rule: Rule,
}
