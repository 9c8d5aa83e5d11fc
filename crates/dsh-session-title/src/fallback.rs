//! The title that nobody asked for: added once, soon after the user has said something.

use std::sync::{Arc, Weak};

use cordis::Context;
use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use dsh_session::{Session, SessionEvent};

use crate::title::{said, title_of};
use crate::titles::{SessionTitles, add};

pub(crate) struct Fallback {
    ctx: Context,
    titles: Arc<SessionTitles>,
    /// The sessions that were seen to: they have a title, or a task is about to give them one.
    seen: Arc<DashMap<String, Weak<Session>>>,
}

impl Fallback {
    pub(crate) fn new(ctx: Context, titles: Arc<SessionTitles>) -> Self {
        Self { ctx, titles, seen: Arc::default() }
    }

    /// Looks at an event that was added. A session cannot be appended to from here, so a task of the plugin does that.
    pub(crate) fn consider(&self, added: &SessionEvent) {
        if said(&added.event).is_none() || !self.claim(&added.session) {
            return;
        }
        let (session, titles, seen) = (added.session.clone(), self.titles.clone(), self.seen.clone());
        let label = format!("title of session {:?}", session.id());
        let task = self.ctx.spawn(label, async move {
            if !give(&titles, &session) {
                // The next message is another chance.
                forget(&seen, &session);
            }
        });
        if task.is_err() {
            self.forget(&added.session);
        }
    }

    pub(crate) fn forget(&self, session: &Arc<Session>) {
        forget(&self.seen, session);
    }

    /// Whether the session is to be seen to, which it is once.
    fn claim(&self, session: &Arc<Session>) -> bool {
        let own = Arc::downgrade(session);
        match self.seen.entry(session.id().to_owned()) {
            Entry::Occupied(seen) if seen.get().ptr_eq(&own) => false,
            Entry::Occupied(mut seen) => {
                seen.insert(own);
                true
            }
            Entry::Vacant(seen) => {
                seen.insert(own);
                true
            }
        }
    }
}

/// Gives the session a title unless it has one; whether it has one then, or never will.
fn give(titles: &SessionTitles, session: &Arc<Session>) -> bool {
    if !titles.is_live(session) || title_of(session).is_some() {
        return true;
    }
    let Some(title) = titles.made_from_first(session) else { return true };
    match add(session, &title) {
        Ok(()) => true,
        Err(error) if error.is_out_of_turn() => true,
        Err(error) => {
            tracing::warn!(
                session = session.id(),
                error = &error as &dyn std::error::Error,
                "no title was given"
            );
            false
        }
    }
}

fn forget(seen: &DashMap<String, Weak<Session>>, session: &Arc<Session>) {
    let own = Arc::downgrade(session);
    seen.remove_if(session.id(), |_, seen| seen.ptr_eq(&own));
}
