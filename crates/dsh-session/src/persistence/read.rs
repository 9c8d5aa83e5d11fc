//! The service without what resumes: looking at what is stored, and adding to it without a live session.

use std::sync::Arc;

use super::claim::checked;
use super::stored::StoredSession;
use super::tracks::Turn;
use super::write::drain;
use super::{Inner, PersistError, SessionPersistence};
use crate::event::Event;
use crate::header::SessionHeader;
use crate::storage::{Listed, Location, RawLog, StorageError, Stored};

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

    /// The log as one text, without what is damaged at its end.
    ///
    /// # Errors
    /// There is no such session, the store has no raw logs, or the log cannot be read.
    pub async fn read_raw(&self, id: &str) -> Result<RawLog, PersistError> {
        let turn = self.inner.tracks.enter(id)?.turn().await?;
        self.inner
            .in_turn(turn, |inner, turn| {
                inner.drain_before_read(turn)?;
                let raw = inner.storage.read_raw(turn.track.id())?;
                raw.ok_or_else(|| PersistError::not_found(turn.track.id()))
            })
            .await
    }

    /// The stored events from a number on; nothing is repaired or closed. Empty past the end. A live session is flushed
    /// before.
    ///
    /// # Errors
    /// There is no such session, its log cannot be read, or the flush failed.
    pub async fn read_from(&self, id: &str, from: u64) -> Result<Stored, PersistError> {
        if let Some(session) = self.inner.tracks.live(id) {
            self.inner.write_all(&session).await?;
        }
        let turn = self.inner.tracks.enter(id)?.turn().await?;
        self.inner
            .in_turn(turn, move |inner, turn| {
                inner.drain_before_read(turn)?;
                let id = turn.track.id();
                let stored = inner.storage.read_from(id, from)?;
                Ok(checked(id, stored.ok_or_else(|| PersistError::not_found(id))?)?)
            })
            .await
    }

    /// Reads a session and changes nothing: of a live one what there is, of a stored one what it would be after a repair.
    ///
    /// # Errors
    /// There is no such session, or its log cannot be read.
    pub async fn inspect(&self, id: &str) -> Result<StoredSession, PersistError> {
        if let Some(session) = self.inner.tracks.live(id) {
            return Ok(StoredSession::of_live(&session));
        }
        let turn = self.inner.tracks.enter(id)?.turn().await?;
        self.inner
            .in_turn(turn, |inner, turn| {
                inner.drain_before_read(turn)?;
                inner.read_closed(turn)
            })
            .await
    }

    /// Reads a session, after everything of it is written and closed: a live one is flushed, a stored one repaired.
    ///
    /// # Errors
    /// There is no such session, a live one is in the middle of a turn or its flush failed, or its log cannot be read or
    /// repaired.
    pub async fn load(&self, id: &str) -> Result<StoredSession, PersistError> {
        if let Some(session) = self.inner.tracks.live(id) {
            let snapshot = StoredSession::of_live(&session);
            if snapshot.events.is_empty() {
                return Err(PersistError::not_found(id));
            }
            if snapshot.is_open() {
                return Err(PersistError::OpenTurn { id: id.to_owned() });
            }
            self.inner.write_all(&session).await?;
            return Ok(snapshot);
        }
        let turn = self.inner.tracks.enter(id)?.turn().await?;
        self.inner
            .in_turn(turn, |inner, turn| {
                if let Some(session) = turn.track.session() {
                    let id = session.id().to_owned();
                    return Err(PersistError::Live { id });
                }
                if turn.track.is_reserved() {
                    // Who reserved it has repaired it, and has it claimed.
                    return inner.read_closed(turn);
                }
                inner.drain_before_read(turn)?;
                if turn.work.is_name() {
                    return Err(PersistError::not_found(turn.track.id()));
                }
                let repaired = turn.work.open_closed(&*inner.storage, |_| Ok(()));
                turn.work.give_up();
                let repaired = repaired?.ok_or_else(|| PersistError::not_found(turn.track.id()))?;
                Ok(repaired.session)
            })
            .await
    }

    /// Reserves a new session without a live one: nothing is stored before its first events.
    ///
    /// # Errors
    /// The id is taken, or the header cannot be.
    pub async fn create(&self, header: SessionHeader) -> Result<(), PersistError> {
        header.check().map_err(|reason| PersistError::BadHeader { reason })?;
        let turn = self.inner.tracks.enter(&header.id)?.turn().await?;
        self.inner
            .in_turn(turn, move |inner, turn| {
                let id = turn.track.id().to_owned();
                inner.drain_before_read(turn)?;
                let taken = turn.track.session().is_some() || turn.work.is_claimed();
                if taken || inner.storage.revision(&id)?.is_some() {
                    return Err(StorageError::Exists { id }.into());
                }
                turn.work.reserve(header);
                Ok(())
            })
            .await
    }

    /// Adds events to a stored session that is not live, and returns when they are durable. The first one must have the
    /// number after the last. A crash's open turn is closed before.
    ///
    /// # Errors
    /// There is no such session, it is live or being resumed, a number is wrong, or the write failed: then nothing is
    /// stored of it.
    pub async fn append(&self, id: &str, events: Vec<Arc<Event>>) -> Result<(), PersistError> {
        if events.is_empty() {
            return Ok(());
        }
        let turn = self.inner.tracks.enter(id)?.turn().await?;
        self.inner
            .in_turn(turn, move |inner, turn| {
                let id = turn.track.id().to_owned();
                if turn.track.session().is_some() {
                    return Err(PersistError::Live { id });
                }
                if turn.track.is_reserved() {
                    return Err(PersistError::Reserved { id });
                }
                inner.drain_before_read(turn)?;
                turn.work.append(&*inner.storage, &events)
            })
            .await
    }
}

impl Inner {
    /// What is stored, closed in memory only; from the cache while the log is as it was.
    fn read_closed(&self, turn: &mut Turn) -> Result<StoredSession, PersistError> {
        let id = turn.track.id();
        let missing = || PersistError::not_found(id);
        let revision = self.storage.revision(id)?.ok_or_else(missing)?;
        if let Some(known) = self.cache.lock().get(id, &revision) {
            return Ok(known);
        }
        let stored = checked(id, self.storage.read(id)?.ok_or_else(missing)?)?;
        let revision = stored.revision.clone();
        let session = StoredSession::closed(stored);
        self.cache.lock().put(id, revision, session.clone());
        Ok(session)
    }

    /// Writes what sessions of this id have left behind; what cannot have a place in the log does not hold others up.
    pub(super) fn drain_before_read(&self, turn: &mut Turn) -> Result<(), PersistError> {
        match drain(&*self.storage, turn, true) {
            Err(PersistError::Collision { .. }) => Ok(()),
            result => result,
        }
    }
}
