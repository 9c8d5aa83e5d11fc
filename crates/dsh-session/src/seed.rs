//! Events that a session is made from: checked as strictly as what is appended, and what they hold as far as the
//! conversation needs it.

use std::sync::Arc;

use serde_json::value::RawValue;

use dsh_llm::{Message, Role, Source};

use crate::event::Event;
use crate::events::Events;
use crate::json::object;
use crate::payload::{AssistantMessage, Payload, RequestHeader, ToolResult};

/// The events that a session starts with. An empty seed is a seed: its end is marked as well.
#[derive(Clone, Debug)]
pub struct Seed {
    /// As they came, or in the order of a log that is in order already.
    pub(crate) events: Result<Events, Vec<Arc<Event>>>,
}

impl Seed {
    /// A seed of events that another log holds, shared and not copied. Whether they can stand in one is looked at when the
    /// session is made.
    pub fn new(events: impl IntoIterator<Item = Arc<Event>>) -> Self {
        Self { events: Err(events.into_iter().collect()) }
    }
}

impl Default for Seed {
    /// An empty seed.
    fn default() -> Self {
        Self::from(Events::default())
    }
}

impl From<Events> for Seed {
    /// A seed of a log, or of the beginning of one: what is packed in it stays packed.
    fn from(events: Events) -> Self {
        Self { events: Ok(events) }
    }
}

/// Refuses types and reasons that were given up before the format's first version.
pub(crate) fn refuse_legacy(kind: &str, data: &str) -> Result<(), String> {
    match kind {
        "request/header-delta" | "mode/set" => Err(format!("`{kind}` is no longer part of the format")),
        "request/header" => {
            #[derive(serde::Deserialize)]
            struct Reason {
                reason: serde_json::Value,
            }
            match serde_json::from_str::<Reason>(data) {
                Ok(Reason { reason }) if reason == "fallback" => {
                    Err("a `request/header` of the reason `fallback` is no longer part of the format"
                        .to_owned())
                }
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// The message that an event of a surface type holds, checked no deeper than the conversation needs; none for others.
pub(crate) fn message_of(kind: &str, data: &str) -> Result<Option<Arc<Message>>, String> {
    let read = |error: serde_json::Error| crate::json::reason(&error);
    let message: Arc<Message> = match kind {
        "user/message" => object(&without_lone_surrogates(data)).map_err(read)?,
        AssistantMessage::TYPE | ToolResult::TYPE => {
            let data = without_lone_surrogates(data);
            let Holder { message } = object(&data).map_err(read)?;
            object(message.get()).map_err(read)?
        }
        _ => return Ok(None),
    };
    check_message(kind, &message)?;
    Ok(Some(message))
}

/// Checks the message of an event of a surface type.
pub(crate) fn check_message(kind: &str, message: &Message) -> Result<(), String> {
    let checked = match kind {
        AssistantMessage::TYPE => message.check_answer(),
        ToolResult::TYPE => message.check_tool_result().map(drop),
        _ => message.check(),
    };
    checked.map_err(|error| error.to_string())?;
    let role = if kind == AssistantMessage::TYPE { Role::Assistant } else { Role::User };
    if message.role != role {
        return Err(format!("the message of a `{kind}` must not have the role {:?}", message.role));
    }
    match &message.source {
        Source::Other(source) if source["kind"] == "" => {
            Err("the source of a message needs a kind".to_owned())
        }
        _ => Ok(()),
    }
}

#[derive(serde::Deserialize)]
struct Holder<'a> {
    #[serde(borrow)]
    message: &'a RawValue,
}

/// Checks what a request header must be to be asked with.
pub(crate) fn check_header(kind: &str, data: &str) -> Result<(), String> {
    if kind != RequestHeader::TYPE {
        return Ok(());
    }
    let RequestHeader { header, .. } = RequestHeader::read(data)?;
    let config = &header.config;
    if config.provider.is_empty() || config.model.is_empty() {
        return Err("the header must name a provider and a model".to_owned());
    }
    if config.reasoning_effort.as_deref() == Some("") {
        return Err("`reasoningEffort` must not be empty".to_owned());
    }
    check_markers(data, config)
}

fn check_markers(data: &str, config: &dsh_llm::CallConfig) -> Result<(), String> {
    #[derive(serde::Deserialize)]
    struct Outer {
        header: Inner,
    }
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Inner {
        adapter_defaults: Option<serde_json::Map<String, serde_json::Value>>,
    }
    let Outer { header } = serde_json::from_str(data).map_err(|error| crate::json::reason(&error))?;
    for (name, marker) in header.adapter_defaults.iter().flatten() {
        let present = match name.as_str() {
            "reasoningEffort" => config.reasoning_effort.is_some(),
            "maxTokens" => config.max_tokens.is_some(),
            _ => return Err(format!("`adapterDefaults` does not know `{name}`")),
        };
        if marker != &serde_json::Value::Bool(true) {
            return Err(format!("`adapterDefaults.{name}` is either absent or true"));
        }
        if !present {
            return Err(format!("`adapterDefaults.{name}` marks a setting that `config` does not have"));
        }
    }
    Ok(())
}

/// Half of a surrogate pair, which JSON text can hold and Rust text cannot, reads as the replacement character.
pub(crate) fn without_lone_surrogates(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains("\\u") {
        return text.into();
    }
    let bytes = text.as_bytes();
    let unit = |at: usize| {
        let digits = text.get(at + 2..at + 6).filter(|_| bytes.get(at..at + 2) == Some(b"\\u"))?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut clean = String::new();
    let (mut from, mut at) = (0, 0);
    while let Some(found) = text[at..].find('\\').map(|offset| at + offset) {
        at = match unit(found) {
            Some(0xd800..=0xdbff) if matches!(unit(found + 6), Some(0xdc00..=0xdfff)) => found + 12,
            Some(0xd800..=0xdfff) => {
                clean.push_str(&text[from..found]);
                clean.push_str("\\ufffd");
                from = found + 6;
                from
            }
            Some(_) => found + 6,
            None => found + 2,
        };
        at = at.min(text.len());
    }
    if clean.is_empty() {
        return text.into();
    }
    clean.push_str(&text[from..]);
    clean.into()
}
