//! Which adapter serves which provider.

use std::fmt;
use std::sync::Arc;

use cordis::{Context, Disposed, Effect, Inactive, Refused};
use thiserror::Error;

use crate::adapter::AnyAdapter;
use crate::claims::{ClaimError, Claims};
use crate::code;
use crate::info::ProviderInfo;
use crate::keys::ADAPTERS_UPDATED;
use crate::pinned::LentAdapter;
use crate::retry::{InvalidRetryPolicy, RetryPolicy};

/// The adapters by the names of their providers.
pub(crate) type Registry = Claims<Served>;

/// What is known of a provider as long as it is served.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) info: ProviderInfo,
    pub(crate) retry_policy: RetryPolicy,
    pub(crate) lent: LentAdapter,
}

/// An adapter that is registered; see [`Llm::register`](crate::Llm::register). Dropping it changes nothing: the registration
/// ends with the plugin that made it.
pub struct Registration {
    pub(crate) ctx: Context,
    pub(crate) registry: Arc<Registry>,
    pub(crate) id: u64,
    pub(crate) lent: LentAdapter,
    pub(crate) effect: Effect,
}

/// An adapter was not registered, or not for other providers; nothing has changed.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// There is no provider to serve.
    #[error("an adapter needs at least one provider")]
    NoProvider,
    /// A provider has no name.
    #[error("the name of a provider is empty")]
    Unnamed,
    /// A provider is served already.
    #[error("provider {provider:?} has an adapter already, of `{owner}`")]
    Duplicate {
        /// The provider.
        provider: String,
        /// The plugin whose adapter it is, or is to be.
        owner: String,
    },
    /// The adapter describes another provider, or gives no name.
    #[error("the adapter describes provider {provider:?} as {described:?} with the name {name:?}")]
    Described {
        /// The provider.
        provider: String,
        /// The id that it gives.
        described: String,
        /// The name that it gives.
        name: String,
    },
    /// The adapter's policy of retries cannot be followed.
    #[error("the retry policy of provider {provider:?} cannot be followed")]
    RetryPolicy {
        /// The provider.
        provider: String,
        /// Why.
        source: InvalidRetryPolicy,
    },
    /// The adapter panicked when it was asked about other providers.
    #[error("the adapter panicked when it was asked about its providers: {reason}")]
    Panicked {
        /// What it panicked with.
        reason: String,
    },
    /// The adapter has been taken back.
    #[error("the adapter has been taken back")]
    Disposed,
    /// The service that it is registered with is unloaded.
    #[error("the service `llm` is unloaded: declare it as a need to be reloaded with it")]
    Closed,
    /// The plugin is not active.
    #[error(transparent)]
    Inactive(#[from] Inactive),
}

impl RegisterError {
    /// The code of [`code`](crate::code).
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoProvider
            | Self::Unnamed
            | Self::Described { .. }
            | Self::RetryPolicy { .. }
            | Self::Panicked { .. } => code::INVALID_ADAPTER,
            Self::Duplicate { .. } => code::DUPLICATE_ADAPTER,
            Self::Disposed | Self::Closed | Self::Inactive(_) => code::REGISTRATION_DISPOSED,
        }
    }
}

impl From<ClaimError> for RegisterError {
    fn from(error: ClaimError) -> Self {
        match error {
            ClaimError::Taken { name, owner } => Self::Duplicate { provider: name, owner },
            ClaimError::Gone => Self::Disposed,
            ClaimError::Closed => Self::Closed,
            ClaimError::Inactive(inactive) => Self::Inactive(inactive),
        }
    }
}

/// What an adapter says of the providers that it is to serve.
pub(crate) fn described(
    adapter: &dyn AnyAdapter,
    providers: Vec<String>,
    owner: &str,
) -> Result<Vec<(ProviderInfo, RetryPolicy)>, RegisterError> {
    let mut described: Vec<(ProviderInfo, RetryPolicy)> = Vec::new();
    for provider in providers {
        if provider.is_empty() {
            return Err(RegisterError::Unnamed);
        }
        if described.iter().any(|(before, _)| before.id == provider) {
            return Err(RegisterError::Duplicate { provider, owner: owner.to_owned() });
        }
        let info = adapter.provider(&provider);
        if info.id != provider || info.name.is_empty() {
            return Err(RegisterError::Described { provider, described: info.id, name: info.name });
        }
        let policy = adapter.retry_policy(&provider);
        policy.check().map_err(|source| RegisterError::RetryPolicy { provider, source })?;
        described.push((info, policy));
    }
    Ok(described)
}

/// The entries of an adapter in the registry.
pub(crate) fn served(
    described: Vec<(ProviderInfo, RetryPolicy)>,
    lent: &LentAdapter,
) -> Vec<(String, Served)> {
    let served = |(info, retry_policy): (ProviderInfo, RetryPolicy)| {
        (info.id.clone(), Served { info, retry_policy, lent: lent.clone() })
    };
    described.into_iter().map(served).collect()
}

impl Registration {
    /// Serves other providers from now on, or none, in one step. What is to be known of them is asked for anew; calls that
    /// are prepared already are not touched.
    ///
    /// # Errors
    /// See [`RegisterError`]; the providers stay what they were.
    pub fn replace(
        &self,
        providers: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<(), RegisterError> {
        self.replace_all(providers.into_iter().map(Into::into).collect())
    }

    fn replace_all(&self, providers: Vec<String>) -> Result<(), RegisterError> {
        if !self.effect.is_live() {
            return Err(RegisterError::Disposed);
        }
        let owner = self.lent.owner();
        let asked = self.lent.call(|adapter| described(&**adapter, providers, &owner));
        let described = asked.map_err(|refused| match refused {
            Refused::Panicked { reason, .. } => RegisterError::Panicked { reason },
            Refused::Gone { .. } | _ => RegisterError::Disposed,
        })?;
        self.registry.replace(self.id, served(described?, &self.lent))?;
        self.ctx.emit(ADAPTERS_UPDATED, &());
        Ok(())
    }

    /// Takes the adapter back, and waits until nothing of it runs.
    pub async fn dispose(self) -> Disposed {
        self.effect.dispose().await
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("adapter", &self.lent).finish_non_exhaustive()
    }
}
