//! What is known of one session without waiting for the work on it, and who waits for that work.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::futures::Notified;
use tokio::sync::{Mutex as AsyncMutex, Notify, OwnedMutexGuard, oneshot};

use super::PersistError;
use super::work::Work;
use crate::session::Session;

/// One id that is written or worked on.
pub(super) struct Track {
    id: String,
    notes: Mutex<Notes>,
    work: Arc<AsyncMutex<Work>>,
    /// Told when a reservation ends.
    freed: Notify,
}

#[derive(Default)]
struct Notes {
    /// How many hold the track; see [`Use`](super::tracks::Use).
    users: usize,
    /// The live session.
    session: Option<Arc<Session>>,
    /// Sessions that left the store and are not written to their end, oldest first.
    leaving: VecDeque<Left>,
    /// A session that was made to be resumed and has not entered the store yet.
    reserved: Option<Arc<Session>>,
    /// Events are being gathered.
    window: Option<Window>,
    windows: u64,
    /// The last write failed and that was told.
    failed: bool,
}

/// A session that left the store.
#[derive(Clone)]
pub(super) struct Left {
    pub(super) session: Arc<Session>,
    /// How many events it had by then: later ones were told to nobody.
    pub(super) until: u64,
    /// To write its end was tried in vain.
    pub(super) tried: bool,
}

struct Window {
    number: u64,
    /// Dropped when the window closes.
    _open: oneshot::Sender<()>,
}

/// The time in which events are gathered.
pub(super) struct Gathering {
    pub(super) number: u64,
    /// Ends when something else has written the events.
    pub(super) closed: oneshot::Receiver<()>,
}

impl Track {
    pub(super) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            notes: Mutex::default(),
            work: Arc::new(AsyncMutex::new(Work::new(id))),
            freed: Notify::new(),
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn session(&self) -> Option<Arc<Session>> {
        self.notes.lock().session.clone()
    }

    pub(super) fn is_of(&self, session: &Arc<Session>) -> bool {
        self.notes.lock().session.as_ref().is_some_and(|known| Arc::ptr_eq(known, session))
    }

    pub(super) fn is_reserved(&self) -> bool {
        self.notes.lock().reserved.is_some()
    }

    /// Whether nobody has any business with it.
    pub(super) fn is_idle(&self) -> bool {
        let notes = self.notes.lock();
        // Without users nobody works on it, so the lock is free.
        notes.users == 0
            && notes.session.is_none()
            && notes.leaving.is_empty()
            && notes.reserved.is_none()
            && self.work.try_lock().is_ok_and(|work| !work.is_claimed())
    }

    pub(super) fn join(&self) {
        self.notes.lock().users += 1;
    }

    pub(super) fn quit(&self) {
        self.notes.lock().users -= 1;
    }

    /// The session is live from now on.
    pub(super) fn own(&self, session: &Arc<Session>) -> Result<(), PersistError> {
        let mut notes = self.notes.lock();
        let before = notes.session.take().filter(|known| !Arc::ptr_eq(known, session));
        if let Some(before) = before {
            if !before.is_detached() {
                notes.session = Some(before);
                return Err(PersistError::Live { id: self.id.clone() });
            }
            // It has left the store already, and who tells of that comes later.
            notes.leave(before);
        }
        notes.session = Some(session.clone());
        notes.failed = false;
        let reserved = notes.reserved.take();
        drop(notes);
        if reserved.is_some() {
            self.wake_waiters();
        }
        Ok(())
    }

    /// The session is not live any more; false if it was not, or another one is.
    pub(super) fn leave(&self, session: &Arc<Session>) -> bool {
        let mut notes = self.notes.lock();
        let Some(known) = notes.session.take_if(|known| Arc::ptr_eq(known, session)) else { return false };
        notes.leave(known);
        true
    }

    /// The sessions whose ends are to be written, oldest first.
    pub(super) fn all_left(&self) -> Vec<Left> {
        self.notes.lock().leaving.iter().cloned().collect()
    }

    /// Whether a session has left and its end is not written.
    pub(super) fn has_left(&self, session: &Arc<Session>) -> bool {
        self.notes.lock().leaving.iter().any(|left| Arc::ptr_eq(&left.session, session))
    }

    /// To write the end of a session that left is tried.
    pub(super) fn tried_left(&self, left: &Left) {
        let mut notes = self.notes.lock();
        for known in notes.leaving.iter_mut().filter(|known| known.is(left)) {
            known.tried = true;
        }
    }

    /// The end of a session that left was written.
    pub(super) fn wrote_left(&self, left: &Left) {
        let mut notes = self.notes.lock();
        let at = notes.leaving.iter().position(|known| known.is(left));
        let gone = at.and_then(|at| notes.leaving.remove(at));
        drop(notes);
        drop(gone);
    }

    /// Reserves it for a session to be resumed; false if it is live or reserved.
    pub(super) fn reserve(&self, session: &Arc<Session>) -> bool {
        let mut notes = self.notes.lock();
        let free = notes.session.is_none() && notes.reserved.is_none();
        if free {
            notes.reserved = Some(session.clone());
        }
        free
    }

    /// Ends a reservation that led to nothing; false if it has ended before.
    pub(super) fn unreserve(&self, session: &Arc<Session>) -> bool {
        let reserved = self.notes.lock().reserved.take_if(|known| Arc::ptr_eq(known, session));
        if reserved.is_some() {
            self.wake_waiters();
        }
        reserved.is_some()
    }

    /// Ends when a reservation does that was there when this was called.
    pub(super) fn freed(&self) -> Notified<'_> {
        self.freed.notified()
    }

    /// Has those who wait for the end of a reservation look again.
    pub(super) fn wake_waiters(&self) {
        self.freed.notify_waiters();
    }

    /// Opens a window; none if one is open.
    pub(super) fn open_window(&self) -> Option<Gathering> {
        let mut notes = self.notes.lock();
        if notes.window.is_some() {
            return None;
        }
        let (open, closed) = oneshot::channel();
        notes.windows += 1;
        let number = notes.windows;
        notes.window = Some(Window { number, _open: open });
        Some(Gathering { number, closed })
    }

    /// Closes the window, whichever is open.
    pub(super) fn close_window(&self) {
        let window = self.notes.lock().window.take();
        drop(window);
    }

    /// Closes this window; false if it was closed already.
    pub(super) fn expire_window(&self, number: u64) -> bool {
        self.notes.lock().window.take_if(|window| window.number == number).is_some()
    }

    /// Notes that a write ended.
    pub(super) fn wrote(&self, well: bool) {
        if well {
            self.notes.lock().failed = false;
        }
    }

    /// Whether this failure is the first in a row.
    pub(super) fn failed_anew(&self) -> bool {
        !std::mem::replace(&mut self.notes.lock().failed, true)
    }

    /// The work on the session, when it is this caller's turn.
    pub(super) async fn work(&self) -> OwnedMutexGuard<Work> {
        self.work.clone().lock_owned().await
    }
}

impl Left {
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.session, &other.session)
    }
}

impl Notes {
    fn leave(&mut self, session: Arc<Session>) {
        let until = session.len();
        self.window = None;
        self.leaving.push_back(Left { session, until, tried: false });
    }
}
