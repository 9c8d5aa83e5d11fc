//! Sessions on disk, as rows of a SQLite database: an alternative to files.
//!
//! [`SqliteStore`] is a [`dsh_session::Storage`]. One database holds many sessions; many processes may use it at once.
//!
//! Read `config` and `store` first, then `place` (where the database may be), `database` (the connection) with `schema`
//! (its tables), `header_row`, `event_row` with `data` and `sources` (what a row holds), `scan` (from rows to a log), `writer` and
//! `claim` (who may write).
//!
//! **Architecture Invariant:** a row that was written is never changed. A batch adds rows, and only a repair takes some away, from the
//! end.
//!
//! **Architecture Invariant:** the database is not trusted. It may come from another machine or be damaged: what is in it is
//! checked like a file that is read, and gives an error, or a log that is torn.

mod claim;
mod config;
mod data;
mod database;
mod event_row;
mod header_row;
mod place;
mod plugin;
mod scan;
mod schema;
mod sources;
mod store;
mod writer;

pub use config::{Config, JournalMode};
pub use plugin::plugin;
pub use store::SqliteStore;

cordis::catalog!(plugin);
