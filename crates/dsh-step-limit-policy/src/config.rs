//! The plugin's configuration.

use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many steps a turn has at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// How many steps a turn has at most, each one request to the model and the tools that it calls; at least 1. There is no
    /// default: how much an agent may do unasked is for whoever mounts the plugin to say.
    pub max_steps: NonZeroU64,
}
