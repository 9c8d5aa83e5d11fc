//! What ends an answer, and what does not.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use cordis::testing::TestApp;
use cordis::{BoxError, Next};
use dsh_llm::testing::{Answer, ScriptedModel, collected};
use dsh_llm::{
    CallConfig, ContentBlock, FinishReason, LLM, LlmFailure, ModelCall, ModelRequest, Outcome, STREAM,
    StreamChunk, StreamError, TokenUsage,
};
use dsh_llm_invariants::Violation;
use dsh_llm_invariants::testing::watch;
use serde_json::json;

fn start(index: u64, kind: &str) -> StreamChunk {
    StreamChunk::BlockStart { index, block_type: kind.to_owned() }
}

fn text(index: u64) -> StreamChunk {
    StreamChunk::TextDelta { index, text: "a".to_owned() }
}

fn end(index: u64) -> StreamChunk {
    StreamChunk::BlockEnd { index, block: ContentBlock::text("a") }
}

fn usage() -> StreamChunk {
    StreamChunk::Usage { usage: TokenUsage::default() }
}

fn finish(reason: FinishReason) -> StreamChunk {
    StreamChunk::Finish { reason, replay_state: None }
}

fn stop() -> StreamChunk {
    finish(FinishReason::Stop {})
}

fn error() -> StreamChunk {
    finish(FinishReason::Error { failure: LlmFailure::new("X", "x") })
}

/// What comes of an answer of these pieces, and of which violation the watch was told.
async fn came(chunks: Vec<StreamChunk>) -> (Result<Vec<StreamChunk>, StreamError>, Vec<Violation>) {
    let app = TestApp::new();
    app.plugin(dsh_llm::plugin(), ()).unwrap().ready().await.unwrap();
    let watched = watch(&app).await;
    let llm = app.get(LLM).unwrap();
    let llm = llm.get().unwrap();
    let model = ScriptedModel::new([Answer::new().chunks(chunks)]);
    llm.register(&app, ["acme"], model.adapter()).unwrap();
    let result = collected(llm.stream(ModelRequest::new(CallConfig::new("acme", "m"), []))).await;
    (result, watched.take())
}

// spec: llm/S11, llm/S23
#[tokio::test]
async fn an_answer_that_keeps_the_rules_passes_unchanged() {
    let call = ContentBlock::ToolCall { id: "c".into(), name: "f".into(), arguments: "{}".into() };
    let answers = [
        vec![start(0, "text"), text(0), end(0), usage(), stop()],
        vec![start(1, "text"), start(0, "text"), text(1), text(0), end(0), end(1), stop()],
        vec![start(0, "text"), end(0), start(0, "text"), text(0), end(0), stop()],
        vec![
            start(0, "tool-call"),
            StreamChunk::BlockEnd { index: 0, block: call },
            finish(FinishReason::ToolCalls {}),
        ],
        vec![start(0, "text"), text(0), error()],
        vec![start(0, "text"), finish(FinishReason::Aborted { failure: LlmFailure::new("ABORTED", "x") })],
        vec![stop()],
        vec![serde_json::from_value(json!({ "type": "ping" })).unwrap(), stop()],
    ];
    for chunks in answers {
        let (result, violations) = came(chunks.clone()).await;
        assert_eq!((result.unwrap(), violations), (chunks, vec![]));
    }
}

// spec: llm/S23
#[tokio::test]
async fn the_first_piece_out_of_place_ends_the_answer() {
    let broken = [
        (vec![start(0, "text"), start(0, "text")], Violation::Begun { index: 0 }),
        (vec![text(0)], Violation::Piece { index: 0, piece: "text-delta", open: "not open".into() }),
        (
            vec![start(0, "reasoning"), text(0)],
            Violation::Piece { index: 0, piece: "text-delta", open: "of type \"reasoning\"".into() },
        ),
        (
            vec![start(0, "text"), end(0), text(0)],
            Violation::Piece { index: 0, piece: "text-delta", open: "not open".into() },
        ),
        (vec![end(2)], Violation::End { index: 2, ends: "text".into(), open: "not open".into() }),
        (
            vec![start(2, "reasoning"), end(2)],
            Violation::End { index: 2, ends: "text".into(), open: "of type \"reasoning\"".into() },
        ),
        (vec![usage(), usage()], Violation::Usage),
        (vec![stop(), usage()], Violation::AfterFinish { piece: "usage" }),
        (vec![error(), stop()], Violation::AfterFinish { piece: "finish" }),
        (vec![start(3, "text"), start(1, "text"), stop()], Violation::Open { open: vec![1, 3] }),
        (vec![start(0, "text"), text(0), end(0)], Violation::NoFinish),
        (vec![], Violation::NoFinish),
    ];
    for (chunks, violation) in broken {
        let (result, violations) = came(chunks.clone()).await;
        assert_eq!(violations, std::slice::from_ref(&violation), "{chunks:?}");
        let StreamError::Raised(raised) = result.unwrap_err() else { panic!("{chunks:?}") };
        assert_eq!(raised.downcast_ref::<Violation>(), Some(&violation));
    }
}

async fn failing(call: &mut ModelCall, _next: Next<'_, ModelCall, Outcome>) -> Outcome {
    call.out.send(start(0, "text")).await;
    Err(BoxError::from("the listener's own"))
}

// spec: llm/S23
#[tokio::test]
async fn what_a_listener_raises_passes_and_is_no_missing_finish() {
    let app = TestApp::new();
    app.plugin(dsh_llm::plugin(), ()).unwrap().ready().await.unwrap();
    let _watched = watch(&app).await;
    app.on(STREAM).run(failing).unwrap();
    let llm = app.get(LLM).unwrap();
    let stream = llm.get().unwrap().stream(ModelRequest::new(CallConfig::new("acme", "m"), []));
    let StreamError::Raised(raised) = collected(stream).await.unwrap_err() else { panic!() };
    assert_eq!(raised.to_string(), "the listener's own");
}
