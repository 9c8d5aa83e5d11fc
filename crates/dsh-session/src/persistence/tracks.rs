//! The table of the sessions that are written or worked on.
//!
//! **Invariants**
//! 1. There is never a second track of an id while somebody holds the first: who takes one counts himself in under the
//!    lock of the table, and only a track that nobody holds is removed under it.
//! 2. After [`Tracks::end`] nobody gets a turn.
//!
//! **Lock order** table → notes of a track.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use dashmap::DashMap;
use tokio::sync::OwnedMutexGuard;

use super::PersistError;
use super::track::{Gathering, Track};
use super::work::Work;
use crate::session::Session;

#[derive(Default)]
pub(super) struct Tracks {
    known: DashMap<String, Arc<Track>>,
    ended: AtomicBool,
}

/// A track that stays in the table while this lives.
pub(super) struct Use {
    track: Arc<Track>,
    tracks: Arc<Tracks>,
}

/// A caller's turn to work on a session. The order of fields matters: the turn ends before the track is let go.
pub(super) struct Turn {
    pub(super) work: OwnedMutexGuard<Work>,
    pub(super) track: Use,
}

impl Tracks {
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// The live session of an id.
    pub(super) fn live(&self, id: &str) -> Option<Arc<Session>> {
        self.known.get(id)?.session()
    }

    /// The track of an id, made if there is none.
    pub(super) fn enter(self: &Arc<Self>, id: &str) -> Result<Use, PersistError> {
        let track = match self.known.get(id) {
            Some(known) => self.hold(&known),
            None => self.hold(&self.known.entry(id.to_owned()).or_insert_with(|| Arc::new(Track::new(id)))),
        };
        if self.ended.load(SeqCst) { Err(PersistError::Closed) } else { Ok(track) }
    }

    /// The track of a live session, if it is written here.
    pub(super) fn of(self: &Arc<Self>, session: &Arc<Session>) -> Option<Use> {
        let known = self.known.get(session.id())?;
        known.is_of(session).then(|| self.hold(&known))
    }

    /// The track of a session that has left and whose end is not written.
    pub(super) fn of_left(self: &Arc<Self>, session: &Arc<Session>) -> Option<Use> {
        let known = self.known.get(session.id())?;
        known.has_left(session).then(|| self.hold(&known))
    }

    fn hold(self: &Arc<Self>, track: &Arc<Track>) -> Use {
        track.join();
        Use { track: track.clone(), tracks: self.clone() }
    }

    /// The session is live from now on.
    pub(super) fn own(&self, session: &Arc<Session>) -> Result<(), PersistError> {
        let id = session.id();
        self.known.entry(id.to_owned()).or_insert_with(|| Arc::new(Track::new(id))).own(session)
    }

    /// The session is not live any more; the track that has to write its end.
    pub(super) fn leave(self: &Arc<Self>, session: &Arc<Session>) -> Option<Use> {
        let known = self.known.get(session.id())?;
        known.leave(session).then(|| self.hold(&known))
    }

    /// Opens a window for the events of a live session, if none is open.
    pub(super) fn gather(&self, session: &Arc<Session>) -> Option<Gathering> {
        let known = self.known.get(session.id())?;
        if known.is_of(session) { known.open_window() } else { None }
    }

    /// Ends the taking of tracks, and gives those that there are.
    pub(super) fn end(self: &Arc<Self>) -> Vec<Use> {
        self.ended.store(true, SeqCst);
        self.known.iter().map(|known| self.hold(&known)).collect()
    }
}

impl Use {
    /// Waits for this caller's turn.
    ///
    /// # Errors
    /// The store has ended meanwhile.
    pub(super) async fn turn(self) -> Result<Turn, PersistError> {
        let work = self.track.work().await;
        let turn = Turn { work, track: self };
        if turn.work.is_over() { Err(PersistError::Closed) } else { Ok(turn) }
    }

    /// Another hold of the same track.
    pub(super) fn again(&self) -> Self {
        self.track.join();
        Self { track: self.track.clone(), tracks: self.tracks.clone() }
    }
}

impl std::ops::Deref for Use {
    type Target = Track;

    fn deref(&self) -> &Track {
        &self.track
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        self.track.quit();
        self.tracks
            .known
            .remove_if(self.track.id(), |_, known| Arc::ptr_eq(known, &self.track) && known.is_idle());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_track_that_somebody_holds_stays_in_the_table_and_is_the_only_one_of_its_id() {
        let tracks = Arc::new(Tracks::default());
        let (Ok(one), Ok(two)) = (tracks.enter("s"), tracks.enter("s")) else { panic!("not ended") };
        assert!(Arc::ptr_eq(&one.track, &two.track));
        drop(one);
        assert_eq!(tracks.len(), 1);
        let again = two.again();
        drop(two);
        assert!(tracks.enter("s").is_ok_and(|three| Arc::ptr_eq(&three.track, &again.track)));
        drop(again);
        assert_eq!(tracks.len(), 0);
    }
}
