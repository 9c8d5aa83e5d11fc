//! Writing to a session: each batch is one transaction, and counts only if nobody else has written since.
//!
//! **Invariant**: `state` and `next` are those of the table as of the last call, unless the writer is poisoned.

use std::sync::Arc;

use dsh_session::{Event, StorageError, Writer};

use crate::claim::Claim;
use crate::database::{Access, WriteError};
use crate::event_row;
use crate::header_row::{self, State, failed};
use crate::scan::{self, Torn};
use crate::store::Shared;

/// Who may write to a session.
pub(crate) struct SqliteWriter {
    pub(crate) shared: Arc<Shared>,
    /// Held, not looked at.
    pub(crate) _claim: Claim,
    pub(crate) id: String,
    pub(crate) state: State,
    /// The number of the next event.
    pub(crate) next: u64,
    /// What is damaged, until it is repaired.
    pub(crate) torn: Option<Torn>,
    pub(crate) poisoned: bool,
}

impl SqliteWriter {
    fn check(&self, events: &[Arc<Event>]) -> Result<(), StorageError> {
        if self.poisoned {
            return Err(StorageError::Poisoned { id: self.id.clone() });
        }
        in_order(&self.id, events, self.next)
    }

    /// Adds events in one transaction, after what `before` does in it.
    fn write(
        &mut self,
        events: &[Arc<Event>],
        before: impl FnOnce(&Self, &Access<'_>) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let revision = self.state.revision.checked_add(1);
        let revision = revision.ok_or_else(|| self.corrupt("its revision cannot be counted any further"))?;
        let written = self.shared.database.write(|access| {
            let failed = |error| failed(&self.id, error);
            if !header_row::advance(&access.transaction, &self.id, &self.state, revision).map_err(failed)? {
                return Err(self.stale());
            }
            before(self, access)?;
            event_row::insert(&access.transaction, &self.id, events, self.shared.pack).map_err(failed)
        });
        match written {
            Ok(()) => {
                self.state.revision = revision;
                self.next += events.len() as u64;
                self.torn = None;
                Ok(())
            }
            Err(WriteError::NotStored(error)) => Err(error),
            Err(WriteError::AtCommit(error)) => {
                self.poisoned = !self.is_unchanged();
                Err(error)
            }
        }
    }

    /// Whether nothing of a commit that failed can be seen.
    fn is_unchanged(&self) -> bool {
        let state = self.shared.database.read(|access| {
            header_row::state(&access.transaction, &self.id).map_err(|error| failed(&self.id, error))
        });
        matches!(state, Ok(Some(Some(state))) if state == self.state)
    }

    fn check_tail(&self, access: &Access<'_>) -> Result<(), StorageError> {
        let next = scan::next_seq(&access.transaction, &self.id).map_err(|error| failed(&self.id, error))?;
        if next == Some(self.next) { Ok(()) } else { Err(self.stale()) }
    }

    /// Takes away what was found damaged, if that is still the very same.
    fn cut(&self, access: &Access<'_>, torn: &Torn) -> Result<(), StorageError> {
        let rows = scan::take(&access.transaction, &self.id, 0)?;
        let found = scan::whole(&self.id, &rows).ok().and_then(|scan| scan.torn);
        if found.as_ref() != Some(torn) {
            return Err(self.stale());
        }
        scan::cut(&access.transaction, &self.id, torn.sound_rows).map_err(|error| failed(&self.id, error))
    }

    fn stale(&self) -> StorageError {
        StorageError::Stale { id: self.id.clone() }
    }

    fn corrupt(&self, what: impl Into<String>) -> StorageError {
        StorageError::Corrupt { id: self.id.clone(), what: what.into() }
    }
}

impl Writer for SqliteWriter {
    fn append(&mut self, events: &[Arc<Event>]) -> Result<(), StorageError> {
        self.check(events)?;
        if let Some(torn) = &self.torn {
            return Err(
                self.corrupt(format!("it must be repaired before it is written: {}", torn.describe()))
            );
        }
        if events.is_empty() {
            return Ok(());
        }
        self.write(events, Self::check_tail)
    }

    fn repair(&mut self, closers: &[Arc<Event>]) -> Result<(), StorageError> {
        self.check(closers)?;
        match self.torn.clone() {
            Some(torn) => self.write(closers, |writer, access| writer.cut(access, &torn)),
            None if closers.is_empty() => Ok(()),
            None => self.write(closers, Self::check_tail),
        }
    }
}

/// Whether events follow one another, the first having the number `next`.
pub(crate) fn in_order(id: &str, events: &[Arc<Event>], next: u64) -> Result<(), StorageError> {
    match events.first() {
        Some(first) if first.seq() != next => return Err(StorageError::Stale { id: id.to_owned() }),
        Some(_) | None => {}
    }
    match events.windows(2).find(|pair| pair[1].seq() != pair[0].seq() + 1) {
        None => Ok(()),
        Some(pair) => Err(StorageError::Corrupt {
            id: id.to_owned(),
            what: format!("the events to be added have a gap after seq {}", pair[0].seq()),
        }),
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
