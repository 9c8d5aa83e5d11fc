//! The plugin's configuration.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// How many pairs of a tool and a code are counted apart; calls of any further pair are counted together, in one row more.
    pub max_series: NonZeroUsize,
}

impl Default for Config {
    fn default() -> Self {
        Self { max_series: const { NonZeroUsize::MIN.saturating_add(999) } }
    }
}
