//! An adapter that asks a scripted server, with every answer watched.

use std::time::Duration;

use cordis::Handle;
use cordis::testing::TestApp;
use dsh_llm::testing::collected;
use dsh_llm::{
    Assembler, CallConfig, ContentBlock, FinishReason, LLM, Llm, LlmFailure, Message, ModelRequest,
    ModelStream, StreamChunk,
};
use dsh_llm_deepseek::Config;
use dsh_llm_invariants::testing::{Watched, watch};
use dsh_testkit::{Call, For, MockServer, Script, Step};
use serde_json::json;

/// Longer than anything takes that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Fixture {
    llm: Handle<Llm>,
    _watched: Watched,
    _app: TestApp,
    pub(crate) server: MockServer,
}

impl Fixture {
    pub(crate) async fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::with(steps, json!({})).await
    }

    /// With more configuration than the server.
    pub(crate) async fn with(steps: impl IntoIterator<Item = Step>, more: serde_json::Value) -> Self {
        let server = MockServer::start(Script::of(steps)).unwrap();
        let mut config =
            json!({ "baseURL": server.base_url(), "apiKeyEnv": "CARGO_PKG_NAME", "attribution": false });
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let config: Config = serde_json::from_value(config).unwrap();
        let app = TestApp::new();
        app.plugin(dsh_llm::plugin(), ()).unwrap().ready().await.unwrap();
        let watched = watch(&app).await;
        app.plugin(dsh_llm_deepseek::plugin(), config).unwrap().ready().await.unwrap();
        let llm = app.get(LLM).unwrap();
        Self { llm, _watched: watched, _app: app, server }
    }

    pub(crate) fn request() -> ModelRequest {
        let question = Message::user(vec![ContentBlock::text("go")]);
        ModelRequest::new(CallConfig::new("deepseek-official", "deepseek-v4-flash"), [question.into()])
    }

    pub(crate) async fn ask(&self) -> Came {
        self.ask_for(Self::request()).await
    }

    pub(crate) fn stream(&self, request: ModelRequest) -> ModelStream {
        self.llm.get().unwrap().stream(request)
    }

    pub(crate) async fn ask_for(&self, request: ModelRequest) -> Came {
        let stream = self.stream(request);
        let chunks = tokio::time::timeout(PATIENCE, collected(stream)).await.expect("the answer never ended");
        Came { chunks: chunks.unwrap() }
    }
}

/// The pieces of an answer.
#[derive(Debug, PartialEq)]
pub(crate) struct Came {
    pub(crate) chunks: Vec<StreamChunk>,
}

impl Came {
    fn assembled(&self) -> Assembler {
        let mut assembler = Assembler::new();
        self.chunks.iter().for_each(|chunk| assembler.add(chunk).unwrap());
        assembler
    }

    pub(crate) fn blocks(&self) -> Vec<ContentBlock> {
        self.assembled().blocks().unwrap()
    }

    pub(crate) fn finish(&self) -> FinishReason {
        assert_eq!(self.finishes(), 1, "{self:?}");
        self.assembled().finish()
    }

    pub(crate) fn finishes(&self) -> usize {
        self.chunks.iter().filter(|chunk| matches!(chunk, StreamChunk::Finish { .. })).count()
    }

    pub(crate) fn failure(&self) -> LlmFailure {
        match self.finish() {
            FinishReason::Error { failure } => failure,
            other => panic!("no failure: {other:?}"),
        }
    }
}

/// A thought, a sentence and two calls, in small pieces.
pub(crate) fn full() -> Step {
    Step {
        chunk: Some(3),
        calls: vec![
            called("read", json!({ "path": "a é.txt" })),
            called("bash", json!({ "command": "ls 😀" })),
        ],
        ..said("Ich lese — 两个 files.", "Hm é…")
    }
}

pub(crate) fn said(text: &str, reasoning: &str) -> Step {
    Step { kind: For::Any, text: text.to_owned(), reasoning: reasoning.to_owned(), ..Step::default() }
}

pub(crate) fn called(name: &str, arguments: serde_json::Value) -> Call {
    Call { name: name.to_owned(), arguments, id: Some(format!("id_{name}")) }
}

/// A body as it is.
pub(crate) fn raw(body: impl Into<String>) -> Step {
    Step { kind: For::Any, raw: Some(body.into()), ..Step::default() }
}

/// Waits for what the server's own threads do.
pub(crate) async fn until(is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("it never came");
}
