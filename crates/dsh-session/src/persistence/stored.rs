//! What is given of a session that was read.

use crate::closers::closers;
use crate::events::Events;
use crate::header::SessionHeader;
use crate::session::Session;
use crate::storage::Stored;

/// A session as it was stored, with nothing left open; or as it is, if it is live.
#[derive(Clone, Debug)]
pub struct StoredSession {
    /// Who it is.
    pub header: SessionHeader,
    /// Its events; an open turn of a stored one is closed by the last ones.
    pub events: Events,
    /// What is, or was, wrong with the end of the log, for people.
    pub torn: Option<String>,
    /// How many of the events close what was open.
    pub closers: usize,
}

impl StoredSession {
    pub(super) fn of_live(session: &Session) -> Self {
        Self { header: (**session.header()).clone(), events: session.events(), torn: None, closers: 0 }
    }

    /// What is stored, and what closes it.
    pub(super) fn closed(stored: Stored) -> Self {
        let mut events = stored.events;
        let closing = closers(&events);
        let closers = closing.len();
        for event in closing {
            events.push(event);
        }
        Self { header: stored.header, events, torn: stored.torn, closers }
    }

    /// Whether a turn is open.
    pub(super) fn is_open(&self) -> bool {
        !closers(&self.events).is_empty()
    }
}
