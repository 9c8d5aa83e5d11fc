//! The plugin's configuration.

use std::time::Duration;

use dsh_tools::MAX_DELAY;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;
use thiserror::Error;

/// How long one call waits for a job, and how an agent is told that a job has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// How long `job_output` waits if the model does not say, in milliseconds: at least 1, and no more than
    /// `maxWaitTimeoutMs`.
    #[serde(deserialize_with = "wait_timeout_ms")]
    pub wait_timeout_ms: u64,
    /// How long `job_output` waits at most, in milliseconds. A timeout policy lets it wait so long, whatever its own default is.
    #[serde(deserialize_with = "max_wait_timeout_ms")]
    pub max_wait_timeout_ms: u64,
    /// Whether an idle agent begins to work because a job of it has ended.
    pub completion_delivery: CompletionDelivery,
    /// How often an idle agent is woken in a row without a word of its user; 0 for never.
    #[serde(deserialize_with = "max_consecutive_wakes")]
    pub max_consecutive_wakes: u64,
}

/// Whether an idle agent begins to work because a job of it has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CompletionDelivery {
    /// It begins a turn.
    #[default]
    Wakeup,
    /// The notice waits for the next step, whenever that is.
    Quiet,
}

/// A configuration that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The wait without a request is longer than the longest one.
    #[error("tool-jobs: waitTimeoutMs ({default}) exceeds maxWaitTimeoutMs ({max})")]
    Wait {
        /// The wait without a request, in milliseconds.
        default: u64,
        /// The longest wait, in milliseconds.
        max: u64,
    },
    /// A number that is none of the key's.
    #[error("tool-jobs: `{key}` is {value}, but must be a whole number of at least {least}")]
    Number {
        /// The key.
        key: &'static str,
        /// The number.
        value: Number,
        /// The least that it can be.
        least: u64,
    },
}

impl Default for Config {
    fn default() -> Self {
        Self {
            wait_timeout_ms: 30_000,
            max_wait_timeout_ms: 600_000,
            completion_delivery: CompletionDelivery::Wakeup,
            max_consecutive_wakes: 3,
        }
    }
}

impl Config {
    /// Whether the figures are in their bounds.
    ///
    /// # Errors
    /// The first one that is not.
    pub fn check(&self) -> Result<(), ConfigError> {
        let (default, max) = (self.wait_timeout_ms, self.max_wait_timeout_ms);
        for (key, value) in [("waitTimeoutMs", default), ("maxWaitTimeoutMs", max)] {
            at_least(1, key, &value.into())?;
        }
        if default > max { Err(ConfigError::Wait { default, max }) } else { Ok(()) }
    }

    /// The wait without a request.
    pub(crate) fn wait(&self) -> Duration {
        Duration::from_millis(self.wait_timeout_ms)
    }

    /// The longest wait.
    pub(crate) fn longest_wait(&self) -> Duration {
        Duration::from_millis(self.max_wait_timeout_ms).min(MAX_DELAY)
    }
}

// Numbers of any kind are read, so that the error of one that does not fit is ours.

fn wait_timeout_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    at_least(1, "waitTimeoutMs", &Number::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn max_wait_timeout_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    at_least(1, "maxWaitTimeoutMs", &Number::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn max_consecutive_wakes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    at_least(0, "maxConsecutiveWakes", &Number::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// A whole number, whether it is written as one or as a float.
fn at_least(least: u64, key: &'static str, value: &Number) -> Result<u64, ConfigError> {
    /// From here on floats skip integers.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = || value.as_f64().filter(|float| float.fract() == 0.0 && (0.0..EXACT).contains(float));
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a small integer")]
    let whole = value.as_u64().or_else(|| Some(float()? as u64));
    whole.filter(|whole| *whole >= least).ok_or_else(|| ConfigError::Number {
        key,
        value: value.clone(),
        least,
    })
}
