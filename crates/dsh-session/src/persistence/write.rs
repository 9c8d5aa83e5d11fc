//! Writing behind: windows, flushes, and the end of a session or of the whole store.

use std::sync::Arc;

use cordis::BoxError;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, spawn_blocking};

use super::tracks::{Turn, Use};
use super::{Inner, PersistError};
use crate::session::Session;
use crate::storage::{Storage, StorageError};

/// How many sessions are written at a time when the store ends.
const AT_ONCE: usize = 16;

impl Inner {
    /// Writes a session from now on.
    pub(super) fn adopt(self: &Arc<Self>, session: &Arc<Session>) -> Result<(), PersistError> {
        self.cache.lock().forget(session.id());
        self.tracks.own(session)?;
        if session.is_detached() {
            // It left before it was owned, so nobody told.
            self.release_later(session);
        } else if !session.is_empty() {
            self.write_later(session);
        }
        Ok(())
    }

    /// Opens a window in which events are gathered, if none is open. Later events do not extend it.
    pub(super) fn write_later(self: &Arc<Self>, session: &Arc<Session>) {
        let Some(gathering) = self.tracks.gather(session) else { return };
        let (inner, session) = (self.clone(), session.clone());
        let writing = async move {
            if tokio::time::timeout(inner.delay, gathering.closed).await.is_ok() {
                return;
            }
            let Some(track) = inner.tracks.of(&session) else { return };
            if !track.expire_window(gathering.number) {
                return;
            }
            let failure = match track.again().turn().await {
                Ok(turn) => inner.write(turn, &session).await.err(),
                Err(error) => Some(error),
            };
            if let Some(error) = failure
                && track.failed_anew()
            {
                tracing::warn!(
                    session = session.id(),
                    error = &error as &dyn std::error::Error,
                    "cannot write the session; it is tried again with the next event"
                );
            }
        };
        // Where the plugin is going already, its end writes what is left.
        let _ = self.ctx.spawn("write a session", writing);
    }

    /// Writes a live session until nothing is left, also of what is added meanwhile.
    pub(super) async fn write_all(self: &Arc<Self>, session: &Arc<Session>) -> Result<(), PersistError> {
        if self.tracks.of(session).is_none() && !session.is_detached() {
            // It is in the store, and its creation has not reached this listener yet.
            self.adopt(session)?;
        }
        while let Some(track) = self.tracks.of(session) {
            let turn = track.turn().await?;
            if !turn.work.is_behind(session, session.len()) {
                return Ok(());
            }
            self.write(turn, session).await?;
        }
        self.write_left(session).await
    }

    /// Writes the end of a session that has left the store, if that was not done.
    async fn write_left(self: &Arc<Self>, session: &Arc<Session>) -> Result<(), PersistError> {
        let Some(track) = self.tracks.of_left(session) else { return Ok(()) };
        let turn = track.turn().await?;
        self.in_turn(turn, |inner, turn| drain(&*inner.storage, turn, true)).await
    }

    /// Writes what there is now of a live session. The turn goes along: whoever stops waiting, the write ends.
    async fn write(self: &Arc<Self>, turn: Turn, session: &Arc<Session>) -> Result<(), PersistError> {
        let session = session.clone();
        self.in_turn(turn, move |inner, turn| {
            // A failure is told there; it is this session's only if that has left meanwhile.
            let drained = drain(&*inner.storage, turn, false);
            if !turn.track.is_of(&session) {
                return drained;
            }
            turn.track.close_window();
            let result = turn.work.write(&*inner.storage, &session, session.len());
            turn.track.wrote(result.is_ok());
            result
        })
        .await
    }

    /// A session has left the store: what is left of it is written, then its claim is given up.
    pub(super) fn release_later(self: &Arc<Self>, session: &Arc<Session>) {
        let Some(track) = self.tracks.leave(session) else { return };
        let (inner, id) = (self.clone(), session.id().to_owned());
        let releasing = async move {
            let Ok(turn) = track.turn().await else { return };
            let released = inner.in_turn(turn, |inner, turn| {
                // Told where it happened.
                let _ = drain(&*inner.storage, turn, false);
                Ok(())
            });
            if let Err(error) = released.await {
                tracing::warn!(
                    session = id,
                    error = &error as &dyn std::error::Error,
                    "cannot write the end of the session; it is tried again when the store ends"
                );
            }
        };
        // Where the plugin is going already, its end does it.
        let _ = self.ctx.spawn("write the end of a session", releasing);
    }

    /// Ends the taking of turns, writes what is left of all sessions, several at a time so that one that hangs holds up no
    /// other, and closes the storage. Gives all failures as one.
    pub(super) async fn close(self: Arc<Self>) -> Result<(), BoxError> {
        let gate = Arc::new(Semaphore::new(AT_ONCE));
        let mut ends = JoinSet::new();
        for track in self.tracks.end() {
            let (inner, gate) = (self.clone(), gate.clone());
            ends.spawn(async move {
                let _place = gate.acquire_owned().await;
                inner.end(track).await
            });
        }
        let mut failures = Vec::new();
        while let Some(ended) = ends.join_next().await {
            match ended {
                Ok(failed) => failures.extend(failed),
                Err(error) => failures.push(error.to_string()),
            }
        }
        failures.sort();
        let mut open = self.open.clone().write_owned().await;
        let storage = self.storage.clone();
        let closing = spawn_blocking(move || {
            *open = false;
            storage.close()
        });
        match closing.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => failures.push(chain(&error)),
            Err(error) => failures.push(error.to_string()),
        }
        match failures.is_empty() {
            true => Ok(()),
            false => Err(failures.join("; ").into()),
        }
    }

    /// Writes what there is of a track's sessions by now, and lets it go.
    async fn end(self: &Arc<Self>, track: Use) -> Vec<String> {
        let id = track.id().to_owned();
        let ended = match track.turn().await {
            Ok(turn) => {
                let ending = move |inner: &Arc<Inner>, turn: &mut Turn| Ok(end(&*inner.storage, turn));
                self.in_turn(turn, ending).await
            }
            Err(error) => Err(error),
        };
        let failures = ended.unwrap_or_else(|error| vec![error]);
        failures.iter().map(|error| format!("`{id}`: {}", chain(error))).collect()
    }

    /// Makes a call that may block, in a turn that lasts as long as the call, whoever stops waiting for it.
    pub(super) async fn in_turn<T: Send + 'static>(
        self: &Arc<Self>,
        mut turn: Turn,
        call: impl FnOnce(&Arc<Self>, &mut Turn) -> Result<T, PersistError> + Send + 'static,
    ) -> Result<T, PersistError> {
        let inner = self.clone();
        let called = spawn_blocking(move || call(&inner, &mut turn));
        called.await.map_err(|error| PersistError::Panicked { reason: error.to_string() })?
    }

    /// Makes a call that may block and is about no session.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        call: impl FnOnce(&dyn Storage) -> Result<T, StorageError> + Send + 'static,
    ) -> Result<T, PersistError> {
        let open = self.open.clone().read_owned().await;
        let storage = self.storage.clone();
        let called = spawn_blocking(move || if *open { Some(call(&*storage)) } else { None });
        let called = called.await.map_err(|error| PersistError::Panicked { reason: error.to_string() })?;
        Ok(called.ok_or(PersistError::Closed)??)
    }
}

/// Writes the ends of the sessions that have left, and gives up what was claimed for them; with `again` also where that
/// was tried in vain. Gives the first failure; each session's first one is told.
pub(super) fn drain(storage: &dyn Storage, turn: &mut Turn, again: bool) -> Result<(), PersistError> {
    let mut result = Ok(());
    for left in turn.track.all_left() {
        if left.tried && !again {
            continue;
        }
        // Noted before, for a storage that panics.
        turn.track.tried_left(&left);
        let written = turn.work.write(storage, &left.session, left.until);
        turn.work.give_up_of(&left.session);
        match &written {
            Ok(()) => turn.track.wrote_left(&left),
            Err(error) if !left.tried => tracing::warn!(
                session = left.session.id(),
                error = error as &dyn std::error::Error,
                "cannot write the end of the session; it is tried again when the store ends"
            ),
            Err(_) => {}
        }
        result = result.and(written);
    }
    result
}

/// Writes what there is of all sessions of a track, and gives up its claim for good.
fn end(storage: &dyn Storage, turn: &mut Turn) -> Vec<PersistError> {
    let mut failures = Vec::new();
    for left in turn.track.all_left() {
        match turn.work.write(storage, &left.session, left.until) {
            Ok(()) => turn.track.wrote_left(&left),
            Err(error) => failures.push(error),
        }
    }
    if let Some(session) = turn.track.session() {
        failures.extend(turn.work.write(storage, &session, session.len()).err());
    }
    turn.work.end();
    // Who waits for a reservation to end is to find out.
    turn.track.wake_waiters();
    failures
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
