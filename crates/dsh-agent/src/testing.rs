//! Agents without a loop, for the tests of plugin authors (feature `testing`).

use std::sync::Arc;

use cordis::{Context, Inactive};
use dsh_llm::{Message, Role};
use dsh_session::Session;
use parking_lot::Mutex;

use crate::Target;
use crate::agent::{Agent, AgentParts};
use crate::id::AgentId;
use crate::inbox::{Inbox, InboxError, Wakeup};
use crate::options::AgentOptions;
use crate::registry::AgentRegistry;

/// What was sent to an agent, in order. Nothing of it is logged and nobody is woken.
#[derive(Debug, Default)]
pub struct MemoryInbox {
    sent: Mutex<Vec<Sent>>,
}

/// One message that was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// The message.
    pub message: Arc<Message>,
    /// Where it waits.
    pub target: Target,
    /// Whether it was to wake the agent.
    pub wakeup: Wakeup,
}

impl MemoryInbox {
    /// What was sent so far.
    #[must_use]
    pub fn sent(&self) -> Vec<Sent> {
        self.sent.lock().clone()
    }

    /// What was sent since the last call.
    pub fn take(&self) -> Vec<Sent> {
        std::mem::take(&mut *self.sent.lock())
    }
}

impl Inbox for MemoryInbox {
    fn send(&self, message: Arc<Message>, target: Target, wakeup: Wakeup) -> Result<(), InboxError> {
        let agent = || "memory".to_owned();
        if message.role != Role::User {
            return Err(InboxError::NotUser { agent: agent(), message: message.id.clone() });
        }
        message.check().map_err(|source| InboxError::Invalid { agent: agent(), source })?;
        let mut sent = self.sent.lock();
        if sent.iter().any(|it| it.message.id == message.id) {
            return Err(InboxError::Pending { agent: agent(), message: message.id.clone() });
        }
        sent.push(Sent { message, target, wakeup });
        Ok(())
    }
}

/// The agents that a test says are live. Nobody is told of them.
#[derive(Debug, Default)]
pub struct MemoryAgents {
    live: Mutex<Vec<(Agent, Option<AgentId>)>>,
}

impl MemoryAgents {
    /// Makes an agent live, and says who owns it.
    pub fn add(&self, agent: &Agent, owner: Option<&Agent>) {
        self.live.lock().push((agent.clone(), owner.map(|owner| owner.id().clone())));
    }

    /// Makes an agent live no longer.
    pub fn remove(&self, agent: &Agent) {
        let mut live = self.live.lock();
        if let Some(at) = live.iter().position(|(it, _)| it == agent) {
            let gone = live.remove(at);
            drop(live);
            // Its scope may close with it.
            drop(gone);
        }
    }

    fn agents(&self, which: impl Fn(Option<&AgentId>) -> bool) -> Vec<Agent> {
        let live = self.live.lock();
        live.iter().filter(|(_, owner)| which(owner.as_ref())).map(|(agent, _)| agent.clone()).collect()
    }
}

impl AgentRegistry for MemoryAgents {
    fn get(&self, id: &AgentId) -> Option<Agent> {
        self.list().into_iter().find(|agent| agent.id() == id)
    }

    fn list(&self) -> Vec<Agent> {
        self.agents(|_| true)
    }

    fn roots(&self) -> Vec<Agent> {
        self.agents(|owner| owner.is_none())
    }

    fn is_owned_by(&self, id: &AgentId, owner: &AgentId) -> bool {
        self.live.lock().iter().any(|(agent, by)| agent.id() == id && by.as_ref() == Some(owner))
    }
}

/// An agent for a session, with a scope of its own below `ctx` and an inbox that only records.
///
/// # Errors
/// The context is inactive.
pub fn agent(ctx: &Context, session: Arc<Session>) -> Result<(Agent, Arc<MemoryInbox>), Inactive> {
    let inbox = Arc::new(MemoryInbox::default());
    let parts =
        AgentParts { session, scope: ctx.scope()?, inbox: inbox.clone(), options: AgentOptions::default() };
    Ok((Agent::new(parts), inbox))
}
