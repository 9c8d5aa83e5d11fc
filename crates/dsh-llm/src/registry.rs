//! Which adapter serves which provider.

use std::sync::Arc;

use cordis::{Context, Effect, Inactive};
use parking_lot::Mutex;
use thiserror::Error;

use crate::adapter::{Adapter, AnyAdapter};
use crate::code;
use crate::info::ProviderInfo;
use crate::keys::ADAPTERS_UPDATED;
use crate::pinned::{LentAdapter, Route};
use crate::retry::{InvalidRetryPolicy, RetryPolicy};

/// The registrations in their order.
#[derive(Default)]
pub(crate) struct Registry {
    registered: Mutex<Vec<Registered>>,
}

/// One adapter with its providers.
#[derive(Clone)]
struct Registered {
    id: u64,
    lent: LentAdapter,
    providers: Vec<(String, RetryPolicy)>,
}

/// An adapter that is registered; see [`Llm::register`](crate::Llm::register). Dropping it changes nothing: the registration
/// ends with the plugin that made it.
#[derive(Debug)]
pub struct Registration {
    pub(crate) ctx: Context,
    pub(crate) registry: Arc<Registry>,
    pub(crate) id: u64,
    pub(crate) adapter: Box<dyn Describe>,
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
    /// The adapter has been taken back.
    #[error("the adapter has been taken back")]
    Disposed,
    /// The plugin is not active.
    #[error(transparent)]
    Inactive(#[from] Inactive),
}

impl RegisterError {
    /// The code of [`code`](crate::code).
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoProvider | Self::Unnamed | Self::Described { .. } | Self::RetryPolicy { .. } => {
                code::INVALID_ADAPTER
            }
            Self::Duplicate { .. } => code::DUPLICATE_ADAPTER,
            Self::Disposed | Self::Inactive(_) => code::REGISTRATION_DISPOSED,
        }
    }
}

/// What an adapter says of a provider, asked on its plugin's stack.
pub(crate) trait Describe: Send + Sync + std::fmt::Debug {
    fn describe(&self, provider: &str) -> (ProviderInfo, RetryPolicy);
}

pub(crate) struct Described<A>(pub(crate) Arc<A>);

impl<A: Adapter> Describe for Described<A> {
    fn describe(&self, provider: &str) -> (ProviderInfo, RetryPolicy) {
        (Adapter::provider(&*self.0, provider), self.0.retry_policy(provider))
    }
}

impl<A> std::fmt::Debug for Described<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Described")
    }
}

/// Looks at what can be known without the other registrations.
pub(crate) fn described(
    adapter: &dyn Describe,
    providers: Vec<String>,
    owner: &str,
) -> Result<Vec<(String, RetryPolicy)>, RegisterError> {
    let mut routes: Vec<(String, RetryPolicy)> = Vec::new();
    for provider in providers {
        if provider.is_empty() {
            return Err(RegisterError::Unnamed);
        }
        if routes.iter().any(|(before, _)| *before == provider) {
            return Err(RegisterError::Duplicate { provider, owner: owner.to_owned() });
        }
        let (info, policy) = adapter.describe(&provider);
        if info.id != provider || info.name.is_empty() {
            return Err(RegisterError::Described { provider, described: info.id, name: info.name });
        }
        policy.check().map_err(|source| RegisterError::RetryPolicy { provider: provider.clone(), source })?;
        routes.push((provider, policy));
    }
    Ok(routes)
}

impl Registry {
    pub(crate) fn add(
        &self,
        lent: LentAdapter,
        providers: Vec<(String, RetryPolicy)>,
        id: u64,
    ) -> Result<(), RegisterError> {
        let mut registered = self.registered.lock();
        free(&registered, &providers, None)?;
        registered.push(Registered { id, lent, providers });
        Ok(())
    }

    fn replace(&self, id: u64, providers: Vec<(String, RetryPolicy)>) -> Result<(), RegisterError> {
        let mut registered = self.registered.lock();
        free(&registered, &providers, Some(id))?;
        let entry = registered.iter_mut().find(|entry| entry.id == id).ok_or(RegisterError::Disposed)?;
        let old = std::mem::replace(&mut entry.providers, providers);
        drop(registered);
        drop(old);
        Ok(())
    }

    pub(crate) fn remove(&self, id: u64) {
        let mut registered = self.registered.lock();
        let gone = registered.iter().position(|entry| entry.id == id).map(|index| registered.remove(index));
        drop(registered);
        drop(gone);
    }

    pub(crate) fn route(&self, provider: &str) -> Option<Route> {
        let registered = self.registered.lock();
        registered.iter().find_map(|entry| {
            let (_, policy) = entry.providers.iter().find(|(name, _)| name == provider)?;
            Some(Route { adapter: entry.id, lent: entry.lent.clone(), retry_policy: policy.clone() })
        })
    }

    /// The providers in the order of their registrations.
    pub(crate) fn providers(&self) -> Vec<(String, LentAdapter)> {
        let registered = self.registered.lock();
        let of = |entry: &Registered| -> Vec<(String, LentAdapter)> {
            entry.providers.iter().map(|(name, _)| (name.clone(), entry.lent.clone())).collect()
        };
        registered.iter().flat_map(of).collect()
    }
}

/// Whether nobody else serves one of the providers.
fn free(
    registered: &[Registered],
    providers: &[(String, RetryPolicy)],
    own: Option<u64>,
) -> Result<(), RegisterError> {
    for entry in registered.iter().filter(|entry| Some(entry.id) != own) {
        if let Some((provider, _)) =
            providers.iter().find(|(name, _)| entry.providers.iter().any(|(served, _)| served == name))
        {
            return Err(RegisterError::Duplicate { provider: provider.clone(), owner: entry.lent.owner() });
        }
    }
    Ok(())
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let providers: Vec<String> = self.providers().into_iter().map(|(name, _)| name).collect();
        f.debug_struct("Registry").field("providers", &providers).finish()
    }
}

impl Registration {
    /// Serves other providers from now on, or none, in one step. Policies of retries are asked for anew; calls that are
    /// prepared already are not touched.
    ///
    /// # Errors
    /// See [`RegisterError`]; the providers stay what they were.
    pub fn replace(
        &self,
        providers: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<(), RegisterError> {
        if !self.effect.is_live() {
            return Err(RegisterError::Disposed);
        }
        let providers = providers.into_iter().map(Into::into).collect();
        let routes = described(&*self.adapter, providers, &self.ctx.fiber().label())?;
        self.registry.replace(self.id, routes)?;
        self.ctx.emit(ADAPTERS_UPDATED, &());
        Ok(())
    }

    /// Takes the adapter back, and waits until nothing of it runs.
    pub async fn dispose(self) {
        self.effect.dispose().await;
    }
}

pub(crate) fn erased(adapter: Arc<impl Adapter>) -> Arc<dyn AnyAdapter> {
    adapter
}
