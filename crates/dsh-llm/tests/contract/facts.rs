//! What adapters say of their models, and what calls are completed by.

use dsh_llm::testing::{Answer, ScriptedModel, collected, plain};
use dsh_llm::{
    Adapter, AdapterDefaults, CallConfig, ChunkSink, LlmError, Modality, Model, ModelEntry, ModelInfo,
    ModelRequest, ProviderInfo, Reasoning, ReasoningEffort, code,
};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, failure, request, short};

/// Lists what it is told to list.
struct Lists(Vec<ModelEntry>);

struct Unlisted(String);

impl Adapter for Lists {
    type Model = Unlisted;

    fn provider(&self, provider: &str) -> ProviderInfo {
        ProviderInfo { id: provider.to_owned(), name: "Acme".to_owned() }
    }

    async fn models(&self, _: &str) -> Result<Vec<ModelEntry>, LlmError> {
        Ok(self.0.clone())
    }

    async fn model(&self, _: &str, model: &str, _: &CancellationToken) -> Result<Unlisted, LlmError> {
        Ok(Unlisted(model.to_owned()))
    }
}

impl Model for Unlisted {
    fn info(&self) -> ModelInfo {
        plain("acme", &self.0)
    }

    async fn stream(&self, _: &ModelRequest, out: &mut ChunkSink) -> Result<(), LlmError> {
        out.send(crate::fixture::stop()).await;
        Ok(())
    }
}

fn entry(provider: &str, id: &str, name: &str) -> ModelEntry {
    ModelEntry {
        provider: provider.to_owned(),
        id: id.to_owned(),
        name: name.to_owned(),
        description: None,
        input_modalities: Some(vec![Modality::Text]),
    }
}

// spec: llm/S33
#[tokio::test]
async fn the_list_of_models_is_checked() {
    let good = || vec![entry("acme", "n", "N"), entry("acme", "m", "M")];
    let mut twice = good();
    twice.push(entry("acme", "n", "Again"));
    for (list, is_fine) in [
        (good(), true),
        (vec![], true),
        (twice, false),
        (vec![entry("bolt", "n", "N")], false),
        (vec![entry("acme", "", "N")], false),
        (vec![entry("acme", "n", "")], false),
    ] {
        let fixture = Fixture::new().await;
        fixture.llm.register(&fixture.app, ["acme"], Lists(list.clone())).unwrap();
        match fixture.llm.models("acme").await {
            Ok(listed) => assert_eq!((listed, is_fine), (list, true)),
            Err(error) => assert_eq!((error.code(), is_fine), (code::INVALID_CATALOG, false), "{list:?}"),
        }
    }
}

// spec: llm/S33
#[tokio::test]
async fn a_model_that_is_not_listed_can_be_asked() {
    let fixture = Fixture::new().await;
    fixture.llm.register(&fixture.app, ["acme"], Lists(vec![entry("acme", "n", "N")])).unwrap();
    assert_eq!(short(&collected(fixture.ask("acme")).await.unwrap()), ["stop"]);
    let info = fixture.llm.model_info("acme", "anything/x", &CancellationToken::new()).await.unwrap();
    assert_eq!(info, plain("acme", "anything/x"));
}

// spec: llm/S33, llm/S35
#[tokio::test]
async fn what_nobody_serves_cannot_be_looked_up() {
    let fixture = Fixture::new().await;
    let token = CancellationToken::new();
    assert_eq!(fixture.llm.models("acme").await.unwrap_err().code(), code::NO_ADAPTER);
    assert_eq!(fixture.llm.model_info("acme", "m", &token).await.unwrap_err().code(), code::NO_ADAPTER);
    let error = fixture.llm.prepare(request("acme").config, &token).await.unwrap_err();
    assert_eq!(error.code(), code::NO_ADAPTER);
    assert!(error.to_string().contains("load a plugin that has one"), "{error}");
}

fn effort(id: &str) -> ReasoningEffort {
    ReasoningEffort { id: id.to_owned(), name: id.to_uppercase() }
}

fn thinking(efforts: &[&str], default: Option<&str>) -> Option<Reasoning> {
    Some(Reasoning {
        efforts: efforts.iter().map(|id| effort(id)).collect(),
        default_effort: default.map(str::to_owned),
    })
}

/// The model of `acme`, with a change.
async fn known(change: impl Fn(&mut ModelInfo) + Send + Sync + 'static) -> (Fixture, ScriptedModel) {
    let fixture = Fixture::new().await;
    let model = ScriptedModel::new([Answer::text("a")]).with_info(move |provider, model| {
        let mut info = plain(provider, model);
        change(&mut info);
        info
    });
    fixture.serve("acme", &model);
    (fixture, model)
}

async fn code_of(change: impl Fn(&mut ModelInfo) + Send + Sync + 'static) -> Option<String> {
    let (fixture, _) = known(change).await;
    let info = fixture.llm.model_info("acme", "m", &CancellationToken::new()).await;
    info.err().map(|error| error.code().to_owned())
}

// spec: llm/S35
#[tokio::test]
async fn what_is_said_of_a_model_is_checked() {
    let is = |code: &str| Some(code.to_owned());
    assert_eq!(code_of(|_| {}).await, None);
    assert_eq!(code_of(|info| info.provider = "bolt".to_owned()).await, is(code::INVALID_MODEL_INFO));
    assert_eq!(code_of(|info| info.id = "n".to_owned()).await, is(code::INVALID_MODEL_INFO));
    assert_eq!(code_of(|info| info.name.clear()).await, is(code::INVALID_MODEL_INFO));
    assert_eq!(code_of(|info| info.context_window = Some(1)).await, None);
    assert_eq!(code_of(|info| info.context_window = Some(0)).await, is(code::INVALID_MODEL_CONTEXT));
    assert_eq!(code_of(|info| info.default_max_tokens = Some((1 << 53) - 1)).await, None);
    for tokens in [0, 1 << 53] {
        let found = code_of(move |info| info.default_max_tokens = Some(tokens)).await;
        assert_eq!(found, is(code::INVALID_MODEL_MAX_TOKENS));
    }
}

// spec: llm/S35
#[tokio::test]
async fn the_efforts_of_a_model_are_checked() {
    let is = Some(code::INVALID_MODEL_REASONING.to_owned());
    assert_eq!(code_of(|info| info.reasoning = thinking(&["low", "high"], None)).await, None);
    assert_eq!(code_of(|info| info.reasoning = thinking(&["low"], Some("low"))).await, None);
    assert_eq!(code_of(|info| info.reasoning = thinking(&[], None)).await, is);
    assert_eq!(code_of(|info| info.reasoning = thinking(&["low", "low"], None)).await, is);
    assert_eq!(code_of(|info| info.reasoning = thinking(&[""], None)).await, is);
    assert_eq!(code_of(|info| info.reasoning = thinking(&["low"], Some("high"))).await, is);
    let nameless = |info: &mut ModelInfo| {
        let effort = ReasoningEffort { id: "low".to_owned(), name: String::new() };
        info.reasoning = Some(Reasoning { efforts: vec![effort], default_effort: None });
    };
    assert_eq!(code_of(nameless).await, is);
}

// spec: llm/S35
#[tokio::test]
async fn a_model_without_an_id_is_none() {
    let (fixture, _) = known(|_| {}).await;
    let error = fixture.llm.model_info("acme", "", &CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.code(), code::INVALID_MODEL_INFO);
}

fn rich(info: &mut ModelInfo) {
    info.default_max_tokens = Some(100);
    info.reasoning = thinking(&["low", "high"], Some("high"));
}

async fn asked(config: CallConfig) -> Result<CallConfig, String> {
    let (fixture, model) = known(rich).await;
    let chunks = collected(fixture.llm.stream(ModelRequest::new(config, []))).await.unwrap();
    match model.requests().pop() {
        Some(request) => Ok(request.config),
        None => Err(failure(&chunks).code.clone()),
    }
}

// spec: llm/S36, llm/S39
#[tokio::test]
async fn what_a_call_leaves_open_is_filled_in_and_what_it_says_is_never_changed() {
    let open = CallConfig::new("acme", "m");
    let filled =
        CallConfig { max_tokens: Some(100), reasoning_effort: Some("high".to_owned()), ..open.clone() };
    assert_eq!(asked(open.clone()).await, Ok(filled.clone()));
    for max_tokens in [0, 1, 100, 1_000_000_000] {
        let config = CallConfig { max_tokens: Some(max_tokens), ..open.clone() };
        let config = CallConfig { reasoning_effort: Some("low".to_owned()), stop: Some(vec![]), ..config };
        assert_eq!(asked(config.clone()).await, Ok(config));
    }
}

// spec: llm/S36
#[tokio::test]
async fn an_effort_that_the_model_does_not_have_is_refused_before_it_is_asked() {
    for effort in ["medium", "", "HIGH"] {
        let config = CallConfig { reasoning_effort: Some(effort.to_owned()), ..CallConfig::new("acme", "m") };
        assert_eq!(asked(config).await, Err(code::UNSUPPORTED_REASONING_EFFORT.to_owned()));
    }
    // One without any efforts has none to choose from.
    let (fixture, model) = known(|_| {}).await;
    let config = CallConfig { reasoning_effort: Some("low".to_owned()), ..CallConfig::new("acme", "m") };
    let error = fixture.llm.prepare(config, &CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.code(), code::UNSUPPORTED_REASONING_EFFORT);
    assert!(error.to_string().contains("none to choose from"), "{error}");
    assert_eq!(model.requests().len(), 0);
}

// spec: llm/S36, llm/S37
#[tokio::test]
async fn a_prepared_call_says_what_was_filled_in() {
    let (fixture, _) = known(rich).await;
    let token = CancellationToken::new();
    let both = AdapterDefaults { reasoning_effort: Some(true), max_tokens: Some(true) };
    let prepared = fixture.llm.prepare(CallConfig::new("acme", "m"), &token).await.unwrap();
    assert_eq!(prepared.adapter_defaults(), both);
    assert_eq!(prepared.info().default_max_tokens, Some(100));
    let config = CallConfig { max_tokens: Some(100), ..CallConfig::new("acme", "m") };
    let prepared = fixture.llm.prepare(config, &token).await.unwrap();
    assert_eq!(prepared.adapter_defaults(), AdapterDefaults { max_tokens: None, ..both });
    assert_eq!(prepared.config().max_tokens, Some(100));
    // An effort without a default stays open.
    let (fixture, _) = known(|info| info.reasoning = thinking(&["low"], None)).await;
    let prepared = fixture.llm.prepare(CallConfig::new("acme", "m"), &token).await.unwrap();
    assert_eq!(prepared.adapter_defaults(), AdapterDefaults::default());
    assert_eq!(*prepared.config(), CallConfig::new("acme", "m"));
}
