//! The plugin's configuration.

use std::num::NonZeroU64;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long calls may take of tools that do not say so themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// The timeout of tools without one of their own, in milliseconds. Without this they have none. A tool that is meant to
    /// wait, for an agent or for a job, needs a longer one of its own then.
    pub default_timeout_ms: Option<NonZeroU64>,
}

impl Config {
    pub(crate) fn default_timeout(self) -> Option<Duration> {
        self.default_timeout_ms.map(|ms| Duration::from_millis(ms.get()))
    }
}
