//! The calls of one answer: which of them run at once, and how each becomes a call and a result in the log.

mod log;
mod schedule;

use std::num::NonZeroUsize;

use dsh_agent::{Agent, InboxError};
use dsh_llm::{ContentBlock, FinishReason};
use dsh_session::{AppendError, NotLossless};
use serde::Serialize;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

pub(crate) use schedule::run;

/// A call as a model asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCall {
    /// The call's id, given by the model.
    pub id: String,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The model's text for the arguments, as it came.
    pub arguments: String,
    /// Whether the answer is known to have broken off inside of this call. Then it is never executed, whatever its
    /// arguments look like.
    pub cut_off: bool,
}

impl ModelCall {
    /// A call that is there to its end.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.into(), cut_off: false }
    }

    /// The same call, known to be cut off.
    #[must_use]
    pub fn cut_off(self) -> Self {
        Self { cut_off: true, ..self }
    }

    /// The calls that a message of a model asks for, in its order.
    #[must_use]
    pub fn all_of(content: &[ContentBlock]) -> Vec<Self> {
        let call = |block: &ContentBlock| match block {
            ContentBlock::ToolCall { id, name, arguments } => Some(Self::new(id, name, arguments)),
            _ => None,
        };
        content.iter().filter_map(call).collect()
    }
}

/// The calls of one answer.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The agent that calls. Call and result go into its session, contexts into its inbox.
    pub agent: Agent,
    /// The turn of the answer.
    pub turn: u64,
    /// The step of the answer.
    pub step: u64,
    /// The calls, in the order of the model.
    pub calls: Vec<ModelCall>,
    /// Why the answer ended. Unless the model was done or asked for tools, the last call was being written when the answer
    /// ended; it is refused, even if its arguments happen to be whole.
    pub finish: FinishReason,
    /// How many bodies may run at once.
    pub max_parallel: NonZeroUsize,
    /// Cancels all calls: what runs is told, and what was not started does not run.
    pub cancellation: CancellationToken,
}

/// Whether a call may run beside others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ExecutionMode {
    /// Beside other calls of this mode.
    Parallel,
    /// Alone.
    Exclusive,
}

/// A batch that did not come to its end. What ran has ended; calls in the log may have no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BatchError {
    /// An event cannot be written.
    #[error("`{kind}` of call `{call}` cannot be written to the log of session `{session}`")]
    NotLossless {
        /// The session.
        session: String,
        /// The event's type.
        kind: &'static str,
        /// The call.
        call: String,
        /// Why not.
        #[source]
        source: NotLossless,
    },
    /// The log did not take an event.
    #[error("`{kind}` of call `{call}` was not taken by the log of session `{session}`")]
    Append {
        /// The session.
        session: String,
        /// The event's type.
        kind: &'static str,
        /// The call.
        call: String,
        /// Why not.
        #[source]
        source: Box<AppendError>,
    },
    /// The inbox took no message, whatever the message.
    #[error("a message that came with the result of call `{call}` was not taken by agent `{agent}`")]
    Context {
        /// The agent.
        agent: String,
        /// The call.
        call: String,
        /// Why not.
        #[source]
        source: Box<InboxError>,
    },
}
