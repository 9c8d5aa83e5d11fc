//! How often each agent has made the same call in a row.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use dashmap::DashMap;
use dsh_agent::Agent;
use dsh_session::Session;

/// How many agents there may be before those that are gone are looked for.
const FEW: usize = 64;

/// The counts of agents, by the numbers of their scopes: an agent that takes the id of another one is another one.
pub(crate) struct Chains {
    agents: DashMap<u64, Chain>,
    /// How many agents there must be for the next look.
    full_at: AtomicUsize,
}

/// The last call of an agent and how often it was made.
struct Chain {
    /// Tells whether the agent is still there.
    session: Weak<Session>,
    tool: String,
    arguments: String,
    count: u64,
}

impl Default for Chains {
    fn default() -> Self {
        Self { agents: DashMap::new(), full_at: AtomicUsize::new(FEW) }
    }
}

impl Chains {
    /// Counts a call; gives how often it was made in a row, this time included.
    pub(crate) fn count(&self, agent: &Agent, tool: &str, arguments: &str) -> u64 {
        let id = agent.scope().id();
        if let Some(mut chain) = self.agents.get_mut(&id) {
            chain.add(tool, arguments);
            return chain.count;
        }
        self.make_room();
        let session = Arc::downgrade(agent.session());
        let new = || Chain { session, tool: tool.to_owned(), arguments: arguments.to_owned(), count: 0 };
        let mut chain = self.agents.entry(id).or_insert_with(new);
        chain.add(tool, arguments);
        chain.count
    }

    pub(crate) fn forget(&self, agent: &Agent) {
        self.agents.remove(&agent.scope().id());
    }

    /// Drops the counts of agents that went without being told of, so that there are never more than twice as many counts as
    /// live agents, or a few.
    fn make_room(&self) {
        if self.agents.len() < self.full_at.load(Ordering::Relaxed) {
            return;
        }
        self.agents.retain(|_, chain| chain.session.strong_count() > 0);
        self.full_at.store((2 * self.agents.len()).max(FEW), Ordering::Relaxed);
    }
}

impl Chain {
    fn add(&mut self, tool: &str, arguments: &str) {
        if (self.tool.as_str(), self.arguments.as_str()) == (tool, arguments) {
            self.count += 1;
        } else {
            (self.tool, self.arguments, self.count) = (tool.to_owned(), arguments.to_owned(), 1);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

    use cordis::App;
    use dsh_agent::testing::agent;
    use dsh_session::{CreateSession, SessionStore};

    use super::*;

    // spec: timeout-jobs-hooks/J13
    #[tokio::test]
    async fn counts_of_agents_that_are_gone_do_not_pile_up() {
        let (app, store, chains) = (App::new().unwrap(), SessionStore::new(), Chains::default());
        let mut stays = Vec::new();
        for round in 0..10 * FEW {
            let owner = app.scope().unwrap();
            let session = store.create(owner.context(), CreateSession::default()).unwrap();
            let (ada, _) = agent(&app, session).unwrap();
            assert_eq!(chains.count(&ada, "look", "{}"), 1);
            if round < 3 {
                stays.push((owner, ada));
            } else {
                owner.close().await;
            }
            assert!(chains.agents.len() <= FEW);
        }
        assert!(stays.iter().all(|(_, ada)| chains.count(ada, "look", "{}") == 2));
    }
}
