//! An agent: a session, a scope, and an inbox.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

use cordis::{Context, Scope, ScopeKey};
use dsh_llm::Message;
use dsh_session::Session;

use crate::Target;
use crate::id::AgentId;
use crate::inbox::{Inbox, InboxError, Wakeup};
use crate::options::AgentOptions;

/// One agent; cheap to clone. Two are equal if they are the same instance, not if they have the same id.
#[derive(Clone)]
pub struct Agent(Arc<Inner>);

/// An agent that is not held: it may end meanwhile. Two are equal if they were made of the same instance, also after its end.
#[derive(Clone)]
pub struct WeakAgent(Weak<Inner>);

struct Inner {
    id: AgentId,
    session: Arc<Session>,
    scope: Scope,
    inbox: Arc<dyn Inbox>,
    options: AgentOptions,
}

/// What an agent is made of.
pub struct AgentParts {
    /// The session, which gives the agent its id.
    pub session: Arc<Session>,
    /// The scope, which the agent owns: it closes with `agent.context().fiber().dispose()`, or when the last clone of
    /// the agent is gone.
    pub scope: Scope,
    /// Where messages wait for the agent.
    pub inbox: Arc<dyn Inbox>,
    /// What it asks of its model.
    pub options: AgentOptions,
}

impl Agent {
    /// An agent of these parts. Nobody is told of it.
    #[must_use]
    pub fn new(parts: AgentParts) -> Self {
        let AgentParts { session, scope, inbox, options } = parts;
        Self(Arc::new(Inner { id: AgentId::from(session.id()), session, scope, inbox, options }))
    }

    /// Its id, which is the session's.
    #[must_use]
    pub fn id(&self) -> &AgentId {
        &self.0.id
    }

    /// Its session.
    #[must_use]
    pub fn session(&self) -> &Arc<Session> {
        &self.0.session
    }

    /// The identity that its events are routed by.
    #[must_use]
    pub fn scope(&self) -> &ScopeKey {
        self.0.scope.key()
    }

    /// The context that registers for this agent alone, and ends with it.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.0.scope.context()
    }

    /// Where messages wait for it.
    #[must_use]
    pub fn inbox(&self) -> &Arc<dyn Inbox> {
        &self.0.inbox
    }

    /// What it asks of its model.
    #[must_use]
    pub fn options(&self) -> &AgentOptions {
        &self.0.options
    }

    /// The agent without a hold on it, for whoever must not keep it from ending.
    #[must_use]
    pub fn downgrade(&self) -> WeakAgent {
        WeakAgent(Arc::downgrade(&self.0))
    }

    /// Has a message wait for it; see [`Inbox::send`].
    ///
    /// # Errors
    /// See [`InboxError`].
    pub fn send(&self, message: Arc<Message>, target: Target, wakeup: Wakeup) -> Result<(), InboxError> {
        self.0.inbox.send(message, target, wakeup)
    }

    /// Asks for a turn of its own for a message.
    ///
    /// # Errors
    /// See [`InboxError`].
    pub fn followup(&self, message: Arc<Message>) -> Result<(), InboxError> {
        self.send(message, Target::NextTurn, Wakeup::Wake)
    }

    /// Says something in the turn that goes on, before its next step; an idle agent starts a turn for it.
    ///
    /// # Errors
    /// See [`InboxError`].
    pub fn steer(&self, message: Arc<Message>) -> Result<(), InboxError> {
        self.send(message, Target::NextStep, Wakeup::Wake)
    }

    /// Has something said before the next step, whenever that is.
    ///
    /// # Errors
    /// See [`InboxError`].
    pub fn inject(&self, message: Arc<Message>) -> Result<(), InboxError> {
        self.send(message, Target::NextStep, Wakeup::Wait)
    }
}

impl WeakAgent {
    /// The agent, unless its last clone is gone.
    #[must_use]
    pub fn upgrade(&self) -> Option<Agent> {
        self.0.upgrade().map(Agent)
    }
}

impl PartialEq for Agent {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Agent {}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("id", self.id()).field("scope", self.scope()).finish_non_exhaustive()
    }
}

impl PartialEq for WeakAgent {
    fn eq(&self, other: &Self) -> bool {
        Weak::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for WeakAgent {}

/// By instance, as equality is.
impl Hash for WeakAgent {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_ptr().hash(state);
    }
}

impl fmt::Debug for WeakAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WeakAgent({:p})", self.0.as_ptr())
    }
}

impl fmt::Debug for AgentParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentParts")
            .field("session", &self.session)
            .field("scope", &self.scope)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
