//! What a log keeps to, and how it is told that it does not.

use thiserror::Error;

/// A rule of retries that does not hold.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Rule {
    /// A retry is logged in the turn and the step that it names, while they are open.
    #[error("{kind} names turn {turn}, step {step}, which is not the open one")]
    NotOpen {
        /// The event's type.
        kind: String,
        /// The turn that it names.
        turn: u64,
        /// The step that it names.
        step: u64,
    },
    /// The provider is the one that is asked.
    #[error("llm/retry names provider {named:?}, but {routed:?} is asked")]
    OtherProvider {
        /// What stands there.
        named: String,
        /// The one that is asked.
        routed: String,
    },
    /// The retries of a step under one policy count 1, 2, 3 and on.
    #[error("llm/retry is number {found}, but the next one is number {expected}")]
    Number {
        /// What stands there.
        found: u32,
        /// The next one.
        expected: u64,
    },
    /// There is a bound exactly where the mode has one, and no more retries than it says.
    #[error("llm/retry is number {retry} of at most {max:?}")]
    Bound {
        /// Its number.
        retry: u32,
        /// The bound that stands there.
        max: Option<u32>,
    },
    /// A delay is one that can be waited for.
    #[error("llm/retry delayMs is {delay_ms}: it is 0 to 2147483647")]
    Delay {
        /// What stands there.
        delay_ms: f64,
    },
    /// The retries of a step under one policy have one id, and no others have it.
    #[error("llm/retry has the id {retry_id:?}, which is empty or not that of its step and policy")]
    Id {
        /// What stands there.
        retry_id: String,
    },
    /// A retry that begins was logged before, and begins once.
    #[error("llm/retry-started has no matching llm/retry {retry} of {retry_id:?} that waits")]
    NotScheduled {
        /// Its id.
        retry_id: String,
        /// Its number.
        retry: u32,
    },
    /// The data is an object with the fields that the event has.
    #[error("{kind} cannot be read: {reason}")]
    Readable {
        /// The event's type.
        kind: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// An event breaks a rule where it stands, or would stand.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("session `{session}`: event {seq} breaks a rule of `llm-retry`: {rule}")]
#[non_exhaustive]
pub struct Violation {
    /// The session's id.
    pub session: String,
    /// The event's number.
    pub seq: u64,
    /// The rule.
    pub rule: Rule,
}
