//! The table of live agents.

use std::collections::HashMap;

use cordis::ScopeKey;

use super::entry::EnterError;
use crate::agent::Agent;
use crate::id::AgentId;

/// The live agents, found by id and by scope.
#[derive(Default)]
pub(super) struct Table {
    live: HashMap<AgentId, Live>,
    scopes: HashMap<u64, AgentId>,
    numbers: u64,
}

struct Live {
    number: u64,
    agent: Agent,
    owner: Option<AgentId>,
}

impl Table {
    pub(super) fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    pub(super) fn enter(&mut self, agent: &Agent, owner: Option<AgentId>) -> Result<u64, EnterError> {
        let id = agent.id().clone();
        if self.live.contains_key(&id) {
            return Err(EnterError { agent: id.to_string() });
        }
        let number = self.next_number();
        self.scopes.insert(agent.scope().id(), id.clone());
        self.live.insert(id, Live { number, agent: agent.clone(), owner });
        Ok(number)
    }

    /// Takes an agent out, unless it is another one of that id by now. What is given is dropped where no lock is held.
    pub(super) fn leave(&mut self, id: &AgentId, number: u64) -> Option<Agent> {
        if self.live.get(id).is_none_or(|live| live.number != number) {
            return None;
        }
        let Live { agent, .. } = self.live.remove(id)?;
        self.scopes.remove(&agent.scope().id());
        Some(agent)
    }

    pub(super) fn get(&self, id: &AgentId) -> Option<Agent> {
        self.live.get(id).map(|live| live.agent.clone())
    }

    pub(super) fn of_scope(&self, scope: &ScopeKey) -> Option<Agent> {
        self.get(self.scopes.get(&scope.id())?)
    }

    pub(super) fn owner(&self, id: &AgentId) -> Option<&AgentId> {
        self.live.get(id)?.owner.as_ref()
    }

    pub(super) fn list(&self, which: impl Fn(Option<&AgentId>) -> bool) -> Vec<Agent> {
        let mut found: Vec<&Live> = self.live.values().filter(|live| which(live.owner.as_ref())).collect();
        found.sort_unstable_by_key(|live| live.number);
        found.into_iter().map(|live| live.agent.clone()).collect()
    }
}
