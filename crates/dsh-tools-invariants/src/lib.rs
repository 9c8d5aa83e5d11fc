//! The rules that tool calls and their logs keep, and a plugin that tells at once when one is broken.
//!
//! A pipeline that is right needs no checker. Mounted next to one that is being written, the plugin fails a call whose stations
//! come in a wrong order, reports a result that is told twice, and refuses what a log must not say of nested calls.
//!
//! Read `rule` (what there is to break), `stations` (where each execution is), `watch` (the listeners that see it),
//! `progress` (the same for logs).
//!
//! **Architecture Invariant:** a session is judged by what its log holds, never by what was let pass. An event that a later
//! validator refuses leaves no trace here.

mod progress;
mod rule;
mod stations;
#[cfg(feature = "testing")]
pub mod testing;
mod watch;

use std::sync::Arc;

use cordis::{BoxError, Context, Plugin, define};
use dsh_session::enforce_rules;

pub use progress::check;
pub use rule::{Rule, Subject, Violation};

use progress::Progress;
use watch::{Tell, Watch};

cordis::catalog!(plugin);

/// Checks the calls and sessions of every agent, or those of the agent whose context the plugin is mounted on.
///
/// A call that comes to a station out of order fails there, before any other listener hears of it, with the [`Violation`]'s
/// text. A result that is told twice, or of a call without a name or an id, is reported
/// ([`keys::ERROR`](cordis::keys::ERROR)) and told all the same. A session whose seed breaks a rule is not created, and an event that
/// breaks one is not appended; the error's source is a [`Violation`]. The plugin does not load while a live session's
/// log breaks a rule.
///
/// Calls that are under way when it loads, whose beginning it has not seen, seem out of order to it: load it before them.
pub fn plugin() -> impl Plugin<Config = ()> {
    define("tools-invariants").run(async |ctx: &Context, (): (), _config: &()| start(ctx, Arc::new(|_| {})))
}

/// The store of sessions is no need: calls are watched without one, and one that is replaced is no reason to forget them.
fn start(ctx: &Context, tell: Tell) -> Result<(), BoxError> {
    watch::mount(&Arc::new(Watch::new(ctx, Arc::clone(&tell))))?;
    enforce_rules::<Progress>(ctx, move |violation| tell(violation))
}
