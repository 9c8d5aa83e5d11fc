//! Work of an agent that failed.

use cordis::SharedError;

use crate::agent::Agent;

/// Work of an agent failed; see [`ERROR`](crate::ERROR).
#[derive(Clone, Debug)]
pub struct AgentFailure {
    /// The agent.
    pub agent: Agent,
    /// The number of the turn, from 1; of the one before if none was open, and 0 before the first.
    pub turn: u64,
    /// The number of the step in its turn, from 1; 0 before the first.
    pub step: u64,
    /// What failed.
    pub error: SharedError,
}
