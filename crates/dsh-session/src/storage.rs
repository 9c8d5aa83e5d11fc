//! What a store on disk offers: the border between the coordinator, which knows sessions, and a mechanism, which knows
//! files or tables.
//!
//! All calls may block; the coordinator makes them on threads for that. One session is worked on by one caller at a time.

use std::path::PathBuf;
use std::sync::Arc;

use cordis::BoxError;
use thiserror::Error;

use crate::error::Problem;
use crate::event::Event;
use crate::events::Events;
use crate::header::SessionHeader;

/// A place where sessions are kept.
pub trait Storage: Send + Sync + 'static {
    /// Where a session is, or would be, kept, if that can be named. Looks at nothing.
    fn locate(&self, header: &SessionHeader) -> Option<Location>;

    /// Makes a session out of its header and its first events, at once or not at all, and takes it for writing.
    ///
    /// # Errors
    /// [`StorageError::Exists`] if there is one of that id, in this place or, for files, in another folder of it.
    fn create(&self, header: &SessionHeader, first: &[Arc<Event>]) -> Result<Box<dyn Writer>, StorageError>;

    /// Takes a session for writing and reads it; none if there is none. What is damaged stays until
    /// [`Writer::repair`].
    ///
    /// # Errors
    /// [`StorageError::Busy`] if another writer has it, in this process or another one. Everything that
    /// [`read`](Self::read) gives.
    fn open(&self, id: &str) -> Result<Option<Opened>, StorageError>;

    /// Reads a session whole; none if there is none. Changes nothing.
    ///
    /// # Errors
    /// The log is damaged before its end, or of a format or with an event that this build does not know.
    fn read(&self, id: &str) -> Result<Option<Stored>, StorageError>;

    /// Reads the events from `from` on; none if there is no session. Nothing is repaired or closed.
    ///
    /// # Errors
    /// As [`read`](Self::read); a store that can seek may not notice what is damaged before `from`.
    fn read_from(&self, id: &str, from: u64) -> Result<Option<Stored>, StorageError> {
        let Some(mut stored) = self.read(id)? else { return Ok(None) };
        let first = stored.events.first().map_or(0, |event| event.seq());
        let skipped = usize::try_from(from.saturating_sub(first)).unwrap_or(usize::MAX);
        stored.events = stored.events.from(skipped).collect();
        Ok(Some(stored))
    }

    /// The header and the revision of every session, in no particular order. Reads no log further than its header.
    ///
    /// # Errors
    /// The place cannot be read.
    fn list(&self) -> Result<Vec<Listed>, StorageError>;

    /// The revision of a session without reading it; none if there is none.
    ///
    /// # Errors
    /// The place cannot be read.
    fn revision(&self, id: &str) -> Result<Option<String>, StorageError>;

    /// Whether [`read_raw`](Self::read_raw) gives anything.
    fn has_raw(&self) -> bool {
        false
    }

    /// The log as one text in the format of files, without what is damaged at its end; none if there is no session.
    ///
    /// # Errors
    /// The store has no raw logs, or the log cannot be read.
    fn read_raw(&self, id: &str) -> Result<Option<RawLog>, StorageError> {
        Err(StorageError::Unsupported { id: id.to_owned(), what: "this store has no raw logs".to_owned() })
    }

    /// Ends what the store holds open. Nothing is called after it.
    ///
    /// # Errors
    /// Something could not be closed in order.
    fn close(&self) -> Result<(), StorageError> {
        Ok(())
    }
}

/// A session that was taken for writing, until this is dropped: nobody else writes to it, and the claim goes with the
/// process, however that ends.
pub trait Writer: Send {
    /// Adds events, the first of which has the number after the last one stored. They are durable when it returns.
    ///
    /// # Errors
    /// Nothing of the batch is stored, and the writer can be used again; or that cannot be said, and every later call fails.
    fn append(&mut self, events: &[Arc<Event>]) -> Result<(), StorageError>;

    /// Takes away what is damaged at the end and adds `closers`, at once or not at all. Without damage and closers
    /// nothing is written.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    fn repair(&mut self, closers: &[Arc<Event>]) -> Result<(), StorageError>;
}

/// A session as it is stored.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Who it is.
    pub header: SessionHeader,
    /// What is sound of its log.
    pub events: Events,
    /// What is wrong with the end of it, for people; none if nothing is.
    pub torn: Option<String>,
    /// Changes whenever the log does; never the same for two logs of two stores.
    pub revision: String,
}

/// A session that was taken for writing, and what was found.
pub struct Opened {
    /// What is stored.
    pub stored: Stored,
    /// Who may add to it.
    pub writer: Box<dyn Writer>,
}

/// A session of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Who it is.
    pub header: SessionHeader,
    /// See [`Stored::revision`].
    pub revision: String,
}

/// Where a session is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Location {
    /// In a file of lines, compressed or not.
    Jsonl {
        /// The file.
        path: PathBuf,
    },
}

/// A log as one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawLog {
    /// Who it is.
    pub header: SessionHeader,
    /// A name for a file of it.
    pub filename: String,
    /// The text, as it is stored.
    pub content: String,
}

/// Why a store cannot do what it was asked for.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The id is taken.
    #[error("a session `{id}` is stored already: choose another id, or resume that one")]
    Exists {
        /// The id.
        id: String,
    },
    /// Another writer has it.
    #[error("session `{id}` is busy: {holder} is writing to it; end that one first, or fork the session")]
    Busy {
        /// The id.
        id: String,
        /// Who, as far as that is known.
        holder: String,
    },
    /// A newer format, an older one, or an event that this build does not know.
    #[error("session `{id}` cannot be read by this build: {what}")]
    Unsupported {
        /// The id.
        id: String,
        /// What it does not know, and where that is.
        what: String,
    },
    /// The log is damaged.
    #[error("session `{id}` is damaged: {what}")]
    Corrupt {
        /// The id.
        id: String,
        /// What is wrong, and where.
        what: String,
    },
    /// The session was changed by somebody else since it was read.
    #[error("session `{id}` was changed by another writer: read it again")]
    Stale {
        /// The id.
        id: String,
    },
    /// An earlier write failed in a way that leaves the state of the log unknown.
    #[error(
        "session `{id}` cannot be written any more: an earlier write failed and could not be undone; open it again"
    )]
    Poisoned {
        /// The id.
        id: String,
    },
    /// The place itself cannot be used.
    #[error("{what}")]
    Place {
        /// What is wrong, and what to do.
        what: String,
        /// Why.
        #[source]
        source: Option<BoxError>,
    },
    /// A file or a table could not be read or written.
    #[error("cannot {action}")]
    Io {
        /// What was tried, and on what.
        action: String,
        /// Why not.
        #[source]
        source: BoxError,
    },
}

impl StorageError {
    /// The error for a line that cannot be read; `place` says where the line is.
    pub fn of_problem(id: &str, place: &str, problem: &Problem) -> Self {
        let (id, what) = (id.to_owned(), format!("{place}: {problem}"));
        if problem.is_unsupported() { Self::Unsupported { id, what } } else { Self::Corrupt { id, what } }
    }

    /// The error for a file or a table that could not be read or written.
    pub fn io(action: impl Into<String>, source: impl Into<BoxError>) -> Self {
        Self::Io { action: action.into(), source: source.into() }
    }
}
