//! An agent: a session, a scope, and an inbox.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

use cordis::{Context, Scope, ScopeKey};
use dsh_llm::Message;
use dsh_session::{CancelCause, Session};
use parking_lot::Mutex;

use crate::Target;
use crate::driver::{Driver, NotIdle, Waiting, Wakeup};
use crate::id::AgentId;
use crate::inbox::{Inbox, InboxError, Pending};
use crate::maintenance::Maintenance;
use crate::options::AgentOptions;
use crate::status::AgentStatus;

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
    root: Context,
    pending: Mutex<Pending>,
    driver: Arc<dyn Driver>,
    options: AgentOptions,
}

/// What an agent is made of.
pub struct AgentParts {
    /// The session, which gives the agent its id.
    pub session: Arc<Session>,
    /// The scope, which the agent owns: it closes with `agent.context().fiber().dispose()`, or when the last clone of
    /// the agent is gone.
    pub scope: Scope,
    /// What waits for it; [`Pending::restored`] where the session has a past.
    pub pending: Pending,
    /// What does its work.
    pub driver: Arc<dyn Driver>,
    /// What it asks of its model.
    pub options: AgentOptions,
}

impl Agent {
    /// An agent of these parts. Nobody is told of it.
    #[must_use]
    pub fn new(parts: AgentParts) -> Self {
        let AgentParts { session, scope, pending, driver, options } = parts;
        let (id, root) = (AgentId::from(session.id()), scope.context().root());
        Self(Arc::new(Inner { id, session, scope, root, pending: Mutex::new(pending), driver, options }))
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

    /// Where events are told as long as the app lives.
    pub(crate) fn root(&self) -> &Context {
        &self.0.root
    }

    pub(crate) fn pending(&self) -> &Mutex<Pending> {
        &self.0.pending
    }

    /// What waits for it.
    #[must_use]
    pub fn inbox(&self) -> Inbox<'_> {
        Inbox { agent: self }
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

    /// Has a message of the user wait until the agent takes it: at the beginning of a turn, or before the next step.
    ///
    /// The message is in the session's log before this returns. With [`Wakeup::Wake`] an idle agent starts a turn: it has begun,
    /// and has taken the message, when this returns. A message that wakes and comes when the turn is cancelled already begins the
    /// next turn.
    ///
    /// # Errors
    /// See [`InboxError`]. Then nothing waits that did not wait before, and the log is as it was.
    pub fn send(&self, message: Arc<Message>, target: Target, wakeup: Wakeup) -> Result<(), InboxError> {
        self.0.driver.send(self, message, target, wakeup)
    }

    /// Whether it works.
    #[must_use]
    pub fn status(&self) -> AgentStatus {
        self.0.driver.status()
    }

    /// Ends what it does, and has what waits not be said. The first cause of a cancellation is the one that is logged. An agent
    /// that does nothing, and for which nothing waits, is not changed.
    ///
    /// # Errors
    /// The log did not take that what waits is cancelled; what the agent does is cancelled all the same.
    pub fn cancel(&self, cause: CancelCause) -> Result<(), InboxError> {
        self.0.driver.cancel(self, cause, Waiting::Clear)
    }

    /// Ends what it does, and lets what waits wait on. What was taken already does not come back.
    ///
    /// # Errors
    /// None now; a driver may have some.
    pub fn interrupt(&self, cause: CancelCause) -> Result<(), InboxError> {
        self.0.driver.cancel(self, cause, Waiting::Keep)
    }

    /// Has it do nothing any more, for whoever made it: what it does is cancelled because the agent is disposed, what waits is cleared,
    /// and nothing begins again. Waits until it does nothing. Its scope and its place among the live agents are left alone; an
    /// agent is ended as a whole by [`AgentHandle::dispose`](crate::AgentHandle::dispose).
    ///
    /// # Cancel safety
    /// Dropping the future stops only the waiting.
    pub async fn end(&self) {
        self.0.driver.end(self).await;
    }

    /// As [`end`](Self::end), without waiting.
    pub(crate) fn ends(&self) {
        drop(self.0.driver.end(self));
    }

    /// Waits until it does nothing, whatever begins meanwhile. It is idle already where it does nothing, and it never fails.
    pub async fn when_idle(&self) {
        self.0.driver.when_idle().await;
    }

    /// Keeps turns from beginning as long as the result lives. The status stays idle, and nobody is told.
    ///
    /// # Errors
    /// The agent does something.
    pub fn maintain(&self) -> Result<Maintenance, NotIdle> {
        self.0.driver.maintain(self)
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
