//! Which agents there are, and who makes them.
//!
//! **Invariants**
//! 1. An id is live once. It is free again when its agent is detached.
//! 2. An agent is announced once at most, and told to be gone exactly if its announcement began.
//! 3. No lock is held while listeners, or the factory, run.

mod entry;
mod factory;
mod table;

use std::sync::Arc;

use cordis::{BoxFuture, Context, Effect, Lent};
use parking_lot::Mutex;

use crate::agent::Agent;
use crate::id::AgentId;

pub use entry::{EnterError, Entered, RegisterError};
pub use factory::{
    AgentError, AgentFactory, AgentHandle, Commit, CreateAgent, FactoryError, ResumeAgent, Setup,
};
use table::Table;

/// The agents that are live, and the way to new ones.
///
/// Who owns an agent is a matter of this process, the agent through whose context it was created; it says nothing about the
/// lineage of sessions.
#[derive(Clone, Default)]
pub struct Agents {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    live: Mutex<Table>,
    factory: Mutex<Option<Factory>>,
}

#[derive(Clone)]
struct Factory {
    /// Which one it is: another one may take its place.
    number: u64,
    owner: String,
    lent: Lent<Arc<dyn AgentFactory>>,
}

impl Agents {
    /// A live agent.
    #[must_use]
    pub fn get(&self, id: &AgentId) -> Option<Agent> {
        self.shared.live.lock().get(id)
    }

    /// The live agents, in the order in which they were registered.
    #[must_use]
    pub fn list(&self) -> Vec<Agent> {
        self.shared.live.lock().list(|_| true)
    }

    /// Those that no agent owns, in the same order.
    #[must_use]
    pub fn roots(&self) -> Vec<Agent> {
        self.shared.live.lock().list(|owner| owner.is_none())
    }

    /// Whether a live agent is owned by another.
    #[must_use]
    pub fn is_owned_by(&self, id: &AgentId, owner: &AgentId) -> bool {
        self.shared.live.lock().owner(id).is_some_and(|by| by == owner)
    }

    /// The live agent whose context this is, or the nearest one above it.
    #[must_use]
    pub fn of(&self, ctx: &Context) -> Option<Agent> {
        let scopes = ctx.scope_key()?.chain();
        let live = self.shared.live.lock();
        scopes.iter().find_map(|scope| live.of_scope(scope))
    }

    /// Registers an agent that is made already, for as long as the context's plugin or scope lives, and tells of it. The agent
    /// whose context it is owns it.
    ///
    /// # Errors
    /// See [`RegisterError`].
    pub fn register(&self, ctx: &Context, agent: &Agent) -> Result<Effect, RegisterError> {
        let entered = Arc::new(self.enter(ctx, agent)?);
        let leaving = Arc::clone(&entered);
        let effect = ctx.effect(format!("agents.register({:?})", agent.id().as_str()), async move || {
            leaving.detach();
        });
        let effect = effect.inspect_err(|_| entered.detach())?;
        match entered.announce() {
            Ok(()) => Ok(effect),
            Err(source) => {
                entered.detach();
                effect.cancel();
                Err(RegisterError::Refused { agent: agent.id().to_string(), source })
            }
        }
    }

    /// Puts an agent among the live ones without telling anybody, for loops: see [`Entered::announce`]. The agent whose context
    /// `ctx` is owns it.
    ///
    /// # Errors
    /// The id is live.
    pub fn enter(&self, ctx: &Context, agent: &Agent) -> Result<Entered, EnterError> {
        let owner = self.of(ctx).map(|owner| owner.id().clone());
        let number = self.shared.live.lock().enter(agent, owner)?;
        Ok(Entered::new(Arc::clone(&self.shared), agent.clone(), number))
    }

    /// Has `factory` make the agents that are asked for, as long as the context's plugin lives. When it goes, what it is making is
    /// dropped.
    ///
    /// # Errors
    /// Something else makes them, or the context is inactive.
    pub fn serve(&self, ctx: &Context, factory: Arc<dyn AgentFactory>) -> Result<Effect, FactoryError> {
        let owner = ctx.fiber().label();
        ctx.effects("agents.serve()", |ctx| {
            let shared = Arc::clone(&self.shared);
            let (_, lent) = ctx.lend("factory of agents", factory)?;
            let number = {
                let mut slot = shared.factory.lock();
                if let Some(Factory { owner, .. }) = &*slot {
                    return Err(FactoryError::Taken { owner: owner.clone() });
                }
                let number = shared.live.lock().next_number();
                *slot = Some(Factory { number, owner: owner.clone(), lent });
                number
            };
            let gone = Arc::clone(&shared);
            let leaves = ctx.effect("the way to agents", async move || gone.unserve(number));
            leaves.inspect_err(|_| shared.unserve(number))?;
            Ok(())
        })
    }

    /// Creates an agent that lives as long as the context's plugin or scope. The agent whose context `ctx` is owns it.
    ///
    /// # Errors
    /// See [`AgentError`]: then nobody was told of it, or it has been told to be gone, and its id is free.
    ///
    /// # Cancel safety
    /// Dropping the future takes back what was made so far.
    ///
    /// # Examples
    /// ```no_run
    /// # use cordis::{BoxError, Context};
    /// # use std::sync::Arc;
    /// use dsh_agent::{AGENTS, CreateAgent};
    /// use dsh_llm::{ContentBlock, Message};
    ///
    /// # async fn ask(ctx: &Context) -> Result<(), BoxError> {
    /// let agents = ctx.get(AGENTS).ok_or("no agents")?;
    /// let agent = agents.get()?.clone().create(ctx, CreateAgent::new("reviewer")).await?;
    /// agent.followup(Arc::new(Message::user(vec![ContentBlock::text("Review the last change.")])))?;
    /// agent.when_idle().await;
    /// agent.dispose().await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn create(&self, ctx: &Context, request: CreateAgent) -> Result<AgentHandle, AgentError> {
        let owner = ctx.clone();
        self.made(move |factory| Arc::clone(factory).create(owner, request)).await
    }

    /// Has an agent go on with a session that is stored. Otherwise as [`create`](Self::create).
    ///
    /// # Errors
    /// See [`AgentError`].
    ///
    /// # Cancel safety
    /// As [`create`](Self::create).
    pub async fn resume(&self, ctx: &Context, request: ResumeAgent) -> Result<AgentHandle, AgentError> {
        let owner = ctx.clone();
        self.made(move |factory| Arc::clone(factory).resume(owner, request)).await
    }

    async fn made(
        &self,
        make: impl FnOnce(&Arc<dyn AgentFactory>) -> BoxFuture<'static, Result<AgentHandle, AgentError>>,
    ) -> Result<AgentHandle, AgentError> {
        let factory = self.shared.factory.lock().clone().ok_or(AgentError::NoLoop)?;
        let making =
            factory.lent.start(make).map_err(|refused| AgentError::LoopGone { source: refused.into() })?;
        making.await.map_err(|refused| AgentError::LoopGone { source: refused.into() })?
    }
}

impl Shared {
    fn unserve(&self, number: u64) {
        let mut slot = self.factory.lock();
        let gone =
            if slot.as_ref().is_some_and(|factory| factory.number == number) { slot.take() } else { None };
        drop(slot);
        drop(gone);
    }
}

impl std::fmt::Debug for Agents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agents").field("live", &self.list().len()).finish_non_exhaustive()
    }
}
