//! An app that plays files, and what is asked of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cordis::Fiber;
use cordis::testing::TestApp;
use dsh_llm::testing::collected;
use dsh_llm::{Assembler, CallConfig, ContentBlock, LLM, Message, ModelRequest, StreamChunk, StreamError};
use dsh_llm_invariants::testing::{Watched, watch};
use dsh_llm_replay::{Config, Leftover, REPLAY};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Two steps, with everything that a step can have.
pub(crate) const SCRIPT: &str = r#"{ "steps": [
    { "reasoning": "Hm é", "text": "Let me 看看 look.", "calls": [{ "name": "bash", "arguments": { "command": "ls" } }] },
    { "text": "Done.", "chunk": 2 }
] }"#;

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) folder: TempDir,
    pub(crate) watched: Option<Watched>,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let app = TestApp::new();
        app.plugin(dsh_llm::plugin(), ()).unwrap().ready().await.unwrap();
        let watched = Some(watch(&app).await);
        Self { app, folder: tempfile::tempdir().unwrap(), watched }
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) async fn mount(&self, config: Config) -> Result<Fiber, String> {
        let fiber = self.app.plugin(dsh_llm_replay::plugin(), config).unwrap();
        match fiber.ready().await {
            Ok(_) => Ok(fiber),
            Err(error) => Err(dsh_llm::error_chain(&error)),
        }
    }

    /// A fixture that plays a file.
    pub(crate) async fn playing(text: &str, more: Value) -> Self {
        let fixture = Self::new().await;
        let mut config = json!({ "file": fixture.write("file", text) });
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fixture.mount(serde_json::from_value(config).unwrap()).await.unwrap();
        fixture
    }

    pub(crate) async fn ask(&self, session: &str) -> Result<Vec<StreamChunk>, StreamError> {
        self.ask_for(request(session)).await
    }

    pub(crate) async fn ask_for(&self, request: ModelRequest) -> Result<Vec<StreamChunk>, StreamError> {
        let stream = self.app.get(LLM).unwrap().get().unwrap().stream(request);
        tokio::time::timeout(Duration::from_secs(600), collected(stream)).await.unwrap()
    }

    pub(crate) async fn text(&self, session: &str) -> String {
        text(&self.ask(session).await.unwrap())
    }

    pub(crate) fn leftovers(&self) -> Vec<Leftover> {
        self.app.get(REPLAY).unwrap().get().unwrap().leftovers()
    }
}

pub(crate) fn request(session: &str) -> ModelRequest {
    let question = Message::user(vec![ContentBlock::text("the task is t-17, and t-18")]);
    let mut request = ModelRequest::new(CallConfig::new("acme", "m"), [Arc::new(question)]);
    request.session_id = (!session.is_empty()).then(|| session.to_owned());
    request
}

pub(crate) fn assembled(chunks: &[StreamChunk]) -> Assembler {
    let mut assembler = Assembler::new();
    chunks.iter().for_each(|chunk| assembler.add(chunk).unwrap());
    assembler
}

pub(crate) fn text(chunks: &[StreamChunk]) -> String {
    let text = |block| match block {
        ContentBlock::Text { text } => Some(text),
        _ => None,
    };
    assembled(chunks).blocks().unwrap().into_iter().filter_map(text).collect()
}

/// A recording of answers, a text each, in steps of their own.
pub(crate) fn recording(id: &str, created_at: u64, texts: &[&str]) -> String {
    let mut lines = vec![json!({ "id": id, "createdAt": created_at })];
    for (step, text) in (1_u64..).zip(texts) {
        lines.push(json!({ "type": "step/start", "data": { "turn": 1, "step": step } }));
        let chunk = |chunk: Value| json!({ "type": "assistant/chunk", "data": { "turn": 1, "step": step, "chunk": chunk } });
        lines.push(chunk(json!({ "type": "block-start", "index": 0, "blockType": "text" })));
        lines.push(chunk(json!({ "type": "text-delta", "index": 0, "text": text })));
        lines.push(chunk(
            json!({ "type": "block-end", "index": 0, "block": { "type": "text", "text": text } }),
        ));
        lines.push(chunk(json!({ "type": "finish", "reason": { "kind": "stop" } })));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A fixture that plays an empty recording with these answers in its place.
pub(crate) async fn overridden(entries: Value) -> Fixture {
    let fixture = Fixture::new().await;
    let file = Some(fixture.write("file", &recording("r", 0, &[])));
    let overrides = Some(fixture.write("overrides", &entries.to_string()));
    fixture.mount(Config { file, overrides, ..Config::default() }).await.unwrap();
    fixture
}
