//! Looking for the models of an endpoint that is about to be set up.

use dsh_llm::{DiscoveredModel, DiscoveryError, DiscoveryQuery, LlmError, code};
use tokio_util::sync::CancellationToken;

use crate::fixture::Fixture;

fn found(id: &str) -> DiscoveredModel {
    DiscoveredModel { id: id.to_owned(), name: Some(format!("model {id}")) }
}

fn at(base_url: &str) -> DiscoveryQuery {
    DiscoveryQuery { base_url: Some(base_url.to_owned()), ..DiscoveryQuery::default() }
}

async fn nothing(_: DiscoveryQuery) -> Result<Vec<DiscoveredModel>, LlmError> {
    Ok(Vec::new())
}

// spec: llm/S34
#[tokio::test]
async fn models_are_looked_for_by_the_plugin_of_their_settings_and_the_useless_are_left_out() {
    let fixture = Fixture::new().await;
    let discover = async |query: DiscoveryQuery| {
        assert_eq!(query.api_key.as_deref(), Some("k"));
        let again = DiscoveredModel { id: "a".to_owned(), name: None };
        Ok(vec![found("b"), found("a"), again, found(""), found(" "), found("c")])
    };
    fixture.llm.register_discovery(&fixture.app, "llm-acme", discover).unwrap();
    fixture.llm.register_discovery(&fixture.app, "llm-bolt", nothing).unwrap();
    let query = DiscoveryQuery { api_key: Some("k".to_owned()), ..at("http://localhost") };
    let models = fixture.llm.discover_models("llm-acme", query).await.unwrap();
    assert_eq!(models, [found("b"), found("a"), found("c")]);
    assert_eq!(fixture.llm.discover_models("llm-bolt", at("x")).await.unwrap(), []);
}

// spec: llm/S34
#[tokio::test]
async fn a_search_needs_a_place_and_somebody_who_searches() {
    let fixture = Fixture::new().await;
    let code_of = async |namespace: &str, query| {
        let found = fixture.llm.discover_models(namespace, query).await;
        found.err().map(|error| error.code().to_owned())
    };
    let is = |code: &str| Some(code.to_owned());
    assert_eq!(code_of("llm-acme", at("x")).await, is(code::NO_DISCOVERY));
    fixture.llm.register_discovery(&fixture.app, "llm-acme", nothing).unwrap();
    assert_eq!(code_of("llm-acme", DiscoveryQuery::default()).await, is(code::INVALID_DISCOVERY));
    assert_eq!(code_of("llm-acme", at(" ")).await, is(code::INVALID_DISCOVERY));
    let of = DiscoveryQuery { provider: Some("acme".to_owned()), ..DiscoveryQuery::default() };
    assert_eq!(code_of("llm-acme", of).await, None);
}

// spec: llm/S34
#[tokio::test]
async fn one_plugin_searches_for_one_part_of_the_settings_as_long_as_it_lives() {
    let fixture = Fixture::new().await;
    let fiber = fixture.host().await;
    let ctx = fiber.context();
    fixture.llm.register_discovery(&ctx, "llm-acme", nothing).unwrap();
    let error = fixture.llm.register_discovery(&fixture.app, "llm-acme", nothing).unwrap_err();
    let taken = DiscoveryError::Duplicate { namespace: "llm-acme".to_owned(), owner: fiber.label() };
    assert_eq!((error.code(), &error), (code::DUPLICATE_DISCOVERY, &taken));
    let error = fixture.llm.register_discovery(&fixture.app, "", nothing).unwrap_err();
    assert_eq!((error.code(), &error), (code::INVALID_DISCOVERY, &DiscoveryError::Unnamed));
    fiber.dispose().await;
    let error = fixture.llm.register_discovery(&ctx, "llm-acme", nothing).unwrap_err();
    assert_eq!(error.code(), code::REGISTRATION_DISPOSED);
    let error = fixture.llm.discover_models("llm-acme", at("x")).await.unwrap_err();
    assert_eq!(error.code(), code::NO_DISCOVERY);
    fixture.llm.register_discovery(&fixture.app, "llm-acme", nothing).unwrap();
}

// spec: llm/S34, design/P4
#[tokio::test]
async fn a_search_fails_is_cancelled_and_panics_for_its_caller_alone() {
    let fixture = Fixture::new().await;
    let discover = async |query: DiscoveryQuery| match query.base_url.as_deref() {
        Some("hangs") => std::future::pending().await,
        Some("panics") => panic!("no such endpoint"),
        _ => Err(LlmError::new(code::AUTH, "the key is wrong")),
    };
    fixture.llm.register_discovery(&fixture.app, "llm-acme", discover).unwrap();
    let search = async |query| fixture.llm.discover_models("llm-acme", query).await.unwrap_err();
    assert_eq!(search(at("x")).await.code(), code::AUTH);
    let error = search(at("panics")).await;
    assert_eq!(error.code(), code::UNKNOWN);
    assert!(error.to_string().contains("no such endpoint"), "{error}");
    let cancellation = CancellationToken::new();
    let query = DiscoveryQuery { cancellation: cancellation.clone(), ..at("hangs") };
    let (error, ()) = tokio::join!(search(query), async { cancellation.cancel() });
    assert_eq!(error.code(), code::ABORTED);
}

#[test]
fn a_query_never_prints_what_is_secret() {
    let key = Some("sk-secret".to_owned());
    let query = DiscoveryQuery { api_key: key, ..at("http://user:secret@localhost") };
    let printed = format!("{query:?}");
    assert!(!printed.contains("secret"), "{printed}");
}
