//! Messages.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

use crate::content::ContentBlock;
use crate::source::Source;

/// One message, never changed after it was made; its id is kept from the inbox to the log and into every request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its id, never empty.
    pub id: String,
    /// Whose turn it is in the conversation.
    pub role: Role,
    /// What it is made of.
    pub content: Vec<ContentBlock>,
    /// Who it comes from.
    pub source: Source,
}

/// Whose turn a message is in the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions.
    System,
    /// The user, or a tool on the user's side.
    User,
    /// The model.
    Assistant,
}

/// A message that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidMessage {
    /// There is no id.
    #[error("a message needs an id that is not empty")]
    NoId,
    /// The source of an answer does not name its model.
    #[error("an answer needs a source of kind `model` with a provider and a model")]
    NoModel,
    /// The source of a result does not name its call, or its block answers another.
    #[error(
        "a tool result needs a source of kind `tool`, and exactly one block `tool-result` of the same call"
    )]
    NoCall,
}

impl Message {
    /// A message with a fresh id.
    #[must_use]
    pub fn new(role: Role, content: Vec<ContentBlock>, source: Source) -> Self {
        Self { id: Uuid::new_v4().to_string(), role, content, source }
    }

    /// What the user says.
    #[must_use]
    pub fn user(content: Vec<ContentBlock>) -> Self {
        Self::new(Role::User, content, Source::User {})
    }

    /// What a model answers.
    pub fn assistant(
        content: Vec<ContentBlock>,
        provider: impl Into<String>,
        model: impl Into<String>,
    ) -> Self {
        let source = Source::Model { provider: provider.into(), model: model.into(), replay_state: None };
        Self::new(Role::Assistant, content, source)
    }

    /// What a tool call came to: exactly one block, of the same call.
    pub fn tool_result(call_id: impl Into<String>, content: Vec<ContentBlock>, is_error: bool) -> Self {
        let call_id = call_id.into();
        let block = ContentBlock::ToolResult {
            tool_call_id: call_id.clone(),
            content,
            is_error: is_error.then_some(true),
        };
        Self::new(Role::User, vec![block], Source::Tool { call_id })
    }

    /// The text blocks, joined by newlines.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for block in &self.content {
            if let ContentBlock::Text { text: more } = block {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(more);
            }
        }
        text
    }

    /// Checks what a message of a user must be.
    ///
    /// # Errors
    /// The id is empty.
    pub fn check(&self) -> Result<(), InvalidMessage> {
        if self.id.is_empty() { Err(InvalidMessage::NoId) } else { Ok(()) }
    }

    /// Checks what an answer of a model must be; nothing deeper than its source.
    ///
    /// # Errors
    /// The id is empty, or the source does not name provider and model.
    pub fn check_answer(&self) -> Result<(), InvalidMessage> {
        self.check()?;
        match &self.source {
            Source::Model { provider, model, .. } if !provider.is_empty() && !model.is_empty() => Ok(()),
            _ => Err(InvalidMessage::NoModel),
        }
    }

    /// Checks what a tool result must be, and gives the call's id; nothing deeper than its one block.
    ///
    /// # Errors
    /// The id is empty, or source and block do not name one call.
    pub fn check_tool_result(&self) -> Result<&str, InvalidMessage> {
        self.check()?;
        match (&self.source, self.content.as_slice()) {
            (Source::Tool { call_id }, [ContentBlock::ToolResult { tool_call_id, .. }])
                if !call_id.is_empty() && call_id == tool_call_id =>
            {
                Ok(call_id)
            }
            _ => Err(InvalidMessage::NoCall),
        }
    }
}
