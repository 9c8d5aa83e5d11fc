//! The names under which the crate meets others: the store and the events of sessions.

use std::sync::Arc;

use cordis::{Announce, Emit, Key, Parallel};

use crate::persistence::SessionPersistence;
use crate::session::{Appending, Session, SessionEvent};
use crate::store::SessionStore;

/// The sessions that are live.
pub const SESSIONS: Key<SessionStore> = Key::new("sessions");

/// The sessions that are stored, and the writing of those that are live.
pub const PERSISTENCE: Key<SessionPersistence> = Key::new("sessionPersistence");

/// A session is in the store and can be found.
///
/// Dispatched once per session by [`SessionStore::create`]; scope-filtered by the session's owner. A listener that fails
/// has the session taken back, and its error is the creation's; listeners after it are not told, and
/// [`DISPOSED`] is. A session that is ended meanwhile leaves when all have heard; it takes events already. Cancellation
/// plays no part.
///
/// Source: event `session/created`.
pub const CREATED: Announce<Arc<Session>> =
    Announce::new("session/created").scoped_by(|session| session.owner());

/// An event is about to be added: the last word before it is.
///
/// Dispatched by [`Session::append`] on the appending thread; scope-filtered by the session's owner. The session does not
/// hold the event yet. A listener that fails keeps it out, and its error is the append's; those after it are not asked, so a
/// validator must not take what it has let pass for added. Appending to the same session from here is refused.
///
/// Source: the listeners of `internal/dispatch` that look at `session/event`.
pub const APPENDING: Announce<Appending> =
    Announce::new("session/appending").scoped_by(|it| it.session.owner());

/// An event was added.
///
/// Dispatched by [`Session::append`] on the appending thread, after the event is in the log; scope-filtered by the
/// session's owner. Listeners watch and change nothing; a panic of one is contained. Appending to the same session from here
/// is refused: leave it to a task. Events of a seed are not told.
///
/// Source: event `session/event`.
pub const EVENT: Emit<SessionEvent> = Emit::new("session/event").scoped_by(|it| it.session.owner());

/// Everything that was added so far is to be made durable.
///
/// Dispatched by [`SessionStore::flush`], which waits for all listeners; scope-filtered by the session's owner. A listener
/// that fails does not stop the others; the first failure, in the order of registration, is the flush's.
///
/// Source: event `session/flush`.
pub const FLUSH: Parallel<Arc<Session>> = Parallel::new("session/flush").scoped_by(|session| session.owner());

/// A session is no longer in the store.
///
/// Dispatched once per session that was announced; scope-filtered by the session's owner. A panic of a listener is
/// contained.
///
/// Source: event `session/disposed`.
pub const DISPOSED: Emit<Arc<Session>> = Emit::new("session/disposed").scoped_by(|session| session.owner());
