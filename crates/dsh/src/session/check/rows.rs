//! Looking at the sessions of a database.

use std::path::Path;

use dsh_session::{Storage as _, StorageError, Stored, closers};
use dsh_session_sqlite::SqliteStore;

use super::checked::{Checked, Finding, Torn, Verdict};
use crate::exit::Failure;
use crate::session::place::Place;
use crate::session::trouble::told;

/// The sessions of a database.
pub(super) struct Rows<'p> {
    place: &'p Place,
    path: String,
    store: SqliteStore,
}

impl<'p> Rows<'p> {
    pub(super) fn new(place: &'p Place, path: &Path) -> Result<Self, Failure> {
        Ok(Self { place, path: path.display().to_string(), store: place.sqlite(path)? })
    }

    /// The ids, or what is wrong with a session whose own row cannot be read, in the order of the ids.
    pub(super) fn sessions(&self) -> Result<Vec<Result<String, StorageError>>, Failure> {
        let (listed, unreadable) = self.store.survey().map_err(|error| told(error, self.place))?;
        let mut ids: Vec<String> = listed.into_iter().map(|listed| listed.header.id).collect();
        ids.sort();
        Ok(ids.into_iter().map(Ok).chain(unreadable.into_iter().map(Err)).collect())
    }

    pub(super) fn look(&self, session: Result<String, StorageError>) -> Checked {
        let read = session.and_then(|id| match self.store.read(&id) {
            Ok(None) => Err(StorageError::Stale { id }),
            Ok(Some(stored)) => Ok(stored),
            Err(error) => Err(error),
        });
        match read {
            Ok(stored) => self.found(stored),
            Err(error) => self.wrong(&error),
        }
    }

    fn found(&self, stored: Stored) -> Checked {
        let closers = closers(&stored.events).len();
        let verdict = match &stored.torn {
            Some(_) => Verdict::Torn(Torn::Rows { closers }),
            None if closers > 0 => Verdict::Open { closers },
            None => Verdict::Sound,
        };
        Checked {
            path: self.path.clone(),
            id: Some(stored.header.id.clone()),
            header: Some(stored.header),
            verdict,
            lines: None,
            events: Some(stored.events.len()),
            findings: stored.torn.into_iter().map(|problem| Finding { line: None, problem }).collect(),
            more_findings: 0,
        }
    }

    fn wrong(&self, error: &StorageError) -> Checked {
        let (id, verdict, what) = match error {
            StorageError::Corrupt { id, what } => (Some(id), Verdict::Damaged, what.clone()),
            StorageError::Unsupported { id, what } => (Some(id), Verdict::Unsupported, what.clone()),
            StorageError::Stale { id } => (Some(id), Verdict::Unreadable, error.to_string()),
            other => (None, Verdict::Unreadable, other.to_string()),
        };
        Checked { id: id.cloned(), ..Checked::wrong(self.path.clone(), verdict, what) }
    }
}
