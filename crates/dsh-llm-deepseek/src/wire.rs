//! The body of a request, written straight from the messages.

use dsh_llm::{LlmError, ModelRequest, ToolSchema, code};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::config::{Effort, Thinking};
use crate::wire_messages::{Messages, refuse_images};

/// The largest whole number that a float holds exactly.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// The bytes of a request's body. The order of its fields is the reference's, and what a session has said already stays
/// the same bytes, so that a server finds it in its cache.
///
/// # Errors
/// A message holds what the model cannot be told.
pub(crate) fn body(request: &ModelRequest, effort: Option<Effort>) -> Result<Vec<u8>, LlmError> {
    refuse_images(request)?;
    let (thinking, reasoning_effort) = match effort {
        None => (None, None),
        Some(Effort::Off) => (Some(Thinking::Disabled), None),
        Some(effort) => (Some(Thinking::Enabled), Some(effort.id())),
    };
    let config = &request.config;
    let body = Body {
        model: &config.model,
        messages: Messages { system: request.system.as_deref(), messages: &request.messages },
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        thinking: thinking.map(|kind| Typed { kind }),
        reasoning_effort,
        tools: request.tools.iter().map(tool).collect(),
        temperature: config.temperature.map(Number),
        max_tokens: config.max_tokens,
        stop: config.stop.as_deref(),
    };
    serde_json::to_vec(&body).map_err(|error| {
        LlmError::new(code::INVALID_REQUEST, "the request cannot be written as JSON").with_source(error)
    })
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Messages<'a>,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Typed<Thinking>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<&'a [String]>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Typed<T> {
    #[serde(rename = "type")]
    kind: T,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Map<String, Value>,
}

fn tool(schema: &ToolSchema) -> Tool<'_> {
    let ToolSchema { name, description, parameters } = schema;
    Tool { kind: "function", function: Function { name, description, parameters } }
}

/// A number as JavaScript writes it: a whole one without a point.
struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0.abs() < MAX_WHOLE {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "it is whole and within the bounds of an i64"
            )]
            return serializer.serialize_i64(self.0 as i64);
        }
        serializer.serialize_f64(self.0)
    }
}
