//! What is claimed of a session in its storage, and the calls of the storage.
//!
//! A claim is taken out while its writer is called: a writer that panics is dropped, and what is stored is looked at anew.

use std::sync::{Arc, Weak};

use super::{PersistError, StoredSession};
use crate::event::Event;
use crate::header::SessionHeader;
use crate::json::same_json;
use crate::list::List;
use crate::session::Session;
use crate::storage::{Opened, Storage, StorageError, Stored, Writer};

/// What is claimed of a session. Held while its storage is called.
pub(super) struct Work {
    id: String,
    claim: Claim,
    over: bool,
}

#[derive(Default)]
enum Claim {
    /// Nothing.
    #[default]
    None,
    /// A name, for a session without events.
    Name(Box<SessionHeader>),
    /// The log.
    Log(Log),
}

struct Log {
    writer: Box<dyn Writer>,
    /// The number of the event to be written next.
    next: u64,
    /// The session whose beginning the log is known to be, if it is one of a store.
    of: Option<Weak<Session>>,
}

impl Log {
    fn is_of(&self, session: &Arc<Session>) -> bool {
        self.of.as_ref().is_some_and(|of| std::ptr::eq(of.as_ptr(), Arc::as_ptr(session)))
    }
}

impl Work {
    pub(super) fn new(id: &str) -> Self {
        Self { id: id.to_owned(), claim: Claim::None, over: false }
    }

    pub(super) fn is_claimed(&self) -> bool {
        !matches!(self.claim, Claim::None)
    }

    pub(super) fn is_name(&self) -> bool {
        matches!(self.claim, Claim::Name(_))
    }

    /// Whether nothing is to be done any more.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    pub(super) fn end(&mut self) {
        self.over = true;
        self.claim = Claim::None;
    }

    pub(super) fn give_up(&mut self) {
        self.claim = Claim::None;
    }

    /// Gives up what was claimed for this session.
    pub(super) fn give_up_of(&mut self, session: &Arc<Session>) {
        match &self.claim {
            Claim::Log(log) if !log.is_of(session) => {}
            _ => self.claim = Claim::None,
        }
    }

    pub(super) fn reserve(&mut self, header: SessionHeader) {
        self.claim = Claim::Name(Box::new(header));
    }

    /// Whether a session has more than its log among its first `until` events.
    pub(super) fn is_behind(&self, session: &Arc<Session>, until: u64) -> bool {
        match &self.claim {
            Claim::Log(log) if log.is_of(session) => until > log.next,
            _ => until > 0,
        }
    }

    /// Writes what a session of a store has more than its log, among its first `until` events.
    pub(super) fn write(
        &mut self,
        storage: &dyn Storage,
        session: &Arc<Session>,
        until: u64,
    ) -> Result<(), PersistError> {
        if !self.is_behind(session, until) {
            return Ok(());
        }
        match self.try_write(storage, session, until) {
            // An earlier failure has spoilt the writer, and it is gone now: what is stored is looked at anew.
            Err(PersistError::Storage(StorageError::Poisoned { .. })) => {
                self.try_write(storage, session, until)
            }
            result => result,
        }
    }

    fn try_write(
        &mut self,
        storage: &dyn Storage,
        session: &Arc<Session>,
        until: u64,
    ) -> Result<(), PersistError> {
        let events = session.events();
        let mut log = match std::mem::take(&mut self.claim) {
            Claim::Log(log) if log.is_of(session) => log,
            Claim::Name(header) => match claim_name(storage, &header, session, &events, until) {
                Ok(log) => log,
                Err(error) => {
                    self.claim = Claim::Name(header);
                    return Err(error);
                }
            },
            other => {
                // What another session claimed is given up before it is asked for.
                drop(other);
                claim(storage, session.header(), session, &events, until)?
            }
        };
        let batch = between(&events, log.next, until);
        let appended = if batch.is_empty() { Ok(()) } else { log.writer.append(&batch) };
        match appended {
            Ok(()) => log.next += batch.len() as u64,
            Err(error @ StorageError::Poisoned { .. }) => return Err(error.into()),
            Err(error) => {
                self.claim = Claim::Log(log);
                return Err(error.into());
            }
        }
        self.claim = Claim::Log(log);
        Ok(())
    }

    /// Claims a stored log, repaired and closed; none if there is none. `make` looks at what it will be before anything is
    /// written.
    pub(super) fn open_closed<T>(
        &mut self,
        storage: &dyn Storage,
        make: impl FnOnce(&StoredSession) -> Result<T, PersistError>,
    ) -> Result<Option<Repaired<T>>, PersistError> {
        self.claim = Claim::None;
        let Some(Opened { stored, mut writer }) = storage.open(&self.id)? else { return Ok(None) };
        let stored = checked(&self.id, stored)?;
        let (torn, read) = (stored.torn.is_some(), stored.revision.clone());
        let session = StoredSession::closed(stored);
        let made = make(&session)?;
        let mut revision = Some(read);
        if torn || session.closers > 0 {
            let all = session.events.len();
            let closing: Vec<_> = session.events.from(all - session.closers).cloned().collect();
            writer.repair(&closing)?;
            revision = storage.revision(&self.id)?;
        }
        self.claim = Claim::Log(Log { writer, next: session.events.len() as u64, of: None });
        Ok(Some(Repaired { session, revision, made }))
    }

    /// The claimed log is the beginning of this session.
    pub(super) fn belongs_to(&mut self, session: &Arc<Session>) {
        if let Claim::Log(log) = &mut self.claim {
            log.of = Some(Arc::downgrade(session));
        }
    }

    /// Adds events to a log without a session of a store.
    pub(super) fn append(
        &mut self,
        storage: &dyn Storage,
        events: &[Arc<Event>],
    ) -> Result<(), PersistError> {
        let ready = match &self.claim {
            Claim::Log(log) => log.of.is_none(),
            Claim::Name(_) => true,
            Claim::None => false,
        };
        if !ready && self.open_closed(storage, |_| Ok(()))?.is_none() {
            return Err(PersistError::not_found(&self.id));
        }
        let next = match &self.claim {
            Claim::Log(log) => log.next,
            Claim::None | Claim::Name(_) => 0,
        };
        for (event, expected) in events.iter().zip(next..) {
            if event.seq() != expected {
                return Err(PersistError::NotNext { id: self.id.clone(), expected, found: event.seq() });
            }
        }
        match std::mem::take(&mut self.claim) {
            Claim::Log(mut log) => {
                match log.writer.append(events) {
                    Ok(()) => log.next += events.len() as u64,
                    Err(error @ StorageError::Poisoned { .. }) => return Err(error.into()),
                    Err(error) => {
                        self.claim = Claim::Log(log);
                        return Err(error.into());
                    }
                }
                self.claim = Claim::Log(log);
            }
            Claim::Name(header) => match storage.create(&header, events) {
                Ok(writer) => self.claim = Claim::Log(Log { writer, next: events.len() as u64, of: None }),
                Err(error) => {
                    self.claim = Claim::Name(header);
                    return Err(error.into());
                }
            },
            Claim::None => return Err(PersistError::not_found(&self.id)),
        }
        Ok(())
    }
}

/// A log that was claimed, and what was made of it.
pub(super) struct Repaired<T> {
    pub(super) session: StoredSession,
    /// The log's revision after its repair.
    pub(super) revision: Option<String>,
    pub(super) made: T,
}

fn claim_name(
    storage: &dyn Storage,
    header: &SessionHeader,
    session: &Arc<Session>,
    events: &List<Arc<Event>>,
    until: u64,
) -> Result<Log, PersistError> {
    if header.cwd != session.header().cwd {
        return Err(elsewhere(session));
    }
    claim(storage, header, session, events, until)
}

/// Claims the log of a session; makes it, with all events, if there is none.
fn claim(
    storage: &dyn Storage,
    header: &SessionHeader,
    session: &Arc<Session>,
    events: &List<Arc<Event>>,
    until: u64,
) -> Result<Log, PersistError> {
    let of = Some(Arc::downgrade(session));
    match storage.open(session.id())? {
        Some(opened) => {
            let (writer, next) = adopt(opened, session, events, until)?;
            Ok(Log { writer, next, of })
        }
        None => Ok(Log { writer: storage.create(header, &between(events, 0, until))?, next: until, of }),
    }
}

/// Takes over a log that the session continues. What is damaged at its end is cut; an open turn stays open, as the session
/// goes on with it.
fn adopt(
    opened: Opened,
    session: &Arc<Session>,
    live: &List<Arc<Event>>,
    until: u64,
) -> Result<(Box<dyn Writer>, u64), PersistError> {
    let Opened { stored, mut writer } = opened;
    let stored = checked(session.id(), stored)?;
    let collision = |what: String| PersistError::Collision { id: session.id().to_owned(), what };
    if stored.header.cwd != session.header().cwd {
        return Err(elsewhere(session));
    }
    let next = stored.events.len() as u64;
    if next > until {
        return Err(collision(format!("it has {next} events, the live one {until}")));
    }
    let differs = stored.events.iter().zip(live.iter()).find(|(stored, live)| !same_event(stored, live));
    if let Some((event, _)) = differs {
        return Err(collision(format!("they differ at seq {}", event.seq())));
    }
    if stored.torn.is_some() {
        writer.repair(&[])?;
    }
    Ok((writer, next))
}

fn elsewhere(session: &Session) -> PersistError {
    PersistError::Collision { id: session.id().to_owned(), what: "it works in another folder".to_owned() }
}

fn between(events: &List<Arc<Event>>, from: u64, until: u64) -> Vec<Arc<Event>> {
    let index = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    events.from(index(from)).take(index(until.saturating_sub(from))).cloned().collect()
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
pub(super) fn checked(id: &str, stored: Stored) -> Result<Stored, StorageError> {
    let found = &stored.header.id;
    if found == id {
        return Ok(stored);
    }
    let what = format!("its header names another session, `{found}`");
    Err(StorageError::Corrupt { id: id.to_owned(), what })
}
