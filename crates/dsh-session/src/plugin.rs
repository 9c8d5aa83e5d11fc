//! The plugin that provides the store.

use std::sync::Arc;

use cordis::{BoxError, Context, Plugin, define};

use crate::keys::SESSIONS;
use crate::store::SessionStore;

/// Provides [`SESSIONS`].
pub fn plugin() -> impl Plugin<Config = ()> {
    define("session").provides(SESSIONS).run(apply)
}

async fn apply(ctx: &Context, _: (), _: &()) -> Result<(), BoxError> {
    ctx.provide(SESSIONS, Arc::new(SessionStore::new()))?;
    Ok(())
}
