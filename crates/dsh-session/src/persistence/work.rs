//! What is claimed of a session in its storage, and the calls of the storage.
//!
//! A claim is taken out while its writer is called: a writer that panics is dropped, and what is stored is looked at anew.

use std::sync::Arc;

use super::claim::{Log, between, checked, claim, claim_name};
use super::{PersistError, StoredSession};
use crate::event::Event;
use crate::header::SessionHeader;
use crate::session::Session;
use crate::storage::{Opened, Storage, StorageError};

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
            // An earlier failure or another writer has spoilt the claim, and it is gone now: what is stored is looked at anew.
            Err(PersistError::Storage(StorageError::Poisoned { .. } | StorageError::Stale { .. })) => {
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
            Err(error @ (StorageError::Poisoned { .. } | StorageError::Stale { .. })) => {
                return Err(error.into());
            }
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
            let closing: Vec<_> = session.events.from(all - session.closers).collect();
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
                    Err(error @ (StorageError::Poisoned { .. } | StorageError::Stale { .. })) => {
                        return Err(error.into());
                    }
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
