//! The models to choose from, and what is known of one.

use dsh_llm::{LLM, Modality, ModelEntry, ModelInfo};
use dsh_llm_deepseek::{Config, Effort, ModelConfig, Thinking};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, PROVIDER};

async fn fixture(change: impl FnOnce(&mut Config)) -> Fixture {
    Fixture::at("http://localhost:9", |config| {
        // Nothing of this needs a key.
        config.api_key_env = "CARGO_PKG_NO_SUCH".to_owned();
        change(config);
    })
    .await
}

async fn info(fixture: &Fixture, model: &str) -> ModelInfo {
    fixture.llm.get().unwrap().model_info(PROVIDER, model, &CancellationToken::new()).await.unwrap()
}

// spec: llm/S46, llm/S47, llm/S50
#[tokio::test]
async fn the_one_provider_and_its_models_can_be_looked_at_without_a_key() {
    let fixture = fixture(|_| {}).await;
    let llm = fixture.llm.get().unwrap();
    assert_eq!(
        serde_json::to_value(llm.providers()).unwrap(),
        json!([{ "id": PROVIDER, "name": "DeepSeek" }])
    );
    let entry = |id: &str, name: &str| ModelEntry {
        provider: PROVIDER.to_owned(),
        id: id.to_owned(),
        name: name.to_owned(),
        description: None,
        input_modalities: Some(vec![Modality::Text]),
    };
    let expected =
        [entry("deepseek-v4-flash", "DeepSeek-V4-Flash"), entry("deepseek-v4-pro", "DeepSeek-V4-Pro")];
    assert_eq!(llm.models(PROVIDER).await.unwrap(), expected);
}

// spec: llm/S51
#[tokio::test]
async fn any_id_is_a_model_with_the_defaults() {
    let fixture = fixture(|_| {}).await;
    let efforts = json!([
        { "id": "off", "name": "Off" }, { "id": "low", "name": "Low" },
        { "id": "high", "name": "High" }, { "id": "max", "name": "Max" },
    ]);
    for (id, name) in [("deepseek-v4-pro", "DeepSeek-V4-Pro"), ("anything/x", "anything/x")] {
        let expected = json!({
            "provider": PROVIDER, "id": id, "name": name, "inputModalities": ["text"],
            "contextWindow": 1_000_000, "defaultMaxTokens": 256_000,
            "reasoning": { "efforts": efforts, "defaultEffort": "high" },
        });
        assert_eq!(serde_json::to_value(info(&fixture, id).await).unwrap(), expected);
    }
    let unnamed =
        fixture.llm.get().unwrap().model_info(PROVIDER, "", &CancellationToken::new()).await.unwrap_err();
    assert_eq!(unnamed.code(), "INVALID_MODEL_INFO");
}

// spec: llm/S47, llm/S51
#[tokio::test]
async fn a_list_of_ones_own_replaces_the_default_one() {
    let entry = ModelConfig {
        name: Some("Mine".to_owned()),
        description: Some("Small.".to_owned()),
        context_window: Some(8_000),
        max_tokens: Some(500),
        input_modalities: vec![Modality::Text, Modality::Image],
        ..ModelConfig::new("mine")
    };
    let fixture = fixture(|config| {
        config.models = vec![entry, ModelConfig::new("bare")];
        config.default_context_window = 9_000;
        config.max_tokens = 600;
        config.reasoning_effort = Some(Effort::Low);
    })
    .await;
    let listed: Vec<(String, String, Option<String>)> = fixture
        .llm
        .get()
        .unwrap()
        .models(PROVIDER)
        .await
        .unwrap()
        .into_iter()
        .map(|entry| (entry.id, entry.name, entry.description))
        .collect();
    let text = |text: &str| text.to_owned();
    assert_eq!(
        listed,
        [(text("mine"), text("Mine"), Some(text("Small."))), (text("bare"), text("bare"), None)]
    );
    let facts = async |id: &str| {
        let info = info(&fixture, id).await;
        (info.context_window, info.default_max_tokens, info.reasoning.unwrap().default_effort)
    };
    assert_eq!(facts("mine").await, (Some(8_000), Some(500), Some(text("low"))));
    assert_eq!(facts("bare").await, (Some(9_000), Some(600), Some(text("low"))));
    assert_eq!(facts("deepseek-v4-pro").await, (Some(9_000), Some(600), Some(text("low"))));
}

// spec: llm/S48, llm/S51
#[tokio::test]
async fn models_that_do_not_think_have_the_effort_off_alone() {
    let fixture = fixture(|config| config.thinking = Some(Thinking::Disabled)).await;
    let reasoning = info(&fixture, "deepseek-v4-flash").await.reasoning.unwrap();
    assert_eq!(
        serde_json::to_value(reasoning).unwrap(),
        json!({ "efforts": [{ "id": "off", "name": "Off" }], "defaultEffort": "off" })
    );
}

// spec: llm/S46
#[tokio::test]
async fn the_provider_is_gone_with_the_plugin() {
    let fixture = fixture(|_| {}).await;
    fixture.plugin.dispose().await;
    assert!(!fixture.app.get(LLM).unwrap().get().unwrap().has_provider(PROVIDER));
}
