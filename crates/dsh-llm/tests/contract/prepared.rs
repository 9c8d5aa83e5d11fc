//! Calls whose model is looked up before they are made.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dsh_llm::testing::{Answer, ScriptedModel, collected, plain};
use dsh_llm::{
    Adapter, CallConfig, ChunkSink, LlmError, Model, ModelEntry, ModelInfo, ModelRequest, PreparedCall,
    ProviderInfo, Reasoning, ReasoningEffort, STREAM, code,
};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, delta, failure, request, short, stop, twice};

/// Answers with the endpoint of its settings, which a model keeps from when it was looked up.
#[derive(Clone, Default)]
struct Settings {
    endpoint: Arc<Mutex<String>>,
    window: Arc<Mutex<Option<u64>>>,
    lookups: Arc<AtomicU32>,
}

struct Endpoint {
    endpoint: String,
    info: ModelInfo,
}

impl Adapter for Settings {
    type Model = Endpoint;

    fn provider(&self, provider: &str) -> ProviderInfo {
        ProviderInfo { id: provider.to_owned(), name: "Acme".to_owned() }
    }

    async fn models(&self, _: &str) -> Result<Vec<ModelEntry>, LlmError> {
        Ok(Vec::new())
    }

    async fn model(&self, provider: &str, model: &str, _: &CancellationToken) -> Result<Endpoint, LlmError> {
        self.lookups.fetch_add(1, Ordering::SeqCst);
        let info = ModelInfo { context_window: *self.window.lock(), ..plain(provider, model) };
        Ok(Endpoint { endpoint: self.endpoint.lock().clone(), info })
    }
}

impl Model for Endpoint {
    fn info(&self) -> ModelInfo {
        self.info.clone()
    }

    async fn stream(&self, _: &ModelRequest, out: &mut ChunkSink) -> Result<(), LlmError> {
        out.send(delta(&*self.endpoint)).await;
        out.send(stop()).await;
        Ok(())
    }
}

async fn prepare(fixture: &Fixture) -> PreparedCall {
    fixture.llm.prepare(request("acme").config, &CancellationToken::new()).await.unwrap()
}

fn completed(call: &PreparedCall) -> ModelRequest {
    let mut request = request("acme");
    request.config = call.config().clone();
    request
}

// spec: llm/S37
#[tokio::test]
async fn a_prepared_call_keeps_the_settings_of_its_moment_and_looks_nothing_up_again() {
    let fixture = Fixture::new().await;
    let settings = Settings::default();
    *settings.endpoint.lock() = "first".to_owned();
    *settings.window.lock() = Some(1000);
    fixture.llm.register(&fixture.app, ["acme"], settings.clone()).unwrap();
    let call = prepare(&fixture).await;
    *settings.endpoint.lock() = "second".to_owned();
    *settings.window.lock() = Some(2000);
    assert_eq!(call.info().context_window, Some(1000));
    let asked = completed(&call);
    assert_eq!(short(&collected(call.stream(asked).unwrap()).await.unwrap()), ["first", "stop"]);
    assert_eq!(settings.lookups.load(Ordering::SeqCst), 1);
    assert_eq!(short(&collected(fixture.ask("acme")).await.unwrap()), ["second", "stop"]);
    assert_eq!(settings.lookups.load(Ordering::SeqCst), 2);
}

// spec: llm/S37
#[tokio::test]
async fn a_prepared_call_is_not_touched_by_routes_that_are_replaced() {
    let fixture = Fixture::new().await;
    let settings = Settings::default();
    *settings.endpoint.lock() = "old".to_owned();
    let registration = fixture.llm.register(&fixture.app, ["acme"], settings).unwrap();
    let call = prepare(&fixture).await;
    registration.replace(["elsewhere"]).unwrap();
    let other = ScriptedModel::new([]);
    fixture.serve("acme", &other);
    let asked = completed(&call);
    assert_eq!(short(&collected(call.stream(asked).unwrap()).await.unwrap()), ["old", "stop"]);
    assert_eq!(other.requests().len(), 0);
}

// spec: llm/S37
#[tokio::test]
async fn a_prepared_call_of_an_adapter_that_is_gone_fails_and_nobody_takes_it_over() {
    let fixture = Fixture::new().await;
    let registration = fixture.llm.register(&fixture.app, ["acme"], Settings::default()).unwrap();
    let call = prepare(&fixture).await;
    registration.dispose().await;
    let other = ScriptedModel::new([Answer::text("not mine")]);
    fixture.serve("acme", &other);
    let asked = completed(&call);
    let chunks = collected(call.stream(asked).unwrap()).await.unwrap();
    assert_eq!(failure(&chunks).code, code::REGISTRATION_DISPOSED);
    assert_eq!(other.requests().len(), 0);
}

// spec: llm/S37, llm/S8
#[tokio::test]
async fn a_request_with_another_config_is_refused() {
    let changes: [fn(&mut CallConfig); 6] = [
        |config| config.provider = "bolt".to_owned(),
        |config| config.model = "n".to_owned(),
        |config| config.reasoning_effort = Some("low".to_owned()),
        |config| config.temperature = Some(0.5),
        |config| config.max_tokens = Some(1),
        |config| config.stop = Some(Vec::new()),
    ];
    for change in changes {
        let (fixture, model) = Fixture::with([Answer::text("a")]).await;
        let call = prepare(&fixture).await;
        let mut drifted = completed(&call);
        change(&mut drifted.config);
        let error = call.stream(drifted).unwrap_err();
        assert_eq!(error.code(), code::INVALID_PREPARED_CALL);
        assert_eq!(model.requests().len(), 0);
    }
}

// spec: llm/S37
/// `PreparedCall::stream` consumes the call; its documentation has the program that does not compile.
#[tokio::test]
async fn every_prepared_call_is_a_lookup_of_its_own() {
    let fixture = Fixture::new().await;
    let settings = Settings::default();
    fixture.llm.register(&fixture.app, ["acme"], settings.clone()).unwrap();
    for lookups in 1..=3 {
        let call = prepare(&fixture).await;
        let asked = completed(&call);
        assert_eq!(collected(call.stream(asked).unwrap()).await.unwrap().len(), 2);
        assert_eq!(settings.lookups.load(Ordering::SeqCst), lookups);
    }
}

// spec: llm/S38
#[tokio::test]
async fn the_listeners_of_a_prepared_call_reroute_it_and_the_other_model_fills_in_its_own() {
    let (fixture, model) = Fixture::with([]).await;
    let thinking = ScriptedModel::new([]).with_info(|provider, model| {
        let effort = ReasoningEffort { id: "high".to_owned(), name: "High".to_owned() };
        let reasoning = Some(Reasoning { efforts: vec![effort], default_effort: Some("high".to_owned()) });
        ModelInfo { reasoning, default_max_tokens: Some(10), ..plain(provider, model) }
    });
    fixture.serve("thinker", &thinking);
    model.push(Answer::text("a"));
    fixture.reroute("acme");
    let config = CallConfig::new("thinker", "m");
    let call = fixture.llm.prepare(config, &CancellationToken::new()).await.unwrap();
    let asked = completed(&call);
    assert_eq!(asked.config.reasoning_effort.as_deref(), Some("high"));
    let chunks = collected(call.stream(asked).unwrap()).await.unwrap();
    assert_eq!(short(&chunks).last().unwrap(), "stop");
    assert_eq!(
        model.requests()[0].config,
        CallConfig::new("acme", "m"),
        "what one chose is not asked of another"
    );
    assert_eq!(thinking.requests().len(), 0);
}

// spec: llm/S37, llm/S38
#[tokio::test]
async fn a_retry_below_a_listener_asks_the_same_prepared_model() {
    let fixture = Fixture::new().await;
    let settings = Settings::default();
    *settings.endpoint.lock() = "first".to_owned();
    fixture.llm.register(&fixture.app, ["acme"], settings.clone()).unwrap();
    fixture.app.on(STREAM).run(twice).unwrap();
    let call = prepare(&fixture).await;
    *settings.endpoint.lock() = "second".to_owned();
    let asked = completed(&call);
    let chunks = collected(call.stream(asked).unwrap()).await.unwrap();
    assert_eq!(short(&chunks), ["first", "stop", "first", "stop"]);
    assert_eq!(settings.lookups.load(Ordering::SeqCst), 1);
}
