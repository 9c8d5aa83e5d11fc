//! An answer put together from its pieces, whatever order they come in.
//!
//! **Invariants**
//! 1. A block keeps the kind that it began with, and its place by when its index was first seen.
//! 2. What a `block-end` says stands; nothing that comes for its index afterwards counts.
//! 3. What is asked of it changes nothing, and can be asked at any time.
//! 4. What a piece costs does not depend on how many blocks there are.

use std::collections::HashMap;

use serde_json::Value;
use thiserror::Error;

use crate::chunk::StreamChunk;
use crate::content::ContentBlock;
use crate::finish::FinishReason;
use crate::message::Message;
use crate::source::Source;
use crate::usage::TokenUsage;

/// An answer put together from its pieces. It is lenient: ends and beginnings may be missing.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    /// In the order in which their indices were first seen.
    blocks: Vec<(u64, Block)>,
    /// Where in `blocks` the block of an index is.
    places: HashMap<u64, usize>,
    usage: Option<TokenUsage>,
    finish: Option<FinishReason>,
    replay_state: Option<Value>,
}

#[derive(Clone, Debug)]
enum Block {
    Closed(ContentBlock),
    Open(Open),
}

/// A block whose end has not come. Pieces of another kind than its own are kept aside and never shown.
#[derive(Clone, Debug)]
struct Open {
    kind: String,
    text: String,
    id: String,
    name: String,
    arguments: String,
}

/// A piece, or an open block, is of a kind that this build does not know.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// The piece.
    #[error("a piece of an answer is of an unknown type: {chunk}")]
    Chunk {
        /// The piece, as it came.
        chunk: String,
    },
    /// The block, which has no end.
    #[error("block {index} of an answer has no end, and its type {kind:?} is unknown")]
    Block {
        /// The block's index.
        index: u64,
        /// The type that it began with.
        kind: String,
    },
}

impl Assembler {
    /// An answer without pieces.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The next piece.
    ///
    /// # Errors
    /// It is of a kind that this build does not know; nothing has changed.
    pub fn add(&mut self, chunk: &StreamChunk) -> Result<(), AssembleError> {
        match chunk {
            StreamChunk::BlockStart { index, block_type } => {
                self.open(*index, block_type);
            }
            StreamChunk::TextDelta { index, text } => {
                if let Some(open) = self.open(*index, "text") {
                    open.text.push_str(text);
                }
            }
            StreamChunk::ReasoningDelta { index, text } => {
                if let Some(open) = self.open(*index, "reasoning") {
                    open.text.push_str(text);
                }
            }
            StreamChunk::ToolCallDelta { index, id, name, arguments_delta } => {
                if let Some(open) = self.open(*index, "tool-call") {
                    id.clone_into(&mut open.id);
                    if let Some(name) = name.as_ref().filter(|name| !name.is_empty()) {
                        name.clone_into(&mut open.name);
                    }
                    open.arguments.push_str(arguments_delta);
                }
            }
            StreamChunk::BlockEnd { index, block } => match self.place(*index) {
                Some(place) => {
                    if let Block::Open(_) = self.blocks[place].1 {
                        self.blocks[place].1 = Block::Closed(block.clone());
                    }
                }
                None => {
                    self.push(*index, Block::Closed(block.clone()));
                }
            },
            StreamChunk::Usage { usage } => self.usage = Some(*usage),
            StreamChunk::Finish { reason, replay_state } => {
                self.finish = Some(reason.clone());
                self.replay_state.clone_from(replay_state);
            }
            StreamChunk::Other(chunk) => {
                return Err(AssembleError::Chunk { chunk: chunk.to_string() });
            }
        }
        Ok(())
    }

    fn place(&self, index: u64) -> Option<usize> {
        // The latest block is the likely one.
        match self.blocks.last() {
            Some((seen, _)) if *seen == index => Some(self.blocks.len() - 1),
            _ => self.places.get(&index).copied(),
        }
    }

    /// Adds the block of a new index, and tells its place.
    fn push(&mut self, index: u64, block: Block) -> usize {
        let place = self.blocks.len();
        self.blocks.push((index, block));
        self.places.insert(index, place);
        place
    }

    /// The open block of an index, which begins if there is none; none if the block is closed.
    fn open(&mut self, index: u64, kind: &str) -> Option<&mut Open> {
        let place = self.place(index).unwrap_or_else(|| {
            let (text, id, name, arguments) = Default::default();
            self.push(index, Block::Open(Open { kind: kind.to_owned(), text, id, name, arguments }))
        });
        match &mut self.blocks[place].1 {
            Block::Open(open) => Some(open),
            Block::Closed(_) => None,
        }
    }

    /// The blocks, those without an end as far as they came. An answer that reached its limit has no tool calls: the last
    /// one may be cut, and the model did not mean to end there.
    ///
    /// # Errors
    /// A block without an end is of a kind that this build does not know.
    pub fn blocks(&self) -> Result<Vec<ContentBlock>, AssembleError> {
        let is_cut = self.is_cut();
        let blocks = self.blocks.iter().map(|(index, block)| block.content(*index));
        blocks.filter(|block| !(is_cut && matches!(block, Ok(ContentBlock::ToolCall { .. })))).collect()
    }

    fn is_cut(&self) -> bool {
        matches!(self.finish, Some(FinishReason::MaxTokens {}))
    }

    /// Why the answer ended; as if the model was done where it did not say.
    #[must_use]
    pub fn finish(&self) -> FinishReason {
        self.finish.clone().unwrap_or(FinishReason::Stop {})
    }

    /// What it cost, by the last count.
    #[must_use]
    pub fn usage(&self) -> Option<TokenUsage> {
        self.usage
    }

    /// What the provider wants to see again, for the blocks that there are; nothing if it does not fit them.
    #[must_use]
    pub fn replay_state(&self) -> Option<Value> {
        let state = self.replay_state.as_ref()?;
        let Some(entries) = state.get("blocks") else { return Some(state.clone()) };
        let entries = entries.as_array().filter(|entries| entries.len() == self.blocks.len())?;
        let is_kept = |block: &Block| !(self.is_cut() && block.is_tool_call());
        let kept: Vec<Value> = entries
            .iter()
            .zip(&self.blocks)
            .filter(|(_, (_, block))| is_kept(block))
            .map(|(entry, _)| entry.clone())
            .collect();
        let mut state = state.clone();
        if kept.len() < self.blocks.len() {
            state["blocks"] = Value::Array(kept);
        }
        Some(state)
    }

    /// What is worth keeping of an answer that was interrupted: text and reasoning that is more than blanks.
    #[must_use]
    pub fn interrupted_blocks(&self) -> Vec<ContentBlock> {
        let contents = self.blocks.iter().filter_map(|(index, block)| block.content(*index).ok());
        contents
            .filter(|block| match block {
                ContentBlock::Text { text } | ContentBlock::Reasoning { text } => !text.trim().is_empty(),
                _ => false,
            })
            .collect()
    }

    /// The answer as a message of its model.
    ///
    /// # Errors
    /// As [`blocks`](Self::blocks).
    pub fn message(
        &self,
        provider: impl Into<String>,
        model: impl Into<String>,
    ) -> Result<Message, AssembleError> {
        let mut message = Message::assistant(self.blocks()?, provider, model);
        if let Source::Model { replay_state, .. } = &mut message.source {
            *replay_state = self.replay_state();
        }
        Ok(message)
    }
}

impl Block {
    fn is_tool_call(&self) -> bool {
        match self {
            Self::Closed(block) => matches!(block, ContentBlock::ToolCall { .. }),
            Self::Open(open) => open.kind == "tool-call",
        }
    }

    fn content(&self, index: u64) -> Result<ContentBlock, AssembleError> {
        let open = match self {
            Self::Closed(block) => return Ok(block.clone()),
            Self::Open(open) => open,
        };
        match open.kind.as_str() {
            "text" => Ok(ContentBlock::Text { text: open.text.clone() }),
            "reasoning" => Ok(ContentBlock::Reasoning { text: open.text.clone() }),
            "tool-call" => Ok(ContentBlock::ToolCall {
                id: if open.id.is_empty() { format!("call-{index}") } else { open.id.clone() },
                name: open.name.clone(),
                arguments: open.arguments.clone(),
            }),
            kind => Err(AssembleError::Block { index, kind: kind.to_owned() }),
        }
    }
}
