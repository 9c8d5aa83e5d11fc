//! The plugin's configuration.

use std::path::PathBuf;
use std::time::Duration;

use dsh_subprocess::MAX_GRACE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The plugin's name.
pub(crate) const NAME: &str = "bash-local";
/// The longest that a process may be given to end.
const MAX_GRACE_MS: u64 = MAX_GRACE.as_millis() as u64;

/// Where commands run, how long they may, and how much is kept of what they print.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// The folder that commands run in if the caller names none; the host's if absent.
    pub cwd: Option<PathBuf>,
    /// How long a command may run if the caller does not say, in milliseconds.
    #[schemars(range(min = 1))]
    pub timeout_ms: u64,
    /// How long a command may run whatever the caller says, in milliseconds.
    #[schemars(range(min = 1))]
    pub max_timeout_ms: u64,
    /// How much of each stream is kept in memory, in bytes.
    #[schemars(range(min = 1))]
    pub max_output_bytes: usize,
    /// How much of each stream is kept in a file, in bytes; of a longer one there is no file.
    #[schemars(range(min = 1))]
    pub max_spill_bytes: u64,
    /// How long a command may take to end when it is told to, before it is killed, in milliseconds.
    #[schemars(range(min = 1, max = MAX_GRACE_MS))]
    pub grace_ms: u64,
}

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A number is zero.
    #[error("{NAME}: {field} must be a positive finite number")]
    Zero {
        /// The field.
        field: &'static str,
    },
    /// The grace time is none that a timer takes.
    #[error("{NAME}: graceMs must be at most {MAX_GRACE_MS}, not {given_ms}")]
    Grace {
        /// What was given.
        given_ms: u64,
    },
}

impl Default for Config {
    fn default() -> Self {
        Self {
            cwd: None,
            timeout_ms: 120_000,
            max_timeout_ms: 600_000,
            max_output_bytes: 64_000,
            max_spill_bytes: 64 << 20,
            grace_ms: 3_000,
        }
    }
}

impl Config {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let zero = [
            ("timeoutMs", self.timeout_ms == 0),
            ("maxTimeoutMs", self.max_timeout_ms == 0),
            ("maxOutputBytes", self.max_output_bytes == 0),
            ("maxSpillBytes", self.max_spill_bytes == 0),
            ("graceMs", self.grace_ms == 0),
        ];
        if let Some((field, _)) = zero.into_iter().find(|(_, is_zero)| *is_zero) {
            return Err(ConfigError::Zero { field });
        }
        if self.grace_ms > MAX_GRACE_MS {
            return Err(ConfigError::Grace { given_ms: self.grace_ms });
        }
        Ok(())
    }

    /// How long a command may run for which the caller wants this.
    pub(crate) fn timeout(&self, wanted: Option<Duration>) -> Duration {
        let wanted = wanted.unwrap_or(Duration::from_millis(self.timeout_ms));
        wanted.min(Duration::from_millis(self.max_timeout_ms))
    }

    pub(crate) fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }
}
