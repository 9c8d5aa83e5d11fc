//! Which model does a task, and why that one.

use std::env;

use anyhow::anyhow;

use crate::exit::Failure;

/// The variable that holds the key.
pub(crate) const KEY: &str = "DEEPSEEK_API_KEY";
/// The provider that is asked with a key.
pub(crate) const DEEPSEEK: &str = "deepseek-official";
/// Its model, unless another one is named. Source: the reference's `agent-default-model`.
pub(crate) const DEFAULT: &str = "deepseek-v4-flash";
/// The provider, and the model, that answers from a script.
const SCRIPTED: &str = "scripted";

/// A model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Model {
    pub(crate) provider: String,
    pub(crate) name: String,
    /// What the user has to know of it.
    pub(crate) note: Option<String>,
}

impl Model {
    /// The model that is named, else the one that the session asked last if it can be asked now, else the default one: with a
    /// key that of the provider, without one the script.
    pub(crate) fn chosen(named: Option<&str>, last: Option<&(String, String)>) -> Result<Self, Failure> {
        let has_key = env::var_os(KEY).is_some_and(|key| !key.is_empty());
        Self::of(named, last, has_key)
    }

    fn of(named: Option<&str>, last: Option<&(String, String)>, has_key: bool) -> Result<Self, Failure> {
        if let Some(named) = named {
            return Self::named(named);
        }
        let default = || if has_key { Self::new(DEEPSEEK, DEFAULT) } else { Self::new(SCRIPTED, SCRIPTED) };
        let mut model = match last {
            Some((provider, name)) if has_key && provider == DEEPSEEK => Self::new(provider, name),
            _ => default(),
        };
        if !has_key {
            model.note = Some(format!(
                "{KEY} is not set: a model from a script answers, the same whatever the task is; `dsh doctor` says how to ask a real one"
            ));
        }
        Ok(model)
    }

    fn named(named: &str) -> Result<Self, Failure> {
        let (provider, name) = match named.split_once('/') {
            Some((provider @ (DEEPSEEK | SCRIPTED), name)) => (provider, name),
            // Other servers have slashes in the names of their models.
            _ if named == SCRIPTED => (SCRIPTED, SCRIPTED),
            _ => (DEEPSEEK, named),
        };
        if name.trim().is_empty() {
            return Err(Failure::bad_input(anyhow!("--model: name a model, such as {DEFAULT}")));
        }
        if provider == SCRIPTED && name != SCRIPTED {
            return Err(Failure::bad_input(anyhow!(
                "--model: the only model of `{SCRIPTED}` is `{SCRIPTED}`"
            )));
        }
        Ok(Self::new(provider, name))
    }

    fn new(provider: &str, name: &str) -> Self {
        Self { provider: provider.to_owned(), name: name.to_owned(), note: None }
    }

    /// Whether it answers from a script.
    pub(crate) fn is_scripted(&self) -> bool {
        self.provider == SCRIPTED
    }
}

#[cfg(test)]
mod tests {
    use super::{DEEPSEEK, DEFAULT, Model, SCRIPTED};

    fn chosen(named: Option<&str>, last: Option<(&str, &str)>, has_key: bool) -> Option<(String, String)> {
        let last = last.map(|(provider, name)| (provider.to_owned(), name.to_owned()));
        Model::of(named, last.as_ref(), has_key).ok().map(|model| (model.provider, model.name))
    }

    fn model(provider: &str, name: &str) -> Option<(String, String)> {
        Some((provider.to_owned(), name.to_owned()))
    }

    // spec: profile-cli/P51
    #[test]
    fn with_a_key_the_model_is_the_references_default_and_without_one_a_script() {
        let default = dsh_default_model::Config::default();
        assert_eq!((default.provider.as_str(), default.model.as_str()), (DEEPSEEK, DEFAULT));
        assert_eq!(chosen(None, None, true), model(DEEPSEEK, DEFAULT));
        assert_eq!(chosen(None, None, false), model(SCRIPTED, SCRIPTED));
        assert!(Model::of(None, None, false).unwrap().note.unwrap().contains("DEEPSEEK_API_KEY"));
        assert_eq!(Model::of(None, None, true).unwrap().note, None);
    }

    #[test]
    fn a_model_that_is_named_is_asked_with_or_without_a_key() {
        for has_key in [true, false] {
            for (named, expected) in [
                ("deepseek-v4-pro", model(DEEPSEEK, "deepseek-v4-pro")),
                ("deepseek-official/deepseek-v4-pro", model(DEEPSEEK, "deepseek-v4-pro")),
                ("qwen/qwen3-coder", model(DEEPSEEK, "qwen/qwen3-coder")),
                ("scripted", model(SCRIPTED, SCRIPTED)),
                ("scripted/scripted", model(SCRIPTED, SCRIPTED)),
                ("scripted/other", None),
                ("deepseek-official/", None),
                (" ", None),
                ("", None),
            ] {
                assert_eq!(chosen(Some(named), None, has_key), expected, "{named}");
            }
        }
    }

    #[test]
    fn a_session_keeps_its_model_where_that_can_be_asked() {
        let pro = (DEEPSEEK, "deepseek-v4-pro");
        assert_eq!(chosen(None, Some(pro), true), model(DEEPSEEK, "deepseek-v4-pro"));
        assert_eq!(chosen(None, Some(pro), false), model(SCRIPTED, SCRIPTED));
        assert_eq!(chosen(None, Some((SCRIPTED, SCRIPTED)), true), model(DEEPSEEK, DEFAULT));
        assert_eq!(chosen(None, Some(("other", "x")), true), model(DEEPSEEK, DEFAULT));
        assert_eq!(chosen(Some("m"), Some(pro), true), model(DEEPSEEK, "m"));
    }
}
