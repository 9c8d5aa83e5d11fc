//! The plugin that keeps live sessions in a SQLite database.

use std::sync::Arc;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_session::{PERSISTENCE, SESSIONS, SessionStore, persist};

use crate::config::Config;
use crate::store::SqliteStore;

/// Keeps the sessions of [`SESSIONS`] in a SQLite database: provides [`PERSISTENCE`], writes what is added, and writes the rest when
/// it is unloaded.
pub fn plugin() -> impl Plugin<Config = Config> {
    define("session-persistence-sqlite")
        .needs(SESSIONS)
        .provides(PERSISTENCE)
        .validate(|config: &Config| config.write_options().check().map_err(BoxError::from))
        .run(apply)
}

async fn apply(ctx: &Context, sessions: Handle<SessionStore>, config: &Config) -> Result<(), BoxError> {
    let storage = SqliteStore::new(config)?;
    persist(ctx, &sessions, Arc::new(storage), config.write_options())
}
