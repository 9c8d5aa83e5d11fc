//! What a loop knows of an agent's session from one turn to the next.

use dsh_session::{Payload, Session, TurnStart};

use crate::snapshot::Snapshot;

/// What a loop knows of an agent's session; all of it can be read from the log again.
pub(crate) struct Memory {
    /// The number of the last turn that was begun, 0 before the first.
    pub(crate) last_turn: u64,
    /// Whether this loop has asked a model for the session already.
    pub(crate) has_asked: bool,
    pub(crate) snapshot: Snapshot,
}

impl Memory {
    pub(crate) fn of(session: &Session) -> Self {
        let events = session.events();
        let mut starts = events.iter().filter(|event| event.kind() == TurnStart::TYPE);
        let last = starts.next_back().and_then(|event| event.payload::<TurnStart>().ok().flatten());
        Self {
            last_turn: last.map_or(0, |start| start.turn),
            has_asked: false,
            snapshot: Snapshot::of(session),
        }
    }
}
