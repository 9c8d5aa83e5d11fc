//! The making of agents: everything is set up before anybody hears of them, and taken back if it fails.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cordis::{BoxFuture, Context, Effect, Scope};
use dsh_agent::{
    Agent, AgentError, AgentFactory, AgentHandle, AgentOptions, AgentParts, Commit, CreateAgent, LoopDriver,
    Pending, ResumeAgent, SESSION_START, SessionSource, SessionStart, Setup,
};
use dsh_session::{PERSISTENCE, Session};
use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::life::{Ends, Life};
use crate::parts::Parts;
use crate::turns::Turns;

/// How long the end of an agent may take: what it does is told to stop and awaited.
pub(crate) const ENDING: Duration = Duration::from_secs(30);

/// Makes agents.
pub(crate) struct Maker {
    parts: Arc<Parts>,
    /// Cancelled when the loop goes: nothing is made any more.
    closing: CancellationToken,
    live: Arc<Mutex<Live>>,
}

/// The ends of the agents that were made.
#[derive(Default)]
struct Live {
    numbers: u64,
    /// None where the effect is still being made.
    ends: HashMap<u64, Option<Effect>>,
}

/// The place of an agent among those that were made; given up with the agent's end, whether that is done or was given up.
struct Listed {
    live: Arc<Mutex<Live>>,
    number: u64,
}

/// An agent that is being made; dropped before it is done, it is taken back.
struct Making {
    parts: Arc<Parts>,
    life: Arc<Life>,
    owner: Context,
    agent: Agent,
    end: Option<Effect>,
    /// Cancels the making.
    asked: CancellationToken,
    closing: CancellationToken,
}

impl Maker {
    pub(crate) fn new(parts: Arc<Parts>) -> Arc<Self> {
        Arc::new(Self { parts, closing: CancellationToken::new(), live: Arc::default() })
    }

    /// Ends every agent that was made, and makes no more.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        loop {
            // An agent whose effect is still being made finds out that the loop goes.
            let ends: Vec<Effect> = self.live.lock().ends.drain().filter_map(|(_, end)| end).collect();
            if ends.is_empty() {
                return;
            }
            join_all(ends.iter().map(Effect::dispose)).await;
        }
    }

    /// An agent for a session, without a set-up and without waiting.
    pub(crate) fn create_now(
        &self,
        owner: &Context,
        request: CreateAgent,
    ) -> Result<AgentHandle, AgentError> {
        let session = self.session(&request)?;
        let making = self.begin(owner, &session, request.options, request.cancellation)?;
        making.publish(SessionSource::Startup, || ())
    }

    fn session(&self, request: &CreateAgent) -> Result<Arc<Session>, AgentError> {
        let failed =
            |source| AgentError::Session { agent: request.session.id.clone().unwrap_or_default(), source };
        let Ok(sessions) = self.parts.sessions.get() else {
            return Err(self.ended(request.session.id.as_deref()));
        };
        sessions.prepare(request.session.clone()).map_err(failed)
    }

    fn ended(&self, agent: Option<&str>) -> AgentError {
        AgentError::Ended { agent: agent.unwrap_or_default().to_owned() }
    }

    /// Builds the agent. Nobody knows of it.
    fn begin(
        &self,
        owner: &Context,
        session: &Arc<Session>,
        options: AgentOptions,
        asked: CancellationToken,
    ) -> Result<Making, AgentError> {
        let id = || session.id().to_owned();
        if asked.is_cancelled() {
            return Err(AgentError::Cancelled { agent: id() });
        }
        if self.closing.is_cancelled() {
            return Err(AgentError::Ended { agent: id() });
        }
        let pending = Pending::restored(session)?;
        let scope = scope(owner)?;
        let life = Life::new();
        let end = self.ending(owner, session.id(), &life)?;
        let turns = Turns::new(Arc::clone(&self.parts), session);
        let driver = Arc::new(LoopDriver::new(self.parts.keeper.clone(), turns));
        let agent = Agent::new(AgentParts { session: session.clone(), scope, pending, driver, options });
        let making = Making {
            parts: Arc::clone(&self.parts),
            life: Arc::clone(&life),
            owner: owner.clone(),
            agent: agent.clone(),
            end: Some(end),
            asked,
            closing: self.closing.clone(),
        };
        life.is_agent(agent).map_err(|Ends| AgentError::Ended { agent: id() })?;
        Ok(making)
    }

    /// The effect that ends an agent, known to its owner and to the loop.
    fn ending(&self, owner: &Context, id: &str, life: &Arc<Life>) -> Result<Effect, AgentError> {
        let listed = Listed::new(&self.live);
        let (number, ends) = (listed.number, Arc::clone(life));
        let end = owner.effect(format!("agent {id:?}"), async move || {
            ends.end().await;
            drop(listed);
        })?;
        let end = end.with_limit(ENDING);
        // Its owner may have ended it already.
        if let Some(place) = self.live.lock().ends.get_mut(&number) {
            *place = Some(end.clone());
        }
        Ok(end)
    }

    /// How many agents there are that have not ended.
    pub(crate) fn agents(&self) -> usize {
        self.live.lock().ends.len()
    }

    async fn create(
        self: Arc<Self>,
        owner: Context,
        request: CreateAgent,
    ) -> Result<AgentHandle, AgentError> {
        let session = self.session(&request)?;
        let CreateAgent { options, setup, commit, cancellation, .. } = request;
        let making = self.begin(&owner, &session, options, cancellation)?;
        making.finish(SessionSource::Startup, setup, commit, || ()).await
    }

    async fn resume(
        self: Arc<Self>,
        owner: Context,
        request: ResumeAgent,
    ) -> Result<AgentHandle, AgentError> {
        let ResumeAgent { session_id, options, setup, commit, cancellation } = request;
        let agent = || session_id.clone();
        let persistence = owner.get(PERSISTENCE).or_else(|| self.parts.ctx.get(PERSISTENCE));
        let none = || AgentError::NoPersistence { agent: agent() };
        let persistence = persistence.ok_or_else(none)?;
        let persistence = persistence.get().map_err(|_| none())?;
        // What is read for nobody is given up by its drop.
        let prepared = tokio::select! {
            biased;
            () = cancellation.cancelled() => return Err(AgentError::Cancelled { agent: agent() }),
            () = self.closing.cancelled() => return Err(AgentError::Ended { agent: agent() }),
            prepared = persistence.prepare(&session_id) => prepared,
        };
        let prepared = prepared.map_err(|source| AgentError::Stored { agent: agent(), source })?;
        let session = prepared.session().clone();
        let making = self.begin(&owner, &session, options, cancellation)?;
        making.finish(SessionSource::Resume, setup, commit, || drop(prepared)).await
    }
}

impl Listed {
    fn new(live: &Arc<Mutex<Live>>) -> Self {
        let mut places = live.lock();
        places.numbers += 1;
        let number = places.numbers;
        places.ends.insert(number, None);
        Self { live: Arc::clone(live), number }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let end = self.live.lock().ends.remove(&self.number);
        drop(end);
    }
}

impl AgentFactory for Maker {
    fn create(
        self: Arc<Self>,
        owner: Context,
        request: CreateAgent,
    ) -> BoxFuture<'static, Result<AgentHandle, AgentError>> {
        Box::pin(Self::create(self, owner, request))
    }

    fn resume(
        self: Arc<Self>,
        owner: Context,
        request: ResumeAgent,
    ) -> BoxFuture<'static, Result<AgentHandle, AgentError>> {
        Box::pin(Self::resume(self, owner, request))
    }
}

impl Making {
    /// Sets the agent up and tells of it. What fails is taken back before this returns.
    async fn finish(
        self,
        source: SessionSource,
        setup: Option<Setup>,
        commit: Option<Commit>,
        entered: impl FnOnce(),
    ) -> Result<AgentHandle, AgentError> {
        let end = self.end.clone();
        let made = match self.set_up(setup, commit).await {
            Ok(()) => self.publish(source, entered),
            Err(error) => Err(error),
        };
        if let (Err(_), Some(end)) = (&made, end) {
            end.dispose().await;
        }
        made
    }

    async fn set_up(&self, setup: Option<Setup>, commit: Option<Commit>) -> Result<(), AgentError> {
        let agent = || self.agent.id().to_string();
        let failed = |source| AgentError::Setup { agent: agent(), source };
        if let Some(setup) = setup {
            let done = tokio::select! {
                biased;
                () = self.asked.cancelled() => return Err(AgentError::Cancelled { agent: agent() }),
                () = self.closing.cancelled() => return Err(AgentError::Ended { agent: agent() }),
                () = self.life.ending().cancelled() => return Err(AgentError::Ended { agent: agent() }),
                done = setup(self.agent.context().clone()) => done,
            };
            done.map_err(failed)?;
        }
        self.check()?;
        commit.map_or(Ok(()), |commit| commit()).map_err(failed)
    }

    /// Tells of the agent; `entered` is run once its session is in the store.
    fn publish(mut self, source: SessionSource, entered: impl FnOnce()) -> Result<AgentHandle, AgentError> {
        self.check()?;
        let id = || self.agent.id().to_string();
        let ended = |Ends| AgentError::Ended { agent: id() };
        let gone = |_| AgentError::Ended { agent: id() };
        let live = Arc::new(self.parts.agents.get().map_err(gone)?.enter(&self.owner, &self.agent)?);
        self.life.has_entered(&live).map_err(ended)?;
        let session = {
            let sessions = self.parts.sessions.get().map_err(gone)?;
            sessions.enter_for(&self.parts.keeper, self.agent.session(), Some(self.agent.scope()))
        };
        let session = session.map_err(|source| AgentError::Session { agent: id(), source })?;
        self.life.has_session(session).map_err(ended)?;
        entered();
        self.check()?;
        live.announce().map_err(|source| AgentError::Refused { agent: id(), source })?;
        self.check()?;
        let start = SessionStart { agent: self.agent.clone(), source };
        self.parts.ctx.root().emit(SESSION_START, &start);
        self.check()?;
        match self.end.take() {
            Some(end) => Ok(AgentHandle::new(self.agent.clone(), end)),
            None => Err(AgentError::Ended { agent: id() }),
        }
    }

    /// Fails if the making was cancelled, or the agent ends already.
    fn check(&self) -> Result<(), AgentError> {
        let agent = || self.agent.id().to_string();
        if self.asked.is_cancelled() {
            return Err(AgentError::Cancelled { agent: agent() });
        }
        if self.closing.is_cancelled() {
            return Err(AgentError::Ended { agent: agent() });
        }
        self.life.check().map_err(|Ends| AgentError::Ended { agent: agent() })
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        if let Some(end) = &self.end {
            end.cancel();
        }
    }
}

/// The scope of an agent is below that of whoever it is made for.
fn scope(owner: &Context) -> Result<Scope, AgentError> {
    let scope = match owner.scope_key() {
        Some(parent) => owner.scope_under(parent),
        None => owner.scope(),
    };
    Ok(scope?)
}
