//! Resuming: a session made from what is stored, before it is live.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::track::Track;
use super::{Inner, PersistError, SessionPersistence};
use crate::seed::Seed;
use crate::session::Session;

/// A session that was made from its log and can enter the store. Its log is claimed; dropped before the session entered, the
/// claim is given up.
pub struct Preparation {
    session: Arc<Session>,
    torn: Option<String>,
    closers: usize,
    track: Arc<Track>,
    inner: Arc<Inner>,
}

impl SessionPersistence {
    /// Makes a session from its log, to be put into the store by [`SessionStore::enter`](crate::SessionStore::enter). What a
    /// crash left damaged or open is repaired first, once. Who comes while another one resumes the session waits for its turn.
    ///
    /// # Errors
    /// There is no such session, it is live or being resumed, another process writes to it, or its log cannot be read or
    /// repaired.
    ///
    /// # Cancel safety
    /// Dropping the future stops only the waiting; a repair that has begun is ended.
    pub async fn prepare(&self, id: &str) -> Result<Preparation, PersistError> {
        let inner = self.inner.clone();
        let track = inner.track(id);
        let mut work = track.work().await;
        if track.session().is_some() {
            return Err(PersistError::Live { id: id.to_owned() });
        }
        if track.is_reserved() {
            return Err(PersistError::Reserved { id: id.to_owned() });
        }
        let of = track.clone();
        let prepared = spawn_blocking(move || {
            let prepared = prepare(&inner, &of, &mut work);
            if !matches!(prepared, Ok(Some(_))) {
                work.give_up();
                inner.tracks.remove_if(of.id(), |_, known| Arc::ptr_eq(known, &of) && known.is_free());
            }
            prepared
        });
        let prepared =
            prepared.await.map_err(|error| PersistError::Panicked { reason: error.to_string() })?;
        prepared?.ok_or_else(|| PersistError::not_found(id))
    }
}

fn prepare(
    inner: &Arc<Inner>,
    track: &Arc<Track>,
    work: &mut super::Work,
) -> Result<Option<Preparation>, PersistError> {
    let Some(stored) = work.open_closed(&*inner.storage)? else { return Ok(None) };
    let seed = Seed::new(stored.events.clone());
    let session = Session::new(stored.header, Some(seed))
        .map_err(|source| PersistError::Seed { id: track.id().to_owned(), source })?;
    if !track.reserve(&session) {
        return Err(PersistError::Live { id: track.id().to_owned() });
    }
    Ok(Some(Preparation {
        session,
        torn: stored.torn,
        closers: stored.closers,
        track: track.clone(),
        inner: inner.clone(),
    }))
}

impl Preparation {
    /// The session, of no store yet.
    #[must_use]
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// What was wrong with the end of the log and is repaired now, for people.
    #[must_use]
    pub fn torn(&self) -> Option<&str> {
        self.torn.as_deref()
    }

    /// How many events were added to close what a crash had left open.
    #[must_use]
    pub fn closers(&self) -> usize {
        self.closers
    }
}

impl Drop for Preparation {
    fn drop(&mut self) {
        if !self.track.unreserve(&self.session) {
            return;
        }
        let (track, inner) = (self.track.clone(), self.inner.clone());
        let releasing = async move {
            let mut work = track.work().await;
            if track.is_free() {
                work.give_up();
                inner.tracks.remove_if(track.id(), |_, known| Arc::ptr_eq(known, &track) && known.is_free());
            }
        };
        // Where the plugin is going, its end gives the claim up.
        let _ = self.inner.ctx.spawn("give a session up", releasing);
    }
}

impl std::fmt::Debug for Preparation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Preparation").field("session", &self.session).finish_non_exhaustive()
    }
}
