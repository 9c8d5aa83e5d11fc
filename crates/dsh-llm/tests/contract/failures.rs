//! What fails in or around an adapter becomes one finish, or an error where there was a finish already.

use cordis::{BoxError, Next};
use dsh_llm::testing::{Answer, ScriptedModel, collected, plain};
use dsh_llm::{
    Adapter, ChunkSink, FinishReason, LlmError, LlmFailure, Model, ModelCall, ModelEntry, ModelInfo,
    ModelRequest, Outcome, ProviderInfo, STREAM, StreamChunk, StreamError, code,
};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, delta, failure, short, stop, twice};

// spec: llm/S39
#[tokio::test]
async fn a_failure_becomes_one_finish_with_all_its_facts() {
    let mut facts = LlmFailure::new(code::RATE_LIMIT, "slow down");
    facts.status = Some(429);
    facts.provider_retry_after_ms = Some(1500.0);
    facts.request_id = Some("r1".to_owned());
    let error = LlmError::try_from(facts.clone()).unwrap().with_source("the socket said so");
    let (fixture, _) = Fixture::with([Answer::new().chunks([delta("a")]).fail(error)]).await;
    let chunks = collected(fixture.ask("acme")).await.unwrap();
    assert_eq!(short(&chunks), ["a", "error RATE_LIMIT"]);
    assert_eq!(*failure(&chunks), facts);
}

// spec: llm/S39
#[tokio::test]
async fn an_unknown_provider_is_a_finish_that_names_those_that_there_are() {
    let (fixture, _) = Fixture::with([]).await;
    let chunks = collected(fixture.ask("nobody")).await.unwrap();
    let failed = failure(&chunks);
    assert_eq!(failed.code, code::NO_ADAPTER);
    assert!(failed.message.contains("\"nobody\"") && failed.message.contains("acme"), "{}", failed.message);
}

// spec: llm/S39
#[tokio::test]
async fn a_failure_with_the_code_of_a_cancellation_is_an_abort() {
    let aborted = LlmError::new(code::ABORTED, "the socket was closed by us");
    let (fixture, _) = Fixture::with([Answer::error(aborted)]).await;
    assert_eq!(short(&collected(fixture.ask("acme")).await.unwrap()), ["aborted ABORTED"]);
}

// spec: llm/S39, llm/S26, design/P4
#[tokio::test]
async fn a_panic_of_the_adapter_is_a_finish_that_names_its_plugin() {
    let fixture = Fixture::new().await;
    let model = ScriptedModel::new([Answer::new().chunks([delta("a")]).panic("index out of bounds")]);
    fixture.plugin_of("acme-adapter", "acme", &model).await;
    let chunks = collected(fixture.ask("acme")).await.unwrap();
    assert_eq!(short(&chunks), ["a", "error UNKNOWN"]);
    let message = &failure(&chunks).message;
    assert!(message.contains("acme-adapter") && message.contains("index out of bounds"), "{message}");
}

// spec: llm/S40
#[tokio::test]
async fn what_fails_behind_the_finish_is_raised() {
    let answer = || Answer::new().chunks([stop()]);
    let broken = answer().fail(LlmError::new(code::TRANSPORT, "could not close"));
    let (fixture, _) = Fixture::with([broken, answer().panic("in the end")]).await;
    for text in ["could not close", "in the end"] {
        let mut stream = fixture.ask("acme");
        assert_eq!(stream.next().await.unwrap().unwrap(), stop());
        let error = stream.next().await.unwrap().unwrap_err();
        assert!(
            matches!(&error, StreamError::Raised(raised) if raised.to_string().contains(text)),
            "{error:?}"
        );
        assert!(stream.next().await.is_none());
    }
}

// spec: llm/S39
#[tokio::test]
async fn a_finish_of_an_earlier_try_does_not_count_as_one_of_the_next() {
    let failing = || Answer::error(LlmError::new(code::SERVER, "it broke"));
    let (fixture, _) = Fixture::with([failing(), failing()]).await;
    fixture.app.on(STREAM).run(twice).unwrap();
    assert_eq!(short(&collected(fixture.ask("acme")).await.unwrap()), ["error SERVER", "error SERVER"]);
}

// spec: llm/S39
#[tokio::test]
async fn an_answer_without_a_finish_stays_without_one() {
    let (fixture, _) = Fixture::with([Answer::new().chunks([delta("a")])]).await;
    assert_eq!(short(&collected(fixture.ask("acme")).await.unwrap()), ["a"]);
}

/// Fails or panics where it is told to.
struct Broken(&'static str);

struct BrokenModel(&'static str);

impl Adapter for Broken {
    type Model = BrokenModel;

    fn provider(&self, provider: &str) -> ProviderInfo {
        ProviderInfo { id: provider.to_owned(), name: "Broken".to_owned() }
    }

    async fn models(&self, _: &str) -> Result<Vec<ModelEntry>, LlmError> {
        Err(LlmError::new(code::TRANSPORT, "no list"))
    }

    async fn model(&self, _: &str, _: &str, _: &CancellationToken) -> Result<BrokenModel, LlmError> {
        match self.0 {
            "model fails" => Err(LlmError::new(code::MISSING_CREDENTIAL, "there is no key")),
            "model panics" => panic!("in model"),
            place => Ok(BrokenModel(place)),
        }
    }
}

impl Model for BrokenModel {
    fn info(&self) -> ModelInfo {
        assert_ne!(self.0, "info panics", "in info");
        plain("acme", if self.0 == "other model" { "n" } else { "m" })
    }

    #[allow(clippy::manual_async_fn, reason = "what happens before there is a future is meant")]
    fn stream(
        &self,
        _: &ModelRequest,
        _: &mut ChunkSink,
    ) -> impl Future<Output = Result<(), LlmError>> + Send {
        assert_ne!(self.0, "stream panics", "in stream");
        async { Err(LlmError::new("", "")) }
    }
}

// spec: llm/S39
#[tokio::test]
async fn wherever_it_fails_it_is_one_finish() {
    for (place, code) in [
        ("model fails", code::MISSING_CREDENTIAL),
        ("model panics", code::UNKNOWN),
        ("info panics", code::UNKNOWN),
        ("other model", code::INVALID_MODEL_INFO),
        ("stream panics", code::UNKNOWN),
        ("stream fails without facts", code::UNKNOWN),
    ] {
        let fixture = Fixture::new().await;
        fixture.llm.register(&fixture.app, ["acme"], Broken(place)).unwrap();
        let chunks = collected(fixture.ask("acme")).await.unwrap();
        assert_eq!(chunks.len(), 1, "{place}");
        assert_eq!(failure(&chunks).code, code, "{place}");
        assert!(!failure(&chunks).message.is_empty(), "{place}");
        fixture.app.assert_no_errors();
    }
}

// spec: llm/S40
#[tokio::test]
async fn a_listener_may_make_calls_of_its_own_whose_errors_are_its_own() {
    let (fixture, _) = Fixture::with([Answer::text("outer"), Answer::text("inner")]).await;
    let llm = fixture.llm.clone();
    fixture
        .app
        .on(STREAM)
        .with(llm)
        .run(async |llm: &dsh_llm::Llm, call: &mut ModelCall, next: Next<'_, ModelCall, Outcome>| {
            if call.request.session_id.is_none() {
                let mut request = call.request.clone();
                request.session_id = Some("nested".to_owned());
                let nested = collected(llm.stream(request)).await?;
                assert_eq!(nested.len(), 4);
                return next.run(call).await;
            }
            next.run(call).await?;
            Err(BoxError::from("nested calls are not wanted"))
        })
        .unwrap();
    let error = collected(fixture.ask("acme")).await.unwrap_err();
    let StreamError::Raised(raised) = error else { panic!("{error}") };
    let nested = raised.downcast::<StreamError>().unwrap();
    assert!(
        matches!(*nested, StreamError::Raised(deep) if deep.to_string() == "nested calls are not wanted")
    );
}

#[test]
fn the_finish_of_a_failure_is_written_as_the_reference_writes_it() {
    let reason = FinishReason::Error { failure: LlmFailure::new("SERVER", "it broke") };
    let chunk = StreamChunk::Finish { reason, replay_state: None };
    let json =
        r#"{"type":"finish","reason":{"kind":"error","failure":{"message":"it broke","code":"SERVER"}}}"#;
    assert_eq!(serde_json::to_string(&chunk).unwrap(), json);
}
