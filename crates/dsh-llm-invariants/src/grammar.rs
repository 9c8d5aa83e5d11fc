//! What may follow what in an answer.

use std::collections::BTreeMap;

use dsh_llm::{ContentBlock, FinishReason, StreamChunk};

use crate::rule::Violation;

/// How far an answer has come.
#[derive(Clone, Debug, Default)]
pub struct Grammar {
    /// The types of the open blocks, by their indices.
    open: BTreeMap<u64, String>,
    has_usage: bool,
    is_finished: bool,
}

impl Grammar {
    /// Takes the next piece. A piece of a type that this build does not know may come anywhere before the finish.
    ///
    /// # Errors
    /// It is out of place; nothing has changed.
    pub fn next(&mut self, chunk: &StreamChunk) -> Result<(), Violation> {
        if self.is_finished {
            return Err(Violation::AfterFinish { piece: type_of(chunk) });
        }
        match chunk {
            StreamChunk::BlockStart { index, .. } if self.open.contains_key(index) => {
                Err(Violation::Begun { index: *index })
            }
            StreamChunk::BlockStart { index, block_type } => {
                self.open.insert(*index, block_type.clone());
                Ok(())
            }
            StreamChunk::TextDelta { index, .. } => self.grows(*index, chunk, "text"),
            StreamChunk::ReasoningDelta { index, .. } => self.grows(*index, chunk, "reasoning"),
            StreamChunk::ToolCallDelta { index, .. } => self.grows(*index, chunk, "tool-call"),
            StreamChunk::BlockEnd { index, block } => self.ends(*index, block),
            StreamChunk::Usage { .. } if self.has_usage => Err(Violation::Usage),
            StreamChunk::Usage { .. } => {
                self.has_usage = true;
                Ok(())
            }
            StreamChunk::Finish { reason, .. } => self.finishes(reason),
            _ => Ok(()),
        }
    }

    /// The answer is over.
    ///
    /// # Errors
    /// There was no finish.
    pub fn end(&self) -> Result<(), Violation> {
        if self.is_finished { Ok(()) } else { Err(Violation::NoFinish) }
    }

    fn grows(&self, index: u64, chunk: &StreamChunk, kind: &str) -> Result<(), Violation> {
        match self.open.get(&index) {
            Some(open) if open == kind => Ok(()),
            open => Err(Violation::Piece { index, piece: type_of(chunk), open: shown(open) }),
        }
    }

    fn ends(&mut self, index: u64, block: &ContentBlock) -> Result<(), Violation> {
        let ends = block_type(block);
        match self.open.get(&index) {
            Some(open) if *open == ends => {
                self.open.remove(&index);
                Ok(())
            }
            open => Err(Violation::End { index, open: shown(open), ends }),
        }
    }

    fn finishes(&mut self, reason: &FinishReason) -> Result<(), Violation> {
        let has_failed = matches!(reason, FinishReason::Error { .. } | FinishReason::Aborted { .. });
        if !has_failed && !self.open.is_empty() {
            return Err(Violation::Open { open: self.open.keys().copied().collect() });
        }
        self.is_finished = true;
        Ok(())
    }
}

fn shown(open: Option<&String>) -> String {
    open.map_or_else(|| "not open".to_owned(), |open| format!("of type {open:?}"))
}

fn block_type(block: &ContentBlock) -> String {
    let name = match block {
        ContentBlock::Text { .. } => "text",
        ContentBlock::Reasoning { .. } => "reasoning",
        ContentBlock::Image { .. } => "image",
        ContentBlock::ToolCall { .. } => "tool-call",
        ContentBlock::ToolResult { .. } => "tool-result",
        ContentBlock::Other(block) => block["type"].as_str().unwrap_or_default(),
        _ => "",
    };
    name.to_owned()
}

fn type_of(chunk: &StreamChunk) -> &'static str {
    match chunk {
        StreamChunk::BlockStart { .. } => "block-start",
        StreamChunk::TextDelta { .. } => "text-delta",
        StreamChunk::ReasoningDelta { .. } => "reasoning-delta",
        StreamChunk::ToolCallDelta { .. } => "tool-call-delta",
        StreamChunk::BlockEnd { .. } => "block-end",
        StreamChunk::Usage { .. } => "usage",
        StreamChunk::Finish { .. } => "finish",
        _ => "piece of an unknown type",
    }
}
