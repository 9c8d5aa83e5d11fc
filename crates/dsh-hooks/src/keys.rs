//! The name under which others hear of hooks.

use cordis::Emit;

use crate::ran::HookRan;

/// A hook has run, and its answer was read.
///
/// Dispatched by a bridge once per hook that was begun, also for one that was cancelled or could not be run, before anything
/// is done about the answer and before the next hook of the same moment begins; reaches listeners outside of scopes.
/// Listeners watch and change nothing; a panic of one is contained. Cancellation plays no part.
///
/// Not in the reference.
pub const RAN: Emit<HookRan> = Emit::new("hooks/ran");
