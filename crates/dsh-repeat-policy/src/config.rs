//! The plugin's configuration.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;
use thiserror::Error;

/// Which calls are counted, and when the model is reminded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// How many calls in a row make a reminder: at least one number, each an integer of at least 2, none twice. The order says
    /// nothing; the smallest one makes the short reminder.
    #[serde(deserialize_with = "thresholds")]
    pub thresholds: Vec<u64>,
    /// The tools that are counted, by name; `*` stands for any run of characters. None means all.
    pub include: Vec<String>,
    /// The tools that are not counted, in the same way, whatever `include` says. Their calls leave a count as it is.
    pub exclude: Vec<String>,
    /// How many characters of the arguments a reminder quotes, at least 1. A character is a UTF-16 unit; one that has two of them
    /// is never cut in two.
    #[serde(deserialize_with = "preview")]
    pub arguments_preview_chars: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            thresholds: vec![3, 5, 8],
            include: Vec::new(),
            exclude: Vec::new(),
            arguments_preview_chars: 500,
        }
    }
}

/// A configuration that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// There is no threshold.
    #[error("repeat-tool-reminder: `thresholds` must not be empty")]
    NoThresholds,
    /// A number that no count of repetitions is.
    #[error("repeat-tool-reminder: `thresholds` has {value}, but each must be an integer of at least 2")]
    Threshold {
        /// The number.
        value: Number,
    },
    /// A threshold that is there twice.
    #[error("repeat-tool-reminder: `thresholds` must not contain duplicates")]
    DuplicateThreshold,
    /// A number of characters that is none.
    #[error("repeat-tool-reminder: `argumentsPreviewChars` is {value}, but must be an integer of at least 1")]
    PreviewChars {
        /// The number.
        value: Number,
    },
}

impl Config {
    /// Whether the figures are in their bounds.
    ///
    /// # Errors
    /// The first one that is not.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.thresholds.is_empty() {
            return Err(ConfigError::NoThresholds);
        }
        if let Some(value) = self.thresholds.iter().copied().find(|threshold| *threshold < 2) {
            return Err(ConfigError::Threshold { value: value.into() });
        }
        let different: BTreeSet<_> = self.thresholds.iter().collect();
        if different.len() < self.thresholds.len() {
            return Err(ConfigError::DuplicateThreshold);
        }
        match self.arguments_preview_chars {
            0 => Err(ConfigError::PreviewChars { value: 0.into() }),
            _ => Ok(()),
        }
    }
}

/// Reads numbers of any kind, so that the error of one that does not fit is ours.
fn thresholds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u64>, D::Error> {
    let numbers: Vec<Number> = Deserialize::deserialize(deserializer)?;
    let threshold = |value: Number| whole(&value).ok_or(ConfigError::Threshold { value });
    numbers.into_iter().map(threshold).collect::<Result<_, _>>().map_err(D::Error::custom)
}

fn preview<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let value: Number = Deserialize::deserialize(deserializer)?;
    whole(&value).ok_or(ConfigError::PreviewChars { value }).map_err(D::Error::custom)
}

/// A number that is an integer and not negative, whether it is written as one or as a float.
fn whole(number: &Number) -> Option<u64> {
    /// From here on floats skip integers.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    number.as_u64().or_else(|| {
        let float = number.as_f64()?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a small integer")]
        (float.fract() == 0.0 && (0.0..EXACT).contains(&float)).then_some(float as u64)
    })
}
