//! Looking for the models of an endpoint that is about to be set up.

use std::collections::HashSet;
use std::fmt;

use cordis::{BoxFuture, Context, Effect, Inactive, Lent};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::claims::{ClaimError, Claims};
use crate::code;
use crate::error::LlmError;
use crate::llm::{Llm, unless_cancelled};
use crate::pinned::refused;

/// What looks for models, by the part of the settings that it is for.
pub(crate) type Discoveries = Claims<Lent<Discover>>;

type Found = Result<Vec<DiscoveredModel>, LlmError>;
type Discover = Box<dyn Fn(DiscoveryQuery) -> BoxFuture<'static, Found> + Send + Sync>;

/// Where models are looked for: at a provider, or at an address.
#[derive(Clone, Default)]
pub struct DiscoveryQuery {
    /// The provider's id.
    pub provider: Option<String>,
    /// The address of the endpoint. It is never printed: it may hold a password.
    pub base_url: Option<String>,
    /// The protocol that the endpoint speaks.
    pub api: Option<String>,
    /// The key, where it is another one than the settings name. It is never printed.
    pub api_key: Option<String>,
    /// Ends the search.
    pub cancellation: CancellationToken,
}

/// A model that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveredModel {
    /// Its id, as requests name it.
    pub id: String,
    /// Its name for people, where it has one.
    pub name: Option<String>,
}

/// The search for models was not registered; nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DiscoveryError {
    /// The part of the settings has no name.
    #[error("the part of the settings whose models are looked for has no name")]
    Unnamed,
    /// Another one is registered for it.
    #[error("the models of {namespace:?} are looked for already, by `{owner}`")]
    Duplicate {
        /// The part of the settings.
        namespace: String,
        /// The plugin that looks for them.
        owner: String,
    },
    /// The service is unloaded.
    #[error("the service `llm` is unloaded: declare it as a need to be reloaded with it")]
    Closed,
    /// The plugin is not active.
    #[error(transparent)]
    Inactive(#[from] Inactive),
}

impl DiscoveryError {
    /// The code of [`code`](crate::code).
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unnamed => code::INVALID_DISCOVERY,
            Self::Duplicate { .. } => code::DUPLICATE_DISCOVERY,
            Self::Closed | Self::Inactive(_) => code::REGISTRATION_DISPOSED,
        }
    }
}

impl Llm {
    /// Looks for the models of a part of the settings, as long as the plugin of `ctx` lives. `discover` runs as that plugin's
    /// own code.
    ///
    /// # Errors
    /// See [`DiscoveryError`].
    pub fn register_discovery<F, Fut>(
        &self,
        ctx: &Context,
        namespace: impl Into<String>,
        discover: F,
    ) -> Result<Effect, DiscoveryError>
    where
        F: Fn(DiscoveryQuery) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<DiscoveredModel>, LlmError>> + Send + 'static,
    {
        let discover: Discover = Box::new(move |query| Box::pin(discover(query)));
        self.register_discover(ctx, namespace.into(), discover)
    }

    fn register_discover(
        &self,
        ctx: &Context,
        namespace: String,
        discover: Discover,
    ) -> Result<Effect, DiscoveryError> {
        if namespace.is_empty() {
            return Err(DiscoveryError::Unnamed);
        }
        let made = ctx.effects(format!("discovery of {namespace:?}"), |ctx| {
            let (_, lent) = ctx.lend("discovery", discover)?;
            self.discoveries.claim(ctx, "namespace".to_owned(), vec![(namespace, lent)], || {})?;
            Ok(())
        });
        made.map_err(|error| match error {
            ClaimError::Taken { name, owner } => DiscoveryError::Duplicate { namespace: name, owner },
            ClaimError::Gone | ClaimError::Closed => DiscoveryError::Closed,
            ClaimError::Inactive(inactive) => DiscoveryError::Inactive(inactive),
        })
    }

    /// Looks for models. Those without an id are left out, and of several with the same id all but the first.
    ///
    /// # Errors
    /// Nobody looks for the models of this part of the settings, the query says neither provider nor address, or the search
    /// failed or was cancelled.
    ///
    /// # Cancel safety
    /// Dropping the future, like cancelling, drops the search at its current await.
    pub async fn discover_models(
        &self,
        namespace: &str,
        query: DiscoveryQuery,
    ) -> Result<Vec<DiscoveredModel>, LlmError> {
        let is_said = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
        if !is_said(&query.provider) && !is_said(&query.base_url) {
            let message = "a search for models needs a provider or the address of an endpoint";
            return Err(LlmError::new(code::INVALID_DISCOVERY, message));
        }
        let Some((_, lent)) = self.discoveries.get(namespace) else {
            let message = format!("nobody looks for the models of {namespace:?}");
            return Err(LlmError::new(code::NO_DISCOVERY, message));
        };
        let cancellation = query.cancellation.clone();
        let search = async {
            let call = lent.start(|discover| discover(query)).map_err(refused)?;
            call.await.map_err(refused)?
        };
        let mut found = unless_cancelled(&cancellation, search).await?;
        let mut seen = HashSet::new();
        found.retain(|model| !model.id.trim().is_empty() && seen.insert(model.id.clone()));
        Ok(found)
    }
}

impl fmt::Debug for DiscoveryQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiscoveryQuery")
            .field("provider", &self.provider)
            .field("has_base_url", &self.base_url.is_some())
            .field("api", &self.api)
            .field("has_api_key", &self.api_key.is_some())
            .finish_non_exhaustive()
    }
}
