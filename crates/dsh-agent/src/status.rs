//! Whether an agent works.

use serde::{Deserialize, Serialize};

use crate::agent::Agent;

/// Whether an agent works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentStatus {
    /// No turn is open and none is about to be. Maintenance counts as idle.
    Idle,
    /// From the message that woke it to the end of the last turn that follows.
    Running,
}

/// An agent's status is another now; see [`STATUS`](crate::STATUS).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusChange {
    /// The agent.
    pub agent: Agent,
    /// What it is from now on.
    pub status: AgentStatus,
}
