//! An event that is about to be appended.

use std::borrow::Cow;
use std::sync::Arc;

use dsh_llm::{ContentBlock, Message, Source};

use crate::error::NotLossless;
use crate::event::kind_of;
use crate::lossless;
use crate::packed;
use crate::payload::{AssistantMessage, Payload, ToolResult};
use crate::seed;
use crate::surface::SurfaceOp;
use crate::text::JsonText;

/// An event without its place in a log: its type, its data as JSON, and how it changes the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    pub(crate) kind: Cow<'static, str>,
    pub(crate) data: JsonText,
    pub(crate) surface: Option<SurfaceOp>,
    pub(crate) sources: Option<Arc<[u64]>>,
    pub(crate) message: Option<Arc<Message>>,
}

impl NewEvent {
    /// An event that is not part of the conversation.
    ///
    /// # Errors
    /// The data cannot be written as JSON without a loss (a number that is not finite, negative zero, a whole number
    /// beyond 2^53 - 1), or no reader would accept it.
    pub fn new<P: Payload>(data: &P) -> Result<Self, NotLossless> {
        let text = lossless::text(P::TYPE, data)?;
        Self::unmarked(Cow::Borrowed(P::TYPE), text)
    }

    /// An event of any type from JSON text, for those who learn the type at run time. An event of a surface type needs
    /// [`appended`](Self::appended) or [`replacing`](Self::replacing).
    ///
    /// # Errors
    /// The text is no JSON, holds a number that is not kept exact, or is no message where the type demands one; or the
    /// type is the name of a packed row.
    pub fn raw(kind: &str, data: &str) -> Result<Self, NotLossless> {
        let data = lossless::checked(kind, data)?;
        Self::unmarked(kind_of(kind), data)
    }

    fn unmarked(kind: Cow<'static, str>, data: JsonText) -> Result<Self, NotLossless> {
        let wrong = |reason| NotLossless { kind: kind.clone().into_owned(), reason };
        // Its line would be read as a row, and be none.
        if packed::row_kind(&kind).is_some() {
            return Err(wrong("packed rows have this name".to_owned()));
        }
        if kind.is_empty() {
            return Err(wrong("an event has a type".to_owned()));
        }
        // What was given up is refused by the append.
        if seed::refuse_legacy(&kind, data.get()).is_ok() {
            seed::check_header(&kind, data.get()).map_err(wrong)?;
        }
        let message = seed::message_of(&kind, data.get()).map_err(wrong)?;
        Ok(Self { kind, data, surface: None, sources: None, message })
    }

    /// What a user said, at the end of the conversation.
    ///
    /// # Errors
    /// See [`NewEvent::new`].
    pub fn user(message: Arc<Message>) -> Result<Self, NotLossless> {
        let data = lossless::text("user/message", &*message)?;
        Self::said("user/message", data, message)
    }

    /// What a model answered, at the end of the conversation.
    ///
    /// # Errors
    /// See [`NewEvent::new`].
    pub fn answer(answer: &AssistantMessage) -> Result<Self, NotLossless> {
        let data = lossless::text(AssistantMessage::TYPE, answer)?;
        Self::said(AssistantMessage::TYPE, data, answer.message.clone())
    }

    /// What the model is told about a call, at the end of the conversation.
    ///
    /// # Errors
    /// See [`NewEvent::new`].
    pub fn tool_result(result: &ToolResult) -> Result<Self, NotLossless> {
        let data = lossless::text(ToolResult::TYPE, result)?;
        if result.meta.is_some() {
            let wrong = |reason| NotLossless { kind: ToolResult::TYPE.to_owned(), reason };
            ToolResult::read(data.get()).map_err(wrong)?;
        }
        Self::said(ToolResult::TYPE, data, result.message.clone())
    }

    fn said(kind: &'static str, data: JsonText, message: Arc<Message>) -> Result<Self, NotLossless> {
        let wrong = |reason| NotLossless { kind: kind.to_owned(), reason };
        seed::check_message(kind, &message).map_err(wrong)?;
        if holds_json(&message) {
            // What types do not check, the reader will.
            seed::message_of(kind, data.get()).map_err(wrong)?;
        }
        let surface = Some(SurfaceOp::Append);
        Ok(Self { kind: Cow::Borrowed(kind), data, surface, sources: None, message: Some(message) })
    }

    /// At the end of the conversation.
    #[must_use]
    pub fn appended(mut self) -> Self {
        self.surface = Some(SurfaceOp::Append);
        self
    }

    /// In the place of a part of the conversation, from one event to another by place.
    #[must_use]
    pub fn replacing(mut self, start: u64, end: u64) -> Self {
        self.surface = Some(SurfaceOp::Replace { start, end });
        self
    }

    /// Made from these events. A replacement names all that it takes the place of.
    #[must_use]
    pub fn made_from(mut self, sources: impl Into<Arc<[u64]>>) -> Self {
        self.sources = Some(sources.into());
        self
    }
}

/// Whether a part of a message is JSON of any form.
fn holds_json(message: &Message) -> bool {
    let source = match &message.source {
        Source::Model { replay_state, .. } => replay_state.is_some(),
        Source::Other(_) => true,
        _ => false,
    };
    let is_plain = |block: &ContentBlock| {
        matches!(
            block,
            ContentBlock::Text { .. } | ContentBlock::Reasoning { .. } | ContentBlock::ToolCall { .. }
        )
    };
    let plain = |block: &ContentBlock| match block {
        ContentBlock::ToolResult { content, .. } => content.iter().all(is_plain),
        block => is_plain(block),
    };
    source || !message.content.iter().all(plain)
}
