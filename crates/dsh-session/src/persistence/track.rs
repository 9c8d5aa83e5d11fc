//! One session that is written or worked on.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::{PersistError, StoredSession};
use crate::event::Event;
use crate::header::SessionHeader;
use crate::json::same_json;
use crate::session::Session;
use crate::storage::{Opened, Storage, StorageError, Writer};

/// What is known of a session without waiting for the work on it.
pub(super) struct Track {
    id: String,
    notes: Mutex<Notes>,
    work: Arc<AsyncMutex<Work>>,
}

#[derive(Default)]
struct Notes {
    /// The live session.
    session: Option<Arc<Session>>,
    /// A session that was made to be resumed and has not entered the store yet.
    reserved: Option<Arc<Session>>,
    /// Events are being gathered.
    window: bool,
    /// The last write failed and that was told.
    failed: bool,
}

/// What is claimed of a session in its storage. Held while its storage is called.
#[derive(Default)]
pub(super) struct Work {
    id: String,
    claim: Claim,
}

#[derive(Default)]
enum Claim {
    /// Nothing.
    #[default]
    None,
    /// A name, for a session without events.
    Name(Box<SessionHeader>),
    /// The log; `next` is the number of the event to be written next.
    Log { writer: Box<dyn Writer>, next: u64 },
}

impl Track {
    pub(super) fn new(id: &str) -> Self {
        let work = Work { id: id.to_owned(), claim: Claim::None };
        Self { id: id.to_owned(), notes: Mutex::default(), work: Arc::new(AsyncMutex::new(work)) }
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

    /// Whether nobody has any business with it; the work is not looked at.
    pub(super) fn is_free(&self) -> bool {
        let notes = self.notes.lock();
        notes.session.is_none() && notes.reserved.is_none()
    }

    /// The session is live from now on.
    pub(super) fn own(&self, session: &Arc<Session>) {
        let mut notes = self.notes.lock();
        notes.reserved = None;
        notes.session = Some(session.clone());
        notes.failed = false;
    }

    /// The session is not live any more; false if another one is.
    pub(super) fn disown(&self, session: &Arc<Session>) -> bool {
        let mut notes = self.notes.lock();
        let same = notes.session.as_ref().is_some_and(|known| Arc::ptr_eq(known, session));
        if same {
            notes.session = None;
        }
        same
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

    /// Ends a reservation that led to nothing; false if the session is live.
    pub(super) fn unreserve(&self, session: &Arc<Session>) -> bool {
        let mut notes = self.notes.lock();
        let same = notes.reserved.as_ref().is_some_and(|known| Arc::ptr_eq(known, session));
        if same {
            notes.reserved = None;
        }
        same
    }

    pub(super) fn begin_window(&self) -> bool {
        !std::mem::replace(&mut self.notes.lock().window, true)
    }

    pub(super) fn end_window(&self) {
        self.notes.lock().window = false;
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

impl Work {
    pub(super) fn is_claimed(&self) -> bool {
        !matches!(self.claim, Claim::None)
    }

    pub(super) fn give_up(&mut self) {
        self.claim = Claim::None;
    }

    pub(super) fn reserve(&mut self, header: SessionHeader) {
        self.claim = Claim::Name(Box::new(header));
    }

    /// Whether a session has events that are not written.
    pub(super) fn is_behind(&self, session: &Session) -> bool {
        match &self.claim {
            Claim::Log { next, .. } => session.len() > *next,
            Claim::None | Claim::Name(_) => !session.is_empty(),
        }
    }

    /// Writes what a live session has more than its log.
    pub(super) fn write(
        &mut self,
        storage: &dyn Storage,
        session: &Arc<Session>,
    ) -> Result<(), PersistError> {
        let events = session.events();
        if events.is_empty() {
            return Ok(());
        }
        if !matches!(self.claim, Claim::Log { .. }) {
            match storage.open(session.id())? {
                Some(opened) => self.adopt(opened, session)?,
                None => {
                    let all: Vec<_> = events.iter().collect();
                    let writer = storage.create(session.header(), &all)?;
                    self.claim = Claim::Log { writer, next: all.len() as u64 };
                    return Ok(());
                }
            }
        }
        let Claim::Log { writer, next } = &mut self.claim else { return Ok(()) };
        let from = usize::try_from(*next).unwrap_or(usize::MAX);
        let batch: Vec<_> = events.from(from).collect();
        if !batch.is_empty() {
            writer.append(&batch)?;
            *next += batch.len() as u64;
        }
        Ok(())
    }

    /// Takes over a log that the live session continues. What is damaged at its end is cut; an open turn stays open, as the
    /// session goes on with it.
    fn adopt(&mut self, opened: Opened, session: &Arc<Session>) -> Result<(), PersistError> {
        let Opened { stored, mut writer } = checked(session.id(), opened)?;
        let collision = |what: String| PersistError::Collision { id: session.id().to_owned(), what };
        if stored.header.cwd != session.header().cwd {
            return Err(collision("it works in another folder".to_owned()));
        }
        let live = session.events();
        if stored.events.len() > live.len() {
            return Err(collision(format!(
                "it has {} events, the live one {}",
                stored.events.len(),
                live.len()
            )));
        }
        let differs = stored.events.iter().zip(live.iter()).find(|(stored, live)| !same_event(stored, live));
        if let Some((event, _)) = differs {
            return Err(collision(format!("they differ at seq {}", event.seq())));
        }
        if stored.torn.is_some() {
            writer.repair(&[])?;
        }
        self.claim = Claim::Log { writer, next: stored.events.len() as u64 };
        Ok(())
    }

    /// Claims a stored log, repaired and closed; none if there is none.
    pub(super) fn open_closed(
        &mut self,
        storage: &dyn Storage,
    ) -> Result<Option<StoredSession>, PersistError> {
        let Some(opened) = storage.open(&self.id)? else { return Ok(None) };
        let Opened { stored, mut writer } = checked(&self.id, opened)?;
        let torn = stored.torn.is_some();
        let session = StoredSession::closed(stored);
        if torn || session.closers > 0 {
            let closing: Vec<_> = session.events.from(session.events.len() - session.closers).collect();
            writer.repair(&closing)?;
        }
        self.claim = Claim::Log { writer, next: session.events.len() as u64 };
        Ok(Some(session))
    }

    /// Adds events to a log without a live session.
    pub(super) fn append(
        &mut self,
        storage: &dyn Storage,
        events: &[Arc<Event>],
    ) -> Result<(), PersistError> {
        if let Claim::None = self.claim
            && self.open_closed(storage)?.is_none()
        {
            return Err(PersistError::not_found(&self.id));
        }
        let mut expected = match &self.claim {
            Claim::Log { next, .. } => *next,
            Claim::None | Claim::Name(_) => 0,
        };
        for event in events {
            if event.seq() != expected {
                return Err(PersistError::NotNext { id: self.id.clone(), expected, found: event.seq() });
            }
            expected += 1;
        }
        match &mut self.claim {
            Claim::Log { writer, next } => {
                writer.append(events)?;
                *next = expected;
            }
            Claim::Name(header) => {
                let writer = storage.create(header, events)?;
                self.claim = Claim::Log { writer, next: expected };
            }
            Claim::None => return Err(PersistError::not_found(&self.id)),
        }
        Ok(())
    }
}

/// Whether two events say the same, however they are written.
fn same_event(one: &Event, two: &Event) -> bool {
    let data = |event: &Event| serde_json::from_str::<serde_json::Value>(event.data().get());
    (one.seq(), one.time_ms(), one.kind(), one.surface())
        == (two.seq(), two.time_ms(), two.kind(), two.surface())
        && (one.sources(), one.is_ignorable()) == (two.sources(), two.is_ignorable())
        && (one.data() == two.data()
            || matches!((data(one), data(two)), (Ok(one), Ok(two)) if same_json(&one, &two)))
}

/// Refuses the answer of a storage for another session than was asked for.
fn checked(id: &str, opened: Opened) -> Result<Opened, StorageError> {
    let found = &opened.stored.header.id;
    if found == id {
        return Ok(opened);
    }
    let what = format!("its header names another session, `{found}`");
    Err(StorageError::Corrupt { id: id.to_owned(), what })
}
