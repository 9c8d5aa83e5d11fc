//! What a model is asked.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::call::{CallConfig, ToolSchema};
use crate::message::Message;

/// One request to a model: which one, how, and with what.
///
/// Messages and tools are shared and never changed; a listener that wants others puts another list in.
#[derive(Debug)]
pub struct ModelRequest {
    /// Which model is asked, and how.
    pub config: CallConfig,
    /// The instructions before the messages; an empty text is sent, none is not.
    pub system: Option<Arc<str>>,
    /// The conversation.
    pub messages: Arc<[Arc<Message>]>,
    /// The tools that are offered.
    pub tools: Arc<[ToolSchema]>,
    /// The session that it belongs to.
    pub session_id: Option<String>,
    /// What it is for, where that is no step of an agent.
    pub purpose: Option<Purpose>,
    /// Ends the call.
    pub cancellation: CancellationToken,
    loop_built: bool,
}

/// What a request is for that is no step of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Purpose {
    /// A conversation is summed up.
    Compaction,
    /// A session is given its title.
    SessionTitle,
}

impl ModelRequest {
    /// A request without instructions, tools or session, which nobody cancels.
    #[must_use]
    pub fn new(config: CallConfig, messages: impl Into<Arc<[Arc<Message>]>>) -> Self {
        Self {
            config,
            system: None,
            messages: messages.into(),
            tools: Arc::default(),
            session_id: None,
            purpose: None,
            cancellation: CancellationToken::new(),
            loop_built: false,
        }
    }

    /// Says that an agent loop made it of a session's log; a clone does not say so.
    #[must_use]
    pub fn built_by_loop(mut self) -> Self {
        self.loop_built = true;
        self
    }

    /// Whether this very request was made by an agent loop of a session's log.
    #[must_use]
    pub fn is_built_by_loop(&self) -> bool {
        self.loop_built
    }
}

impl Clone for ModelRequest {
    /// A request like it, which no agent loop made.
    fn clone(&self) -> Self {
        Self {
            config: self.config.clone(),
            system: self.system.clone(),
            messages: self.messages.clone(),
            tools: self.tools.clone(),
            session_id: self.session_id.clone(),
            purpose: self.purpose,
            cancellation: self.cancellation.clone(),
            loop_built: false,
        }
    }
}
