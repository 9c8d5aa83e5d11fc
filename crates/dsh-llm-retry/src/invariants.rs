//! The rules that the retries of a log keep, and a plugin that refuses what would break them (feature `invariants`).
//!
//! Mounted next to a loop that is being written, the plugin refuses a retry that is logged outside of its step, and a beginning
//! without the retry that begins.
//!
//! Read `rule` (what there is to break), then `progress` (which retries there were).

mod progress;
mod rule;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_session::{SESSIONS, SessionStore, enforce_rules};

pub use progress::check;
pub use rule::{Rule, Violation};

use progress::Progress;

/// Checks the sessions of every agent, or those of the agent whose context the plugin is mounted on.
///
/// A session whose seed breaks a rule is not created, and an event that breaks one is not appended; the error's source is a
/// [`Violation`]. The plugin does not load while a live session's log breaks a rule.
pub fn plugin() -> impl Plugin<Config = ()> {
    define("llm-retry-invariants").needs(SESSIONS).run(apply)
}

async fn apply(ctx: &Context, _: Handle<SessionStore>, _: &()) -> Result<(), BoxError> {
    enforce_rules::<Progress>(ctx, |_| {})
}
