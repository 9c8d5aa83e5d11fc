//! What a request asks of a model.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::open::present;

/// Which model is asked, and how. Two are equal when every field is; an empty list of stops is not an absent one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallConfig {
    /// The provider's name.
    pub provider: String,
    /// The model's id.
    pub model: String,
    /// How hard it is to think, in the model's own words.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub reasoning_effort: Option<String>,
    /// How much chance there is.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub temperature: Option<f64>,
    /// The most tokens that it may write.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub max_tokens: Option<u64>,
    /// The texts at which it ends.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub stop: Option<Vec<String>>,
}

impl CallConfig {
    /// A model of a provider, with everything else left open.
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            provider: provider.into(),
            model: model.into(),
            reasoning_effort: None,
            temperature: None,
            max_tokens: None,
            stop: None,
        }
    }
}

/// Which settings of a call the adapter chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdapterDefaults {
    /// The effort.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub reasoning_effort: Option<bool>,
    /// The limit of tokens.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub max_tokens: Option<bool>,
}

/// A tool as it is offered to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSchema {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON schema of its arguments, an object.
    pub parameters: Map<String, Value>,
}
