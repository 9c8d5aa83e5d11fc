//! The connection: opened when it is first needed, one for all sessions, used by one thread at a time.
//!
//! **Lock order**: `MAKING` is taken inside of `state`, and nothing inside of it. No code of others runs under either.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use dsh_session::StorageError;
use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::config::JournalMode;
use crate::place::{self, Place, refused};
use crate::schema;

/// Closing a file ends this process's locks on it, SQLite's too, so nobody may make a file while another opens it.
static MAKING: Mutex<()> = Mutex::new(());

/// A database, open or not.
pub(crate) struct Database {
    place: Place,
    journal: JournalMode,
    busy_timeout: Duration,
    state: Mutex<State>,
}

enum State {
    Unopened,
    Open(Open),
    Closed,
}

struct Open {
    connection: Connection,
    store_id: String,
}

/// A transaction, and whose revisions it sees.
pub(crate) struct Access<'c> {
    pub(crate) transaction: Transaction<'c>,
    pub(crate) store_id: &'c str,
}

/// Why nothing was written, as far as that can be said.
pub(crate) enum WriteError {
    /// Nothing was.
    NotStored(StorageError),
    /// The last step failed.
    AtCommit(StorageError),
}

impl WriteError {
    pub(crate) fn into_error(self) -> StorageError {
        match self {
            Self::NotStored(error) | Self::AtCommit(error) => error,
        }
    }
}

impl Database {
    pub(crate) fn new(place: Place, journal: JournalMode, busy_timeout: Duration) -> Self {
        Self { place, journal, busy_timeout, state: Mutex::new(State::Unopened) }
    }

    /// Reads in one snapshot; none if there is no database yet.
    pub(crate) fn read<R>(
        &self,
        work: impl FnOnce(&Access<'_>) -> Result<R, StorageError>,
    ) -> Result<Option<R>, StorageError> {
        let mut state = self.state.lock();
        if matches!(*state, State::Unopened) && !self.place.exists()? {
            return Ok(None);
        }
        let access = self.begin(&mut state, TransactionBehavior::Deferred)?;
        work(&access).map(Some)
    }

    /// Writes as a whole or not at all; what `work` gives is durable when this returns.
    pub(crate) fn write<R>(
        &self,
        work: impl FnOnce(&Access<'_>) -> Result<R, StorageError>,
    ) -> Result<R, WriteError> {
        let mut state = self.state.lock();
        let access = self.begin(&mut state, TransactionBehavior::Immediate).map_err(WriteError::NotStored)?;
        let done = schema::look(&access.transaction, &self.place.name()).and_then(|found| match found {
            schema::State::Ours => work(&access),
            schema::State::Pristine => {
                Err(refused(format!("session database {}: its tables are gone", self.place.name())))
            }
        });
        // Dropping the transaction undoes it.
        let done = done.map_err(WriteError::NotStored)?;
        let failed = |error| WriteError::AtCommit(StorageError::io(self.action("write to"), error));
        access.transaction.commit().map_err(failed)?;
        Ok(done)
    }

    /// Ends the connection, for good.
    pub(crate) fn close(&self) -> Result<(), StorageError> {
        match std::mem::replace(&mut *self.state.lock(), State::Closed) {
            State::Unopened | State::Closed => Ok(()),
            State::Open(open) => {
                open.connection.close().map_err(|(_, error)| StorageError::io(self.action("close"), error))
            }
        }
    }

    fn begin<'s>(
        &self,
        state: &'s mut State,
        behavior: TransactionBehavior,
    ) -> Result<Access<'s>, StorageError> {
        if matches!(state, State::Unopened) {
            *state = State::Open(self.open()?);
        }
        let State::Open(open) = state else {
            return Err(refused(format!("session database {}: the store was closed", self.place.name())));
        };
        let begun = open.connection.transaction_with_behavior(behavior);
        let transaction = begun.map_err(|error| StorageError::io(self.action("use"), error))?;
        Ok(Access { transaction, store_id: &open.store_id })
    }

    fn open(&self) -> Result<Open, StorageError> {
        let name = self.place.name();
        let mut connection = match &self.place {
            Place::Memory => Connection::open_in_memory(),
            Place::File(path) => open_file(path)?,
        }
        .map_err(|error| self.failed("it cannot be opened", error))?;
        connection.busy_timeout(self.busy_timeout).map_err(|error| self.failed("busy_timeout", error))?;
        self.set(&connection, DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        self.set(&connection, DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        self.set(&connection, DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
        self.pragma(&connection, "cell_size_check", "on", "1")?;
        // Whose it is comes first: the journal mode would change another program's file.
        let found = {
            // In one snapshot: another process may be making the tables.
            let snapshot =
                connection.transaction().map_err(|error| self.failed("it cannot be read", error))?;
            schema::look(&snapshot, &name)?
        };
        match self.place {
            Place::Memory => self.pragma(&connection, "journal_mode", "memory", "memory")?,
            Place::File(_) => {
                self.pragma(&connection, "mmap_size", "0", "0")?;
                self.journal_mode(&connection)?;
            }
        }
        self.pragma(&connection, "synchronous", "full", "2")?;
        if found == schema::State::Pristine {
            self.make(&mut connection)?;
        }
        let store_id = schema::store_id(&connection, &name)?;
        Ok(Open { connection, store_id })
    }

    fn make(&self, connection: &mut Connection) -> Result<(), StorageError> {
        let failed = |error| self.failed("its tables cannot be made", error);
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        // Another process may have made them meanwhile.
        if schema::look(&transaction, &self.place.name())? == schema::State::Pristine {
            schema::make(&transaction).map_err(failed)?;
        }
        transaction.commit().map_err(failed)
    }

    /// Sets the journal mode. SQLite does not wait when it is another process that changes it right now.
    fn journal_mode(&self, connection: &Connection) -> Result<(), StorageError> {
        let mode = self.journal.name();
        let late = Instant::now() + self.busy_timeout;
        loop {
            match set_pragma(connection, "journal_mode", mode) {
                Ok(is) if is == mode => return Ok(()),
                Err(error) if is_busy(&error) && Instant::now() < late => {
                    thread::sleep(Duration::from_millis(5))
                }
                Err(error) => return Err(self.failed(&format!("`journal_mode` cannot be {mode}"), error)),
                Ok(is) => return Err(self.differs("journal_mode", &is, mode)),
            }
        }
    }

    fn pragma(
        &self,
        connection: &Connection,
        name: &str,
        value: &str,
        wanted: &str,
    ) -> Result<(), StorageError> {
        match set_pragma(connection, name, value) {
            Ok(is) if is == wanted => Ok(()),
            Ok(is) => Err(self.differs(name, &is, wanted)),
            Err(error) => Err(self.failed(&format!("`{name}` cannot be set"), error)),
        }
    }

    fn set(&self, connection: &Connection, option: DbConfig, wanted: bool) -> Result<(), StorageError> {
        match connection.set_db_config(option, wanted) {
            Ok(is) if is == wanted => Ok(()),
            Ok(is) => Err(self.differs(&format!("{option:?}"), &is.to_string(), &wanted.to_string())),
            Err(error) => Err(self.failed(&format!("`{option:?}` cannot be set"), error)),
        }
    }

    fn differs(&self, name: &str, is: &str, wanted: &str) -> StorageError {
        refused(format!("session database {}: `{name}` is {is} and cannot be {wanted}", self.place.name()))
    }

    fn failed(&self, what: &str, source: Error) -> StorageError {
        let what = format!("session database {}: {what}", self.place.name());
        StorageError::Place { what, source: Some(source.into()) }
    }

    fn action(&self, verb: &str) -> String {
        format!("{verb} the session database {}", self.place.name())
    }
}

fn open_file(path: &Path) -> Result<Result<Connection, Error>, StorageError> {
    let _making = MAKING.lock();
    let path = place::prepare(path)?;
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    Ok(Connection::open_with_flags(path, flags))
}

/// Sets a pragma and reads it again, as text.
fn set_pragma(connection: &Connection, name: &str, value: &str) -> Result<String, Error> {
    connection.pragma_update(None, name, value)?;
    read_pragma(connection, name)
}

fn read_pragma(connection: &Connection, name: &str) -> Result<String, Error> {
    connection.pragma_query_value(None, name, |row| {
        let value: rusqlite::types::Value = row.get(0)?;
        Ok(match value {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => format!("{other:?}"),
        })
    })
}

fn is_busy(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

#[cfg(test)]
#[path = "database_tests.rs"]
mod tests;
