//! The service: who may change a title, and when.

use std::sync::Arc;

use cordis::{BoxError, Handle};
use dsh_session::{AppendError, Event, NewEvent, NotLossless, Session, SessionStore};
use parking_lot::Mutex;
use thiserror::Error;

use crate::config::Config;
use crate::normal::{first_words, normalized};
use crate::title::{SessionTitle, said, title_of};

/// The titles of live sessions: given by the user, or made anew.
pub struct SessionTitles {
    sessions: Handle<SessionStore>,
    config: Config,
    /// The ids of the sessions whose title is being made anew right now, once for each caller.
    refreshing: Mutex<Vec<String>>,
}

/// Why a title was not given. The session is as it was.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RenameError {
    /// Nothing of the title can be seen.
    ///
    /// Source: `SessionTitleInvalidError`.
    #[error("nothing of this title can be seen: a title is a line of text")]
    Invalid,
    /// The session is not in the store.
    #[error("session `{id}` is not live: it cannot be renamed")]
    NotLive {
        /// The session.
        id: String,
    },
    /// The event was not added.
    #[error("session `{id}` was not renamed")]
    NotAdded {
        /// The session.
        id: String,
        /// Why.
        #[source]
        source: BoxError,
    },
}

/// Why a title was not made anew. The session is as it was.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RefreshError {
    /// The user has not said anything that can be seen.
    #[error("session `{id}` has no message of the user that a title could be made from")]
    NothingSaid {
        /// The session.
        id: String,
    },
    /// The session is not in the store.
    #[error("session `{id}` is not live: its title cannot be made anew")]
    NotLive {
        /// The session.
        id: String,
    },
    /// The event was not added.
    #[error("the title of session `{id}` was not made anew")]
    NotAdded {
        /// The session.
        id: String,
        /// Why.
        #[source]
        source: BoxError,
    },
}

/// A title came too late: the session has one that it must not take the place of.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("session `{id}` is called {title:?} already, and only the user changes that")]
pub struct OutOfTurn {
    /// The session.
    pub id: String,
    /// Its title.
    pub title: String,
}

impl SessionTitles {
    pub(crate) fn new(sessions: Handle<SessionStore>, config: Config) -> Self {
        Self { sessions, config, refreshing: Mutex::default() }
    }

    /// Gives the session the user's title, normalized and cut to the limit, and pins it: nothing that makes titles by
    /// itself changes it any more, even if it was begun before.
    ///
    /// # Errors
    /// Nothing of the title can be seen, the session is not live, or the event was not added.
    pub fn rename(&self, session: &Arc<Session>, title: &str) -> Result<SessionTitle, RenameError> {
        let title = normalized(title, self.config.max_title_bytes.get());
        if title.is_empty() {
            return Err(RenameError::Invalid);
        }
        let id = || session.id().to_owned();
        if !self.is_live(session) {
            return Err(RenameError::NotLive { id: id() });
        }
        let title = SessionTitle::of_user(title);
        add(session, &title).map_err(|error| RenameError::NotAdded { id: id(), source: error.into() })?;
        Ok(title)
    }

    /// Makes the session's title anew from what the user said first, also if the user gave the one that it has: this alone
    /// takes a pin away.
    ///
    /// # Errors
    /// The user has said nothing, the session is not live, or the event was not added.
    pub fn refresh(&self, session: &Arc<Session>) -> Result<SessionTitle, RefreshError> {
        let id = || session.id().to_owned();
        if !self.is_live(session) {
            return Err(RefreshError::NotLive { id: id() });
        }
        let title = self.made_from_first(session).ok_or_else(|| RefreshError::NothingSaid { id: id() })?;
        let _refreshing = Refreshing::of(&self.refreshing, session);
        add(session, &title).map_err(|error| RefreshError::NotAdded { id: id(), source: error.into() })?;
        Ok(title)
    }

    /// The title that the session gets when nobody gives it one.
    pub(crate) fn made_from_first(&self, session: &Session) -> Option<SessionTitle> {
        let (seq, line) = session.events().iter().find_map(|event| said(event))?;
        let Config { fallback_max_words, fallback_max_bytes, .. } = self.config;
        let title = first_words(&line, fallback_max_words.get(), fallback_max_bytes.get());
        // Empty if the limit is less than the first character.
        (!title.is_empty()).then(|| SessionTitle::fallback(title, seq))
    }

    /// Whether a title may be added to the log as it is now; other events may.
    pub(crate) fn admit(&self, session: &Session, event: &Event) -> Result<(), BoxError> {
        let Some(title) = event.payload::<SessionTitle>()? else { return Ok(()) };
        if title.is_pinned() || self.refreshing.lock().iter().any(|id| id == session.id()) {
            return Ok(());
        }
        let gives_way = |now: &SessionTitle| !now.is_pinned() && !title.is_fallback();
        match title_of(session).filter(|now| !gives_way(now)) {
            None => Ok(()),
            Some(now) => Err(OutOfTurn { id: session.id().to_owned(), title: now.title().to_owned() }.into()),
        }
    }

    /// Whether the session is live; none is when the store is gone.
    pub(crate) fn is_live(&self, session: &Arc<Session>) -> bool {
        self.sessions.get().is_ok_and(|store| store.is_live(session))
    }
}

impl std::fmt::Debug for SessionTitles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionTitles").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Why a title's event was not added.
#[derive(Debug, Error)]
pub(crate) enum AddError {
    #[error(transparent)]
    Data(#[from] NotLossless),
    #[error(transparent)]
    Append(#[from] AppendError),
}

impl AddError {
    /// Whether the session has a title that stands.
    pub(crate) fn is_out_of_turn(&self) -> bool {
        matches!(self, Self::Append(AppendError::Refused { source, .. }) if source.is::<OutOfTurn>())
    }
}

pub(crate) fn add(session: &Arc<Session>, title: &SessionTitle) -> Result<(), AddError> {
    session.append(NewEvent::new(title)?)?;
    Ok(())
}

/// Lets a title of the session take the place of any, until it is dropped.
struct Refreshing<'t> {
    all: &'t Mutex<Vec<String>>,
    id: &'t str,
}

impl<'t> Refreshing<'t> {
    fn of(all: &'t Mutex<Vec<String>>, session: &'t Session) -> Self {
        all.lock().push(session.id().to_owned());
        Self { all, id: session.id() }
    }
}

impl Drop for Refreshing<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        if let Some(place) = all.iter().position(|id| id == self.id) {
            all.swap_remove(place);
        }
    }
}
