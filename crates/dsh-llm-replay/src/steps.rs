//! Scripts of steps: what a model says, without how it was sent.

use std::path::Path;

use dsh_llm::{ContentBlock, FinishReason, LlmFailure, StreamChunk, TokenUsage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::entry::Entry;
use crate::error::LoadError;

/// The script that is played without a file: a model that says what it is, looks around, and says what a key would change.
pub const EMBEDDED: &str = include_str!("embedded.json");

/// How many characters are in one piece where a step does not say.
const CHUNK_CHARS: usize = 8;
/// How many characters of arguments are in one piece.
const ARGUMENT_CHARS: usize = 24;

/// A script of steps.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    steps: Vec<Step>,
}

/// One answer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Step {
    /// The text.
    text: String,
    /// The reasoning before it.
    reasoning: String,
    /// The tool calls after it.
    calls: Vec<Call>,
    /// Why it ends, in the words of chat completions.
    finish: Option<String>,
    /// How many characters are in one piece.
    chunk: Option<usize>,
    /// What it cost.
    usage: Option<TokenUsage>,
}

/// A tool call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    arguments: Value,
    #[serde(default)]
    id: Option<String>,
}

/// Whether a text is a script and no recording.
pub(crate) fn is_script(text: &str) -> bool {
    // `steps` is all that a script can hold, so that one with a mistake further on is still told apart from a cut recording.
    let inner = text.trim_start().strip_prefix('{').map(str::trim_start);
    inner.is_some_and(|inner| inner.starts_with("\"steps\""))
}

/// The steps of a script, at least one.
pub(crate) fn parse(text: &str, path: &Path) -> Result<Vec<Step>, LoadError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let wrong = |at: String, source| LoadError::Script { path: path.to_owned(), at, source };
    let script: Script = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| wrong(error.path().to_string(), error.into_inner()))?;
    json.end().map_err(|source| wrong("the end".to_owned(), source))?;
    if script.steps.is_empty() {
        return Err(LoadError::NoSteps { path: path.to_owned() });
    }
    Ok(script.steps)
}

/// An answer of one short text.
pub(crate) fn saying(text: &str) -> Entry {
    Step { text: text.to_owned(), ..Step::default() }.entry(0)
}

impl Step {
    /// The answer; its number is in the ids of its calls.
    pub(crate) fn entry(&self, number: usize) -> Entry {
        let mut answer = Pieces::default();
        let chars = self.chunk.unwrap_or(CHUNK_CHARS);
        if !self.reasoning.is_empty() {
            let block = ContentBlock::Reasoning { text: self.reasoning.clone() };
            let delta = |index, text| StreamChunk::ReasoningDelta { index, text };
            answer.block("reasoning", pieces(&self.reasoning, chars), delta, block);
        }
        if !self.text.is_empty() {
            let delta = |index, text| StreamChunk::TextDelta { index, text };
            answer.block("text", pieces(&self.text, chars), delta, ContentBlock::text(&self.text));
        }
        for (place, call) in self.calls.iter().enumerate() {
            let id = call.id.clone().unwrap_or_else(|| format!("call_{number}_{place}"));
            let arguments = match &call.arguments {
                Value::String(text) => text.clone(),
                value => value.to_string(),
            };
            let delta = |index, arguments_delta| StreamChunk::ToolCallDelta {
                index,
                id: id.clone(),
                name: Some(call.name.clone()),
                arguments_delta,
            };
            let parts = pieces(&arguments, ARGUMENT_CHARS);
            let block = ContentBlock::ToolCall { id: id.clone(), name: call.name.clone(), arguments };
            answer.block("tool-call", parts, delta, block);
        }
        let Pieces { mut chunks, .. } = answer;
        chunks.extend(self.usage.map(|usage| StreamChunk::Usage { usage }));
        chunks.push(StreamChunk::Finish { reason: self.reason(), replay_state: None });
        Entry::Chunks { chunks }
    }

    fn reason(&self) -> FinishReason {
        match self.finish.as_deref() {
            None if self.calls.is_empty() => FinishReason::Stop {},
            None | Some("tool_calls") => FinishReason::ToolCalls {},
            Some("stop" | "") => FinishReason::Stop {},
            Some("length") => FinishReason::MaxTokens {},
            Some(other) => {
                let failure = LlmFailure::new(other.to_uppercase(), format!("the model stopped: {other}"));
                FinishReason::Error { failure }
            }
        }
    }
}

/// The pieces of an answer so far.
#[derive(Default)]
struct Pieces {
    chunks: Vec<StreamChunk>,
    blocks: u64,
}

impl Pieces {
    fn block(
        &mut self,
        kind: &str,
        parts: Vec<String>,
        delta: impl Fn(u64, String) -> StreamChunk,
        block: ContentBlock,
    ) {
        let index = self.blocks;
        self.blocks += 1;
        self.chunks.push(StreamChunk::BlockStart { index, block_type: kind.to_owned() });
        self.chunks.extend(parts.into_iter().map(|part| delta(index, part)));
        self.chunks.push(StreamChunk::BlockEnd { index, block });
    }
}

/// A text in pieces of so many characters.
fn pieces(text: &str, chars: usize) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(chars.max(1)).map(|piece| piece.iter().collect()).collect()
}
