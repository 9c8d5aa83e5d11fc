//! The rules that the hooks of a log keep, and a plugin that refuses what would break them.
//!
//! A bridge that is right needs no checker. Mounted next to one that is being written, the plugin refuses a hook that is logged
//! outside of its turn, and an end without its beginning.
//!
//! Read `rule` (what there is to break), then `progress` (which hooks run).
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
    define("hooks-invariants").needs(SESSIONS).run(apply)
}

async fn apply(ctx: &Context, _: Handle<SessionStore>, _: &()) -> Result<(), BoxError> {
    enforce_rules::<Progress>(ctx, |_| {})
}
