//! The conversation as the protocol has it.
//!
//! **Invariants**
//! 1. What a message becomes depends on that message alone, so a longer conversation begins with the bytes of a shorter one.
//! 2. Text, reasoning and arguments are sent as they came, character for character; blocks are joined with nothing between.

use std::borrow::Cow;
use std::sync::Arc;

use dsh_llm::{ContentBlock, LlmError, Message, ModelRequest, Role, code};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

/// What the model reads of a result without text.
const NO_OUTPUT: &str = "(no output)";

/// Refuses pictures: nothing in this program can read what their references name.
///
/// # Errors
/// There is one, in a message or in a result.
pub(crate) fn refuse_images(request: &ModelRequest) -> Result<(), LlmError> {
    if !request.messages.iter().any(|message| has_image(&message.content)) {
        return Ok(());
    }
    let model = &request.config.model;
    Err(LlmError::new(
        code::UNSUPPORTED_CONTENT,
        format!(
            "a message for DeepSeek model {model:?} has an image in it, and only text can be sent: take it out"
        ),
    ))
}

fn has_image(blocks: &[ContentBlock]) -> bool {
    blocks.iter().any(|block| match block {
        ContentBlock::Image { .. } => true,
        ContentBlock::ToolResult { content, .. } => has_image(content),
        _ => false,
    })
}

/// The instructions and the conversation, as one list.
pub(crate) struct Messages<'a> {
    pub(crate) system: Option<&'a str>,
    pub(crate) messages: &'a [Arc<Message>],
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        if let Some(system) = self.system {
            list.serialize_element(&Plain { role: "system", content: Cow::Borrowed(system) })?;
        }
        for message in self.messages {
            match message.role {
                Role::System => {
                    list.serialize_element(&Plain { role: "system", content: text(&message.content) })?
                }
                Role::Assistant => list.serialize_element(&answer(&message.content))?,
                Role::User => user(&mut list, &message.content)?,
            }
        }
        list.end()
    }
}

/// What the user says first, then what tools say; an empty message is said too, unless there are results.
fn user<L: SerializeSeq>(list: &mut L, blocks: &[ContentBlock]) -> Result<(), L::Error> {
    let results = || blocks.iter().filter_map(result);
    let content = text(blocks);
    if !content.is_empty() || results().next().is_none() {
        list.serialize_element(&Plain { role: "user", content })?;
    }
    results().try_for_each(|result| list.serialize_element(&result))
}

#[derive(Serialize)]
struct Plain<'a> {
    role: &'static str,
    content: Cow<'a, str>,
}

#[derive(Serialize)]
struct Answer<'a> {
    role: &'static str,
    content: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    reasoning_content: Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[derive(Serialize)]
struct ToolMessage<'a> {
    role: &'static str,
    tool_call_id: &'a str,
    content: Cow<'a, str>,
}

fn answer(blocks: &[ContentBlock]) -> Answer<'_> {
    Answer {
        role: "assistant",
        content: text(blocks),
        reasoning_content: reasoning(blocks),
        tool_calls: blocks.iter().filter_map(call).collect(),
    }
}

fn call(block: &ContentBlock) -> Option<Call<'_>> {
    let ContentBlock::ToolCall { id, name, arguments } = block else { return None };
    Some(Call { id, kind: "function", function: Function { name, arguments } })
}

fn result(block: &ContentBlock) -> Option<ToolMessage<'_>> {
    let ContentBlock::ToolResult { tool_call_id, content, .. } = block else { return None };
    let said = text(content);
    let content = if said.is_empty() { Cow::Borrowed(NO_OUTPUT) } else { said };
    Some(ToolMessage { role: "tool", tool_call_id, content })
}

fn text(blocks: &[ContentBlock]) -> Cow<'_, str> {
    joined(blocks.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    }))
}

fn reasoning(blocks: &[ContentBlock]) -> Cow<'_, str> {
    joined(blocks.iter().filter_map(|block| match block {
        ContentBlock::Reasoning { text } => Some(text.as_str()),
        _ => None,
    }))
}

/// The pieces as one; a single one is not copied.
fn joined<'a>(pieces: impl Iterator<Item = &'a str>) -> Cow<'a, str> {
    let mut whole = Cow::Borrowed("");
    for piece in pieces.filter(|piece| !piece.is_empty()) {
        if whole.is_empty() {
            whole = Cow::Borrowed(piece);
        } else {
            whole.to_mut().push_str(piece);
        }
    }
    whole
}
