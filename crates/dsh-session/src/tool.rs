//! The two events of a tool call: what the model asked for, and what it was told.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json::{nested, object, present, reason};
use crate::line::check_safe;

/// A call that the model asked for, as it was logged before anything was done about it.
///
/// Source: `tool/call`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The turn, counted from 1.
    pub turn: u64,
    /// The step within the turn, counted from 1.
    pub step: u64,
    /// The call's id, given by the model.
    pub call_id: String,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The model's text for the arguments: meant to be JSON, not checked.
    pub arguments: String,
}

/// What the model was told about a call.
///
/// Source: `tool/result`.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The turn, counted from 1.
    pub turn: u64,
    /// The step within the turn, counted from 1.
    pub step: u64,
    /// The id of the call that it answers.
    pub call_id: String,
    /// What the model reads.
    pub content: Vec<ContentBlock>,
    /// Whether the model was told that the call failed.
    pub is_error: bool,
    /// The kind of failure, for errors that have one.
    pub error: Option<ErrorInfo>,
}

/// One piece of what the model reads.
#[derive(Clone, Debug, PartialEq)]
pub enum ContentBlock {
    /// Text.
    Text(String),
    /// Anything else, untouched.
    Other(Value),
}

/// The name and code of a failure.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ErrorInfo {
    /// The error's class, such as `ToolNotFoundError`.
    pub name: String,
    /// The error's code, such as `UNKNOWN_TOOL`.
    pub code: String,
}

impl ToolCall {
    pub(crate) fn parse(data: &RawValue) -> Result<Self, String> {
        let call: Self = object(data.get()).map_err(|error| reason(&error))?;
        check_safe("turn", Some(call.turn))?;
        check_safe("step", Some(call.step))?;
        Ok(call)
    }
}

impl ToolResult {
    /// The content as one text, if all of it is text.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        self.content
            .iter()
            .map(|block| match block {
                ContentBlock::Text(text) => Some(text.as_str()),
                ContentBlock::Other(_) => None,
            })
            .collect()
    }

    pub(crate) fn parse(data: &RawValue) -> Result<Self, String> {
        let raw: RawResult = object(data.get()).map_err(|error| reason(&error))?;
        check_safe("turn", Some(raw.turn))?;
        check_safe("step", Some(raw.step))?;
        let RawMessage { id, role, source, content } = raw.message;
        if id.is_empty() {
            return Err("`message.id` must not be empty".to_owned());
        }
        if role != "user" {
            return Err(format!("`message.role` must be `user`, not `{role}`"));
        }
        if source.kind != "tool" || source.call_id.is_empty() {
            return Err("`message.source` must be of kind `tool` and name a `callId`".to_owned());
        }
        let [block] = <[Box<RawValue>; 1]>::try_from(content).map_err(|blocks| {
            format!("`message.content` must hold exactly one block, not {}", blocks.len())
        })?;
        let block: RawBlock = object(block.get())
            .map_err(|error| format!("the block of `message.content`: {}", reason(&error)))?;
        if block.kind != "tool-result" {
            return Err(format!(
                "the block of `message.content` must be a `tool-result`, not `{}`",
                block.kind
            ));
        }
        if block.tool_call_id != source.call_id {
            return Err(format!(
                "`toolCallId` is `{}` but `source.callId` is `{}`",
                block.tool_call_id, source.call_id
            ));
        }
        Ok(Self {
            turn: raw.turn,
            step: raw.step,
            call_id: source.call_id,
            content: block.content.into_iter().map(ContentBlock::from_value).collect(),
            is_error: block.is_error,
            error: raw.error,
        })
    }
}

impl ContentBlock {
    fn from_value(value: Value) -> Self {
        match (value.get("type"), value.get("text")) {
            (Some(Value::String(kind)), Some(Value::String(text))) if kind == "text" => {
                Self::Text(text.clone())
            }
            _ => Self::Other(value),
        }
    }
}

#[derive(Deserialize)]
struct RawResult {
    turn: u64,
    step: u64,
    #[serde(deserialize_with = "nested")]
    message: RawMessage,
    #[serde(default, deserialize_with = "present")]
    error: Option<ErrorInfo>,
}

#[derive(Deserialize)]
struct RawMessage {
    id: String,
    role: String,
    #[serde(deserialize_with = "nested")]
    source: RawSource,
    content: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawSource {
    kind: String,
    #[serde(default)]
    call_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawBlock {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    tool_call_id: String,
    content: Vec<Value>,
    #[serde(default)]
    is_error: bool,
}
