//! The pieces in which an answer arrives.

use crate::content::ContentBlock;
use crate::finish::FinishReason;
use crate::open_enum;
use crate::usage::TokenUsage;

open_enum! {
    /// One piece of a streamed answer. Blocks are told apart by their index and may interleave; usage comes before the
    /// finish, and nothing after it.
    pub enum StreamChunk by by_type("type") {
        /// A block begins.
        BlockStart = "block-start" {
            /// The block's index.
            index: u64,
            /// The `type` of the block that begins.
            block_type: String,
        }
        /// More text.
        TextDelta = "text-delta" {
            /// The block's index.
            index: u64,
            /// The piece.
            text: String,
        }
        /// More reasoning.
        ReasoningDelta = "reasoning-delta" {
            /// The block's index.
            index: u64,
            /// The piece.
            text: String,
        }
        /// More of a tool call's arguments.
        ToolCallDelta = "tool-call-delta" {
            /// The block's index.
            index: u64,
            /// The call's id; empty until it is known.
            id: String,
            /// The tool's name, in the pieces that have it.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::open::present")]
            name: Option<String>,
            /// The piece of the arguments' text.
            arguments_delta: String,
        }
        /// A block has ended.
        BlockEnd = "block-end" {
            /// The block's index.
            index: u64,
            /// The whole block: it stands, whatever the pieces were.
            block: ContentBlock,
        }
        /// What the answer cost so far.
        Usage = "usage" {
            /// The tokens.
            usage: TokenUsage,
        }
        /// The answer has ended.
        Finish = "finish" {
            /// Why.
            reason: FinishReason,
            /// What the provider wants to see again: `response`, and perhaps `blocks`.
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::open::present")]
            replay_state: Option<serde_json::Value>,
        }
    }
}

impl StreamChunk {
    /// Whether something of the answer itself arrives with it: text, reasoning, arguments or a tool's name.
    #[must_use]
    pub fn is_token_delta(&self) -> bool {
        match self {
            Self::TextDelta { text, .. } | Self::ReasoningDelta { text, .. } => !text.is_empty(),
            Self::ToolCallDelta { name, arguments_delta, .. } => {
                name.is_some() || !arguments_delta.is_empty()
            }
            Self::BlockStart { .. } | Self::BlockEnd { .. } | Self::Usage { .. } | Self::Finish { .. } => {
                false
            }
            Self::Other(_) => false,
        }
    }
}
