//! Which agents there are.

use crate::agent::Agent;
use crate::id::AgentId;

/// The agents that are live.
///
/// Who owns an agent is a matter of this process, the agent through whose context it was created; it says nothing about the
/// lineage of sessions.
pub trait AgentRegistry: Send + Sync {
    /// A live agent.
    fn get(&self, id: &AgentId) -> Option<Agent>;

    /// The live agents, in the order in which they were registered.
    fn list(&self) -> Vec<Agent>;

    /// Those that no agent owns, in the same order.
    fn roots(&self) -> Vec<Agent>;

    /// Whether a live agent is owned by another.
    fn is_owned_by(&self, id: &AgentId, owner: &AgentId) -> bool;
}
