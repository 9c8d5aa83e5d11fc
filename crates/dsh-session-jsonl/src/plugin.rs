//! The plugin that keeps live sessions in files of lines.

use std::sync::Arc;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_session::{PERSISTENCE, SESSIONS, SessionStore, persist};

use crate::config::Config;
use crate::storage::JsonlStorage;

/// Keeps the sessions of [`SESSIONS`] in files of lines: provides [`PERSISTENCE`], writes what is added, and writes the rest when
/// it is unloaded.
pub fn plugin() -> impl Plugin<Config = Config> {
    define("session-persistence-jsonl")
        .needs(SESSIONS)
        .provides(PERSISTENCE)
        .validate(|config: &Config| config.write_options().check().map_err(BoxError::from))
        .run(apply)
}

async fn apply(ctx: &Context, sessions: Handle<SessionStore>, config: &Config) -> Result<(), BoxError> {
    let storage = JsonlStorage::open(config.clone())?;
    persist(ctx, &sessions, Arc::new(storage), config.write_options())
}
