//! What stands behind an agent and does its work.

use std::sync::Arc;

use cordis::BoxFuture;
use dsh_llm::Message;
use dsh_session::CancelCause;
use thiserror::Error;

use crate::Target;
use crate::agent::Agent;
use crate::inbox::InboxError;
use crate::maintenance::Maintenance;
use crate::status::AgentStatus;

/// What does an agent's work: the seam that a loop is behind. [`LoopDriver`](crate::LoopDriver) is the one for loops of turns.
///
/// Methods are called by [`Agent`], on any thread and on the stack of whoever calls; no lock is held.
pub trait Driver: Send + Sync + 'static {
    /// See [`Agent::send`].
    ///
    /// # Errors
    /// See [`InboxError`].
    fn send(
        &self,
        agent: &Agent,
        message: Arc<Message>,
        target: Target,
        wakeup: Wakeup,
    ) -> Result<(), InboxError>;

    /// See [`Agent::status`].
    fn status(&self) -> AgentStatus;

    /// See [`Agent::cancel`].
    ///
    /// # Errors
    /// What waits could not be cleared; what runs is cancelled all the same.
    fn cancel(&self, agent: &Agent, cause: CancelCause, waiting: Waiting) -> Result<(), InboxError>;

    /// See [`Agent::end`]. The end has begun when this returns; what it gives waits for it.
    fn end(&self, agent: &Agent) -> BoxFuture<'static, ()>;

    /// See [`Agent::when_idle`].
    fn when_idle(&self) -> BoxFuture<'static, ()>;

    /// See [`Agent::maintain`].
    ///
    /// # Errors
    /// The agent does something.
    fn maintain(&self, agent: &Agent) -> Result<Maintenance, NotIdle>;
}

/// Whether an agent that is idle begins to work because of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wakeup {
    /// It starts a turn.
    Wake,
    /// The message waits until something else wakes the agent.
    Wait,
}

/// What becomes of the messages that wait when an agent is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// They are taken out and will not be said.
    Clear,
    /// They wait on.
    Keep,
}

/// The agent does something, and maintenance needs one that does nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("agent `{agent}` is not idle: wait for `when_idle()`, or cancel what it does")]
pub struct NotIdle {
    /// The agent.
    pub agent: String,
}
