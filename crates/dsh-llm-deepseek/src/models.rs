//! What is known of the models.

use dsh_llm::{Modality, ModelEntry, ModelInfo, ProviderInfo, Reasoning, ReasoningEffort};

use crate::config::{Config, Effort, ModelConfig, Thinking};

/// The one provider that is served.
pub(crate) const PROVIDER: &str = "deepseek-official";

pub(crate) fn provider() -> ProviderInfo {
    ProviderInfo { id: PROVIDER.to_owned(), name: "DeepSeek".to_owned() }
}

impl Config {
    /// The models to choose from.
    pub(crate) fn entries(&self) -> Vec<ModelEntry> {
        let entry = |model: &ModelConfig| ModelEntry {
            provider: PROVIDER.to_owned(),
            id: model.id.clone(),
            name: model.shown_name(),
            description: model.description.clone(),
            input_modalities: Some(model.input_modalities.clone()),
        };
        self.models.iter().map(entry).collect()
    }

    /// One model, listed or not: one that is not listed reads text, and is called by its id.
    pub(crate) fn info(&self, id: &str) -> ModelInfo {
        let listed = self.models.iter().find(|model| model.id == id);
        ModelInfo {
            provider: PROVIDER.to_owned(),
            id: id.to_owned(),
            name: listed.map_or_else(|| id.to_owned(), ModelConfig::shown_name),
            input_modalities: Some(
                listed.map_or_else(|| vec![Modality::Text], |model| model.input_modalities.clone()),
            ),
            context_window: Some(
                listed.and_then(|model| model.context_window).unwrap_or(self.default_context_window),
            ),
            default_max_tokens: Some(listed.and_then(|model| model.max_tokens).unwrap_or(self.max_tokens)),
            reasoning: (!self.is_thinking_omitted()).then(|| self.reasoning()),
        }
    }

    fn reasoning(&self) -> Reasoning {
        let efforts: &[Effort] = if self.is_thinking_disabled() { &[Effort::Off] } else { &Effort::ALL };
        let described =
            |effort: &Effort| ReasoningEffort { id: effort.id().to_owned(), name: effort.name().to_owned() };
        Reasoning {
            efforts: efforts.iter().map(described).collect(),
            default_effort: Some(self.default_effort().id().to_owned()),
        }
    }

    /// How hard models think where a request does not say.
    pub(crate) fn default_effort(&self) -> Effort {
        let usual = if self.is_thinking_disabled() { Effort::Off } else { Effort::High };
        self.reasoning_effort.unwrap_or(usual)
    }

    pub(crate) fn is_thinking_omitted(&self) -> bool {
        self.thinking == Some(Thinking::Omitted)
    }

    fn is_thinking_disabled(&self) -> bool {
        self.thinking == Some(Thinking::Disabled)
    }
}

impl ModelConfig {
    fn shown_name(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.id.clone())
    }
}
