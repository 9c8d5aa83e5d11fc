//! What is chosen when a model is chosen.

use dsh_llm::CallConfig;
use serde::{Deserialize, Serialize};

/// A model, and how hard it is to think.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Selection {
    /// The provider's name.
    pub provider: String,
    /// The model's id.
    pub model: String,
    /// The effort, in the model's own words; none leaves it to the model, whatever was chosen before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
}

impl Selection {
    /// A model of a provider, which thinks as hard as it does by itself.
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self { provider: provider.into(), model: model.into(), reasoning_effort: None }
    }

    /// With this effort.
    #[must_use]
    pub fn with_effort(self, effort: impl Into<String>) -> Self {
        Self { reasoning_effort: Some(effort.into()), ..self }
    }

    /// A call like this one, of the model that is chosen.
    pub(crate) fn applied_to(self, call: CallConfig) -> CallConfig {
        let Self { provider, model, reasoning_effort } = self;
        CallConfig { provider, model, reasoning_effort, ..call }
    }
}
