//! Where the database is, and how it is written.

use dsh_session::{StorageError, WriteOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::place::refused;

/// Where the database is, and how it is written.
///
/// Source: the reference's configuration of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// The database's file, or `:memory:` for one that ends with the store. A relative path is resolved once, against the
    /// working directory.
    pub path: String,
    /// How SQLite keeps a transaction whole; a database in memory has its own way.
    #[serde(default)]
    pub journal_mode: JournalMode,
    /// How long to wait for another process that holds the database, in milliseconds.
    #[serde(default = "defaults::busy_timeout_ms")]
    #[schemars(range(max = 2_147_483_647))]
    pub busy_timeout_ms: u32,
    /// Whether runs of streamed pieces share a row. Both forms are read in any case.
    #[serde(default = "defaults::pack_chunks")]
    pub pack_chunks: bool,
    /// How long an event of a live session may wait for others before it is written, in milliseconds.
    #[serde(default = "defaults::delay_ms")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub write_batch_max_delay_ms: u32,
    /// How many sessions that were read are kept in memory, to be looked at again.
    #[serde(default = "defaults::cache_size")]
    #[schemars(range(min = 1))]
    pub prepared_session_cache_size: usize,
}

/// How SQLite keeps a transaction whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum JournalMode {
    /// A log beside the database; readers and the writer do not wait for each other.
    #[default]
    Wal,
    /// A rollback journal that is deleted at each commit.
    Delete,
    /// A rollback journal that is emptied at each commit.
    Truncate,
    /// A rollback journal that is marked at each commit.
    Persist,
}

mod defaults {
    pub(super) fn busy_timeout_ms() -> u32 {
        5_000
    }

    pub(super) fn pack_chunks() -> bool {
        true
    }

    pub(super) fn delay_ms() -> u32 {
        dsh_session::WriteOptions::default().write_batch_max_delay_ms
    }

    pub(super) fn cache_size() -> usize {
        dsh_session::WriteOptions::default().prepared_session_cache_size
    }
}

impl JournalMode {
    /// As SQLite names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wal => "wal",
            Self::Delete => "delete",
            Self::Truncate => "truncate",
            Self::Persist => "persist",
        }
    }
}

impl Config {
    /// The defaults for a database at `path`.
    #[must_use]
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            journal_mode: JournalMode::default(),
            busy_timeout_ms: defaults::busy_timeout_ms(),
            pack_chunks: defaults::pack_chunks(),
            write_batch_max_delay_ms: defaults::delay_ms(),
            prepared_session_cache_size: defaults::cache_size(),
        }
    }

    /// How live sessions are written to it.
    #[must_use]
    pub fn write_options(&self) -> WriteOptions {
        WriteOptions::new(self.write_batch_max_delay_ms, self.prepared_session_cache_size)
    }

    pub(crate) fn check(&self) -> Result<(), StorageError> {
        if self.path.is_empty() || self.path.contains('\0') {
            return Err(refused("session-sqlite: `path` must name a file, or be `:memory:`"));
        }
        if i32::try_from(self.busy_timeout_ms).is_err() {
            let given = self.busy_timeout_ms;
            return Err(refused(format!(
                "session-sqlite: `busyTimeoutMs` must be at most 2147483647, not {given}"
            )));
        }
        Ok(())
    }
}
