//! Which agents work, and how often each was woken without a word of its user.
//!
//! **Invariants**
//! 1. An agent is its scope: another one of the same session later is another one.
//! 2. No lock is held while an agent is spoken to.
//!
//! **Lock order**: one lock, under which no foreign code runs.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use dsh_agent::{Agent, AgentStatus, StatusChange};
use dsh_session::Session;
use parking_lot::Mutex;

/// How many agents there may be before those that are gone are looked for.
const FEW: usize = 64;

/// What is known of agents.
#[derive(Default)]
pub(crate) struct Wakes {
    agents: Mutex<Agents>,
}

#[derive(Default)]
struct Agents {
    known: HashMap<u64, Known>,
    /// How many there were when those that are gone were looked for.
    kept: usize,
}

/// What is known of one agent.
struct Known {
    /// Tells whether the agent is still there.
    session: Weak<Session>,
    /// The last that was told; nothing yet since the plugin began.
    status: Option<AgentStatus>,
    /// How many wakes are under way: who is being woken is not idle any more.
    waking: u64,
    /// How many wakes there were since the user spoke.
    spent: u64,
}

/// A wake that is under way. Unless it is [kept](Wake::keep) it did not take place.
pub(crate) struct Wake<'a> {
    wakes: &'a Wakes,
    agent: &'a Agent,
    kept: bool,
}

impl Wakes {
    /// A wake of an idle agent that has one left of `most`.
    pub(crate) fn begin<'a>(&'a self, agent: &'a Agent, most: u64) -> Option<Wake<'a>> {
        let told = self.with(agent, |known| known.status);
        let idle_by_log = told.is_none() && agent.session().open_turn().is_none();
        self.with(agent, |known| {
            let idle = known.status.map_or(idle_by_log, |status| status == AgentStatus::Idle);
            if !idle || known.waking > 0 || known.spent >= most {
                return None;
            }
            known.waking += 1;
            known.spent += 1;
            Some(Wake { wakes: self, agent, kept: false })
        })
    }

    pub(crate) fn status(&self, change: &StatusChange) {
        self.with(&change.agent, |known| known.status = Some(change.status));
    }

    /// The agent takes up what its user said.
    pub(crate) fn user_spoke(&self, agent: &Agent) {
        self.with_known(agent, |known| known.spent = 0);
    }

    pub(crate) fn forget(&self, agent: &Agent) {
        self.agents.lock().known.remove(&agent.scope().id());
    }

    fn with<R>(&self, agent: &Agent, look: impl FnOnce(&mut Known) -> R) -> R {
        let mut agents = self.agents.lock();
        let id = agent.scope().id();
        if !agents.known.contains_key(&id) {
            agents.make_room();
        }
        let new = || Known { session: Arc::downgrade(agent.session()), status: None, waking: 0, spent: 0 };
        look(agents.known.entry(id).or_insert_with(new))
    }

    /// As [`with`](Self::with), for what is news only of an agent that is known: one that was forgotten stays so.
    fn with_known(&self, agent: &Agent, look: impl FnOnce(&mut Known)) {
        if let Some(known) = self.agents.lock().known.get_mut(&agent.scope().id()) {
            look(known);
        }
    }
}

impl Agents {
    /// Drops what is known of agents that went without being told of, so that there are never more than twice as many as live
    /// ones, or a few.
    fn make_room(&mut self) {
        if self.known.len() < (2 * self.kept).max(FEW) {
            return;
        }
        self.known.retain(|_, known| known.session.strong_count() > 0);
        self.kept = self.known.len();
    }
}

impl Wake<'_> {
    /// It took place.
    pub(crate) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Wake<'_> {
    fn drop(&mut self) {
        let refund = u64::from(!self.kept);
        self.wakes.with_known(self.agent, |known| {
            known.waking = known.waking.saturating_sub(1);
            known.spent = known.spent.saturating_sub(refund);
        });
    }
}

#[cfg(test)]
mod tests;
