//! What a log keeps to, and how it is told that it does not.

use std::fmt;

use thiserror::Error;

/// One rule of the order of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// Numbers of events grow.
    Sequence,
    /// The data of an event that a rule looks at can be read.
    Readable,
    /// A turn starts when none is open; turns count 1, 2, 3 and on.
    TurnStart,
    /// The open turn ends, when no step of it is open.
    TurnEnd,
    /// A step starts in the open turn when no step is open; the steps of a turn count 1, 2, 3 and on.
    StepStart,
    /// Ends of steps, answers and their pieces, calls and their results name the open turn and step.
    InStep,
    /// Lists of things to do, request headers and contexts, and results in the place of others need an open turn.
    InTurn,
    /// A result answers a call of the same step, unless it says that the call was not started.
    CallBeforeResult,
}

impl Rule {
    /// The rule's name, as errors give it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sequence => "sequence",
            Self::Readable => "readable",
            Self::TurnStart => "turn-start",
            Self::TurnEnd => "turn-end",
            Self::StepStart => "step-start",
            Self::InStep => "in-step",
            Self::InTurn => "in-turn",
            Self::CallBeforeResult => "call-before-result",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An event breaks a rule where it stands, or would stand.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "session `{session}`: event {seq} (`{kind}`) breaks the rule `{rule}`: expected {expected}, found {found}"
)]
#[non_exhaustive]
pub struct Violation {
    /// The session's id.
    pub session: String,
    /// The event's number.
    pub seq: u64,
    /// The event's type.
    pub kind: String,
    /// The rule.
    pub rule: Rule,
    /// What could have stood there.
    pub expected: String,
    /// What the event says.
    pub found: String,
}
