//! What an agent asks of its model unless a listener says otherwise.

use serde::{Deserialize, Serialize};

/// The greatest whole number that every reader of JSON keeps exact.
const SAFE: u64 = (1 << 53) - 1;

/// Which model an agent asks. What is absent is left to the defaults of the loop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentOptions {
    /// The provider's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The most tokens of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<MaxTokens>,
}

/// The most tokens of an answer: from 1 to 2^53 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct MaxTokens(u64);

/// A limit of tokens that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`maxTokens` is a whole number from 1 to {SAFE}, not {given}")]
pub struct BadMaxTokens {
    /// What was given.
    pub given: u64,
}

impl MaxTokens {
    /// The number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

impl TryFrom<u64> for MaxTokens {
    type Error = BadMaxTokens;

    fn try_from(given: u64) -> Result<Self, BadMaxTokens> {
        if (1..=SAFE).contains(&given) { Ok(Self(given)) } else { Err(BadMaxTokens { given }) }
    }
}

impl From<MaxTokens> for u64 {
    fn from(limit: MaxTokens) -> Self {
        limit.0
    }
}
