//! A turn that is about to end.

use tokio_util::sync::CancellationToken;

use crate::agent::Agent;

/// A turn that is about to end by itself; see [`TURN_STOPPING`](crate::TURN_STOPPING).
#[derive(Clone, Debug)]
pub struct TurnStopping {
    /// The agent.
    pub agent: Agent,
    /// The number of the turn, from 1.
    pub turn: u64,
    /// Cancelled when the turn is.
    pub cancellation: CancellationToken,
}
