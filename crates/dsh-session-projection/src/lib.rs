//! What is derived from session logs: units that fold events into a state, and one registry that keeps their states up to
//! date for every live session.
//!
//! A plugin implements [`Unit`] and registers it with the service [`PROJECTIONS`]; clients read [`Projections::snapshot`] and
//! hear of [`CHANGED`]. A state can be set aside as a row and taken up again, so that a long log need not be read from its
//! beginning.
//!
//! Read `unit` (what is folded), `keys`, `registry` (which units there are), `cell` (one state), `projections` (the service),
//! `rows` (states that were set aside), then `stats`, the one unit that is always there.
//!
//! The crate is a definition: units are implemented by the plugins of other crates, and clients are others again.
//!
//! **Architecture Invariant:** a state is a function of the log. Nothing but [`Unit::apply`] makes one from another, so it
//! does not matter who folds an event first, a reader or the append.
//!
//! **Architecture Invariant:** no lock is held while a unit's code runs. States are shared and never changed; a new one takes
//! the place of the old.

mod cell;
pub mod keys;
mod projections;
mod registry;
mod rows;
mod stats;
mod unit;

use std::sync::Arc;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_session::{DISPOSED, EVENT, SESSIONS, Session, SessionEvent, SessionStore};

pub use keys::{CHANGED, PROJECTIONS};
pub use projections::{Changed, Projections, Snapshot};
pub use registry::RegisterError;
pub use rows::{RestoreError, Restored, Row, Rows};
pub use stats::{Stats, StatsState, StatsUnit};
pub use unit::Unit;

cordis::catalog!(plugin);

/// Provides [`PROJECTIONS`], with the unit `sessionStats`.
pub fn plugin() -> impl Plugin<Config = ()> {
    define("session-projection").needs(SESSIONS).provides(PROJECTIONS).run(apply)
}

async fn apply(ctx: &Context, sessions: Handle<SessionStore>, _config: &()) -> Result<(), BoxError> {
    let projections = Arc::new(Projections::new(ctx.clone(), sessions));
    ctx.on(EVENT).with(projections.clone()).run(|projections: &Arc<Projections>, added: &SessionEvent| {
        projections.drive(added);
    })?;
    ctx.on(DISPOSED).with(projections.clone()).run(
        |projections: &Arc<Projections>, session: &Arc<Session>| {
            projections.forget(session);
        },
    )?;
    projections.register(ctx, StatsUnit)?;
    ctx.provide(PROJECTIONS, projections)?;
    Ok(())
}
