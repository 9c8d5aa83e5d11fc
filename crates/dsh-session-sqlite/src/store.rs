//! The store: sessions as rows of one database.

use std::sync::Arc;
use std::time::Duration;

use dsh_session::{Event, Listed, Location, Opened, SessionHeader, Storage, StorageError, Stored, Writer};
use uuid::Uuid;

use crate::claim::Claims;
use crate::config::Config;
use crate::database::{Access, Database};
use crate::event_row;
use crate::header_row::{self, HeaderRow, State, failed};
use crate::place::Place;
use crate::scan::{self, Scan};
use crate::writer::{SqliteWriter, in_order};

/// Keeps sessions as rows of one SQLite database.
///
/// Source: schema 17 of the reference's store.
pub struct SqliteStore {
    shared: Arc<Shared>,
}

/// What the store and its writers share.
pub(crate) struct Shared {
    pub(crate) database: Database,
    pub(crate) claims: Arc<Claims>,
    pub(crate) pack: bool,
}

impl SqliteStore {
    /// A store at the place that `config` names. The database is opened, and made if it is missing, when that is first
    /// needed.
    ///
    /// # Errors
    /// The place cannot be used, as far as that can be seen without opening the database: other users can get at it, it belongs to
    /// one of them, a symbolic link leads there, or it is no file.
    pub fn new(config: &Config) -> Result<Self, StorageError> {
        config.check()?;
        let place = Place::new(&config.path)?;
        let claims = Arc::new(Claims::new(&place));
        let busy_timeout = Duration::from_millis(u64::from(config.busy_timeout_ms));
        let database = Database::new(place, config.journal_mode, busy_timeout);
        Ok(Self { shared: Arc::new(Shared { database, claims, pack: config.pack_chunks }) })
    }

    /// All sessions of which the header can be read, in no particular order, and what is wrong with each of the others.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn survey(&self) -> Result<(Vec<Listed>, Vec<StorageError>), StorageError> {
        let found = self.shared.database.read(|access| {
            let (rows, others) = header_row::all(&access.transaction)?;
            let listed =
                |row: HeaderRow| Listed { revision: row.state.name(access.store_id), header: row.header };
            Ok((rows.into_iter().map(listed).collect(), others))
        })?;
        Ok(found.unwrap_or_default())
    }

    fn exists(&self, id: &str) -> Result<bool, StorageError> {
        let found = self
            .shared
            .database
            .read(|access| header_row::exists(&access.transaction, id).map_err(|error| failed(id, error)))?;
        Ok(found.unwrap_or(false))
    }

    /// The session as of one moment, from the row on that holds `from`.
    fn scan(&self, id: &str, from: u64) -> Result<Option<Found>, StorageError> {
        let taken = self.shared.database.read(|access| {
            let Some(row) = header_row::read(&access.transaction, id)? else { return Ok(None) };
            let revision = row.state.name(access.store_id);
            Ok(Some((row, revision, scan::take(&access.transaction, id, from)?)))
        })?;
        let Some((row, revision, rows)) = taken.flatten() else { return Ok(None) };
        // The database is free again: others can write while the rows are made out.
        let scan = if from == 0 { scan::whole(id, &rows)? } else { scan::suffix(id, &rows, from)? };
        Ok(Some(Found { row, revision, scan }))
    }

    fn writer(&self, id: &str, claim: crate::claim::Claim, state: State, next: u64) -> SqliteWriter {
        let (shared, id) = (self.shared.clone(), id.to_owned());
        SqliteWriter { shared, _claim: claim, id, state, next, torn: None, poisoned: false }
    }
}

struct Found {
    row: HeaderRow,
    revision: String,
    scan: Scan,
}

impl Found {
    fn stored(self) -> Stored {
        let torn = self.scan.torn.map(|torn| torn.describe());
        Stored {
            header: self.row.header,
            events: self.scan.events.into_iter().collect(),
            torn,
            revision: self.revision,
        }
    }
}

impl Storage for SqliteStore {
    fn locate(&self, _: &SessionHeader) -> Option<Location> {
        None
    }

    fn create(&self, header: &SessionHeader, first: &[Arc<Event>]) -> Result<Box<dyn Writer>, StorageError> {
        let id = header.id.as_str();
        if let Err(problem) = header.clone().checked() {
            return Err(StorageError::of_problem(id, "its header", &problem));
        }
        in_order(id, first, 0)?;
        let exists = || StorageError::Exists { id: id.to_owned() };
        // Before the claim, so that a session that somebody is writing to is not called busy here.
        if self.exists(id)? {
            return Err(exists());
        }
        let claim = self.shared.claims.take(id)?;
        let state = State { incarnation: Uuid::new_v4().to_string(), revision: 1 };
        let written = self.shared.database.write(|Access { transaction, .. }| {
            let failed = |error| failed(id, error);
            if header_row::exists(transaction, id).map_err(failed)? {
                return Err(exists());
            }
            header_row::insert(transaction, header, &state).map_err(failed)?;
            event_row::insert(transaction, id, first, self.shared.pack).map_err(failed)
        });
        written.map_err(|error| error.into_error())?;
        Ok(Box::new(self.writer(id, claim, state, first.len() as u64)))
    }

    fn open(&self, id: &str) -> Result<Option<Opened>, StorageError> {
        if !self.exists(id)? {
            return Ok(None);
        }
        let claim = self.shared.claims.take(id)?;
        let Some(found) = self.scan(id, 0)? else { return Ok(None) };
        let next = found.scan.events.len() as u64;
        let mut writer = self.writer(id, claim, found.row.state.clone(), next);
        writer.torn = found.scan.torn.clone();
        Ok(Some(Opened { stored: found.stored(), writer: Box::new(writer) }))
    }

    fn read(&self, id: &str) -> Result<Option<Stored>, StorageError> {
        Ok(self.scan(id, 0)?.map(Found::stored))
    }

    fn read_from(&self, id: &str, from: u64) -> Result<Option<Stored>, StorageError> {
        Ok(self.scan(id, from)?.map(Found::stored))
    }

    fn list(&self) -> Result<Vec<Listed>, StorageError> {
        let (listed, others) = self.survey()?;
        // One bad row does not hide the rest.
        for error in others {
            tracing::warn!(%error, "a session is left out of the list");
        }
        Ok(listed)
    }

    fn revision(&self, id: &str) -> Result<Option<String>, StorageError> {
        let found = self.shared.database.read(|access| {
            let state = header_row::state(&access.transaction, id).map_err(|error| failed(id, error))?;
            Ok(state.map(|state| state.name(access.store_id)))
        })?;
        Ok(found.flatten())
    }

    fn close(&self) -> Result<(), StorageError> {
        self.shared.database.close()
    }
}
