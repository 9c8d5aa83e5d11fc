//! Resuming: a session made from what is stored, before it is live.

use std::pin::pin;
use std::sync::Arc;

use super::stored::StoredSession;
use super::tracks::{Turn, Use};
use super::work::Repaired;
use super::{Inner, PersistError, SessionPersistence};
use crate::seed::Seed;
use crate::session::Session;

/// A session that was made from its log and can enter the store. Its log is claimed; dropped before the session entered, the
/// claim is given up.
pub struct Preparation {
    session: Arc<Session>,
    stored: StoredSession,
    /// The log's revision, if it is known.
    revision: Option<String>,
    /// How many events the session was made with.
    made: u64,
    track: Use,
    inner: Arc<Inner>,
}

impl SessionPersistence {
    /// Makes a session from its log, to be put into the store by [`SessionStore::enter`](crate::SessionStore::enter). What a
    /// crash left damaged or open is repaired first, once. Who comes while another one resumes the session waits for its turn.
    ///
    /// # Errors
    /// There is no such session, it is live, another process writes to it, or its log cannot be read or repaired.
    ///
    /// # Cancel safety
    /// Dropping the future stops only the waiting; a repair that has begun is ended.
    pub async fn prepare(&self, id: &str) -> Result<Preparation, PersistError> {
        let track = self.inner.tracks.enter(id)?;
        loop {
            let mut freed = pin!(track.freed());
            freed.as_mut().enable();
            let turn = track.again().turn().await?;
            if turn.track.session().is_some() {
                return Err(PersistError::Live { id: id.to_owned() });
            }
            if !turn.track.is_reserved() {
                return self.inner.in_turn(turn, prepare).await;
            }
            drop(turn);
            freed.await;
        }
    }
}

fn prepare(inner: &Arc<Inner>, turn: &mut Turn) -> Result<Preparation, PersistError> {
    let id = turn.track.id().to_owned();
    inner.drain_before_read(turn)?;
    if turn.work.is_name() {
        return Err(PersistError::NotFound { id });
    }
    let make = |stored: &StoredSession| {
        let seed = Seed::from(stored.events.clone());
        Session::new(stored.header.clone(), Some(seed))
            .map_err(|source| PersistError::Seed { id: id.clone(), source })
    };
    let opened = turn.work.open_closed(&*inner.storage, make)?;
    let Some(Repaired { session: stored, revision, made: session }) = opened else {
        return Err(PersistError::NotFound { id });
    };
    turn.work.belongs_to(&session);
    if !turn.track.reserve(&session) {
        turn.work.give_up();
        return Err(PersistError::Live { id });
    }
    let (made, track) = (session.len(), turn.track.again());
    Ok(Preparation { session, stored, revision, made, track, inner: inner.clone() })
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
        self.stored.torn.as_deref()
    }

    /// How many events were added to close what a crash had left open.
    #[must_use]
    pub fn closers(&self) -> usize {
        self.stored.closers
    }
}

impl Drop for Preparation {
    fn drop(&mut self) {
        if !self.track.unreserve(&self.session) {
            return;
        }
        if let Some(revision) = self.revision.take()
            && self.session.len() == self.made
        {
            // What is stored has nothing open or damaged any more.
            let stored = StoredSession { torn: None, closers: 0, ..self.stored.clone() };
            self.inner.cache.lock().put(self.track.id(), revision, stored);
        }
        let (track, inner, session) = (self.track.again(), self.inner.clone(), self.session.clone());
        let releasing = async move {
            let Ok(turn) = track.turn().await else { return };
            let released = inner.in_turn(turn, move |_, turn| {
                if !turn.track.is_of(&session) {
                    turn.work.give_up_of(&session);
                }
                Ok(())
            });
            if let Err(error) = released.await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "a session was not given up in order"
                );
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
