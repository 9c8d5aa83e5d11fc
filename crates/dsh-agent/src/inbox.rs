//! How an agent is spoken to.

use std::sync::Arc;

use dsh_llm::{InvalidMessage, Message};
use dsh_session::{AppendError, NotLossless};
use thiserror::Error;

use crate::Target;

/// Where messages wait for an agent.
pub trait Inbox: Send + Sync {
    /// Has a message of the user wait until the agent takes it: at the beginning of a turn, or before the next step.
    ///
    /// The message is in the session's log before this returns. With [`Wakeup::Wake`] an idle agent starts a turn.
    ///
    /// # Errors
    /// See [`InboxError`]. Then nothing waits that did not wait before, and the log is as it was.
    fn send(&self, message: Arc<Message>, target: Target, wakeup: Wakeup) -> Result<(), InboxError>;
}

/// Whether an agent that is idle begins to work because of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wakeup {
    /// It starts a turn.
    Wake,
    /// The message waits until something else wakes the agent.
    Wait,
}

/// Why a message was not taken.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InboxError {
    /// The message is not one of the role `user`.
    #[error("agent `{agent}` takes messages of the role `user`: message `{message}` has another")]
    NotUser {
        /// The agent.
        agent: String,
        /// The message's id.
        message: String,
    },
    /// The message cannot be.
    #[error("agent `{agent}` cannot take the message")]
    Invalid {
        /// The agent.
        agent: String,
        /// Why.
        #[source]
        source: InvalidMessage,
    },
    /// The message is waiting already.
    #[error("message `{message}` waits for agent `{agent}` already: give the second one an id of its own")]
    Pending {
        /// The agent.
        agent: String,
        /// The message's id.
        message: String,
    },
    /// The message cannot be written as JSON without a loss.
    #[error("agent `{agent}` cannot keep the message in its log")]
    NotLossless {
        /// The agent.
        agent: String,
        /// Why.
        #[source]
        source: NotLossless,
    },
    /// The session's log did not take the message.
    #[error("the log of agent `{agent}` did not take the message")]
    Append {
        /// The agent.
        agent: String,
        /// Why.
        #[source]
        source: AppendError,
    },
    /// The agent has ended.
    #[error("agent `{agent}` has ended: it takes no messages any more")]
    Ended {
        /// The agent.
        agent: String,
    },
}
