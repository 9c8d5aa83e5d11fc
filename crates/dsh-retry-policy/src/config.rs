//! The plugin's configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The codes that pass by themselves, unless a configuration says otherwise: calls that were late, and connections that
/// broke.
///
/// Source: `TOOL_TIMEOUT` of the reference's `timeout-policy`, `WEB_FETCH_TIMEOUT` of its web tools, and the codes
/// that its `llm-retry` repeats of those about connections.
pub const DEFAULT_CODES: [&str; 6] =
    ["TOOL_TIMEOUT", "TRANSPORT", "TIMEOUT", "RATE_LIMIT", "SERVER", "WEB_FETCH_TIMEOUT"];

/// The longest delay of a timer, in milliseconds.
const MAX_DELAY_MS: u64 = 2_147_483_647;

/// Which failures are worth another run, how many, and how long each waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// How often a call is run again at most, beside its first run.
    pub max_retries: u32,
    /// How long the first wait is, in milliseconds; each further one is twice as long. From 1 to 2147483647.
    pub base_delay_ms: u64,
    /// How long a wait is at most, in milliseconds. From `baseDelayMs` to 2147483647.
    pub max_delay_ms: u64,
    /// By how much of itself a wait is made shorter or longer at random, from 0 (by nothing) to 1.
    pub jitter: f64,
    /// The codes of the failures that are worth another run; at least one, none twice.
    pub codes: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_retries: 2,
            base_delay_ms: 200,
            max_delay_ms: 10_000,
            jitter: 0.5,
            codes: DEFAULT_CODES.map(str::to_owned).to_vec(),
        }
    }
}

/// A configuration that cannot be.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A wait is no length of time, or longer than timers can be.
    #[error("retry-policy: `{name}` is {ms}, but must be from 1 to 2147483647")]
    DelayOutOfRange {
        /// The field's name.
        name: &'static str,
        /// Its value.
        ms: u64,
    },
    /// The first wait would be longer than any may be.
    #[error(
        "retry-policy: `baseDelayMs` is {base_delay_ms}, more than `maxDelayMs`, which is {max_delay_ms}"
    )]
    BaseAboveMax {
        /// The first wait.
        base_delay_ms: u64,
        /// The longest wait.
        max_delay_ms: u64,
    },
    /// Waits would become negative, or be no number.
    #[error("retry-policy: `jitter` is {jitter}, but must be from 0 to 1")]
    JitterOutOfRange {
        /// The value.
        jitter: f64,
    },
    /// Nothing would be run again.
    #[error("retry-policy: `codes` must name at least one code; to run nothing again, leave the plugin out")]
    NoCodes,
    /// A code without a name.
    #[error("retry-policy: `codes` must not hold an empty code")]
    EmptyCode,
    /// A code that is there twice.
    #[error("retry-policy: `codes` must not name `{code}` twice")]
    DuplicateCode {
        /// The code.
        code: String,
    },
}

impl Config {
    /// Whether the figures are in their bounds.
    ///
    /// # Errors
    /// The first one that is not.
    pub fn check(&self) -> Result<(), ConfigError> {
        let delays = [("baseDelayMs", self.base_delay_ms), ("maxDelayMs", self.max_delay_ms)];
        for (name, ms) in delays {
            if ms == 0 || ms > MAX_DELAY_MS {
                return Err(ConfigError::DelayOutOfRange { name, ms });
            }
        }
        let Self { base_delay_ms, max_delay_ms, jitter, .. } = *self;
        if base_delay_ms > max_delay_ms {
            return Err(ConfigError::BaseAboveMax { base_delay_ms, max_delay_ms });
        }
        if !(0.0..=1.0).contains(&jitter) {
            return Err(ConfigError::JitterOutOfRange { jitter });
        }
        if self.codes.is_empty() {
            return Err(ConfigError::NoCodes);
        }
        for (at, code) in self.codes.iter().enumerate() {
            if code.is_empty() {
                return Err(ConfigError::EmptyCode);
            }
            if self.codes[..at].contains(code) {
                return Err(ConfigError::DuplicateCode { code: code.clone() });
            }
        }
        Ok(())
    }
}
