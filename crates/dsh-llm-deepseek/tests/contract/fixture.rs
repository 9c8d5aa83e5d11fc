//! An app with the models and the adapter, and short forms for what tests ask.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cordis::testing::TestApp;
use cordis::{Fiber, Handle};
use dsh_llm::{
    CallConfig, ContentBlock, FinishReason, LLM, Llm, LlmFailure, Message, ModelRequest, ModelStream,
    StreamChunk,
};
use dsh_llm_deepseek::Config;
use tempfile::TempDir;

use crate::server::Server;

pub(crate) const PROVIDER: &str = "deepseek-official";
pub(crate) const MODEL: &str = "deepseek-v4-flash";
/// A variable that is there whenever a test runs, and holds what could be a key.
pub(crate) const KEY_ENV: &str = "CARGO_PKG_NAME";
pub(crate) const KEY: &str = env!("CARGO_PKG_NAME");
/// Longer than anything takes that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) plugin: Fiber,
    pub(crate) llm: Handle<Llm>,
    pub(crate) folder: TempDir,
}

impl Fixture {
    pub(crate) async fn new(server: &Server) -> Self {
        Self::with(server, |_| {}).await
    }

    pub(crate) async fn with(server: &Server, change: impl FnOnce(&mut Config)) -> Self {
        Self::at(&server.base, change).await
    }

    pub(crate) async fn at(base: &str, change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let app = TestApp::new();
        app.plugin(dsh_llm::plugin(), ()).unwrap();
        let mut config = config(base, folder.path().join("id"));
        change(&mut config);
        let plugin = app.plugin(dsh_llm_deepseek::plugin(), config).unwrap();
        plugin.ready().await.unwrap();
        let llm = app.get(LLM).unwrap();
        Self { app, plugin, llm, folder }
    }

    pub(crate) fn id_file(&self) -> PathBuf {
        self.folder.path().join("id")
    }

    pub(crate) fn stream(&self, request: ModelRequest) -> ModelStream {
        self.llm.get().unwrap().stream(request)
    }

    /// The pieces of an answer.
    pub(crate) async fn ask(&self, request: ModelRequest) -> Vec<StreamChunk> {
        all(self.stream(request)).await
    }

    /// The failure that an answer ends with.
    pub(crate) async fn fail(&self, request: ModelRequest) -> LlmFailure {
        failure(&self.ask(request).await)
    }
}

pub(crate) fn config(base: &str, anonymous_id_file: PathBuf) -> Config {
    Config {
        base_url: Some(base.to_owned()),
        api_key_env: KEY_ENV.to_owned(),
        anonymous_id_file: Some(anonymous_id_file),
        ..Config::default()
    }
}

pub(crate) async fn all(mut stream: ModelStream) -> Vec<StreamChunk> {
    let mut chunks = Vec::new();
    let read = async {
        while let Some(chunk) = stream.next().await {
            chunks.push(chunk.unwrap());
        }
    };
    tokio::time::timeout(PATIENCE, read).await.expect("the answer never ended");
    chunks
}

#[track_caller]
pub(crate) fn failure(chunks: &[StreamChunk]) -> LlmFailure {
    match chunks.last() {
        Some(StreamChunk::Finish { reason: FinishReason::Error { failure }, .. }) => failure.clone(),
        other => panic!("no failure but {other:?}"),
    }
}

/// The text of an answer that ended well.
#[track_caller]
pub(crate) fn text(chunks: &[StreamChunk]) -> String {
    assert!(
        matches!(chunks.last(), Some(StreamChunk::Finish { reason: FinishReason::Stop {}, .. })),
        "{chunks:?}"
    );
    said(chunks)
}

/// The text so far.
pub(crate) fn said(chunks: &[StreamChunk]) -> String {
    let delta = |chunk: &StreamChunk| match chunk {
        StreamChunk::TextDelta { text, .. } => Some(text.clone()),
        _ => None,
    };
    chunks.iter().filter_map(delta).collect()
}

/// A request with one message of the user.
pub(crate) fn request() -> ModelRequest {
    asking(vec![Message::user(vec![ContentBlock::text("hello")])])
}

pub(crate) fn asking(messages: Vec<Message>) -> ModelRequest {
    let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
    ModelRequest::new(CallConfig::new(PROVIDER, MODEL), messages)
}

/// Puts the clock forward.
pub(crate) async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}
