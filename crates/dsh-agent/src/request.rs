//! A request to a model that is about to be made.

use cordis::BoxError;
use dsh_llm::CallConfig;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;

/// A request to a model that is about to be made; see [`REQUEST`](crate::REQUEST).
#[derive(Clone, Debug)]
pub struct AgentRequest {
    /// The agent.
    pub agent: Agent,
    /// The number of the turn, from 1.
    pub turn: u64,
    /// The number of the step in its turn, from 1.
    pub step: u64,
    /// Cancelled when the turn is.
    pub cancellation: CancellationToken,
}

/// With which settings a model is asked. An error fails the turn.
pub type Requested = Result<CallConfig, BoxError>;
