//! Durable sessions: what is live is written behind, what is stored is read, repaired and resumed.
//!
//! **Invariants**
//! 1. What is written of a session is always a prefix of its log; the next write begins where the last one ended.
//! 2. All work on one session is done one after the other, in the order in which it was asked for; a failure of one does not
//!    fail the next.
//! 3. Work that was begun is ended, whoever stops waiting for it.
//! 4. A log is written by whoever claimed it in its storage, and by nobody else; for each session that comes under its id
//!    the log is looked at anew.
//! 5. When the store has ended, nothing is called any more.
//!
//! **Lock order** a turn → the table of tracks → a track's notes. Storage is called in a turn and with no other lock.

mod cache;
mod claim;
mod error;
mod prepare;
mod read;
mod stored;
mod track;
mod tracks;
mod work;
mod write;

use std::sync::Arc;
use std::time::Duration;

use cordis::{BoxError, Context, Effect, Handle};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::RwLock;

use crate::keys::{CREATED, DISPOSED, EVENT, FLUSH, PERSISTENCE};
use crate::session::{Session, SessionEvent};
use crate::storage::Storage;
use crate::store::SessionStore;

use cache::Cache;
pub use error::PersistError;
pub use prepare::Preparation;
pub use stored::StoredSession;
use tracks::Tracks;

/// How sessions are written, whatever they are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct WriteOptions {
    /// How long an event may wait for others before it is written, in milliseconds, 1 to 2147483647.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub write_batch_max_delay_ms: u32,
    /// How many sessions that were read are kept in memory, to be looked at again; at least 1.
    #[schemars(range(min = 1))]
    pub prepared_session_cache_size: usize,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { write_batch_max_delay_ms: 200, prepared_session_cache_size: 5 }
    }
}

impl WriteOptions {
    /// The options with these values, unchecked.
    #[must_use]
    pub fn new(write_batch_max_delay_ms: u32, prepared_session_cache_size: usize) -> Self {
        Self { write_batch_max_delay_ms, prepared_session_cache_size }
    }

    /// Checks the bounds.
    ///
    /// # Errors
    /// Which option is out of them.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=2_147_483_647).contains(&self.write_batch_max_delay_ms) {
            let found = self.write_batch_max_delay_ms;
            return Err(format!("`writeBatchMaxDelayMs` must be 1 to 2147483647, not {found}"));
        }
        if self.prepared_session_cache_size == 0 {
            return Err("`preparedSessionCacheSize` must be at least 1, not 0".to_owned());
        }
        Ok(())
    }
}

/// How long the end of a store may take, so that what is left can be written.
const CLOSING: Duration = Duration::from_secs(60);

/// The sessions that are stored, and the writing of those that are live.
pub struct SessionPersistence {
    inner: Arc<Inner>,
}

struct Inner {
    ctx: Context,
    storage: Arc<dyn Storage>,
    delay: Duration,
    tracks: Arc<Tracks>,
    cache: Mutex<Cache>,
    /// Whether the storage may be called; written once, when nobody is in a call.
    open: Arc<RwLock<bool>>,
}

/// Makes `storage` the place where the sessions of `store` are kept, for as long as the context's plugin lives: provides
/// [`PERSISTENCE`], writes what is live, and writes the rest when it ends.
///
/// # Errors
/// The context is inactive, or something else provides it.
pub fn persist(
    ctx: &Context,
    store: &Handle<SessionStore>,
    storage: Arc<dyn Storage>,
    options: WriteOptions,
) -> Result<(), BoxError> {
    options.check()?;
    let inner = Arc::new(Inner {
        ctx: ctx.clone(),
        storage,
        delay: Duration::from_millis(options.write_batch_max_delay_ms.into()),
        tracks: Arc::default(),
        cache: Mutex::new(Cache::new(options.prepared_session_cache_size)),
        open: Arc::new(RwLock::new(true)),
    });
    // Registered first and so undone last: by then nobody tells of events any more.
    let closing = inner.clone();
    ctx.effect("write what is left", async move || closing.close().await)?.with_limit(CLOSING);
    inner.listen(ctx)?;
    for session in store.get()?.list() {
        inner.adopt(&session)?;
    }
    ctx.provide(PERSISTENCE, Arc::new(SessionPersistence { inner }))?;
    Ok(())
}

impl Inner {
    fn listen(self: &Arc<Self>, ctx: &Context) -> Result<Effect, BoxError> {
        let inner = self.clone();
        ctx.on(CREATED).global().run(move |session| Ok(inner.adopt(session)?))?;
        let inner = self.clone();
        ctx.on(EVENT).global().run(move |told: &SessionEvent| inner.write_later(&told.session))?;
        ctx.on(FLUSH).global().with(self.clone()).run(
            async |inner: &Arc<Inner>, session: &Arc<Session>| {
                inner.write_all(session).await.map_err(BoxError::from)
            },
        )?;
        let inner = self.clone();
        Ok(ctx.on(DISPOSED).global().run(move |session| inner.release_later(session))?)
    }
}

impl std::fmt::Debug for SessionPersistence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionPersistence").field("tracks", &self.inner.tracks.len()).finish_non_exhaustive()
    }
}
