//! The plugin's configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How calls are executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// How long a body may go on once its call was cancelled, in milliseconds; then it is dropped.
    pub body_grace_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { body_grace_ms: 10_000 }
    }
}
