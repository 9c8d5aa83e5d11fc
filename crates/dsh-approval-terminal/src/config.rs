//! The plugin's configuration.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where questions are asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// The terminal's device; `/dev/tty`, the one that the program was started at, unless it is given.
    pub path: PathBuf,
}

impl Default for Config {
    fn default() -> Self {
        Self { path: PathBuf::from("/dev/tty") }
    }
}
