//! The plugin's configuration.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::mode::Mode;

/// How tools are presented, and how calls are executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// How the tools of agents that do not say otherwise are presented to the model.
    pub mode: Mode,
    /// How many calls of one program may run at once; at least 1.
    pub max_parallel_sub_calls: usize,
    /// How long a body may go on once its call was cancelled, in milliseconds; then it is let go.
    pub body_grace_ms: u64,
    /// How many threads there are at most for bodies that block; at least 1.
    pub max_blocking_threads: usize,
    /// How many bytes of what a body wrote are kept for the result of a call that fails.
    pub max_partial_output_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mode: Mode::Native,
            max_parallel_sub_calls: 10,
            body_grace_ms: 5_000,
            max_blocking_threads: 128,
            max_partial_output_bytes: 65_536,
        }
    }
}

/// A configuration that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Programs could make no calls.
    #[error("maxParallelSubCalls must be a positive integer")]
    NoSubCalls,
    /// Bodies that block could not run.
    #[error("maxBlockingThreads must be a positive integer")]
    NoThreads,
}

impl Config {
    /// Whether the figures are in their bounds.
    ///
    /// # Errors
    /// The first one that is not.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.max_parallel_sub_calls == 0 {
            return Err(ConfigError::NoSubCalls);
        }
        if self.max_blocking_threads == 0 {
            return Err(ConfigError::NoThreads);
        }
        Ok(())
    }

    pub(crate) fn body_grace(&self) -> Duration {
        Duration::from_millis(self.body_grace_ms)
    }
}
