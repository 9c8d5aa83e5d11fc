//! Why an inbox refuses.

use dsh_llm::InvalidMessage;
use dsh_session::{AppendError, NotLossless};
use thiserror::Error;

/// Why a message was not taken, or what waits was not changed. The log and what waits are as they were.
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
    /// The session's log did not take the change.
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
