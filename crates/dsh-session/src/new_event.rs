//! An event that is about to be appended.

use std::borrow::Cow;
use std::sync::Arc;

use dsh_llm::Message;

use crate::error::NotLossless;
use crate::event::kind_of;
use crate::lossless;
use crate::payload::{AssistantMessage, Payload, ToolResult};
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
    /// The data cannot be written as JSON without a loss: a number that is not finite, negative zero, a whole number
    /// beyond 2^53 - 1.
    pub fn new<P: Payload>(data: &P) -> Result<Self, NotLossless> {
        let text = lossless::text(P::TYPE, data)?;
        Ok(Self { kind: Cow::Borrowed(P::TYPE), data: text, surface: None, sources: None, message: None })
    }

    /// An event of any type from JSON text, for those who learn the type at run time. An event of a surface type needs
    /// [`appended`](Self::appended) or [`replacing`](Self::replacing).
    ///
    /// # Errors
    /// The text is no JSON, holds a number that is not kept exact, or is no message where the type demands one.
    pub fn raw(kind: &str, data: &str) -> Result<Self, NotLossless> {
        let data = lossless::checked(kind, data)?;
        let message = crate::seed::message_of(kind, data.get())
            .map_err(|reason| NotLossless { kind: kind.to_owned(), reason })?;
        Ok(Self { kind: kind_of(kind), data, surface: None, sources: None, message })
    }

    /// What a user said, at the end of the conversation.
    ///
    /// # Errors
    /// See [`NewEvent::new`].
    pub fn user(message: Arc<Message>) -> Result<Self, NotLossless> {
        let data = lossless::text("user/message", &*message)?;
        Ok(Self::said("user/message", data, message))
    }

    /// What a model answered, at the end of the conversation.
    ///
    /// # Errors
    /// See [`NewEvent::new`].
    pub fn answer(answer: &AssistantMessage) -> Result<Self, NotLossless> {
        let data = lossless::text(AssistantMessage::TYPE, answer)?;
        Ok(Self::said(AssistantMessage::TYPE, data, answer.message.clone()))
    }

    /// What the model is told about a call, at the end of the conversation.
    ///
    /// # Errors
    /// See [`NewEvent::new`].
    pub fn tool_result(result: &ToolResult) -> Result<Self, NotLossless> {
        let data = lossless::text(ToolResult::TYPE, result)?;
        Ok(Self::said(ToolResult::TYPE, data, result.message.clone()))
    }

    fn said(kind: &'static str, data: JsonText, message: Arc<Message>) -> Self {
        let surface = Some(SurfaceOp::Append);
        Self { kind: Cow::Borrowed(kind), data, surface, sources: None, message: Some(message) }
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
