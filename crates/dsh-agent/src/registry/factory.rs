//! How agents are asked for, and what comes of it.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;

use cordis::{BoxError, BoxFuture, Context, Disposed, Effect, Inactive};
use dsh_session::{CreateError, CreateSession, PersistError};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::entry::EnterError;
use crate::agent::Agent;
use crate::inbox::BadSplice;
use crate::initiator;
use crate::options::AgentOptions;

/// What makes agents: a loop. See [`Agents::serve`](super::Agents::serve).
pub trait AgentFactory: Send + Sync + 'static {
    /// See [`Agents::create`](super::Agents::create); `owner` is the context whose agent it is. Dropping the future takes
    /// back what was made so far.
    fn create(
        self: Arc<Self>,
        owner: Context,
        request: CreateAgent,
    ) -> BoxFuture<'static, Result<AgentHandle, AgentError>>;

    /// See [`Agents::resume`](super::Agents::resume). A factory that does not say otherwise resumes nothing.
    fn resume(
        self: Arc<Self>,
        owner: Context,
        request: ResumeAgent,
    ) -> BoxFuture<'static, Result<AgentHandle, AgentError>> {
        drop(owner);
        Box::pin(std::future::ready(Err(AgentError::NoPersistence { agent: request.session_id })))
    }
}

/// An agent, for whoever asked for it. Dropping it changes nothing: the agent ends with the context that it was asked for on, or
/// when it is disposed.
#[must_use = "the agent lives on when this is dropped: keep it to talk to the agent, or to dispose it"]
pub struct AgentHandle {
    agent: Agent,
    effect: Effect,
}

/// Sets an agent up before anybody knows of it: it is given the agent's context.
pub type Setup = Box<dyn FnOnce(Context) -> BoxFuture<'static, Result<(), BoxError>> + Send>;

/// Ends the set-up of an agent at once.
pub type Commit = Box<dyn FnOnce() -> Result<(), BoxError> + Send>;

/// A new agent.
///
/// # Examples
/// ```
/// use dsh_agent::{AgentOptions, CreateAgent};
///
/// let request = CreateAgent::new("reviewer")
///     .in_folder("/src")
///     .options(AgentOptions { model: Some("deepseek-v4-pro".into()), ..AgentOptions::default() })
///     .setup(|ctx| async move {
///         println!("what is registered on {:?} is for this agent alone", ctx.scope_key());
///         Ok(())
///     });
/// # drop(request);
/// ```
#[must_use = "nothing is created of a request alone"]
pub struct CreateAgent {
    /// Its session. The id of it is the agent's.
    pub session: CreateSession,
    /// What it asks of its model.
    pub options: AgentOptions,
    /// Sets it up.
    pub setup: Option<Setup>,
    /// Ends the set-up.
    pub commit: Option<Commit>,
    /// Cancels the creation, and nothing after it.
    pub cancellation: CancellationToken,
}

/// An agent that goes on with a stored session.
#[must_use = "nothing is resumed by a request alone"]
pub struct ResumeAgent {
    /// The session's id.
    pub session_id: String,
    /// What it asks of its model.
    pub options: AgentOptions,
    /// Sets it up.
    pub setup: Option<Setup>,
    /// Ends the set-up.
    pub commit: Option<Commit>,
    /// Cancels the resuming, and nothing after it.
    pub cancellation: CancellationToken,
}

/// Why there is no agent.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AgentError {
    /// Nothing makes agents.
    #[error("nothing makes agents: load a plugin that does, such as agent-loop")]
    NoLoop,
    /// What makes agents went away.
    #[error("what makes agents went away while this one was being made")]
    LoopGone {
        /// How.
        #[source]
        source: BoxError,
    },
    /// The id is live already.
    #[error(transparent)]
    Exists(#[from] EnterError),
    /// There is no session for it.
    #[error("agent `{agent}` has no session")]
    Session {
        /// The agent.
        agent: String,
        /// Why not.
        #[source]
        source: CreateError,
    },
    /// The stored session cannot be resumed.
    #[error("agent `{agent}` cannot go on with its session")]
    Stored {
        /// The agent.
        agent: String,
        /// Why not.
        #[source]
        source: PersistError,
    },
    /// Nothing stores sessions.
    #[error(
        "agent `{agent}` cannot be resumed: no sessions are stored; load a plugin that does, such as session-persistence-jsonl"
    )]
    NoPersistence {
        /// The agent.
        agent: String,
    },
    /// The log is not in order.
    #[error(transparent)]
    BadLog(#[from] BadSplice),
    /// The set-up failed.
    #[error("agent `{agent}` could not be set up")]
    Setup {
        /// The agent.
        agent: String,
        /// Why not.
        #[source]
        source: BoxError,
    },
    /// A listener of `agent/created` refused it.
    #[error("agent `{agent}` was refused")]
    Refused {
        /// The agent.
        agent: String,
        /// Why.
        #[source]
        source: BoxError,
    },
    /// The request was cancelled.
    #[error("agent `{agent}` was not made: the request was cancelled")]
    Cancelled {
        /// The agent.
        agent: String,
    },
    /// The context that it belongs to, or what makes agents, ended meanwhile.
    #[error(
        "agent `{agent}` ended before it began: the plugin or scope that it belongs to ends, or the loop does"
    )]
    Ended {
        /// The agent.
        agent: String,
    },
    /// The context is inactive.
    #[error(transparent)]
    Inactive(#[from] Inactive),
}

/// Why something does not make agents.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FactoryError {
    /// Something else does.
    #[error("agents are made by `{owner}` already: unload that one first")]
    Taken {
        /// The plugin that does.
        owner: String,
    },
    /// The context is inactive.
    #[error(transparent)]
    Inactive(#[from] Inactive),
}

impl AgentHandle {
    /// An agent that ends with this effect.
    pub fn new(agent: Agent, effect: Effect) -> Self {
        Self { agent, effect }
    }

    /// The agent.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Ends the agent: what it does is cancelled and awaited, then everything that was registered on its context goes, then its
    /// session leaves. Repeated and racing calls wait for the same end. From inside of what the agent does, or an agent below it, this
    /// only requests, and says so ([`Disposed::requested`]): it would wait for itself.
    ///
    /// # Cancel safety
    /// Dropping the future stops only the waiting.
    pub async fn dispose(&self) -> Disposed {
        let is_inside = |starter: Agent| starter.scope().chain().contains(self.agent.scope());
        if initiator::current().is_some_and(is_inside) {
            // It is told at once, so that what it does does not go on until the end begins.
            self.agent.ends();
            self.effect.cancel();
            let mut disposed = Disposed::default();
            disposed.requested = true;
            return disposed;
        }
        self.effect.dispose().await
    }
}

impl Deref for AgentHandle {
    type Target = Agent;

    fn deref(&self) -> &Agent {
        &self.agent
    }
}

impl CreateAgent {
    /// A new agent of this id, with an empty session.
    pub fn new(id: impl Into<String>) -> Self {
        Self::with_session(CreateSession { id: Some(id.into()), ..CreateSession::default() })
    }

    /// A new agent of a session that is described.
    pub fn with_session(session: CreateSession) -> Self {
        let (options, cancellation) = Default::default();
        Self { session, options, setup: None, commit: None, cancellation }
    }

    /// The folder that it works in, an absolute path.
    pub fn in_folder(mut self, folder: impl Into<String>) -> Self {
        self.session.cwd = Some(folder.into());
        self
    }
}

impl ResumeAgent {
    /// An agent that goes on with the session of this id.
    pub fn new(session_id: impl Into<String>) -> Self {
        let (options, cancellation) = Default::default();
        Self { session_id: session_id.into(), options, setup: None, commit: None, cancellation }
    }
}

/// What both requests can be told.
macro_rules! asked {
    ($request:ident) => {
        impl $request {
            /// What it asks of its model.
            pub fn options(mut self, options: AgentOptions) -> Self {
                self.options = options;
                self
            }

            /// Sets it up before anybody knows of it. What is registered on the context that `setup` is given is for this agent
            /// alone, and goes with it; if the set-up fails, nobody hears of the agent.
            pub fn setup<F, Fut>(mut self, setup: F) -> Self
            where
                F: FnOnce(Context) -> Fut + Send + 'static,
                Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
            {
                self.setup = Some(Box::new(move |ctx| Box::pin(setup(ctx))));
                self
            }

            /// Runs after the set-up, right before the agent is registered: the last place that can refuse it, without waiting.
            pub fn commit(mut self, commit: impl FnOnce() -> Result<(), BoxError> + Send + 'static) -> Self {
                self.commit = Some(Box::new(commit));
                self
            }

            /// Has this token cancel the request, and nothing after it.
            pub fn cancelled_by(mut self, cancellation: CancellationToken) -> Self {
                self.cancellation = cancellation;
                self
            }
        }
    };
}

asked!(CreateAgent);
asked!(ResumeAgent);

impl fmt::Debug for AgentHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentHandle").field("agent", &self.agent).finish_non_exhaustive()
    }
}

impl fmt::Debug for CreateAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateAgent").field("session", &self.session).finish_non_exhaustive()
    }
}

impl fmt::Debug for ResumeAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResumeAgent").field("session_id", &self.session_id).finish_non_exhaustive()
    }
}
