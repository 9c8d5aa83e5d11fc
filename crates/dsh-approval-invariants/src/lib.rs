//! The rules that the questions, outcomes and policies of a log keep, and a plugin that refuses what would break them.
//!
//! The service of approvals keeps them by itself, except that a turn may end while a question is open. Mounted next to it, the
//! plugin refuses the outcome then, and whatever others write in its name.
//!
//! Read `rule` (what there is to break), `progress` (which questions are open), `checker` (one progress per live session).
//!
//! **Architecture Invariant:** a session is judged by what its log holds, never by what was let pass. An event that a later
//! validator refuses leaves no trace here.

mod checker;
mod progress;
mod rule;

use std::sync::Arc;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_session::{APPENDING, Appending, CREATED, DISPOSED, SESSIONS, Session, SessionStore};

pub use progress::check;
pub use rule::{Rule, Violation};

use checker::Checker;

cordis::catalog!(plugin);

/// Checks the sessions of every agent, or those of the agent whose context the plugin is mounted on.
///
/// A session whose seed breaks a rule is not created, and an event that breaks one is not appended; the error's source is a
/// [`Violation`]. The plugin does not load while a live session's log breaks a rule.
pub fn plugin() -> impl Plugin<Config = ()> {
    define("approval-invariants").needs(SESSIONS).run(apply)
}

async fn apply(ctx: &Context, sessions: Handle<SessionStore>, _config: &()) -> Result<(), BoxError> {
    let checker = Arc::new(Checker::default());
    ctx.on(CREATED).with(checker.clone()).run(|checker: &Arc<Checker>, session: &Arc<Session>| {
        checker.replay(session)?;
        Ok(())
    })?;
    ctx.on(APPENDING).with(checker.clone()).run(|checker: &Arc<Checker>, appending: &Appending| {
        checker.judge(&appending.session, &appending.event)?;
        Ok(())
    })?;
    ctx.on(DISPOSED).with(checker.clone()).run(|checker: &Arc<Checker>, session: &Arc<Session>| {
        checker.forget(session);
    })?;
    // After the listeners: an event that is added meanwhile is judged by one of the two.
    for session in sessions.get()?.list() {
        if is_heard(ctx, &session) {
            checker.replay(&session)?;
        }
    }
    Ok(())
}

/// Whether the listeners of this context hear of the session.
fn is_heard(ctx: &Context, session: &Session) -> bool {
    let Some(own) = ctx.scope_key() else { return true };
    session.owner().is_some_and(|owner| owner.chain().contains(own))
}
