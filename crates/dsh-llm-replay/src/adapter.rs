//! The models that a script is served as.

use std::sync::Arc;
use std::time::Duration;

use dsh_llm::{
    Adapter, ChunkSink, LlmError, Model, ModelEntry, ModelInfo, ModelRequest, ProviderInfo, Reasoning,
    ReasoningEffort, RetryPolicy,
};
use tokio_util::sync::CancellationToken;

use crate::config::{ModelConfig, ProviderConfig};
use crate::play::Player;
use crate::replay::Replay;

/// The adapter of the configured providers.
pub(crate) struct Served {
    pub(crate) replay: Arc<Replay>,
    pub(crate) providers: Vec<ProviderConfig>,
    pub(crate) pace: Duration,
}

/// One model of one of them.
pub(crate) struct ServedModel {
    replay: Arc<Replay>,
    pace: Duration,
    info: ModelInfo,
}

impl Served {
    fn config(&self, provider: &str) -> Option<&ProviderConfig> {
        self.providers.iter().find(|config| config.id == provider)
    }
}

impl Adapter for Served {
    type Model = ServedModel;

    fn provider(&self, provider: &str) -> ProviderInfo {
        let name = self.config(provider).and_then(|config| config.name.clone());
        ProviderInfo { id: provider.to_owned(), name: name.unwrap_or_else(|| provider.to_owned()) }
    }

    fn retry_policy(&self, provider: &str) -> RetryPolicy {
        self.config(provider).map(|config| config.retry_policy.clone()).unwrap_or_default()
    }

    async fn models(&self, provider: &str) -> Result<Vec<ModelEntry>, LlmError> {
        let models = self.config(provider).map(|config| config.models.as_slice()).unwrap_or_default();
        Ok(models.iter().map(|model| model.entry(provider)).collect())
    }

    async fn model(
        &self,
        provider: &str,
        model: &str,
        _cancellation: &CancellationToken,
    ) -> Result<ServedModel, LlmError> {
        let models = self.config(provider).map(|config| config.models.as_slice()).unwrap_or_default();
        let listed = models.iter().find(|listed| listed.id == model).cloned();
        let info = listed.unwrap_or_else(|| ModelConfig::unlisted(model)).info(provider);
        Ok(ServedModel { replay: self.replay.clone(), pace: self.pace, info })
    }
}

impl Model for ServedModel {
    fn info(&self) -> ModelInfo {
        self.info.clone()
    }

    async fn stream(&self, request: &ModelRequest, out: &mut ChunkSink) -> Result<(), LlmError> {
        Player::new(out, self.pace).play(&self.replay, request).await
    }
}

impl ModelConfig {
    /// A model of which nothing is known but its id.
    pub(crate) fn unlisted(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: None,
            context_window: None,
            default_max_tokens: None,
            input_modalities: None,
            efforts: Vec::new(),
        }
    }

    fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.id.clone())
    }

    fn entry(&self, provider: &str) -> ModelEntry {
        ModelEntry {
            provider: provider.to_owned(),
            id: self.id.clone(),
            name: self.name(),
            description: None,
            input_modalities: self.input_modalities.clone(),
        }
    }

    fn info(&self, provider: &str) -> ModelInfo {
        let effort = |id: &String| ReasoningEffort { id: id.clone(), name: id.clone() };
        let reasoning = self.efforts.first().map(|first| Reasoning {
            efforts: self.efforts.iter().map(effort).collect(),
            default_effort: Some(first.clone()),
        });
        ModelInfo {
            provider: provider.to_owned(),
            id: self.id.clone(),
            name: self.name(),
            input_modalities: self.input_modalities.clone(),
            context_window: self.context_window,
            default_max_tokens: self.default_max_tokens,
            reasoning,
        }
    }
}
