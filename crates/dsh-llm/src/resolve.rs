//! What a call asks of a model, completed by the model's defaults.

use crate::call::{AdapterDefaults, CallConfig};
use crate::code;
use crate::error::LlmError;
use crate::info::{ModelInfo, Reasoning};

/// A config with every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Resolved {
    pub(crate) config: CallConfig,
    /// Which fields the adapter chose.
    pub(crate) defaults: AdapterDefaults,
}

/// Fills in what the config leaves open. Nothing that it says is changed.
pub(crate) fn resolved(mut config: CallConfig, info: &ModelInfo) -> Result<Resolved, LlmError> {
    let mut defaults = AdapterDefaults::default();
    match (&config.reasoning_effort, &info.reasoning) {
        (Some(effort), reasoning) => {
            let has = reasoning
                .as_ref()
                .is_some_and(|reasoning| reasoning.efforts.iter().any(|has| has.id == *effort));
            if !has {
                return Err(unsupported(info, effort));
            }
        }
        (None, Some(Reasoning { default_effort: Some(effort), .. })) => {
            config.reasoning_effort = Some(effort.clone());
            defaults.reasoning_effort = Some(true);
        }
        (None, _) => {}
    }
    if let (None, Some(max_tokens)) = (config.max_tokens, info.default_max_tokens) {
        config.max_tokens = Some(max_tokens);
        defaults.max_tokens = Some(true);
    }
    Ok(Resolved { config, defaults })
}

/// Leaves open again what the adapter of another model chose, unless somebody has chosen since.
pub(crate) fn undefaulted(mut config: CallConfig, before: &Resolved) -> CallConfig {
    if before.defaults.reasoning_effort == Some(true)
        && config.reasoning_effort == before.config.reasoning_effort
    {
        config.reasoning_effort = None;
    }
    if before.defaults.max_tokens == Some(true) && config.max_tokens == before.config.max_tokens {
        config.max_tokens = None;
    }
    config
}

fn unsupported(info: &ModelInfo, effort: &str) -> LlmError {
    let efforts: Vec<&str> = info
        .reasoning
        .iter()
        .flat_map(|reasoning| &reasoning.efforts)
        .map(|effort| effort.id.as_str())
        .collect();
    let remedy = match efforts.as_slice() {
        [] => "it has none to choose from".to_owned(),
        efforts => format!("it has {}", efforts.join(", ")),
    };
    LlmError::new(
        code::UNSUPPORTED_REASONING_EFFORT,
        format!(
            "model {:?} of provider {:?} has no reasoning effort {effort:?}: {remedy}",
            info.id, info.provider
        ),
    )
}

/// Checks that an adapter says of a model what can be.
pub(crate) fn checked(info: ModelInfo, provider: &str, model: &str) -> Result<ModelInfo, LlmError> {
    let invalid = |code: &str, what: &str| {
        Err(LlmError::new(code, format!("the adapter of provider {provider:?} {what} for model {model:?}")))
    };
    if info.provider != provider || info.id != model || info.id.is_empty() || info.name.is_empty() {
        return invalid(code::INVALID_MODEL_INFO, "gives the facts of another model, or no name,");
    }
    if info.context_window == Some(0) {
        return invalid(code::INVALID_MODEL_CONTEXT, "gives a context window of 0");
    }
    const MAX_SAFE: u64 = (1 << 53) - 1;
    if info.default_max_tokens.is_some_and(|tokens| tokens == 0 || tokens > MAX_SAFE) {
        return invalid(
            code::INVALID_MODEL_MAX_TOKENS,
            "gives a limit of tokens that is 0 or more than 2^53 - 1",
        );
    }
    if let Some(reasoning) = &info.reasoning
        && !is_in_order(reasoning)
    {
        return invalid(
            code::INVALID_MODEL_REASONING,
            "gives no efforts, one without id or name, one twice, or a default that is none of them",
        );
    }
    Ok(info)
}

fn is_in_order(reasoning: &Reasoning) -> bool {
    let efforts = &reasoning.efforts;
    let is_one = |id: &str| efforts.iter().any(|effort| effort.id == id);
    let once = |index: usize| !efforts[..index].iter().any(|before| before.id == efforts[index].id);
    !efforts.is_empty()
        && efforts.iter().all(|effort| !effort.id.is_empty() && !effort.name.is_empty())
        && (0..efforts.len()).all(once)
        && reasoning.default_effort.as_deref().is_none_or(is_one)
}
