//! One progress per live session, brought up to date before it is used.
//!
//! **Invariants**
//! 1. A progress holds what the log held when it was last looked at, and nothing else.
//! 2. A progress belongs to one session, not to an id: two sessions may have the same one after another.

use std::sync::{Arc, Weak};

use dashmap::DashMap;
use dsh_session::{Event, Session};

use crate::progress::Progress;
use crate::rule::Violation;
use crate::watch::Tell;

pub(crate) struct Checker {
    watched: DashMap<String, Watched>,
    tell: Tell,
}

struct Watched {
    session: Weak<Session>,
    /// How many events the progress has taken.
    taken: usize,
    progress: Progress,
}

impl Checker {
    pub(crate) fn new(tell: Tell) -> Self {
        Self { watched: DashMap::new(), tell }
    }

    /// Takes what the session's log holds by now.
    pub(crate) fn replay(&self, session: &Arc<Session>) -> Result<(), Violation> {
        self.with(session, |_| Ok(()))
    }

    /// Whether an event may be added to the session's log.
    pub(crate) fn judge(&self, session: &Arc<Session>, event: &Event) -> Result<(), Violation> {
        self.with(session, |progress| progress.judge(session.id(), event))
    }

    pub(crate) fn forget(&self, session: &Arc<Session>) {
        self.watched.remove_if(session.id(), |_, watched| watched.is_of(session));
    }

    fn with(
        &self,
        session: &Arc<Session>,
        look: impl FnOnce(&Progress) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let judged = {
            let mut watched =
                self.watched.entry(session.id().to_owned()).or_insert_with(|| Watched::new(session));
            if !watched.is_of(session) {
                *watched = Watched::new(session);
            }
            watched.catch_up(session).and_then(|()| look(&watched.progress))
        };
        judged.inspect_err(|violation| (self.tell)(violation))
    }
}

impl Watched {
    fn new(session: &Arc<Session>) -> Self {
        Self { session: Arc::downgrade(session), taken: 0, progress: Progress::default() }
    }

    fn is_of(&self, session: &Arc<Session>) -> bool {
        Weak::ptr_eq(&self.session, &Arc::downgrade(session))
    }

    fn catch_up(&mut self, session: &Session) -> Result<(), Violation> {
        for event in session.events().from(self.taken) {
            self.progress.advance(session.id(), &event)?;
            self.taken += 1;
        }
        Ok(())
    }
}
