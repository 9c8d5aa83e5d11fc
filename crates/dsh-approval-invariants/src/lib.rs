//! The rules that the questions, outcomes and policies of a log keep, and a plugin that refuses what would break them.
//!
//! The service of approvals keeps them by itself, except that a turn may end while a question is open. Mounted next to it, the
//! plugin refuses the outcome then, and whatever others write in its name.
//!
//! Read `rule` (what there is to break), then `progress` (which questions are open).
//!
//! **Architecture Invariant:** a session is judged by what its log holds, never by what was let pass. An event that a later
//! validator refuses leaves no trace here.

mod progress;
mod rule;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_session::{SESSIONS, SessionStore, enforce_rules};

pub use progress::check;
pub use rule::{Rule, Violation};

use progress::Progress;

cordis::catalog!(plugin);

/// Checks the sessions of every agent, or those of the agent whose context the plugin is mounted on.
///
/// A session whose seed breaks a rule is not created, and an event that breaks one is not appended; the error's source is a
/// [`Violation`]. The plugin does not load while a live session's log breaks a rule.
pub fn plugin() -> impl Plugin<Config = ()> {
    define("approval-invariants").needs(SESSIONS).run(apply)
}

async fn apply(ctx: &Context, _: Handle<SessionStore>, _: &()) -> Result<(), BoxError> {
    enforce_rules::<Progress>(ctx, |_| {})
}
