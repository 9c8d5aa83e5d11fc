//! The service: the way of a call from top to bottom.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cordis::{BoxError, Context};
use tokio_util::sync::CancellationToken;

use crate::adapter::Adapter;
use crate::call::CallConfig;
use crate::catalog::checked_entries;
use crate::chunk::StreamChunk;
use crate::code;
use crate::error::LlmError;
use crate::finish::FinishReason;
use crate::images::text_only;
use crate::info::{ModelEntry, ModelInfo, ProviderInfo};
use crate::keys::{ADAPTERS_UPDATED, STREAM};
use crate::model_call::{ModelCall, Outcome};
use crate::pinned::{Pinned, Route, refused};
use crate::prepared::PreparedCall;
use crate::registry::{Described, RegisterError, Registration, Registry, described, erased};
use crate::replay_state::own_replay_state;
use crate::request::ModelRequest;
use crate::resolve::{checked, resolved};
use crate::stream::ModelStream;

/// Where models are asked, and where adapters are registered; provided as [`LLM`](crate::LLM).
#[derive(Clone)]
pub struct Llm {
    ctx: Context,
    registry: Arc<Registry>,
    next_id: Arc<AtomicU64>,
}

impl Llm {
    pub(crate) fn new(ctx: Context) -> Self {
        Self { ctx, registry: Arc::default(), next_id: Arc::default() }
    }

    /// Registers an adapter for providers, as long as the plugin of `ctx` lives. All of them are served from then on, or
    /// none. How failed calls are tried again is asked for once.
    ///
    /// # Errors
    /// See [`RegisterError`].
    pub fn register(
        &self,
        ctx: &Context,
        providers: impl IntoIterator<Item = impl Into<String>>,
        adapter: impl Adapter,
    ) -> Result<Registration, RegisterError> {
        let adapter = Arc::new(adapter);
        let describe = Described(adapter.clone());
        let providers: Vec<String> = providers.into_iter().map(Into::into).collect();
        if providers.is_empty() {
            return Err(RegisterError::NoProvider);
        }
        let routes = described(&describe, providers, &ctx.fiber().label())?;
        let names = routes.iter().map(|(name, _)| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let effect = ctx.effects(format!("adapter of {names}"), |ctx| {
            let (_, lent) = ctx.lend("adapter", erased(adapter))?;
            let (registry, told) = (self.registry.clone(), self.ctx.clone());
            self.registry.add(lent, routes, id)?;
            let undo = ctx.effect("routes", move || async move {
                registry.remove(id);
                told.emit(ADAPTERS_UPDATED, &());
            });
            if undo.is_err() {
                self.registry.remove(id);
            }
            undo?;
            Ok::<(), RegisterError>(())
        })?;
        self.ctx.emit(ADAPTERS_UPDATED, &());
        Ok(Registration {
            ctx: self.ctx.clone(),
            registry: self.registry.clone(),
            id,
            adapter: Box::new(describe),
            effect,
        })
    }

    /// The providers that have an adapter, in the order in which they were registered.
    #[must_use]
    pub fn providers(&self) -> Vec<ProviderInfo> {
        let asked = self.registry.providers().into_iter();
        asked.filter_map(|(name, lent)| lent.call(|adapter| adapter.provider(&name)).ok()).collect()
    }

    /// Whether a provider has an adapter.
    #[must_use]
    pub fn has_provider(&self, provider: &str) -> bool {
        self.registry.route(provider).is_some()
    }

    /// The models of a provider to choose from. A model that is not among them can be asked all the same.
    ///
    /// # Errors
    /// The provider has no adapter, the adapter cannot tell, or its list is not in order.
    pub async fn models(&self, provider: &str) -> Result<Vec<ModelEntry>, LlmError> {
        let route = self.route(provider)?;
        let name = provider.to_owned();
        let call = route.lent.start(move |adapter| adapter.clone().models(name)).map_err(refused)?;
        checked_entries(call.await.map_err(refused)??, provider)
    }

    /// What is known of one model, listed or not.
    ///
    /// # Errors
    /// The provider has no adapter, the model cannot be asked, or what the adapter says of it cannot be.
    ///
    /// # Cancel safety
    /// Dropping the future, like cancelling, drops the adapter's work at its current await.
    pub async fn model_info(
        &self,
        provider: &str,
        model: &str,
        cancellation: &CancellationToken,
    ) -> Result<ModelInfo, LlmError> {
        let config = CallConfig::new(provider, model);
        Ok(unless_cancelled(cancellation, self.pin(config, cancellation)).await?.info.clone())
    }

    /// Looks up the model of a call once, with everything that the call needs: what comes of it is not touched when the
    /// adapter is replaced or its settings change.
    ///
    /// # Errors
    /// As [`model_info`](Self::model_info), and for an effort that the model does not have.
    ///
    /// # Cancel safety
    /// Dropping the future, like cancelling, drops the adapter's work at its current await.
    pub async fn prepare(
        &self,
        config: CallConfig,
        cancellation: &CancellationToken,
    ) -> Result<PreparedCall, LlmError> {
        let pinned = unless_cancelled(cancellation, self.pin(config, cancellation)).await?;
        Ok(PreparedCall::new(self.clone(), pinned))
    }

    /// Asks a model. The model is looked up when the listeners of [`STREAM`] have let the call through.
    pub fn stream(&self, request: ModelRequest) -> ModelStream {
        self.open(request, None)
    }

    pub(crate) fn open(&self, request: ModelRequest, pinned: Option<Arc<Pinned>>) -> ModelStream {
        let llm = self.clone();
        ModelStream::new(|out| {
            Box::pin(async move {
                let mut call = ModelCall { request, out, pinned };
                llm.ctx.waterfall(STREAM, &mut call, &llm, Self::answer).await
            })
        })
    }

    /// The innermost step: whatever fails here becomes the finish of the answer.
    async fn answer(&self, call: &mut ModelCall) -> Outcome {
        // Its end must be seen also when a listener has put another one in.
        let cancellation = call.request.cancellation.clone();
        let Err(error) = unless_cancelled(&cancellation, self.ask(call)).await else { return Ok(()) };
        let aborted = cancellation.is_cancelled() || error.code() == code::ABORTED;
        if call.out.is_finished() {
            return if aborted { Ok(()) } else { Err(BoxError::from(error)) };
        }
        let failure = error.into_failure();
        let reason =
            if aborted { FinishReason::Aborted { failure } } else { FinishReason::Error { failure } };
        call.out.send(StreamChunk::Finish { reason, replay_state: None }).await;
        Ok(())
    }

    async fn ask(&self, call: &ModelCall) -> Result<(), LlmError> {
        let request = &call.request;
        let pinned = match &call.pinned {
            Some(pinned) if *pinned.config() == request.config => pinned.clone(),
            Some(_) | None => self.pin(request.config.clone(), &request.cancellation).await?,
        };
        let mut request = request.clone();
        request.config = pinned.config().clone();
        request.messages = own_replay_state(request.messages, |provider| {
            self.registry.route(provider).is_some_and(|route| route.adapter == pinned.route.adapter)
        });
        request.messages = text_only(request.messages, &pinned.info);
        pinned.stream(request, call.out.clone()).await
    }

    async fn pin(
        &self,
        config: CallConfig,
        cancellation: &CancellationToken,
    ) -> Result<Arc<Pinned>, LlmError> {
        let route = self.route(&config.provider)?;
        let (provider, name, token) = (config.provider.clone(), config.model.clone(), cancellation.clone());
        let call =
            route.lent.start(|adapter| adapter.clone().model(provider, name, token)).map_err(refused)?;
        let model = call.await.map_err(refused)??;
        let info = route.lent.call(|_| model.info()).map_err(refused)?;
        let info = checked(info, &config.provider, &config.model)?;
        let resolved = resolved(config, &info)?;
        Ok(Arc::new(Pinned::new(route, info, resolved, model)))
    }

    fn route(&self, provider: &str) -> Result<Route, LlmError> {
        self.registry.route(provider).ok_or_else(|| {
            let names: Vec<String> = self.registry.providers().into_iter().map(|(name, _)| name).collect();
            let remedy = match names.as_slice() {
                [] => "no adapter is registered at all".to_owned(),
                names => format!("there are {}", names.join(", ")),
            };
            LlmError::new(code::NO_ADAPTER, format!("no adapter serves provider {provider:?}: {remedy}"))
        })
    }
}

/// Ends with the cancellation, whatever the work does.
async fn unless_cancelled<T>(
    cancellation: &CancellationToken,
    work: impl Future<Output = Result<T, LlmError>>,
) -> Result<T, LlmError> {
    tokio::select! {
        biased;
        () = cancellation.cancelled() => Err(LlmError::new(code::ABORTED, "the caller cancelled the call of the model")),
        done = work => done,
    }
}

impl fmt::Debug for Llm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Llm").field("registry", &self.registry).finish_non_exhaustive()
    }
}
