//! The plugin's configuration.

use std::collections::HashSet;
use std::path::PathBuf;

use dsh_llm::{Modality, RetryPolicy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ConfigError;

/// The largest number that every reader of JSON keeps.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// What is played, and as which models.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// A script or a recording; without it the variable `DSH_SNAPSHOT_FILE` names it, and without that the embedded script is
    /// played.
    pub file: Option<PathBuf>,
    /// Other answers for a recording; without it the variable `DSH_SNAPSHOT_OVERRIDE` names the file.
    pub overrides: Option<PathBuf>,
    /// The recordings of other sessions that take part; without it the variable `DSH_SNAPSHOT_CHILD_FILES` lists them.
    pub child_files: Option<Vec<PathBuf>>,
    /// The providers that are served. Without one every request is answered, whatever provider it names; the embedded script is
    /// served as `scripted`.
    pub providers: Vec<ProviderConfig>,
    /// How long to wait before each piece, in ms.
    pub pace_ms: u64,
}

/// A provider that is served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderConfig {
    /// Its id, not empty.
    pub id: String,
    /// Its name; the id without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The models that are listed; any other can be asked too.
    #[serde(default)]
    pub models: Vec<ModelConfig>,
    /// How failed calls are tried again.
    #[serde(default)]
    pub retry_policy: RetryPolicy,
}

/// A model that is listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelConfig {
    /// Its id, not empty.
    pub id: String,
    /// Its name; the id without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many tokens it can hold, more than 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// How many tokens it may write where a request does not say, more than 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_max_tokens: Option<u64>,
    /// What it can be told; unknown without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_modalities: Option<Vec<Modality>>,
    /// The efforts that it has, the default first.
    #[serde(default)]
    pub efforts: Vec<String>,
}

impl Config {
    /// Whether there can be such models; the providers are looked at when they are registered.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        for ProviderConfig { id: provider, models, .. } in &self.providers {
            let mut seen = HashSet::new();
            for model in models {
                let problem =
                    model.problem().or_else(|| (!seen.insert(&model.id)).then_some("is listed twice"));
                if let Some(problem) = problem {
                    let (provider, model) = (provider.clone(), model.id.clone());
                    return Err(ConfigError { provider, model, problem });
                }
            }
        }
        Ok(())
    }

    /// The configuration with what the environment says in the place of what is left out. An empty variable says nothing.
    pub(crate) fn with_environment(mut self, variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Self {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        if self.file.is_none() {
            self.file = variable("DSH_SNAPSHOT_FILE").map(PathBuf::from);
        }
        if self.overrides.is_none() {
            self.overrides = variable("DSH_SNAPSHOT_OVERRIDE").map(PathBuf::from);
        }
        if self.child_files.is_none() {
            let list = variable("DSH_SNAPSHOT_CHILD_FILES");
            self.child_files = list.map(|list| {
                std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect()
            });
        }
        self
    }
}

impl ModelConfig {
    fn problem(&self) -> Option<&'static str> {
        let mut seen = HashSet::new();
        if self.id.is_empty() {
            Some("is without an id")
        } else if self.name.as_deref() == Some("") {
            Some("has an empty `name`: leave it out")
        } else if self.context_window == Some(0) {
            Some("has a `contextWindow` of 0: give more, or leave it out")
        } else if self.default_max_tokens.is_some_and(|tokens| tokens == 0 || tokens > MAX_SAFE) {
            Some("has a `defaultMaxTokens` of 0 or more than 2^53 - 1")
        } else if !self.efforts.iter().all(|effort| !effort.is_empty() && seen.insert(effort)) {
            Some("has an empty one among its `efforts`, or one twice")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::Config;

    // spec: llm/S69
    #[test]
    fn the_environment_fills_in_what_is_left_out() {
        let variable = |name: &str| match name {
            "DSH_SNAPSHOT_FILE" => Some(OsString::from("file")),
            "DSH_SNAPSHOT_OVERRIDE" => Some(OsString::new()),
            "DSH_SNAPSHOT_CHILD_FILES" => std::env::join_paths(["one", "", "two"]).ok(),
            _ => None,
        };
        let child_files = Some(vec!["one".into(), "two".into()]);
        let expected = Config { file: Some("file".into()), child_files, ..Config::default() };
        assert_eq!(Config::default().with_environment(variable), expected);
        let whole = Config { overrides: Some("mine".into()), child_files: Some(Vec::new()), ..expected };
        assert_eq!(whole.clone().with_environment(|_| Some("other".into())), whole);
        assert_eq!(Config::default().with_environment(|_| None), Config::default());
    }
}
