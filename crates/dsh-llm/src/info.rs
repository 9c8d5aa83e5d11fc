//! What is known of providers and models.

use serde::{Deserialize, Serialize};

/// A provider that has an adapter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderInfo {
    /// Its id, as requests name it.
    pub id: String,
    /// Its name, for people.
    pub name: String,
}

/// A model in a provider's list. The list is advice: a model that is not in it can be asked all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelEntry {
    /// The provider's id.
    pub provider: String,
    /// The model's id; unique within its list.
    pub id: String,
    /// Its name, for people.
    pub name: String,
    /// What it is good for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it can be told; none if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_modalities: Option<Vec<Modality>>,
}

/// What is known of one model of one provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// The provider's id.
    pub provider: String,
    /// The model's id.
    pub id: String,
    /// Its name, for people.
    pub name: String,
    /// What it can be told; none if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_modalities: Option<Vec<Modality>>,
    /// How many tokens it can hold, more than 0; none if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// How many tokens it may write where a request does not say, more than 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_max_tokens: Option<u64>,
    /// How hard it can think; none for a model that cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
}

/// How hard a model can think.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reasoning {
    /// The efforts that it has, at least one.
    pub efforts: Vec<ReasoningEffort>,
    /// The one where a request does not say; one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_effort: Option<String>,
}

/// One effort of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasoningEffort {
    /// Its id, as requests name it.
    pub id: String,
    /// Its name, for people.
    pub name: String,
}

/// What a model can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Modality {
    /// Text.
    Text,
    /// Pictures.
    Image,
}
