//! How failed calls of a model are tried again.

use std::collections::HashSet;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::code;

/// The longest delay, in ms.
const MAX_DELAY_MS: f64 = 2_147_483_647.0;

/// How failed calls of a model are tried again. Whoever retries decides by it; nothing here does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Written", tag = "mode", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum RetryPolicy {
    /// A number of times, and only for failures that may pass.
    Normal {
        /// How often in one step; 0 for never.
        max_retries: u32,
        /// The codes of failures that may pass; at least one, each once.
        retryable_codes: Vec<String>,
        /// How long to wait.
        backoff: Backoff,
    },
    /// Whatever fails, without end.
    Always {
        /// How long to wait.
        backoff: Backoff,
    },
}

/// A policy as it is written: `always` may keep what only `normal` reads, so that one word changes the mode.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "RetryPolicy")]
struct Written {
    /// `normal` retries a number of times what may pass, `always` retries everything without end.
    mode: Mode,
    /// How often in one step; 0 for never, 5 without it.
    #[serde(default = "default_max_retries")]
    max_retries: u32,
    /// The codes of failures that may pass; at least one, each once.
    #[serde(default = "default_codes")]
    retryable_codes: Vec<String>,
    /// How long to wait.
    #[serde(default)]
    backoff: Backoff,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Normal,
    Always,
}

impl From<Written> for RetryPolicy {
    fn from(Written { mode, max_retries, retryable_codes, backoff }: Written) -> Self {
        match mode {
            Mode::Normal => Self::Normal { max_retries, retryable_codes, backoff },
            Mode::Always => Self::Always { backoff },
        }
    }
}

/// How long to wait before the next try: twice as long each time, within a limit, and never quite the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Backoff {
    /// Before the first retry, in ms; more than 0.
    pub initial_delay_ms: f64,
    /// At most, in ms; not less than the first, at most 2^31 - 1.
    pub max_delay_ms: f64,
    /// Which part of a delay is up to chance, 0 to 1.
    pub jitter_ratio: f64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { initial_delay_ms: 500.0, max_delay_ms: 10_000.0, jitter_ratio: 0.1 }
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::Normal {
            max_retries: default_max_retries(),
            retryable_codes: default_codes(),
            backoff: Backoff::default(),
        }
    }
}

fn default_max_retries() -> u32 {
    5
}

fn default_codes() -> Vec<String> {
    [code::EMPTY_RESPONSE, code::RATE_LIMIT, code::SERVER, code::TIMEOUT, code::TRANSPORT]
        .map(str::to_owned)
        .to_vec()
}

/// A policy that cannot be followed.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum InvalidRetryPolicy {
    /// No failure would be tried again.
    #[error("`retryableCodes` is empty: list at least one code, or set `maxRetries` to 0")]
    NoCodes,
    /// A code is listed twice, or empty.
    #[error("`retryableCodes` has {code:?} twice, or a code that is empty")]
    Code {
        /// The code.
        code: String,
    },
    /// A delay is out of its bounds.
    #[error("`backoff.{field}` is {value}: a delay is more than 0 and at most 2147483647 ms")]
    Delay {
        /// The field.
        field: &'static str,
        /// What it is.
        value: f64,
    },
    /// The first delay is longer than any may be.
    #[error("`backoff.initialDelayMs` is {initial}, more than `maxDelayMs`, which is {max}")]
    Order {
        /// The first one.
        initial: f64,
        /// The longest one.
        max: f64,
    },
    /// The part of chance is out of its bounds.
    #[error("`backoff.jitterRatio` is {0}: it is 0 to 1")]
    Jitter(f64),
}

impl RetryPolicy {
    /// How long to wait.
    #[must_use]
    pub fn backoff(&self) -> &Backoff {
        match self {
            Self::Normal { backoff, .. } | Self::Always { backoff } => backoff,
        }
    }

    /// Checks that it can be followed.
    ///
    /// # Errors
    /// The first thing that is out of its bounds.
    pub fn check(&self) -> Result<(), InvalidRetryPolicy> {
        if let Self::Normal { retryable_codes, .. } = self {
            if retryable_codes.is_empty() {
                return Err(InvalidRetryPolicy::NoCodes);
            }
            let mut seen = HashSet::new();
            if let Some(code) = retryable_codes.iter().find(|code| code.is_empty() || !seen.insert(*code)) {
                return Err(InvalidRetryPolicy::Code { code: code.clone() });
            }
        }
        self.backoff().check()
    }
}

impl Backoff {
    fn check(&self) -> Result<(), InvalidRetryPolicy> {
        for (field, value) in [("initialDelayMs", self.initial_delay_ms), ("maxDelayMs", self.max_delay_ms)] {
            if !(value > 0.0 && value <= MAX_DELAY_MS) {
                return Err(InvalidRetryPolicy::Delay { field, value });
            }
        }
        if self.initial_delay_ms > self.max_delay_ms {
            return Err(InvalidRetryPolicy::Order { initial: self.initial_delay_ms, max: self.max_delay_ms });
        }
        if !(0.0..=1.0).contains(&self.jitter_ratio) {
            return Err(InvalidRetryPolicy::Jitter(self.jitter_ratio));
        }
        Ok(())
    }

    /// The delay in ms before a retry, counted from 1, for a number of chance from 0 to 1.
    #[must_use]
    pub fn delay_ms(&self, retry: u32, chance: f64) -> f64 {
        let doubled = self.initial_delay_ms * 2_f64.powi(retry.saturating_sub(1).min(1_000).cast_signed());
        let spread = 1.0 - self.jitter_ratio + 2.0 * self.jitter_ratio * chance.clamp(0.0, 1.0);
        (doubled.min(self.max_delay_ms) * spread).min(self.max_delay_ms)
    }

    /// The longest delay.
    #[must_use]
    pub fn max_delay(&self) -> Duration {
        Duration::from_secs_f64(self.max_delay_ms.clamp(0.0, MAX_DELAY_MS) / 1_000.0)
    }
}
