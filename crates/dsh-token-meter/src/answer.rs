//! What an answer takes by the pieces in which it came, without keeping them.

use std::collections::HashMap;

use dsh_llm::{ContentBlock, FinishReason, StreamChunk};

use crate::estimate::{AROUND, estimate_block, tokens, utf16_length};

/// The pieces of one answer so far. Where they do not fit together, the first word about a block counts.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    blocks: HashMap<u64, Block>,
    is_cut: bool,
}

#[derive(Debug)]
struct Block {
    is_call: bool,
    /// What it takes, once it has ended.
    ended: Option<u64>,
    /// UTF-16 units of text, or of a call's arguments, by what the pieces were.
    text: u64,
    arguments: u64,
    name: u64,
}

impl Answer {
    pub(crate) fn take(&mut self, chunk: &StreamChunk) {
        match chunk {
            StreamChunk::BlockStart { index, block_type } => {
                self.block(*index, block_type == "tool-call");
            }
            StreamChunk::TextDelta { index, text } | StreamChunk::ReasoningDelta { index, text } => {
                self.block(*index, false).text += utf16_length(text);
            }
            StreamChunk::ToolCallDelta { index, name, arguments_delta, .. } => {
                let block = self.block(*index, true);
                if let Some(name) = name.as_ref().filter(|name| !name.is_empty()) {
                    block.name = utf16_length(name);
                }
                block.arguments += utf16_length(arguments_delta);
            }
            StreamChunk::BlockEnd { index, block: whole } => {
                let is_call = matches!(whole, ContentBlock::ToolCall { .. });
                let block = self.block(*index, is_call);
                if block.ended.is_none() {
                    block.ended = Some(estimate_block(whole));
                    block.is_call = is_call;
                }
            }
            StreamChunk::Finish { reason, .. } => {
                self.is_cut = matches!(reason, FinishReason::MaxTokens { .. });
            }
            // A count, or what this build does not know.
            _ => {}
        }
    }

    /// What all of it takes as a message. Calls of an answer that was cut are not kept, and so take nothing.
    pub(crate) fn tokens(&self) -> u64 {
        let kept = self.blocks.values().filter(|block| !(self.is_cut && block.is_call));
        kept.map(Block::tokens).reduce(u64::saturating_add).map_or(0, |sum| sum.saturating_add(AROUND))
    }

    fn block(&mut self, index: u64, is_call: bool) -> &mut Block {
        let new = || Block { is_call, ended: None, text: 0, arguments: 0, name: 0 };
        self.blocks.entry(index).or_insert_with(new)
    }
}

impl Block {
    fn tokens(&self) -> u64 {
        let open = || match self.is_call {
            true => tokens(self.name).saturating_add(tokens(self.arguments)).saturating_add(AROUND),
            false => tokens(self.text).saturating_add(AROUND),
        };
        self.ended.unwrap_or_else(open)
    }
}
