//! The answer of a server, translated piece by piece.
//!
//! **Invariants**
//! 1. Blocks are numbered in the order in which they begin: one for all reasoning, one for all text, one for each call.
//! 2. The ends of blocks, the last usage and the finish come when the stream says that it is over, and only then.
//! 3. What came before a failure is handed out before it.
//! 4. Every call has an id when it ends.

use std::collections::VecDeque;
use std::mem;

use dsh_llm::{ContentBlock, FinishReason, LlmError, LlmFailure, StreamChunk, TokenUsage, code};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::calls::{Piece, ToolCall, ToolCalls};
use crate::counted::usage;
use crate::mended::{mended, without_half_pairs};
use crate::payload::{Call, Payload};
use crate::reported::reported;
use crate::sse::{Events, Taken};

/// How much is shown of what is no stream of events, in characters.
const SHOWN: usize = 200;
/// How much of a body is kept to be shown, in bytes.
const KEPT: usize = 4 * SHOWN;

/// The answer of a server, from bytes to pieces.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    events: Events,
    said: Said,
    /// The beginning of the body, as long as no event has come.
    start: Vec<u8>,
    has_event: bool,
    is_done: bool,
}

/// What has been said so far.
#[derive(Debug, Default)]
struct Said {
    out: VecDeque<StreamChunk>,
    blocks: u64,
    reasoning: Option<(u64, String)>,
    text: Option<(u64, String)>,
    calls: ToolCalls,
    usage: Option<TokenUsage>,
    finish: Option<String>,
}

impl Answer {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes of the body. Whether a line has ended in them: half a line is no sign of life.
    ///
    /// # Errors
    /// The body is not what the protocol says, or the server tells of an error.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<bool, LlmError> {
        if self.is_done {
            return Ok(false);
        }
        let Self { events, said, has_event, .. } = self;
        let taken = events.feed(bytes, |data| {
            *has_event = true;
            said.take(data)
        })?;
        match taken {
            Taken::Done => {
                self.finish();
                Ok(true)
            }
            Taken::All { has_line } => {
                if self.has_event {
                    self.start = Vec::new();
                } else if self.start.len() < KEPT {
                    self.start.extend_from_slice(&bytes[..bytes.len().min(KEPT - self.start.len())]);
                }
                Ok(has_line)
            }
        }
    }

    /// The next piece of what was translated.
    pub(crate) fn next(&mut self) -> Option<StreamChunk> {
        self.said.out.pop_front()
    }

    /// Whether the stream has said that it is over.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }

    /// The body has ended.
    ///
    /// # Errors
    /// It was cut off, or was no stream of events at all.
    pub(crate) fn end(&mut self) -> Result<(), LlmError> {
        if self.is_done {
            return Ok(());
        }
        let Self { events, said, has_event, .. } = self;
        let is_over = events.end(|data| {
            *has_event = true;
            said.take(data)
        })?;
        if is_over {
            self.finish();
            return Ok(());
        }
        if self.has_event {
            return Err(LlmError::new(code::TRANSPORT, "the connection ended in the middle of the answer"));
        }
        let start = String::from_utf8_lossy(&self.start);
        let came = match start.trim() {
            "" => "nothing came".to_owned(),
            start => format!("this came: {}", shown(start)),
        };
        let message = format!("the server did not answer with a stream of chat completions: {came}");
        Err(LlmError::new(code::STREAM_CLOSED, message))
    }

    fn finish(&mut self) {
        self.is_done = true;
        self.said.finish();
    }
}

impl Said {
    fn take(&mut self, data: &[u8]) -> Result<(), LlmError> {
        let text = String::from_utf8_lossy(data);
        let error = match serde_json::from_str(&text) {
            // Whatever is JSON and no object says nothing.
            _ if is_other_json(&text) => return Ok(()),
            Ok(payload) => return self.heed(payload),
            Err(error) => error,
        };
        let mended = mended(&text);
        if let Some(payload) = mended.as_deref().and_then(|text| serde_json::from_str(text).ok()) {
            return self.heed(payload);
        }
        let message = format!("the answer has an event that is no JSON: {}", shown(&text));
        Err(LlmError::new(code::MALFORMED_RESPONSE, message).with_source(error))
    }

    fn heed(&mut self, payload: Payload<'_>) -> Result<(), LlmError> {
        if let Some(error) = payload.error.and_then(|error| reported(error.get())) {
            return Err(error);
        }
        for choice in payload.choices.0 {
            let delta = choice.delta.0;
            if let Some(text) = delta.reasoning_content.0.or(delta.reasoning.0) {
                self.reason(&text);
            }
            if let Some(text) = delta.content.0 {
                self.say(&text);
            }
            for call in delta.tool_calls.0 {
                self.call(&call)?;
            }
            if let Some(reason) = choice.finish_reason.0 {
                self.finish = Some(reason.into_owned());
            }
        }
        if let Some(counted) = payload.usage.and_then(|counts| usage(counts.get())) {
            self.usage = Some(counted);
        }
        Ok(())
    }

    fn begin(&mut self, block_type: &str) -> u64 {
        let index = self.blocks;
        self.blocks += 1;
        self.out.push_back(StreamChunk::BlockStart { index, block_type: block_type.to_owned() });
        index
    }

    fn reason(&mut self, text: &str) {
        let (index, mut all) =
            self.reasoning.take().unwrap_or_else(|| (self.begin("reasoning"), String::new()));
        all.push_str(text);
        self.reasoning = Some((index, all));
        self.out.push_back(StreamChunk::ReasoningDelta { index, text: text.to_owned() });
    }

    fn say(&mut self, text: &str) {
        let (index, mut all) = self.text.take().unwrap_or_else(|| (self.begin("text"), String::new()));
        all.push_str(text);
        self.text = Some((index, all));
        self.out.push_back(StreamChunk::TextDelta { index, text: text.to_owned() });
    }

    fn call(&mut self, piece: &Call<'_>) -> Result<(), LlmError> {
        let function = &piece.function.0;
        let index = piece.index.map(RawValue::get).filter(|index| *index != "null");
        let (id, name) = (piece.id.0.as_deref(), function.name.0.as_deref());
        let (call, begins) = self.calls.of(Piece { index, id, name }, self.blocks)?;
        let arguments_delta = arguments(function.arguments);
        call.push(&arguments_delta);
        let index = call.block;
        let delta = StreamChunk::ToolCallDelta {
            index,
            id: call.id.clone(),
            name: (!call.name.is_empty()).then(|| call.name.clone()),
            arguments_delta,
        };
        if begins {
            self.begin("tool-call");
        }
        self.out.push_back(delta);
        Ok(())
    }

    fn finish(&mut self) {
        let mut blocks: Vec<(u64, ContentBlock)> = Vec::new();
        blocks.extend(self.reasoning.take().map(|(index, text)| (index, ContentBlock::Reasoning { text })));
        blocks.extend(self.text.take().map(|(index, text)| (index, ContentBlock::Text { text })));
        blocks.extend(mem::take(&mut self.calls).into_iter().map(|call| {
            let ToolCall { block, id, name, arguments, .. } = call;
            let id = if id.is_empty() { made_id() } else { id };
            (block, ContentBlock::ToolCall { id, name, arguments })
        }));
        blocks.sort_by_key(|(index, _)| *index);
        let is_empty = blocks.is_empty();
        self.out.extend(blocks.into_iter().map(|(index, block)| StreamChunk::BlockEnd { index, block }));
        self.out.extend(self.usage.take().map(|usage| StreamChunk::Usage { usage }));
        let reason = ended(self.finish.take().as_deref(), is_empty);
        self.out.push_back(StreamChunk::Finish { reason, replay_state: None });
    }
}

/// The id of a call that its server gave none: a result must name its call.
fn made_id() -> String {
    format!("call_{}", Uuid::new_v4().simple())
}

/// Why the answer ended, by the server's word.
fn ended(reason: Option<&str>, is_empty: bool) -> FinishReason {
    match reason {
        None | Some("stop") if is_empty => {
            let message = "the model answered with nothing at all";
            FinishReason::Error { failure: LlmFailure::new(code::EMPTY_RESPONSE, message) }
        }
        None | Some("stop") => FinishReason::Stop {},
        Some("tool_calls") => FinishReason::ToolCalls {},
        Some("length") => FinishReason::MaxTokens {},
        Some(other) => {
            let failure = LlmFailure::new(other.to_uppercase(), format!("the model stopped: {other}"));
            FinishReason::Error { failure }
        }
    }
}

/// The text of a piece of arguments; what is written as an object is its text.
fn arguments(raw: Option<&RawValue>) -> String {
    match raw.map(RawValue::get) {
        None | Some("null") => String::new(),
        Some(raw) if raw.starts_with('"') => serde_json::from_str(raw)
            .or_else(|_| serde_json::from_str(&without_half_pairs(raw)))
            .unwrap_or_default(),
        Some(raw) => mended(raw).unwrap_or_else(|| raw.to_owned()),
    }
}

fn is_other_json(text: &str) -> bool {
    !text.trim_start().starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// The beginning of a text, on one line.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    let rest = if text.chars().nth(SHOWN).is_some() { " …" } else { "" };
    format!("\"{start}\"{rest}")
}

#[cfg(test)]
mod tests;
