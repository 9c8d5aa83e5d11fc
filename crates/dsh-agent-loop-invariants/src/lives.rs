//! What was told of each agent.
//!
//! **Invariants**
//! 1. Nothing is kept of an agent that was told to be gone, and little of agents that went without.
//! 2. No agent is dropped under the lock.

use std::collections::HashMap;

use dsh_agent::{Agent, AgentStatus, WeakAgent};
use parking_lot::Mutex;

use crate::violation::Violation;

/// So many agents are never too many to remember.
const FEW: usize = 64;

/// What was told of each agent since it came, or since the plugin was mounted.
#[derive(Debug)]
pub(crate) struct Lives {
    table: Mutex<Table>,
}

#[derive(Debug)]
struct Table {
    lives: HashMap<WeakAgent, Life>,
    full_at: usize,
}

#[derive(Debug, Default)]
struct Life {
    coming: Coming,
    /// None where it is not known.
    status: Option<AgentStatus>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Coming {
    #[default]
    Untold,
    Told,
    /// It was there before there was anybody to be told.
    Before,
}

impl Default for Lives {
    fn default() -> Self {
        Self { table: Mutex::new(Table { lives: HashMap::new(), full_at: FEW }) }
    }
}

impl Lives {
    /// An agent was there when the plugin was mounted.
    pub(crate) fn was_there(&self, agent: &Agent) {
        self.with(agent, |life| {
            if life.coming == Coming::Untold {
                life.coming = Coming::Before;
            }
        });
    }

    pub(crate) fn comes(&self, agent: &Agent) -> Result<(), Violation> {
        self.with(agent, |life| {
            if life.coming == Coming::Told {
                return Err(Violation::CreatedAgain { agent: agent.id().to_string() });
            }
            life.coming = Coming::Told;
            // It begins so, and if it has been woken already that was told.
            life.status.get_or_insert(AgentStatus::Idle);
            Ok(())
        })
    }

    pub(crate) fn goes(&self, agent: &Agent) -> Result<(), Violation> {
        match self.forget(agent) {
            None | Some(Life { coming: Coming::Untold, .. }) => {
                Err(Violation::DisposedUnannounced { agent: agent.id().to_string() })
            }
            Some(Life { coming: Coming::Told | Coming::Before, .. }) => Ok(()),
        }
    }

    pub(crate) fn is(&self, agent: &Agent, status: AgentStatus) -> Result<(), Violation> {
        self.with(agent, |life| {
            if life.status.replace(status) != Some(status) {
                return Ok(());
            }
            let status = match status {
                AgentStatus::Idle => "idle",
                AgentStatus::Running => "running",
            };
            Err(Violation::StatusRepeated { agent: agent.id().to_string(), status })
        })
    }

    fn forget(&self, agent: &Agent) -> Option<Life> {
        self.table.lock().lives.remove(&agent.downgrade())
    }

    fn with<R>(&self, agent: &Agent, look: impl FnOnce(&mut Life) -> R) -> R {
        self.make_room();
        look(self.table.lock().lives.entry(agent.downgrade()).or_default())
    }

    /// Forgets agents that went without being told of, so that never more than twice as many are remembered as there are, or a few.
    fn make_room(&self) {
        let known: Vec<WeakAgent> = {
            let table = self.table.lock();
            if table.lives.len() < table.full_at {
                return;
            }
            table.lives.keys().cloned().collect()
        };
        // Whoever is looked up here may be gone when this is over, and goes where no lock is held.
        let gone: Vec<WeakAgent> = known.into_iter().filter(|agent| agent.upgrade().is_none()).collect();
        let mut table = self.table.lock();
        for agent in gone {
            table.lives.remove(&agent);
        }
        table.full_at = (2 * table.lives.len()).max(FEW);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

    use cordis::App;
    use dsh_agent::testing::agent;
    use dsh_session::Session;

    use super::*;

    #[tokio::test]
    async fn agents_that_go_without_being_told_of_do_not_pile_up() {
        let (app, lives) = (App::new().unwrap(), Lives::default());
        let mut stays = Vec::new();
        for round in 0..10 * FEW {
            let (ada, _) = agent(&app, Session::detached(format!("s-{round}"))).unwrap();
            lives.is(&ada, AgentStatus::Running).unwrap();
            if round < 3 {
                stays.push(ada);
            }
            assert!(lives.table.lock().lives.len() <= FEW);
        }
        assert!(stays.iter().all(|ada| lives.is(ada, AgentStatus::Running).is_err()));
    }

    #[tokio::test]
    async fn nothing_is_kept_of_an_agent_that_was_told_to_be_gone() {
        let (app, lives) = (App::new().unwrap(), Lives::default());
        let (ada, _) = agent(&app, Session::detached("ada")).unwrap();
        lives.comes(&ada).unwrap();
        lives.goes(&ada).unwrap();
        assert!(lives.table.lock().lives.is_empty());
    }
}
