//! The plugin's configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The model that agents ask until somebody saves another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// The provider's name, not empty.
    #[schemars(length(min = 1))]
    pub provider: String,
    /// The model's id, not empty.
    #[schemars(length(min = 1))]
    pub model: String,
}

/// A configuration that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("agent-default-model: `{field}` is empty: name one, or leave the field out for the default")]
#[non_exhaustive]
pub struct ConfigError {
    /// The field.
    pub field: &'static str,
}

impl Default for Config {
    fn default() -> Self {
        Self { provider: "deepseek-official".to_owned(), model: "deepseek-v4-flash".to_owned() }
    }
}

impl Config {
    /// Whether both are named. Whether anybody serves them is not looked at.
    ///
    /// # Errors
    /// The first one that is not.
    pub fn check(&self) -> Result<(), ConfigError> {
        match (self.provider.is_empty(), self.model.is_empty()) {
            (true, _) => Err(ConfigError { field: "provider" }),
            (_, true) => Err(ConfigError { field: "model" }),
            (false, false) => Ok(()),
        }
    }
}
