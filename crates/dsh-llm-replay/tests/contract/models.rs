//! Providers and models that are served.

use dsh_llm::{FinishReason, LLM, Modality};
use serde_json::{Value, json};

use crate::fixture::{Fixture, assembled, recording, request};

// spec: llm/S75
#[tokio::test]
async fn providers_are_served_with_what_is_configured_of_their_models() {
    let more = json!({ "providers": [{ "id": "acme", "name": "Acme", "retryPolicy": { "mode": "normal", "maxRetries": 1 },
        "models": [{ "id": "m", "name": "M", "contextWindow": 1000, "defaultMaxTokens": 10,
            "inputModalities": ["text"], "efforts": ["low", "high"] }] }] });
    let fixture = Fixture::playing(&recording("r", 0, &["a"]), more).await;
    let llm = fixture.app.get(LLM).unwrap();
    let llm = llm.get().unwrap();
    assert_eq!(llm.providers()[0].name, "Acme");
    let request = request("s");
    let prepared = llm.prepare(request.config.clone(), &request.cancellation).await.unwrap();
    let info = prepared.info();
    assert_eq!((info.context_window, info.name.as_str()), (Some(1000), "M"));
    assert_eq!(info.input_modalities, Some(vec![Modality::Text]));
    assert_eq!(
        (prepared.config().max_tokens, prepared.config().reasoning_effort.as_deref()),
        (Some(10), Some("low"))
    );
    assert!(matches!(prepared.retry_policy(), dsh_llm::RetryPolicy::Normal { max_retries: 1, .. }));
    assert_eq!(fixture.text("s").await, "a");
    // A failure of a served model is the finish of its answer.
    let chunks = fixture.ask("s").await.unwrap();
    assert!(matches!(assembled(&chunks).finish(), FinishReason::Error { .. }));
}

// spec: llm/S75
#[tokio::test]
async fn a_model_that_cannot_be_is_refused_before_it_is_asked() {
    let model = |more: Value| {
        let mut model = json!({ "id": "m" });
        model.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "providers": [{ "id": "acme", "models": [model, { "id": "other" }] }] })
    };
    for (config, told) in [
        (model(json!({ "id": "" })), "without an id"),
        (model(json!({ "id": "other" })), "twice"),
        (model(json!({ "contextWindow": 0 })), "contextWindow"),
        (model(json!({ "defaultMaxTokens": 0 })), "defaultMaxTokens"),
        (model(json!({ "efforts": ["low", "low"] })), "efforts"),
        (model(json!({ "efforts": [""] })), "efforts"),
        (model(json!({ "name": "" })), "name"),
    ] {
        let fixture = Fixture::new().await;
        let config = serde_json::from_value(config.clone()).unwrap();
        let told_of = match fixture.app.plugin(dsh_llm_replay::plugin(), config) {
            Err(error) => dsh_llm::error_chain(&error),
            Ok(fiber) => {
                fiber.ready().await.map(|_| told).map_err(|error| dsh_llm::error_chain(&error)).unwrap_err()
            }
        };
        assert!(told_of.contains(told) && told_of.contains("acme"), "{told}: {told_of}");
    }
}
