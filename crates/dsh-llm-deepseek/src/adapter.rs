//! The adapter: from a request to the pieces of its answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dsh_llm::{
    Adapter, ChunkSink, LlmError, Model, ModelEntry, ModelInfo, ModelRequest, ProviderInfo, Purpose,
    RetryPolicy, code,
};
use reqwest::{Response, StatusCode};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::answer::Answer;
use crate::client::Clients;
use crate::config::{Config, Effort};
use crate::credentials::{Key, NoKey};
use crate::endpoint::{BASE_URL_ENV, Endpoint, EndpointError};
use crate::exchange::{Exchange, interrupted};
use crate::headers::headers;
use crate::identity::Identity;
use crate::models;
use crate::refusal::refusal;
use crate::watch::Watch;
use crate::wire;

/// How long the end of a body is waited for once its answer is over: a connection is used again only if its body was read to
/// the end.
const END_OF_BODY: Duration = Duration::from_millis(100);

/// What one configuration asks.
#[derive(Clone)]
pub(crate) struct DeepSeek(Arc<Shared>);

struct Shared {
    config: Config,
    clients: Clients,
    identity: Identity,
}

/// One model, with the endpoint and the key of one moment.
pub(crate) struct DeepSeekModel {
    shared: Arc<Shared>,
    info: ModelInfo,
    endpoint: Result<Endpoint, EndpointError>,
    key: Result<Key, NoKey>,
}

impl DeepSeek {
    pub(crate) fn new(config: Config) -> Self {
        Self(Arc::new(Shared { config, clients: Clients::default(), identity: Identity::default() }))
    }
}

impl Adapter for DeepSeek {
    type Model = DeepSeekModel;

    fn provider(&self, _provider: &str) -> ProviderInfo {
        models::provider()
    }

    fn retry_policy(&self, _provider: &str) -> RetryPolicy {
        self.0.config.retry_policy.clone()
    }

    async fn models(&self, _provider: &str) -> Result<Vec<ModelEntry>, LlmError> {
        Ok(self.0.config.entries())
    }

    /// Never fails: a model can be looked at without a key.
    async fn model(
        &self,
        _provider: &str,
        model: &str,
        _cancellation: &CancellationToken,
    ) -> Result<DeepSeekModel, LlmError> {
        let config = &self.0.config;
        let ambient = std::env::var_os(BASE_URL_ENV);
        let ambient = ambient.as_ref().map(|text| text.to_string_lossy());
        let variable = &config.api_key_env;
        Ok(DeepSeekModel {
            info: config.info(model),
            endpoint: Endpoint::resolve(config.base_url.as_deref(), ambient.as_deref()),
            key: Key::parse(std::env::var_os(variable), variable),
            shared: self.0.clone(),
        })
    }
}

impl Model for DeepSeekModel {
    fn info(&self) -> ModelInfo {
        self.info.clone()
    }

    async fn stream(&self, request: &ModelRequest, out: &mut ChunkSink) -> Result<(), LlmError> {
        let body = wire::body(request, self.effort(request)?)?;
        let endpoint = self.endpoint.clone()?;
        let key = self.key.as_ref().map_err(|error| LlmError::from(error.clone()))?;
        let asked = self.ask(request, body.into(), endpoint, key, out).await;
        asked.map_err(|error| key.redacted(error))
    }
}

impl DeepSeekModel {
    /// How hard the model is to think about a request, not at all about a title; nothing for a server that is told nothing of it.
    fn effort(&self, request: &ModelRequest) -> Result<Option<Effort>, LlmError> {
        let config = &self.shared.config;
        let is_title = matches!(request.purpose, Some(Purpose::SessionTitle));
        let wanted = request.config.reasoning_effort.as_deref().filter(|_| !is_title);
        let Some(wanted) = wanted else {
            let usual = if is_title { Effort::Off } else { config.default_effort() };
            return Ok((!config.is_thinking_omitted()).then_some(usual));
        };
        let has = |effort: &Effort| {
            let efforts = self.info.reasoning.iter().flat_map(|reasoning| &reasoning.efforts);
            effort.id() == wanted && efforts.into_iter().any(|has| has.id == wanted)
        };
        Effort::ALL.into_iter().find(has).map(Some).ok_or_else(|| {
            let message = format!("model {:?} has no reasoning effort {wanted:?}", self.info.id);
            LlmError::new(code::UNSUPPORTED_REASONING_EFFORT, message)
        })
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        body: Bytes,
        endpoint: Endpoint,
        key: &Key,
        out: &mut ChunkSink,
    ) -> Result<(), LlmError> {
        let Shared { config, clients, identity } = &*self.shared;
        let user_id = match config.attribution {
            true => Some(identity.id(config.anonymous_id_file.clone()).await),
            false => None,
        };
        let headers = headers(request, key, config.user_agent.as_deref(), user_id);
        let exchange = Exchange { clients, proxy: config.proxy.as_ref(), headers, body };
        let mut watch = Watch::start(&endpoint, config.idle_timeout(), config.total_timeout());
        let (response, endpoint) = watch.limit(exchange.send(endpoint)).await??;
        watch.rearm();
        match response.status() {
            StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT => {
                let message =
                    format!("{endpoint} answered without a body (HTTP {})", response.status().as_u16());
                Err(LlmError::new(code::EMPTY_RESPONSE, message))
            }
            status if status.is_success() => read(response, &endpoint, &mut watch, out).await,
            _ => Err(refusal(response, &endpoint, &config.api_key_env, &mut watch).await),
        }
    }
}

/// Hands on the pieces of an answer as they come, and never reads ahead of whoever takes them.
async fn read(
    mut response: Response,
    endpoint: &Endpoint,
    watch: &mut Watch,
    out: &mut ChunkSink,
) -> Result<(), LlmError> {
    let mut answer = Answer::new();
    loop {
        let bytes = watch.limit(response.chunk()).await?.map_err(|error| interrupted(endpoint, error))?;
        let Some(bytes) = bytes else {
            let ended = answer.end();
            hand_on(&mut answer, out).await;
            return ended.map_err(|error| named(endpoint, &error));
        };
        let fed = answer.feed(&bytes);
        hand_on(&mut answer, out).await;
        if fed? {
            watch.rearm();
        }
        if answer.is_done() {
            // A server that keeps the body open has its connection closed.
            let _ = timeout(END_OF_BODY, async { while let Ok(Some(_)) = response.chunk().await {} }).await;
            return Ok(());
        }
    }
}

/// The failure of a body that has ended, with the endpoint and what to do.
fn named(endpoint: &Endpoint, error: &LlmError) -> LlmError {
    let remedy = match error.code() {
        code::STREAM_CLOSED => ": check baseURL or DEEPSEEK_BASE_URL, which often ends in /v1",
        _ => "",
    };
    LlmError::new(error.code(), format!("{error} (from {endpoint}){remedy}"))
}

async fn hand_on(answer: &mut Answer, out: &mut ChunkSink) {
    while let Some(chunk) = answer.next() {
        out.send(chunk).await;
    }
}

impl From<EndpointError> for LlmError {
    fn from(error: EndpointError) -> Self {
        Self::new(code::INVALID_REQUEST, error.to_string())
    }
}
