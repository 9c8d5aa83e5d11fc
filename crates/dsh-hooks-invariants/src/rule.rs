//! What a log keeps to, and how it is told that it does not.

use thiserror::Error;

/// A rule of hooks that does not hold.
///
/// Source: the texts of the reference's checker, except for [`Rule::OtherTurn`] and [`Rule::Readable`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Rule {
    /// A hook runs inside of a turn.
    #[error("{kind} appended outside any open turn")]
    OutsideTurn {
        /// The event's type.
        kind: String,
    },
    /// A hook is logged in the turn that it names.
    #[error("{kind} names turn {turn}, but turn {open} is open")]
    OtherTurn {
        /// The event's type.
        kind: String,
        /// The turn that it names.
        turn: u64,
        /// The turn in which it stands.
        open: u64,
    },
    /// A hook has a name, and runs at a point.
    #[error("hook/invoked point and handlerId must be non-empty")]
    Nameless,
    /// A dialect is one of the two.
    #[error("hook/invoked carries unknown dialect {dialect:?}")]
    UnknownDialect {
        /// What stands there.
        dialect: String,
    },
    /// A hook that ends has begun, in the same turn and at the same point.
    #[error("hook/result has no matching hook/invoked for {handler_id:?}")]
    NotInvoked {
        /// Its name.
        handler_id: String,
    },
    /// A hook takes its time.
    #[error("hook/result durationMs must be a non-negative finite number")]
    Duration,
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
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invariant violated by \"@deepseek-ai/dsh-hook-protocol\": {rule}")]
#[non_exhaustive]
pub struct Violation {
    /// The session's id.
    pub session: String,
    /// The event's number.
    pub seq: u64,
    /// The rule.
    pub rule: Rule,
}
