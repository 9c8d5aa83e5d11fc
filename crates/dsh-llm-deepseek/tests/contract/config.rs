//! What a configuration may say.

use cordis::State;
use dsh_llm::{Modality, RetryPolicy};
use dsh_llm_deepseek::{Config, Effort, ModelConfig, ProxyUrl, Thinking};
use serde_json::json;

use crate::fixture::{Fixture, PROVIDER, config};

/// What a change of a valid configuration is refused with.
async fn refused(change: impl FnOnce(&mut Config)) -> String {
    let app = cordis::testing::TestApp::new();
    app.plugin(dsh_llm::plugin(), ()).unwrap();
    let mut config = config("http://localhost:9", "/nowhere/id".into());
    change(&mut config);
    let fiber = app.plugin(dsh_llm_deepseek::plugin(), config).unwrap();
    let error = fiber.ready().await.unwrap_err();
    assert_eq!(fiber.state(), State::Failed);
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

// spec: llm/S47, llm/S48
#[tokio::test]
async fn what_cannot_be_fails_the_load_and_names_the_field() {
    type Change = fn(&mut Config);
    let cases: [(&str, Change); 21] = [
        ("maxTokens", |config| config.max_tokens = 0),
        ("maxTokens", |config| config.max_tokens = 1 << 53),
        ("defaultContextWindow", |config| config.default_context_window = 0),
        ("streamIdleTimeoutMs", |config| config.stream_idle_timeout_ms = 0),
        ("streamIdleTimeoutMs", |config| config.stream_idle_timeout_ms = 1 << 31),
        ("totalTimeoutMs", |config| config.total_timeout_ms = (1 << 31).try_into().ok()),
        ("apiKeyEnv", |config| config.api_key_env = String::new()),
        ("apiKeyEnv", |config| config.api_key_env = "A=B".to_owned()),
        ("baseURL", |config| config.base_url = Some("localhost:80/v1".to_owned())),
        ("baseURL", |config| config.base_url = Some("http://me:hunter2@h/v1".to_owned())),
        ("proxy", |config| config.proxy = Some(ProxyUrl::new("socks5://h:1"))),
        ("reasoningEffort", |config| {
            config.thinking = Some(Thinking::Disabled);
            config.reasoning_effort = Some(Effort::Low);
        }),
        ("models", |config| config.models.clear()),
        ("models", |config| config.models.push(ModelConfig::new(""))),
        ("models", |config| config.models.push(ModelConfig::new("deepseek-v4-pro"))),
        ("models", |config| config.models[0].name = Some(String::new())),
        ("models", |config| config.models[0].input_modalities.clear()),
        ("models", |config| config.models[0].input_modalities = vec![Modality::Image]),
        ("models.maxTokens", |config| config.models[0].max_tokens = Some(0)),
        ("userAgent", |config| config.user_agent = Some("a\nb".to_owned())),
        ("retryPolicy", |config| {
            if let RetryPolicy::Normal { retryable_codes, .. } = &mut config.retry_policy {
                retryable_codes.clear();
            }
        }),
    ];
    for (field, change) in cases {
        let error = refused(change).await;
        assert!(error.contains(&format!("llm-deepseek: {field}")), "{field}: {error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

// spec: llm/S47
#[test]
fn the_references_names_are_read_and_others_are_refused() {
    let written = json!({
        "apiKeyEnv": "MY_KEY", "baseURL": "http://h/v1", "thinking": "enabled", "reasoningEffort": "max", "maxTokens": 5,
        "defaultContextWindow": 6, "models": [{ "id": "m", "contextWindow": 7, "maxTokens": 8 }],
        "streamIdleTimeoutMs": 9, "retryPolicy": { "mode": "always" },
    });
    let config: Config = serde_json::from_value(written).unwrap();
    let expected = Config {
        api_key_env: "MY_KEY".to_owned(),
        base_url: Some("http://h/v1".to_owned()),
        thinking: Some(Thinking::Enabled),
        reasoning_effort: Some(Effort::Max),
        max_tokens: 5,
        default_context_window: 6,
        models: vec![ModelConfig { context_window: Some(7), max_tokens: Some(8), ..ModelConfig::new("m") }],
        stream_idle_timeout_ms: 9,
        retry_policy: RetryPolicy::Always { backoff: dsh_llm::Backoff::default() },
        ..Config::default()
    };
    assert_eq!(config, expected);
    assert_eq!(serde_json::from_value::<Config>(json!({})).unwrap(), Config::default());
    for wrong in [
        json!({ "foo": 1 }),
        json!({ "reasoningEffort": "medium" }),
        json!({ "retryPolicy": { "maxRetries": 1 } }),
    ] {
        assert!(serde_json::from_value::<Config>(wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn what_is_secret_in_a_proxy_is_not_printed() {
    let config = Config { proxy: Some(ProxyUrl::new("http://me:hunter2@proxy:3128")), ..Config::default() };
    let printed = format!("{config:?}");
    assert!(printed.contains("http://proxy:3128") && !printed.contains("hunter2"), "{printed}");
}

// spec: llm/S49
#[tokio::test]
async fn an_update_that_cannot_be_leaves_the_old_one_in_force_and_a_good_one_gives_another_policy() {
    let fixture = Fixture::at("http://localhost:9", |_| {}).await;
    let policy = async || {
        let config = dsh_llm::CallConfig::new(PROVIDER, "m");
        let llm = fixture.llm.get().unwrap();
        let prepared = llm.prepare(config, &tokio_util::sync::CancellationToken::new()).await.unwrap();
        prepared.retry_policy().clone()
    };
    let id = fixture.id_file();
    let wrong = Config { max_tokens: 0, ..config("http://localhost:9", id.clone()) };
    assert!(fixture.plugin.update(wrong).await.is_err());
    assert_eq!(fixture.plugin.state(), State::Active);
    assert_eq!(policy().await, RetryPolicy::default());

    let always = RetryPolicy::Always { backoff: dsh_llm::Backoff::default() };
    let other = Config { retry_policy: always.clone(), ..config("http://localhost:9", id) };
    fixture.plugin.update(other).await.unwrap();
    assert_eq!(policy().await, always);
}
