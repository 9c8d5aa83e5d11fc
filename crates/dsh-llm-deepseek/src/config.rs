//! The plugin's configuration.

use std::collections::HashSet;
use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use dsh_llm::{InvalidRetryPolicy, Modality, RetryPolicy};
use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::endpoint::{Endpoint, EndpointError};

/// The plugin's name.
pub(crate) const NAME: &str = "llm-deepseek";
/// The longest time limit, in ms.
const MAX_MS: u64 = i32::MAX as u64;
/// The most tokens that a limit may name.
const MAX_TOKENS: u64 = (1 << 53) - 1;

/// Which models there are, how they are asked, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// The environment variable that holds the API key.
    pub api_key_env: String,
    /// The URL that `/chat/completions` is below. Without this it is `DEEPSEEK_BASE_URL` of the environment, else DeepSeek's own.
    #[serde(rename = "baseURL")]
    pub base_url: Option<String>,
    /// Whether the models think at all.
    pub thinking: Option<Thinking>,
    /// How hard they think where a request does not say; `high` without this, `off` where thinking is disabled.
    pub reasoning_effort: Option<Effort>,
    /// The most tokens of an answer, where neither the request nor the model's entry says.
    #[schemars(range(min = 1))]
    pub max_tokens: u64,
    /// How many tokens a model can hold whose entry does not say.
    #[schemars(range(min = 1))]
    pub default_context_window: u64,
    /// The models to choose from. Any other one can be asked as well.
    pub models: Vec<ModelConfig>,
    /// How long nothing may come while an answer is waited for, in milliseconds.
    #[schemars(range(min = 1, max = MAX_MS))]
    pub stream_idle_timeout_ms: u64,
    /// How long an answer may take altogether, in milliseconds; without this, as long as something comes.
    #[schemars(range(min = 1, max = MAX_MS))]
    pub total_timeout_ms: Option<NonZeroU64>,
    /// The HTTP proxy that requests go through. Without this none is used, whatever the environment names.
    pub proxy: Option<ProxyUrl>,
    /// How failed calls are tried again.
    pub retry_policy: RetryPolicy,
    /// What requests call this program in `user-agent`; its name and version without this.
    pub user_agent: Option<String>,
    /// Whether requests carry the random id of this installation, `x-deepseek-harness-user-id`.
    pub attribution: bool,
    /// Where that id is kept. Without this it is `.anonymous-user-id` in `DSH_HOME`, else in `~/.dsh`.
    pub anonymous_id_file: Option<PathBuf>,
}

/// Whether models think before they answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
    /// As hard as the effort says.
    Enabled,
    /// Never.
    Disabled,
    /// As the server likes: requests say nothing of it, for servers that do not know these fields.
    Omitted,
}

/// How hard a model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Not at all.
    Off,
    /// A little.
    Low,
    /// Much.
    High,
    /// As much as it can.
    Max,
}

/// A model to choose from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelConfig {
    /// Its id, as the server knows it.
    pub id: String,
    /// Its name, for people; the id without this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is good for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How many tokens it can hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub context_window: Option<u64>,
    /// The most tokens of an answer where a request does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u64>,
    /// What it can be told; text without this.
    #[serde(default = "text_only")]
    pub input_modalities: Vec<Modality>,
}

/// The URL of a proxy. A user and a password in it are not shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ProxyUrl(String);

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A number is zero, or more than may be.
    #[error("{NAME}: {field} must be 1 to {max}, not {given}")]
    Bounds {
        /// The field.
        field: &'static str,
        /// The most that it may be.
        max: u64,
        /// What was given.
        given: u64,
    },
    /// The name of the key's variable is none.
    #[error("{NAME}: apiKeyEnv must be the name of an environment variable, not a key")]
    KeyVariable,
    /// The base URL cannot be asked.
    #[error("{NAME}: {0}")]
    BaseUrl(EndpointError),
    /// The proxy is none that requests can go through.
    #[error("{NAME}: proxy must be a URL that begins with http:// or https://")]
    Proxy,
    /// Models that do not think are to think.
    #[error("{NAME}: reasoningEffort can only be `off` where thinking is disabled: take one of the two out")]
    Effort,
    /// Models of which nothing is said are to think.
    #[error("{NAME}: reasoningEffort cannot be set where thinking is `omitted`: take one of the two out")]
    Omitted,
    /// A model is not described well enough to be chosen.
    #[error("{NAME}: models: {what}")]
    Models {
        /// What is wrong.
        what: String,
    },
    /// The policy of retries cannot be followed.
    #[error("{NAME}: retryPolicy: {0}")]
    RetryPolicy(#[from] InvalidRetryPolicy),
    /// The name of this program cannot be sent.
    #[error("{NAME}: userAgent must be printable ASCII and not blank")]
    UserAgent,
}

impl Default for Config {
    fn default() -> Self {
        let named =
            |id: &str, name: &str| ModelConfig { name: Some(name.to_owned()), ..ModelConfig::new(id) };
        Self {
            api_key_env: "DEEPSEEK_API_KEY".to_owned(),
            base_url: None,
            thinking: None,
            reasoning_effort: None,
            max_tokens: 256_000,
            default_context_window: 1_000_000,
            models: vec![
                named("deepseek-v4-flash", "DeepSeek-V4-Flash"),
                named("deepseek-v4-pro", "DeepSeek-V4-Pro"),
            ],
            stream_idle_timeout_ms: 300_000,
            total_timeout_ms: None,
            proxy: None,
            retry_policy: RetryPolicy::default(),
            user_agent: None,
            attribution: true,
            anonymous_id_file: None,
        }
    }
}

impl Config {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        self.check_numbers()?;
        self.check_models()?;
        let variable = self.api_key_env.as_str();
        if variable.is_empty() || variable.contains(['=', '\0']) || variable.contains(char::is_whitespace) {
            return Err(ConfigError::KeyVariable);
        }
        Endpoint::resolve(self.base_url.as_deref(), None).map_err(ConfigError::BaseUrl)?;
        if self.proxy.as_ref().is_some_and(|proxy| !proxy.is_usable()) {
            return Err(ConfigError::Proxy);
        }
        match (self.thinking, self.reasoning_effort) {
            (Some(Thinking::Disabled), Some(Effort::Low | Effort::High | Effort::Max)) => {
                return Err(ConfigError::Effort);
            }
            (Some(Thinking::Omitted), Some(_)) => return Err(ConfigError::Omitted),
            _ => {}
        }
        let is_sendable = |agent: &String| {
            !agent.trim().is_empty() && agent.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
        };
        if self.user_agent.as_ref().is_some_and(|agent| !is_sendable(agent)) {
            return Err(ConfigError::UserAgent);
        }
        self.retry_policy.check()?;
        Ok(())
    }

    fn check_numbers(&self) -> Result<(), ConfigError> {
        let total = self.total_timeout_ms.map_or(1, NonZeroU64::get);
        let numbers = [
            ("maxTokens", self.max_tokens, MAX_TOKENS),
            ("defaultContextWindow", self.default_context_window, MAX_TOKENS),
            ("streamIdleTimeoutMs", self.stream_idle_timeout_ms, MAX_MS),
            ("totalTimeoutMs", total, MAX_MS),
        ];
        let of_models = self.models.iter().flat_map(|model| {
            [
                ("models.contextWindow", model.context_window.unwrap_or(1), MAX_TOKENS),
                ("models.maxTokens", model.max_tokens.unwrap_or(1), MAX_TOKENS),
            ]
        });
        match numbers.into_iter().chain(of_models).find(|(_, given, max)| !(1..=*max).contains(given)) {
            Some((field, given, max)) => Err(ConfigError::Bounds { field, max, given }),
            None => Ok(()),
        }
    }

    fn check_models(&self) -> Result<(), ConfigError> {
        let mut seen = HashSet::new();
        let wrong = self.models.iter().find_map(|model| {
            let id = &model.id;
            if id.is_empty() {
                Some("a model has an empty id".to_owned())
            } else if !seen.insert(id) {
                Some(format!("{id:?} is listed twice"))
            } else if model.name.as_ref().is_some_and(String::is_empty) {
                Some(format!("the name of {id:?} is empty: leave it out to use the id"))
            } else if model.input_modalities.is_empty() {
                Some(format!("the inputModalities of {id:?} are empty: leave them out for text"))
            } else if !model.input_modalities.contains(&Modality::Text) {
                Some(format!("the inputModalities of {id:?} lack `text`"))
            } else {
                None
            }
        });
        if self.models.is_empty() {
            return Err(ConfigError::Models {
                what: "the list is empty: leave it out for the models of DeepSeek".to_owned(),
            });
        }
        wrong.map_or(Ok(()), |what| Err(ConfigError::Models { what }))
    }

    pub(crate) fn idle_timeout(&self) -> Duration {
        Duration::from_millis(self.stream_idle_timeout_ms)
    }

    pub(crate) fn total_timeout(&self) -> Option<Duration> {
        self.total_timeout_ms.map(|ms| Duration::from_millis(ms.get()))
    }
}

impl Effort {
    /// All of them, from none to most.
    pub(crate) const ALL: [Self; 4] = [Self::Off, Self::Low, Self::High, Self::Max];

    /// As requests name it.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Low => "low",
            Self::High => "high",
            Self::Max => "max",
        }
    }

    /// For people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Off => "Off",
            Self::Low => "Low",
            Self::High => "High",
            Self::Max => "Max",
        }
    }
}

impl ModelConfig {
    /// A model that reads text, of which only the id is known.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: None,
            description: None,
            context_window: None,
            max_tokens: None,
            input_modalities: text_only(),
        }
    }
}

fn text_only() -> Vec<Modality> {
    vec![Modality::Text]
}

impl ProxyUrl {
    /// A URL, not checked yet.
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// The whole text, with what is secret in it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    fn is_usable(&self) -> bool {
        Url::parse(&self.0).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown =
            Url::parse(&self.0).map_or_else(|_| "not a URL".to_owned(), |url| crate::endpoint::shown(&url));
        write!(f, "ProxyUrl({shown})")
    }
}
