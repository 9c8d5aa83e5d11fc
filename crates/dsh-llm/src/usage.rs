//! What an answer cost.

use serde::{Deserialize, Serialize};

use crate::open::present;

/// The tokens of one answer. The first four counts are disjoint: the input leaves out what came from or went to a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// Tokens that were read anew.
    pub input_tokens: u64,
    /// Tokens that were written, reasoning included.
    pub output_tokens: u64,
    /// Tokens that came from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub cache_read_tokens: Option<u64>,
    /// Tokens that went to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub cache_write_tokens: Option<u64>,
    /// How many of the written ones were reasoning; part of the output, never to be added to it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub reasoning_tokens: Option<u64>,
}

impl TokenUsage {
    /// What the input side is billed for: read anew, from a cache and to a cache.
    #[must_use]
    pub fn billed_input(&self) -> u64 {
        let cached = self.cache_read_tokens.unwrap_or(0).saturating_add(self.cache_write_tokens.unwrap_or(0));
        self.input_tokens.saturating_add(cached)
    }
}
