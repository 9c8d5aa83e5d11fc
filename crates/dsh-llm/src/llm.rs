//! The service: the way of a call from top to bottom.

use std::fmt;
use std::sync::Arc;

use cordis::{BoxError, Context};
use tokio_util::sync::CancellationToken;

use crate::adapter::{Adapter, AnyAdapter};
use crate::call::CallConfig;
use crate::catalog::checked_entries;
use crate::chunk::StreamChunk;
use crate::code;
use crate::directory::Directory;
use crate::discovery::Discoveries;
use crate::error::LlmError;
use crate::finish::FinishReason;
use crate::images::text_only;
use crate::info::{ModelEntry, ModelInfo, ProviderInfo};
use crate::keys::{ADAPTERS_UPDATED, STREAM};
use crate::model_call::{ModelCall, Outcome};
use crate::pinned::{Pinned, Route, refused};
use crate::prepared::PreparedCall;
use crate::registry::{RegisterError, Registration, Registry, described, served};
use crate::replay_state::own_replay_state;
use crate::request::ModelRequest;
use crate::resolve::{checked, resolved, undefaulted};
use crate::stream::ModelStream;

/// Where models are asked, and where adapters are registered; provided as [`LLM`](crate::LLM).
#[derive(Clone)]
pub struct Llm {
    pub(crate) ctx: Context,
    registry: Arc<Registry>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) discoveries: Arc<Discoveries>,
}

impl Llm {
    pub(crate) fn new(ctx: Context) -> Self {
        Self { ctx, registry: Arc::default(), directory: Arc::default(), discoveries: Arc::default() }
    }

    /// Forgets what is registered, and takes nothing any more.
    pub(crate) fn close(&self) {
        self.registry.close();
        self.directory.close();
        self.discoveries.close();
    }

    /// Registers an adapter for providers, as long as the plugin of `ctx` lives. All of them are served from then on, or
    /// none. What is to be known of a provider is asked for once.
    ///
    /// # Errors
    /// See [`RegisterError`].
    pub fn register(
        &self,
        ctx: &Context,
        providers: impl IntoIterator<Item = impl Into<String>>,
        adapter: impl Adapter,
    ) -> Result<Registration, RegisterError> {
        self.register_erased(ctx, providers.into_iter().map(Into::into).collect(), Arc::new(adapter))
    }

    fn register_erased(
        &self,
        ctx: &Context,
        providers: Vec<String>,
        adapter: Arc<dyn AnyAdapter>,
    ) -> Result<Registration, RegisterError> {
        if providers.is_empty() {
            return Err(RegisterError::NoProvider);
        }
        let described = described(&*adapter, providers, &ctx.fiber().label())?;
        let names = described.iter().map(|(info, _)| format!("{:?}", info.id)).collect::<Vec<_>>().join(", ");
        let mut made = None;
        let effect = ctx.effects(format!("adapter of {names}"), |ctx| {
            let (_, lent) = ctx.lend("adapter", adapter)?;
            let told = self.ctx.clone();
            let gone = move || told.emit(ADAPTERS_UPDATED, &());
            let (id, _) = self.registry.claim(ctx, "routes".to_owned(), served(described, &lent), gone)?;
            made = Some((id, lent));
            Ok::<(), RegisterError>(())
        })?;
        let Some((id, lent)) = made else { return Err(RegisterError::Disposed) };
        self.ctx.emit(ADAPTERS_UPDATED, &());
        Ok(Registration { ctx: self.ctx.clone(), registry: self.registry.clone(), id, lent, effect })
    }

    /// The providers that have an adapter, in the order in which they were registered.
    #[must_use]
    pub fn providers(&self) -> Vec<ProviderInfo> {
        self.registry.entries().into_iter().map(|(_, served)| served.info).collect()
    }

    /// Whether a provider has an adapter.
    #[must_use]
    pub fn has_provider(&self, provider: &str) -> bool {
        self.registry.get(provider).is_some()
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
                let caller = request.cancellation.clone();
                let mut call = ModelCall { request, out, pinned, caller };
                llm.ctx.waterfall(STREAM, &mut call, &llm, Self::answer).await
            })
        })
    }

    /// The innermost step: whatever fails here becomes the finish of the answer.
    async fn answer(&self, call: &mut ModelCall) -> Outcome {
        // A listener may put another token in, which does not keep the caller from cancelling.
        let (asked, caller) = (call.request.cancellation.clone(), call.caller.clone());
        let finishes = call.out.finishes();
        let work = unless_cancelled(&caller, unless_cancelled(&asked, self.ask(call)));
        let Err(error) = work.await else { return Ok(()) };
        let aborted = caller.is_cancelled() || asked.is_cancelled() || error.code() == code::ABORTED;
        if call.out.finishes() != finishes {
            return if aborted { Ok(()) } else { Err(BoxError::from(error)) };
        }
        let failure = error.into_failure();
        let reason =
            if aborted { FinishReason::Aborted { failure } } else { FinishReason::Error { failure } };
        call.out.send(StreamChunk::Finish { reason, replay_state: None }).await;
        Ok(())
    }

    async fn ask(&self, call: &ModelCall) -> Result<(), LlmError> {
        let mut request = call.request.clone();
        // What the adapter does outside of its future ends with the call, however the call ends.
        request.cancellation = request.cancellation.child_token();
        let _over = request.cancellation.clone().drop_guard();
        let pinned = match &call.pinned {
            Some(pinned) if *pinned.config() == request.config => pinned.clone(),
            Some(pinned) => {
                let config = undefaulted(request.config.clone(), &pinned.resolved);
                self.pin(config, &request.cancellation).await?
            }
            None => self.pin(request.config.clone(), &request.cancellation).await?,
        };
        request.config = pinned.config().clone();
        let own = pinned.route.registration;
        request.messages = own_replay_state(request.messages, |provider| {
            self.registry.get(provider).is_some_and(|(registration, _)| registration == own)
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
        let Some((registration, served)) = self.registry.get(provider) else {
            let names = self.registry.names();
            let remedy = match names.as_slice() {
                [] => "none is registered; load a plugin that has one, such as llm-deepseek, or llm-replay to run without a network".to_owned(),
                names => format!("choose one of {}", names.join(", ")),
            };
            let message = format!("no adapter serves provider {provider:?}: {remedy}");
            return Err(LlmError::new(code::NO_ADAPTER, message));
        };
        Ok(Route { registration, lent: served.lent, retry_policy: served.retry_policy })
    }
}

/// Ends with the cancellation, whatever the work does.
pub(crate) async fn unless_cancelled<T>(
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
        f.debug_struct("Llm").field("providers", &self.registry.names()).finish_non_exhaustive()
    }
}
