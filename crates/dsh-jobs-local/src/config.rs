//! The plugin's configuration.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many jobs there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// How many jobs of one owner may run at a time, those included that were told to stop and have not ended; at least 1, 10
    /// unless it is said. Jobs of nobody count together.
    pub max_active_jobs: NonZeroUsize,
}

const TEN: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9);

impl Default for Config {
    fn default() -> Self {
        Self { max_active_jobs: TEN }
    }
}
