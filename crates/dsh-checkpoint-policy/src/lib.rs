//! No tool runs before the session that asked for it is durable.
//!
//! What a tool does to the world cannot be taken back. So the log that says that it was asked for is written first: after a
//! crash, whoever opens the session finds the call, and the model is told that its result is not known.
//!
//! Read `barrier` (what happens before a body), then `by_scope` (whose session a call belongs to).
//!
//! **Architecture Invariant:** the barrier fails closed. A session that could not be flushed runs no tool.
//!
//! **Architecture Invariant:** the barrier stands below every decision to refuse. `tools/pre-execute` and the guards are asked
//! before `tools/execute` begins, so a call that they refuse costs no flush. Within `tools/execute` it is put in front: it
//! is passed once per call however often a wrapper below runs the body again, and no deadline below it counts its time.

mod barrier;
mod by_scope;

use std::sync::Arc;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_session::{CREATED, DISPOSED, SESSIONS, Session, SessionStore};
use dsh_tools::EXECUTE;

pub use barrier::SESSION_FLUSH_FAILED;

use barrier::Barrier;
use by_scope::SessionsByScope;

cordis::catalog!(plugin);

/// Flushes the session of a call before the tool's body runs.
///
/// The session of a call is the live one that belongs to the call's scope, or else to the nearest scope above it. A call
/// without such a session is let through, and so is one that the body of another call makes: what it needs was flushed
/// for that one. If the flush fails the call fails with [`SESSION_FLUSH_FAILED`]; if the call is cancelled meanwhile, it is
/// aborted before dispatch and the flush no longer waited for.
pub fn plugin() -> impl Plugin<Config = ()> {
    define("checkpoint-policy").needs(SESSIONS).run(apply)
}

async fn apply(ctx: &Context, sessions: Handle<SessionStore>, _config: &()) -> Result<(), BoxError> {
    let by_scope = Arc::new(SessionsByScope::default());
    // Global: the session of a call may belong to a scope above the one that the plugin is mounted on. In front: a listener
    // of the creation may call a tool.
    ctx.on(CREATED).global().prepend().with(by_scope.clone()).run(
        |by_scope: &Arc<SessionsByScope>, session: &Arc<Session>| {
            by_scope.add(session);
            Ok(())
        },
    )?;
    ctx.on(DISPOSED).global().with(by_scope.clone()).run(
        |by_scope: &Arc<SessionsByScope>, session: &Arc<Session>| {
            by_scope.remove(session);
        },
    )?;
    {
        let store = sessions.get()?;
        for session in store.list() {
            by_scope.add(&session);
            // It may have left between the two, and then nobody tells of it any more.
            if !store.is_live(&session) {
                by_scope.remove(&session);
            }
        }
    }
    ctx.on(EXECUTE).prepend().with(Barrier { sessions, by_scope }).run(barrier::pass)?;
    Ok(())
}
