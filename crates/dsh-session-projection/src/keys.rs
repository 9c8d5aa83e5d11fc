//! The names under which the crate meets others: the registry of units, and the event of a changed value.

use cordis::{Emit, Key};

use crate::projections::{Changed, Projections};

/// What is derived from the logs of sessions.
pub const PROJECTIONS: Key<Projections> = Key::new("sessionProjection");

/// What clients see of a unit's state has changed with an event.
///
/// Dispatched on the appending thread, after the event was added, once for each unit that has a view and whose state the
/// event changed, in the order of registration; scope-filtered by the session's owner. Listeners watch and change nothing; a
/// panic of one is contained. Appending to the same session from here is refused, reading it is not. Events of a seed are
/// not told.
///
/// Source: `onChanged` of the reference's projection registry.
pub const CHANGED: Emit<Changed> =
    Emit::new("session-projection/changed").scoped_by(|changed| changed.session.owner());
