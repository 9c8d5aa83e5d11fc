//! A step that is about to begin.

use std::sync::Arc;

use dsh_llm::Message;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;

/// A step that is proposed; see [`PRE_STEP`](crate::PRE_STEP).
#[derive(Clone, Debug)]
pub struct PreStep {
    /// The agent.
    pub agent: Agent,
    /// What was taken out of the inbox for this step, in order.
    pub messages: Vec<Arc<Message>>,
    /// The number of the turn, from 1.
    pub turn: u64,
    /// The number of the step in its turn, from 1.
    pub step: u64,
    /// Cancelled when the turn is.
    pub cancellation: CancellationToken,
}

/// Whether a step begins.
#[derive(Clone, Debug, PartialEq)]
pub enum PreStepDecision {
    /// It does not: the messages are discarded and the turn ends as blocked.
    Reject,
    /// It begins with these messages, which are logged in this order.
    Enter {
        /// The messages.
        messages: Vec<Arc<Message>>,
    },
}
