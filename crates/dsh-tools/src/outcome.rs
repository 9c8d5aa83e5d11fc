//! What came of a call: plain data, for the model and for whoever watches.

use dsh_llm::{ContentBlock, Message};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use crate::call::CallToken;
use crate::error::Failure;
use crate::normalize::is_too_deep;

/// What came of a call.
///
/// One that the pipeline made for a call stands as it is. One that a listener of [`EXECUTE`](crate::EXECUTE) made or
/// altered is read again: of a success only the value counts, and it is checked and rendered by the tool.
///
/// Written as JSON it has the fields of the reference: `isError`, `value` or `error`, `content`, and where there are any
/// `meta`, `additionalContexts` and `concludesTurn`.
///
/// Source: the result objects of `tools/execute` and `tools/result`.
#[derive(Clone, Debug)]
pub struct ToolOutcome {
    content: Vec<ContentBlock>,
    ended: Ended,
    meta: Option<Value>,
    additional_contexts: Vec<Message>,
    /// The execution that the pipeline made it for; none for one that somebody else made.
    of: Option<CallToken>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
enum Ended {
    Success { value: Value, concludes_turn: bool },
    Failure(Failure),
}

impl ToolOutcome {
    /// The call succeeded with this value; the tool renders it for the model.
    #[must_use]
    pub fn success(value: impl Into<Value>) -> Self {
        let value = value.into();
        let content = match is_too_deep(&value) {
            // It is looked at again, and refused, by whoever takes it.
            true => Vec::new(),
            false => crate::content::of_value(&value),
        };
        Self::of(content, Ended::Success { value, concludes_turn: false })
    }

    /// The call failed; the model reads `Error: ` and the message, after what the failure has kept of the output.
    #[must_use]
    pub fn failure(failure: impl Into<Failure>) -> Self {
        let failure = failure.into();
        Self::of(failure.content(), Ended::Failure(failure))
    }

    /// The call failed for this reason, without a code.
    #[must_use]
    pub fn failed(message: impl Into<String>) -> Self {
        Self::failure(Failure::new(message))
    }

    /// The call was refused for this reason, which the model reads.
    #[must_use]
    pub fn denied(reason: impl Into<String>) -> Self {
        Self::failure(Failure::denied(reason))
    }

    /// The call was cancelled before the tool ran: what a policy gives that waited meanwhile.
    #[must_use]
    pub fn aborted_before_dispatch() -> Self {
        Self::failure(Failure::aborted_before_dispatch())
    }

    fn of(content: Vec<ContentBlock>, ended: Ended) -> Self {
        Self { content, ended, meta: None, additional_contexts: Vec::new(), of: None }
    }

    /// What the pipeline makes of a value that the tool has checked and rendered.
    pub(crate) fn rendered(
        value: Value,
        content: Vec<ContentBlock>,
        meta: Option<Value>,
        concludes_turn: bool,
    ) -> Self {
        Self { meta, ..Self::of(content, Ended::Success { value, concludes_turn }) }
    }

    /// What the model reads.
    #[must_use]
    pub fn content(&self) -> &[ContentBlock] {
        &self.content
    }

    /// The text blocks of what the model reads, joined by line feeds; another block as `[<type> content]`.
    #[must_use]
    pub fn text(&self) -> String {
        crate::content::text_of(&self.content)
    }

    /// The canonical value of a success. It is never logged.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        match &self.ended {
            Ended::Success { value, .. } => Some(value),
            Ended::Failure(_) => None,
        }
    }

    /// Why the call did not succeed; none if it did.
    #[must_use]
    pub fn as_failure(&self) -> Option<&Failure> {
        match &self.ended {
            Ended::Success { .. } => None,
            Ended::Failure(failure) => Some(failure),
        }
    }

    /// Whether the model is told that the call failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.as_failure().is_some()
    }

    /// Whether a policy or a guard refused the call.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.as_failure().is_some_and(Failure::is_denied)
    }

    /// The failure's code, if it has one.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.as_failure()?.info().map(|info| &*info.code)
    }

    /// Facts for a user interface, which the model never sees.
    #[must_use]
    pub fn meta(&self) -> Option<&Value> {
        self.meta.as_ref()
    }

    /// Messages that join the conversation right after the result, in this order.
    #[must_use]
    pub fn additional_contexts(&self) -> &[Message] {
        &self.additional_contexts
    }

    /// Whether the tool asked that the turn end with this result.
    #[must_use]
    pub fn concludes_turn(&self) -> bool {
        matches!(self.ended, Ended::Success { concludes_turn: true, .. })
    }

    /// The same outcome with other content. A success is rendered again by the tool when a listener of
    /// [`EXECUTE`](crate::EXECUTE) gives this; [`POST_EXECUTE`](crate::POST_EXECUTE) is the place to change content.
    #[must_use]
    pub fn with_content(mut self, content: Vec<ContentBlock>) -> Self {
        self.of = None;
        self.content = content;
        self
    }

    /// The same outcome with one more message for the conversation.
    #[must_use]
    pub fn with_context(mut self, message: Message) -> Self {
        self.of = None;
        self.additional_contexts.push(message);
        self
    }

    /// The same outcome with these facts for a user interface; those of a success are made again by the tool.
    #[must_use]
    pub fn with_meta(mut self, meta: Value) -> Self {
        self.of = None;
        self.meta = Some(meta);
        self
    }

    /// This outcome failed for another reason; what it had kept of the output, and its contexts, stay.
    ///
    /// What a deadline makes of whatever the body gave.
    #[must_use]
    pub fn into_failure(self, failure: impl Into<Failure>) -> Self {
        let kept = match self.ended {
            Ended::Failure(old) => old.into_output(),
            Ended::Success { .. } => None,
        };
        let mut failure = failure.into();
        if let Some(kept) = kept {
            failure = failure.with_output(kept);
        }
        Self { additional_contexts: self.additional_contexts, ..Self::failure(failure) }
    }
}

/// What only the pipeline does.
impl ToolOutcome {
    pub(crate) fn is_of(&self, call: CallToken) -> bool {
        self.of == Some(call)
    }

    pub(crate) fn made_for(mut self, call: CallToken) -> Self {
        self.of = Some(call);
        self
    }

    pub(crate) fn set_content(&mut self, content: Vec<ContentBlock>) {
        self.content = content;
    }

    pub(crate) fn take_meta(&mut self) -> Option<Value> {
        self.meta.take()
    }

    pub(crate) fn contexts_mut(&mut self) -> &mut Vec<Message> {
        &mut self.additional_contexts
    }

    /// The value of a success, with the messages that came with it; a failure as it is.
    pub(crate) fn into_value(self) -> Result<(Value, Vec<Message>), Box<Self>> {
        match self.ended {
            Ended::Success { value, .. } => Ok((value, self.additional_contexts)),
            Ended::Failure(_) => Err(Box::new(self)),
        }
    }
}

impl Serialize for ToolOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("isError", &self.is_error())?;
        match &self.ended {
            Ended::Success { value, .. } => map.serialize_entry("value", value)?,
            Ended::Failure(failure) => map.serialize_entry("error", failure)?,
        }
        map.serialize_entry("content", &self.content)?;
        if let Some(meta) = &self.meta {
            map.serialize_entry("meta", meta)?;
        }
        if !self.additional_contexts.is_empty() {
            map.serialize_entry("additionalContexts", &self.additional_contexts)?;
        }
        if self.concludes_turn() {
            map.serialize_entry("concludesTurn", &true)?;
        }
        map.end()
    }
}

/// Outcomes are compared as what they tell, whoever made them.
impl PartialEq for ToolOutcome {
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content
            && self.ended == other.ended
            && self.meta == other.meta
            && self.additional_contexts == other.additional_contexts
    }
}
