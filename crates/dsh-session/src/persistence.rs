//! Durable sessions: what is live is written behind, what is stored is read, repaired and resumed.
//!
//! **Invariants**
//! 1. What is written of a session is always a prefix of its log; the next write begins where the last one ended.
//! 2. All work on one session is done one after the other, in the order in which it was asked for; a failure of one does not
//!    fail the next.
//! 3. Work that was begun is ended, whoever stops waiting for it.
//! 4. A log is written by whoever claimed it in its storage, and by nobody else.
//!
//! **Lock order** a track's work → its notes. Storage is called with the work held and no other lock.

mod cache;
mod error;
mod prepare;
mod track;

use std::sync::Arc;
use std::time::Duration;

use cordis::{BoxError, Context, Effect, Handle};
use dashmap::DashMap;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use crate::closers::closers;
use crate::event::Event;
use crate::events::Events;
use crate::header::SessionHeader;
use crate::keys::{CREATED, DISPOSED, EVENT, FLUSH, PERSISTENCE};
use crate::session::{Session, SessionEvent};
use crate::storage::{Listed, Location, RawLog, Storage, StorageError, Stored};
use crate::store::SessionStore;

use cache::Cache;
pub use error::PersistError;
pub use prepare::Preparation;
use track::{Track, Work};

/// How sessions are written, whatever they are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct WriteOptions {
    /// How long an event may wait for others before it is written, in milliseconds, 1 to 2147483647.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub write_batch_max_delay_ms: u32,
    /// How many sessions that were read are kept for a later resume.
    pub prepared_session_cache_size: usize,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { write_batch_max_delay_ms: 200, prepared_session_cache_size: 5 }
    }
}

impl WriteOptions {
    /// Checks the bounds.
    ///
    /// # Errors
    /// Which option is out of them.
    pub fn check(&self) -> Result<(), String> {
        match self.write_batch_max_delay_ms {
            1..=2_147_483_647 => Ok(()),
            other => Err(format!("`writeBatchMaxDelayMs` must be 1 to 2147483647, not {other}")),
        }
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
    tracks: DashMap<String, Arc<Track>>,
    cache: Mutex<Cache>,
}

/// A session as it was stored, with nothing left open.
#[derive(Clone, Debug)]
pub struct StoredSession {
    /// Who it is.
    pub header: SessionHeader,
    /// Its events; an open turn is closed by the last ones.
    pub events: Events,
    /// What is, or was, wrong with the end of the log, for people.
    pub torn: Option<String>,
    /// How many of the events close what was open.
    pub closers: usize,
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
        tracks: DashMap::new(),
        cache: Mutex::new(Cache::new(options.prepared_session_cache_size)),
    });
    // Registered first and so undone last: by then nobody tells of events any more.
    let closing = inner.clone();
    ctx.effect("write what is left", async move || closing.close().await)?.with_limit(CLOSING);
    inner.listen(ctx)?;
    for session in store.get()?.list() {
        inner.adopt(&session);
    }
    ctx.provide(PERSISTENCE, Arc::new(SessionPersistence { inner }))?;
    Ok(())
}

impl Inner {
    fn listen(self: &Arc<Self>, ctx: &Context) -> Result<Effect, BoxError> {
        let inner = self.clone();
        ctx.on(CREATED).global().run(move |session| {
            inner.adopt(session);
            Ok(())
        })?;
        let inner = self.clone();
        ctx.on(EVENT).global().run(move |told: &SessionEvent| inner.note(&told.session))?;
        ctx.on(FLUSH).global().with(self.clone()).run(
            async |inner: &Arc<Inner>, session: &Arc<Session>| match inner.track_of(session) {
                Some(track) => inner.write_all(&track).await.map_err(BoxError::from),
                None => Ok(()),
            },
        )?;
        let inner = self.clone();
        Ok(ctx.on(DISPOSED).global().run(move |session| inner.release_later(session))?)
    }

    /// The track of a live session that this store writes.
    fn track_of(&self, session: &Arc<Session>) -> Option<Arc<Track>> {
        let track = self.tracks.get(session.id())?.clone();
        track.is_of(session).then_some(track)
    }

    fn track(&self, id: &str) -> Arc<Track> {
        if let Some(track) = self.tracks.get(id) {
            return track.clone();
        }
        self.tracks.entry(id.to_owned()).or_insert_with(|| Arc::new(Track::new(id))).clone()
    }

    /// Writes a session from now on.
    fn adopt(self: &Arc<Self>, session: &Arc<Session>) {
        self.cache.lock().forget(session.id());
        let track = self.track(session.id());
        track.own(session);
        if !session.is_empty() {
            self.write_later(&track);
        }
    }

    fn note(self: &Arc<Self>, session: &Arc<Session>) {
        if let Some(track) = self.track_of(session) {
            self.write_later(&track);
        }
    }

    /// Opens a window in which events are gathered, if none is open. Later events do not extend it.
    fn write_later(self: &Arc<Self>, track: &Arc<Track>) {
        if !track.begin_window() {
            return;
        }
        let (inner, of) = (self.clone(), track.clone());
        let writing = async move {
            tokio::time::sleep(inner.delay).await;
            of.end_window();
            if let Err(error) = inner.write_once(&of).await
                && of.failed_anew()
            {
                tracing::warn!(
                    session = of.id(),
                    error = &error as &dyn std::error::Error,
                    "cannot write the session; it is tried again with the next event"
                );
            }
        };
        if self.ctx.spawn("write a session", writing).is_err() {
            // The plugin is going: what is left is written at its end.
            track.end_window();
        }
    }

    /// Writes what there is now.
    async fn write_once(self: &Arc<Self>, track: &Arc<Track>) -> Result<(), PersistError> {
        let work = track.work().await;
        self.write(track, work).await
    }

    /// Writes until nothing is left, also of what is added meanwhile.
    async fn write_all(self: &Arc<Self>, track: &Arc<Track>) -> Result<(), PersistError> {
        loop {
            let work = track.work().await;
            let left = track.session().is_some_and(|session| work.is_behind(&session));
            if !left {
                return Ok(());
            }
            self.write(track, work).await?;
        }
    }

    async fn write(
        self: &Arc<Self>,
        track: &Arc<Track>,
        mut work: tokio::sync::OwnedMutexGuard<Work>,
    ) -> Result<(), PersistError> {
        let Some(session) = track.session() else { return Ok(()) };
        let (storage, track) = (self.storage.clone(), track.clone());
        // The guard goes along: whoever stops waiting, the write ends and the work is noted.
        let written = spawn_blocking(move || {
            let result = work.write(&*storage, &session);
            track.wrote(result.is_ok());
            result
        });
        written.await.map_err(|error| PersistError::Panicked { reason: error.to_string() })?
    }

    /// A session has left the store: what is left of it is written, then its claim is given up.
    fn release_later(self: &Arc<Self>, session: &Arc<Session>) {
        let Some(track) = self.track_of(session) else { return };
        let (inner, session) = (self.clone(), session.clone());
        let releasing = async move {
            if let Err(error) = inner.release(&track, &session).await {
                tracing::warn!(
                    session = session.id(),
                    error = &error as &dyn std::error::Error,
                    "cannot write the end of the session; it is tried again when the store ends"
                );
            }
        };
        // Where the plugin is going already, its end does it.
        let _ = self.ctx.spawn("write the end of a session", releasing);
    }

    async fn release(
        self: &Arc<Self>,
        track: &Arc<Track>,
        session: &Arc<Session>,
    ) -> Result<(), PersistError> {
        self.write_all(track).await?;
        let mut work = track.work().await;
        if track.disown(session) {
            work.give_up();
            self.tracks.remove_if(track.id(), |_, known| Arc::ptr_eq(known, track) && known.is_free());
        }
        Ok(())
    }

    /// Writes what is left of all sessions and closes the storage; gives all failures as one.
    async fn close(self: &Arc<Self>) -> Result<(), BoxError> {
        let mut failures = Vec::new();
        let tracks: Vec<Arc<Track>> = self.tracks.iter().map(|track| track.clone()).collect();
        for track in tracks {
            if let Err(error) = self.write_all(&track).await {
                failures.push(format!("`{}`: {}", track.id(), chain(&error)));
            }
            track.work().await.give_up();
        }
        self.tracks.clear();
        let storage = self.storage.clone();
        match spawn_blocking(move || storage.close()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => failures.push(chain(&error)),
            Err(error) => failures.push(error.to_string()),
        }
        match failures.is_empty() {
            true => Ok(()),
            false => Err(failures.join("; ").into()),
        }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        call: impl FnOnce(&dyn Storage) -> Result<T, StorageError> + Send + 'static,
    ) -> Result<T, PersistError> {
        let storage = self.storage.clone();
        let called = spawn_blocking(move || call(&*storage)).await;
        Ok(called.map_err(|error| PersistError::Panicked { reason: error.to_string() })??)
    }
}

impl SessionPersistence {
    /// Where a session is, or would be, kept, if that can be named.
    #[must_use]
    pub fn locate(&self, header: &SessionHeader) -> Option<Location> {
        self.inner.storage.locate(header)
    }

    /// Whether [`read_raw`](Self::read_raw) gives anything.
    #[must_use]
    pub fn has_raw(&self) -> bool {
        self.inner.storage.has_raw()
    }

    /// The log as one text, without what is damaged at its end.
    ///
    /// # Errors
    /// There is no such session, the store has no raw logs, or the log cannot be read.
    pub async fn read_raw(&self, id: &str) -> Result<RawLog, PersistError> {
        let name = id.to_owned();
        let raw = self.inner.blocking(move |storage| storage.read_raw(&name)).await?;
        raw.ok_or_else(|| PersistError::not_found(id))
    }

    /// The headers of all stored sessions.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn list(&self) -> Result<Vec<SessionHeader>, PersistError> {
        Ok(self.list_snapshots().await?.into_iter().map(|listed| listed.header).collect())
    }

    /// The headers and revisions of all stored sessions; reads no log.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn list_snapshots(&self) -> Result<Vec<Listed>, PersistError> {
        self.inner.blocking(|storage| storage.list()).await
    }

    /// The stored events from a number on; nothing is repaired or closed. Empty past the end.
    ///
    /// # Errors
    /// There is no such session, or its log cannot be read.
    pub async fn read_from(&self, id: &str, from: u64) -> Result<Stored, PersistError> {
        let name = id.to_owned();
        let stored = self.inner.blocking(move |storage| storage.read_from(&name, from)).await?;
        stored.ok_or_else(|| PersistError::not_found(id))
    }

    /// Reads a session and changes nothing: of a live one what there is, of a stored one what it would be after a repair.
    ///
    /// # Errors
    /// There is no such session, or its log cannot be read.
    pub async fn inspect(&self, id: &str) -> Result<StoredSession, PersistError> {
        if let Some(session) = self.live(id) {
            return Ok(StoredSession::of_live(&session));
        }
        let name = id.to_owned();
        let revision = self.inner.blocking(move |storage| storage.revision(&name)).await?;
        let revision = revision.ok_or_else(|| PersistError::not_found(id))?;
        if let Some(known) = self.inner.cache.lock().get(id, &revision) {
            return Ok(known);
        }
        let name = id.to_owned();
        let stored = self.inner.blocking(move |storage| storage.read(&name)).await?;
        let stored = stored.ok_or_else(|| PersistError::not_found(id))?;
        let revision = stored.revision.clone();
        let session = StoredSession::closed(stored);
        self.inner.cache.lock().put(id, revision, session.clone());
        Ok(session)
    }

    /// Reads a session, after everything of it is written and closed: a live one is flushed, a stored one repaired.
    ///
    /// # Errors
    /// There is no such session, a live one is in the middle of a turn or its flush failed, or its log cannot be read or
    /// repaired.
    pub async fn load(&self, id: &str) -> Result<StoredSession, PersistError> {
        if let Some(session) = self.live(id) {
            let snapshot = StoredSession::of_live(&session);
            if snapshot.events.is_empty() {
                return Err(PersistError::not_found(id));
            }
            if !closers(&snapshot.events).is_empty() {
                return Err(PersistError::OpenTurn { id: id.to_owned() });
            }
            if let Some(track) = self.inner.track_of(&session) {
                self.inner.write_all(&track).await?;
            }
            return Ok(snapshot);
        }
        let track = self.inner.track(id);
        let mut work = track.work().await;
        let storage = self.inner.storage.clone();
        let repaired = spawn_blocking(move || {
            let session = work.open_closed(&*storage);
            work.give_up();
            session
        });
        let session = repaired.await.map_err(|error| PersistError::Panicked { reason: error.to_string() })?;
        self.inner.tracks.remove_if(id, |_, known| Arc::ptr_eq(known, &track) && known.is_free());
        session?.ok_or_else(|| PersistError::not_found(id))
    }

    /// Reserves a new session without a live one: nothing is stored before its first events.
    ///
    /// # Errors
    /// The id is taken, or the header cannot be.
    pub async fn create(&self, header: SessionHeader) -> Result<(), PersistError> {
        header.check().map_err(|reason| PersistError::BadHeader { reason })?;
        let id = header.id.clone();
        let track = self.inner.track(&id);
        let mut work = track.work().await;
        if track.session().is_some() || work.is_claimed() {
            return Err(StorageError::Exists { id }.into());
        }
        let name = id.clone();
        if self.inner.blocking(move |storage| storage.revision(&name)).await?.is_some() {
            return Err(StorageError::Exists { id }.into());
        }
        work.reserve(header);
        Ok(())
    }

    /// Adds events to a stored session that is not live, and returns when they are durable. The first one must have the number
    /// after the last. A crash's open turn is closed before.
    ///
    /// # Errors
    /// There is no such session, it is live or being resumed, a number is wrong, or the write failed: then nothing is
    /// stored of it.
    pub async fn append(&self, id: &str, events: Vec<Arc<Event>>) -> Result<(), PersistError> {
        if events.is_empty() {
            return Ok(());
        }
        if self.live(id).is_some() {
            return Err(PersistError::Live { id: id.to_owned() });
        }
        let track = self.inner.track(id);
        let mut work = track.work().await;
        if track.is_reserved() {
            return Err(PersistError::Reserved { id: id.to_owned() });
        }
        let storage = self.inner.storage.clone();
        let appended = spawn_blocking(move || work.append(&*storage, &events));
        appended.await.map_err(|error| PersistError::Panicked { reason: error.to_string() })?
    }

    fn live(&self, id: &str) -> Option<Arc<Session>> {
        self.inner.tracks.get(id)?.session()
    }
}

impl StoredSession {
    fn of_live(session: &Session) -> Self {
        Self { header: (**session.header()).clone(), events: session.events(), torn: None, closers: 0 }
    }

    /// What is stored, and what closes it.
    fn closed(stored: Stored) -> Self {
        let mut events = stored.events;
        let closing = closers(&events);
        let closers = closing.len();
        for event in closing {
            events.push(event);
        }
        Self { header: stored.header, events, torn: stored.torn, closers }
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

impl std::fmt::Debug for SessionPersistence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionPersistence").field("live", &self.inner.tracks.len()).finish_non_exhaustive()
    }
}
