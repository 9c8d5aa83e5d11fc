//! What loops keep to, and how it is told that they do not.

use thiserror::Error;

/// A rule of loops that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Violation {
    /// A request that a loop built belongs to a session.
    #[error("a request that a loop built names no session")]
    NoSession,
    /// The session that it belongs to is live.
    #[error("a request that a loop built names session `{session}`, which is not live")]
    NotLive {
        /// The session's id.
        session: String,
    },
    /// It is made in a turn.
    #[error("a request is made for session `{session}`, in which no turn is open")]
    OutsideTurn {
        /// The session's id.
        session: String,
    },
    /// It is made in a step of that turn.
    #[error("a request is made for session `{session}`, in whose turn no step is open")]
    OutsideStep {
        /// The session's id.
        session: String,
    },
    /// With what a model is asked was logged.
    #[error("a request is made for session `{session}`, whose log has no `request/header`")]
    NoHeader {
        /// The session's id.
        session: String,
    },
    /// A model is asked with what was logged.
    #[error("a request for session `{session}` has another {part} than the last `request/header` of its log")]
    Header {
        /// The session's id.
        session: String,
        /// The field.
        part: &'static str,
    },
    /// What a model is told is the session's conversation.
    #[error(
        "a request for session `{session}` has another conversation than its log: {asked} messages and {logged}, which \
         differ from message {place} on"
    )]
    Messages {
        /// The session's id.
        session: String,
        /// The place of the first message that differs, from 0.
        place: usize,
        /// How many messages the request has.
        asked: usize,
        /// How many messages the conversation has.
        logged: usize,
    },
    /// An agent's status is told when it is another one.
    #[error("agent `{agent}` is told to be {status}, which it was already")]
    StatusRepeated {
        /// The agent's id.
        agent: String,
        /// The status.
        status: &'static str,
    },
    /// Messages are taken for the turn that is open.
    #[error("agent `{agent}` takes message `{message}` for turn {turn}, which is not open")]
    ClaimedOutsideTurn {
        /// The agent's id.
        agent: String,
        /// The message's id.
        message: String,
        /// The turn.
        turn: u64,
    },
    /// An agent comes once.
    #[error("agent `{agent}` is told to be there twice")]
    CreatedAgain {
        /// The agent's id.
        agent: String,
    },
    /// An agent goes once, after it came.
    #[error("agent `{agent}` is told to be gone, and was not told to be there")]
    DisposedUnannounced {
        /// The agent's id.
        agent: String,
    },
}

impl Violation {
    /// The code of all violations.
    pub const CODE: &'static str = "INVARIANT";
}
