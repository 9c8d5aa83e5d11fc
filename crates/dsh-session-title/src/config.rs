//! The plugin's configuration.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long titles are. All three are required.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// How many words of the first message make a title that nobody gave.
    pub fallback_max_words: NonZeroUsize,
    /// How many bytes such a title has at most; no more than `maxTitleBytes`.
    pub fallback_max_bytes: NonZeroUsize,
    /// How many bytes any title has at most.
    pub max_title_bytes: NonZeroUsize,
}

impl Config {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.fallback_max_bytes > self.max_title_bytes {
            return Err(ConfigError {
                fallback_max_bytes: self.fallback_max_bytes.get(),
                max_title_bytes: self.max_title_bytes.get(),
            });
        }
        Ok(())
    }
}

/// A title that nobody gave could be longer than any title may be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "session-title: `fallbackMaxBytes` is {fallback_max_bytes}, more than `maxTitleBytes`, which is {max_title_bytes}"
)]
pub struct ConfigError {
    /// The limit of titles that nobody gave.
    pub fallback_max_bytes: usize,
    /// The limit of all titles.
    pub max_title_bytes: usize,
}
