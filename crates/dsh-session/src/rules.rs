//! Rules that logs keep, and listeners that refuse what would break them: one progress per live session, brought up to date
//! before it is used.
//!
//! **Invariants**
//! 1. A progress holds what the log held when it was last looked at, and nothing else.
//! 2. A progress belongs to one session, not to an id: two sessions may have the same one.
//! 3. A progress is out of the table while it is used or dropped, so no lock is held then. Who does not find one makes it anew
//!    from the log.

use std::borrow::Borrow;
use std::error::Error;
use std::sync::{Arc, Weak};

use cordis::{BoxError, Context};
use dashmap::DashMap;

use crate::event::Event;
use crate::keys::{APPENDING, CREATED, DISPOSED, SESSIONS};
use crate::session::{Appending, Session};

/// How far a log has come, as far as some rules look at it. A fresh one is that of an empty log.
///
/// No lock is held while it is called or dropped. It looks at nothing but what it is given: it may be made anew from the log
/// at any time.
///
/// # Examples
/// ```
/// use dsh_session::{Event, LogProgress, NewEvent, Session, check_rules};
///
/// /// How many turns were started.
/// #[derive(Default)]
/// struct Turns(u64);
///
/// #[derive(Debug, thiserror::Error)]
/// #[error("more than one turn")]
/// struct TooMany;
///
/// impl LogProgress for Turns {
///     type Change = u64;
///     type Violation = TooMany;
///
///     fn judge(&self, _: &str, event: &Event) -> Result<u64, TooMany> {
///         let turns = self.0 + u64::from(event.kind() == "turn/start");
///         if turns > 1 { Err(TooMany) } else { Ok(turns) }
///     }
///
///     fn take(&mut self, _: &Event, turns: u64) {
///         self.0 = turns;
///     }
/// }
///
/// let session = Session::detached("s-1");
/// session.append(NewEvent::raw("turn/start", r#"{"turn":1}"#)?)?;
/// assert!(check_rules::<Turns, _>("s-1", session.events().iter()).is_ok());
/// session.append(NewEvent::raw("turn/start", r#"{"turn":2}"#)?)?;
/// assert!(check_rules::<Turns, _>("s-1", session.events().iter()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait LogProgress: Default + Send + Sync + 'static {
    /// What an event that may come next does.
    type Change;
    /// A rule that an event breaks.
    type Violation: Error + Send + Sync + 'static;

    /// What an event does, if it may come next in the log of this session.
    ///
    /// # Errors
    /// The rule that it would break.
    fn judge(&self, session: &str, event: &Event) -> Result<Self::Change, Self::Violation>;

    /// Takes the event that was judged last.
    fn take(&mut self, event: &Event, change: Self::Change);
}

/// Checks a whole log.
///
/// # Errors
/// The first event that breaks a rule.
pub fn check_rules<P: LogProgress, E: Borrow<Event>>(
    session: &str,
    events: impl IntoIterator<Item = E>,
) -> Result<(), P::Violation> {
    let mut progress = P::default();
    events.into_iter().try_for_each(|event| advance(&mut progress, session, event.borrow()))
}

/// Has the sessions that a context hears of keep the rules, as long as its plugin is loaded.
///
/// A session whose seed breaks a rule is not created, and an event that breaks one is not appended; the error's source is a
/// [`LogProgress::Violation`]. Each violation is told before it is returned; whoever is told must not use a session.
///
/// A session is judged by what its log holds, never by what was let pass. An event that a later validator refuses leaves no
/// trace.
///
/// # Errors
/// The log of a live session breaks a rule, or the context is inactive.
pub fn enforce_rules<P: LogProgress>(
    ctx: &Context,
    tell: impl Fn(&P::Violation) + Send + Sync + 'static,
) -> Result<(), BoxError> {
    let checker = Arc::new(Checker::<P> { watched: DashMap::new(), tell: Box::new(tell) });
    ctx.on(CREATED).with(checker.clone()).run(|checker: &Arc<Checker<P>>, session: &Arc<Session>| {
        checker.replay(session)?;
        Ok(())
    })?;
    ctx.on(APPENDING).with(checker.clone()).run(|checker: &Arc<Checker<P>>, appending: &Appending| {
        checker.judge(&appending.session, &appending.event)?;
        Ok(())
    })?;
    ctx.on(DISPOSED).with(checker.clone()).run(|checker: &Arc<Checker<P>>, session: &Arc<Session>| {
        checker.forget(session);
    })?;
    let sessions = ctx.get(SESSIONS);
    let Some(sessions) = sessions.as_ref().and_then(|sessions| sessions.get().ok()) else { return Ok(()) };
    // After the listeners: an event that is added meanwhile is judged by one of the two.
    for session in sessions.list() {
        if is_heard(ctx, &session) {
            checker.replay(&session)?;
        }
    }
    Ok(())
}

struct Checker<P: LogProgress> {
    watched: DashMap<String, Watched<P>>,
    tell: Tell<P::Violation>,
}

type Tell<V> = Box<dyn Fn(&V) + Send + Sync>;

struct Watched<P> {
    session: Weak<Session>,
    /// How many events the progress has taken.
    taken: usize,
    progress: P,
}

impl<P: LogProgress> Checker<P> {
    /// Takes what the session's log holds by now.
    fn replay(&self, session: &Arc<Session>) -> Result<(), P::Violation> {
        self.with(session, |_| Ok(()))
    }

    /// Whether an event may be added to the session's log.
    fn judge(&self, session: &Arc<Session>, event: &Event) -> Result<(), P::Violation> {
        self.with(session, |progress| progress.judge(session.id(), event).map(drop))
    }

    fn forget(&self, session: &Arc<Session>) {
        drop(self.watched.remove_if(session.id(), |_, watched| watched.is_of(session)));
    }

    fn with(
        &self,
        session: &Arc<Session>,
        look: impl FnOnce(&P) -> Result<(), P::Violation>,
    ) -> Result<(), P::Violation> {
        let known = self.watched.remove(session.id()).map(|(_, watched)| watched);
        let known = known.filter(|watched| watched.is_of(session));
        let mut watched = known.unwrap_or_else(|| Watched::new(session));
        let judged = watched.catch_up(session).and_then(|()| look(&watched.progress));
        drop(self.watched.insert(session.id().to_owned(), watched));
        if session.is_detached() {
            // That may have been told while the progress was out.
            self.forget(session);
        }
        judged.inspect_err(|violation| (self.tell)(violation))
    }
}

impl<P: LogProgress> Watched<P> {
    fn new(session: &Arc<Session>) -> Self {
        Self { session: Arc::downgrade(session), taken: 0, progress: P::default() }
    }

    fn is_of(&self, session: &Arc<Session>) -> bool {
        Weak::ptr_eq(&self.session, &Arc::downgrade(session))
    }

    fn catch_up(&mut self, session: &Session) -> Result<(), P::Violation> {
        for event in session.events().from(self.taken) {
            advance(&mut self.progress, session.id(), &event)?;
            self.taken += 1;
        }
        Ok(())
    }
}

fn advance<P: LogProgress>(progress: &mut P, session: &str, event: &Event) -> Result<(), P::Violation> {
    let change = progress.judge(session, event)?;
    progress.take(event, change);
    Ok(())
}

/// Whether the listeners of this context hear of the session.
fn is_heard(ctx: &Context, session: &Session) -> bool {
    let Some(own) = ctx.scope_key() else { return true };
    session.owner().is_some_and(|owner| owner.chain().contains(own))
}
