//! Titles of sessions: kept in the log, made from what the user said first, or given by the user.
//!
//! The last `session/title` of a log is its title. Soon after the user has said something in a session without a title, the
//! plugin adds one made of the first words. A title that the user gave stays until the user gives another one or asks for a
//! fresh one.
//!
//! Read `keys`, `title` (what the log holds), `normal` (what a title may look like), `titles` (who may change it), then
//! `fallback` (the title that nobody asked for).
//!
//! **Architecture Invariant:** what may follow what is decided inside of the append, where the log cannot change meanwhile:
//! a title that was late is refused there, so no order of tasks lets it take the place of the user's.

mod config;
mod fallback;
pub mod keys;
mod normal;
mod title;
mod titles;

use std::sync::Arc;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_session::{APPENDING, Appending, DISPOSED, EVENT, SESSIONS, Session, SessionEvent, SessionStore};

pub use config::{Config, ConfigError};
pub use keys::TITLES;
pub use normal::normalized;
pub use title::{ModelRoute, SessionTitle, TitleSource, title_of};
pub use titles::{OutOfTurn, RefreshError, RenameError, SessionTitles};

use fallback::Fallback;

cordis::catalog!(plugin);

/// Provides [`TITLES`] and gives sessions without a title one.
pub fn plugin() -> impl Plugin<Config = Config> {
    define("session-title")
        .needs(SESSIONS)
        .provides(TITLES)
        .validate(|config: &Config| Ok(config.check()?))
        .run(apply)
}

async fn apply(ctx: &Context, sessions: Handle<SessionStore>, config: &Config) -> Result<(), BoxError> {
    let titles = Arc::new(SessionTitles::new(sessions, *config));
    ctx.on(APPENDING).with(titles.clone()).run(|titles: &Arc<SessionTitles>, appending: &Appending| {
        titles.admit(&appending.session, &appending.event)
    })?;
    let fallback = Arc::new(Fallback::new(ctx.clone(), titles.clone()));
    ctx.on(EVENT).with(fallback.clone()).run(|fallback: &Arc<Fallback>, added: &SessionEvent| {
        fallback.consider(added);
    })?;
    ctx.on(DISPOSED).with(fallback).run(|fallback: &Arc<Fallback>, session: &Arc<Session>| {
        fallback.forget(session);
    })?;
    ctx.provide(TITLES, titles)?;
    Ok(())
}
