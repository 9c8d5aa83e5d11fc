//! Agents without a loop, for the tests of plugin authors (feature `testing`).

use std::sync::Arc;

use cordis::{BoxFuture, Context, Inactive};
use dsh_llm::{Message, Role};
use dsh_session::{CancelCause, Session};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::Target;
use crate::agent::{Agent, AgentParts};
use crate::driver::{Driver, NotIdle, Waiting, Wakeup};
use crate::inbox::{InboxError, Pending};
use crate::maintenance::Maintenance;
use crate::options::AgentOptions;
use crate::registry::{Agents, Entered};
use crate::status::AgentStatus;

/// A driver that does nothing: what is sent is kept, in order. Nothing of it is logged and nobody is woken.
#[derive(Debug, Default)]
pub struct MemoryDriver {
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

impl MemoryDriver {
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

impl Driver for MemoryDriver {
    fn send(
        &self,
        agent: &Agent,
        message: Arc<Message>,
        target: Target,
        wakeup: Wakeup,
    ) -> Result<(), InboxError> {
        let agent = || agent.id().to_string();
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

    fn status(&self) -> AgentStatus {
        AgentStatus::Idle
    }

    fn cancel(&self, _: &Agent, _: CancelCause, waiting: Waiting) -> Result<(), InboxError> {
        if waiting == Waiting::Clear {
            self.sent.lock().clear();
        }
        Ok(())
    }

    fn end(&self, _: &Agent) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    fn when_idle(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    fn maintain(&self, _: &Agent) -> Result<Maintenance, NotIdle> {
        Ok(Maintenance::new(CancellationToken::new(), || ()))
    }
}

/// A driver whose sends a test answers; it does nothing else.
#[derive(Debug)]
pub struct FnDriver<F>(pub F);

impl<F> Driver for FnDriver<F>
where
    F: Fn(&Agent, Arc<Message>, Target, Wakeup) -> Result<(), InboxError> + Send + Sync + 'static,
{
    fn send(
        &self,
        agent: &Agent,
        message: Arc<Message>,
        target: Target,
        wakeup: Wakeup,
    ) -> Result<(), InboxError> {
        (self.0)(agent, message, target, wakeup)
    }

    fn status(&self) -> AgentStatus {
        AgentStatus::Idle
    }

    fn cancel(&self, _: &Agent, _: CancelCause, _: Waiting) -> Result<(), InboxError> {
        Ok(())
    }

    fn end(&self, _: &Agent) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    fn when_idle(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    fn maintain(&self, _: &Agent) -> Result<Maintenance, NotIdle> {
        Ok(Maintenance::new(CancellationToken::new(), || ()))
    }
}

/// A registry whose agents come and go as a test says. Nobody is told of them.
#[derive(Debug, Default)]
pub struct MemoryAgents {
    agents: Arc<Agents>,
    entered: Mutex<Vec<(Agent, Entered)>>,
}

impl MemoryAgents {
    /// The registry, to be provided.
    #[must_use]
    pub fn service(&self) -> Arc<Agents> {
        Arc::clone(&self.agents)
    }

    /// Makes an agent live, and says who owns it.
    ///
    /// # Panics
    /// An agent of that id is live.
    #[allow(clippy::expect_used, reason = "a test ends by panicking")]
    pub fn add(&self, agent: &Agent, owner: Option<&Agent>) {
        let ctx = owner.map_or_else(|| agent.root().clone(), |owner| owner.context().clone());
        let entered = self.agents.enter(&ctx, agent).expect("no agent of that id is live");
        self.entered.lock().push((agent.clone(), entered));
    }

    /// Makes an agent live no longer.
    pub fn remove(&self, agent: &Agent) {
        let gone = {
            let mut entered = self.entered.lock();
            entered.iter().position(|(it, _)| it == agent).map(|at| entered.remove(at))
        };
        if let Some((_, entered)) = &gone {
            entered.detach();
        }
    }
}

/// An agent for a session, with a scope of its own below `ctx` and a driver that only keeps what is sent.
///
/// # Errors
/// The context is inactive.
pub fn agent(ctx: &Context, session: Arc<Session>) -> Result<(Agent, Arc<MemoryDriver>), Inactive> {
    let driver = Arc::new(MemoryDriver::default());
    Ok((Agent::new(parts(session, ctx.scope()?, driver.clone())), driver))
}

/// The parts of an agent for which nothing waits.
#[must_use]
pub fn parts(session: Arc<Session>, scope: cordis::Scope, driver: Arc<dyn Driver>) -> AgentParts {
    AgentParts { session, scope, pending: Pending::default(), driver, options: AgentOptions::default() }
}
