//! The providers that can be set up, whether or not somebody serves them yet.

use std::fmt;
use std::sync::Arc;

use cordis::{Context, Disposed, Effect, Inactive};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::claims::{ClaimError, Claims};
use crate::code;
use crate::keys::ADAPTERS_UPDATED;
use crate::llm::Llm;

/// The entries by the names of their providers.
pub(crate) type Directory = Claims<ConfigurableProvider>;

/// A provider that can be set up, and where its settings are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurableProvider {
    /// The provider's id, as requests would name it.
    pub provider: String,
    /// Its name, for people.
    pub display_name: String,
    /// The part of the settings that it belongs to, such as `llm-deepseek`.
    pub settings_ns: String,
    /// The way to its own settings within that part; empty for the whole part.
    pub settings_path: Vec<String>,
    /// Whether the settings name it already; none if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::open::present")]
    pub declared: Option<bool>,
}

/// Entries of the directory; see [`Llm::register_configurable`]. Dropping it changes nothing: the entries go with the plugin
/// that made them.
pub struct ConfigurableRegistration {
    ctx: Context,
    directory: Arc<Directory>,
    owner: String,
    id: u64,
    effect: Effect,
}

/// Providers were not put into the directory; nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// There is no provider.
    #[error("at least one provider is needed")]
    NoProvider,
    /// A provider lacks its id, its name or its part of the settings, or a step of the way to them is empty.
    #[error("provider {provider:?} has no {field}")]
    Incomplete {
        /// The provider.
        provider: String,
        /// What it lacks.
        field: &'static str,
    },
    /// A provider is there already.
    #[error("provider {provider:?} can be set up already, with `{owner}`")]
    Duplicate {
        /// The provider.
        provider: String,
        /// The plugin whose entry it is, or is to be.
        owner: String,
    },
    /// The entries have been taken back.
    #[error("the entries have been taken back")]
    Disposed,
    /// The service is unloaded.
    #[error("the service `llm` is unloaded: declare it as a need to be reloaded with it")]
    Closed,
    /// The plugin is not active.
    #[error(transparent)]
    Inactive(#[from] Inactive),
}

impl DirectoryError {
    /// The code of [`code`](crate::code).
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoProvider | Self::Incomplete { .. } => code::INVALID_DIRECTORY,
            Self::Duplicate { .. } => code::DUPLICATE_DIRECTORY,
            Self::Disposed | Self::Closed | Self::Inactive(_) => code::REGISTRATION_DISPOSED,
        }
    }
}

impl From<ClaimError> for DirectoryError {
    fn from(error: ClaimError) -> Self {
        match error {
            ClaimError::Taken { name, owner } => Self::Duplicate { provider: name, owner },
            ClaimError::Gone => Self::Disposed,
            ClaimError::Closed => Self::Closed,
            ClaimError::Inactive(inactive) => Self::Inactive(inactive),
        }
    }
}

impl Llm {
    /// Tells of providers that can be set up, as long as the plugin of `ctx` lives. All of them are there from then on, or
    /// none.
    ///
    /// # Errors
    /// See [`DirectoryError`].
    pub fn register_configurable(
        &self,
        ctx: &Context,
        entries: impl IntoIterator<Item = ConfigurableProvider>,
    ) -> Result<ConfigurableRegistration, DirectoryError> {
        let entries: Vec<ConfigurableProvider> = entries.into_iter().collect();
        if entries.is_empty() {
            return Err(DirectoryError::NoProvider);
        }
        let owner = ctx.fiber().label();
        let entries = checked(entries, &owner)?;
        let told = self.ctx.clone();
        let gone = move || told.emit(ADAPTERS_UPDATED, &());
        let label = "providers that can be set up".to_owned();
        let (id, effect) = self.directory.claim(ctx, label, entries, gone)?;
        self.ctx.emit(ADAPTERS_UPDATED, &());
        let (ctx, directory) = (self.ctx.clone(), self.directory.clone());
        Ok(ConfigurableRegistration { ctx, directory, owner, id, effect })
    }

    /// The providers that can be set up, in the order in which they were registered.
    #[must_use]
    pub fn configurable_providers(&self) -> Vec<ConfigurableProvider> {
        self.directory.entries().into_iter().map(|(_, entry)| entry).collect()
    }
}

fn checked(
    entries: Vec<ConfigurableProvider>,
    owner: &str,
) -> Result<Vec<(String, ConfigurableProvider)>, DirectoryError> {
    let mut checked: Vec<(String, ConfigurableProvider)> = Vec::new();
    for entry in entries {
        let lacks = if entry.provider.is_empty() {
            Some("id")
        } else if entry.display_name.is_empty() {
            Some("name for people")
        } else if entry.settings_ns.is_empty() {
            Some("part of the settings")
        } else if entry.settings_path.iter().any(String::is_empty) {
            Some("whole way to its settings")
        } else {
            None
        };
        let provider = entry.provider.clone();
        if let Some(field) = lacks {
            return Err(DirectoryError::Incomplete { provider, field });
        }
        if checked.iter().any(|(before, _)| *before == provider) {
            return Err(DirectoryError::Duplicate { provider, owner: owner.to_owned() });
        }
        checked.push((provider, entry));
    }
    Ok(checked)
}

impl ConfigurableRegistration {
    /// Tells of other providers from now on, or of none, in one step.
    ///
    /// # Errors
    /// See [`DirectoryError`]; the entries stay what they were.
    pub fn replace(
        &self,
        entries: impl IntoIterator<Item = ConfigurableProvider>,
    ) -> Result<(), DirectoryError> {
        if !self.effect.is_live() {
            return Err(DirectoryError::Disposed);
        }
        self.directory.replace(self.id, checked(entries.into_iter().collect(), &self.owner)?)?;
        self.ctx.emit(ADAPTERS_UPDATED, &());
        Ok(())
    }

    /// Takes the entries back.
    pub async fn dispose(self) -> Disposed {
        self.effect.dispose().await
    }
}

impl fmt::Debug for ConfigurableRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigurableRegistration").field("owner", &self.owner).finish_non_exhaustive()
    }
}
