//! Why a session cannot be read, written or resumed.

use thiserror::Error;

use crate::error::SeedError;
use crate::storage::StorageError;

/// Why a session cannot be read, written or resumed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PersistError {
    /// There is no such session.
    #[error("there is no stored session `{id}`")]
    NotFound {
        /// The id.
        id: String,
    },
    /// The session is live.
    #[error("session `{id}` is live: work with it in the store, or end it first")]
    Live {
        /// The id.
        id: String,
    },
    /// The session is being resumed.
    #[error("session `{id}` is being resumed: wait for that, or drop it")]
    Reserved {
        /// The id.
        id: String,
    },
    /// The live session is in the middle of a turn.
    #[error("session `{id}` is in the middle of a turn: it can be loaded when that has ended")]
    OpenTurn {
        /// The id.
        id: String,
    },
    /// What is stored under the id is another session.
    #[error("what is stored as `{id}` is another session: {what}; give the live one another id")]
    Collision {
        /// The id.
        id: String,
        /// What is different.
        what: String,
    },
    /// The events do not begin where the log ends.
    #[error("session `{id}`: expected seq {expected}, found {found}")]
    NotNext {
        /// The id.
        id: String,
        /// The next number.
        expected: u64,
        /// The number that was found.
        found: u64,
    },
    /// The header cannot be.
    #[error("invalid session header: {reason}")]
    BadHeader {
        /// The field and what is wrong with it.
        reason: String,
    },
    /// What is stored makes no session: it is damaged in a way that only the whole shows. Nothing was written.
    #[error("session `{id}` cannot be resumed")]
    Seed {
        /// The id.
        id: String,
        /// Why not.
        #[source]
        source: SeedError,
    },
    /// The plugin that keeps the sessions was unloaded.
    #[error("the store of sessions has ended: look `sessionPersistence` up again")]
    Closed,
    /// The storage failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The storage panicked, or the runtime is ending.
    #[error("the storage did not come back: {reason}")]
    Panicked {
        /// What is known of it.
        reason: String,
    },
}

impl PersistError {
    pub(crate) fn not_found(id: &str) -> Self {
        Self::NotFound { id: id.to_owned() }
    }
}
