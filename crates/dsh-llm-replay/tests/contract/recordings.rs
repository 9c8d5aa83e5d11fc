//! Logs of sessions, played.

use dsh_llm::testing::collected;
use dsh_llm::{LLM, StreamChunk, StreamError};
use dsh_llm_replay::{Leftover, REPLAY};
use serde_json::{Value, json};

use crate::fixture::{Fixture, assembled, recording, request, text};

// spec: llm/S70, llm/S71, llm/S74
#[tokio::test]
async fn a_recording_is_answered_as_it_was_and_once() {
    let fixture = Fixture::playing(&recording("r", 5, &["first", "second"]), json!({})).await;
    let leftover = |played| Leftover { session: "r".into(), played, recorded: 2 };
    assert_eq!(fixture.leftovers(), [leftover(None)]);
    assert_eq!(fixture.text("live").await, "first");
    assert_eq!(fixture.leftovers(), [leftover(Some(1))]);
    assert_eq!(fixture.text("live").await, "second");
    assert_eq!(fixture.leftovers(), []);
    let StreamError::Raised(error) = fixture.ask("live").await.unwrap_err() else { panic!() };
    assert!(error.to_string().contains("has 2 answers"), "{error}");
    let StreamError::Raised(error) = fixture.ask("other").await.unwrap_err() else { panic!() };
    assert!(error.to_string().contains("more sessions"), "{error}");
}

// spec: llm/S70, llm/S71
#[tokio::test]
async fn packed_rows_summaries_and_several_answers_of_a_step_are_read() {
    let chunk = |chunk: Value| {
        json!({ "type": "assistant/chunk", "data": { "turn": 1, "step": 1, "chunk": chunk } }).to_string()
    };
    let lines = [
        json!({ "id": "r" }).to_string(),
        chunk(json!({ "type": "block-start", "index": 0, "blockType": "text" })),
        json!({ "type": "text-chunks", "data": { "turn": 1, "step": 1, "index": 0, "dt": [0, 1], "texts": ["a", "b", "c"] } }).to_string(),
        chunk(json!({ "type": "finish", "reason": { "kind": "error", "failure": { "message": "x", "code": "SERVER" } } })),
        String::new(),
        chunk(json!({ "type": "finish", "reason": { "kind": "stop" } })),
        json!({ "type": "compaction/summary", "data": { "rawOutput": [] } }).to_string(),
        json!({ "type": "compaction/summary", "data": { "llmStreamCall": true, "rawOutput": [{ "type": "text", "text": "sum" }],
            "usage": { "inputTokens": 1, "outputTokens": 2 } } }).to_string(),
    ];
    let mut fixture = Fixture::playing(&lines.join("\n"), json!({})).await;
    // The recording breaks rules of its own.
    let watched = fixture.watched.take();
    let first = fixture.ask("s").await.unwrap();
    assert_eq!((text(&first).as_str(), first.len()), ("abc", 5));
    assert_eq!(fixture.ask("s").await.unwrap().len(), 1);
    let summary = fixture.ask("s").await.unwrap();
    assert_eq!((text(&summary).as_str(), summary.len()), ("sum", 4));
    assert!(assembled(&summary).usage().is_some());
    assert_eq!(watched.unwrap().take(), []);
}

// spec: llm/S71
#[tokio::test]
async fn a_summary_may_hold_blocks_of_any_type() {
    let blocks = json!([
        { "type": "image", "attachment": {} }, { "type": "odd", "x": 1 }, { "type": "reasoning", "text": "r" }
    ]);
    let summary =
        json!({ "type": "compaction/summary", "data": { "llmStreamCall": true, "rawOutput": blocks } });
    let fixture = Fixture::playing(&format!("{{\"id\":\"r\"}}\n{summary}\n"), json!({})).await;
    let chunks = fixture.ask("s").await.unwrap();
    let begun = chunks.iter().filter_map(|chunk| match chunk {
        StreamChunk::BlockStart { block_type, .. } => Some(block_type.as_str()),
        _ => None,
    });
    assert_eq!(begun.collect::<Vec<_>>(), ["image", "odd", "reasoning"]);
}

// spec: llm/S74
#[tokio::test]
async fn recordings_are_given_out_in_order_and_children_without_their_seed() {
    let fixture = Fixture::new().await;
    let file = fixture.write("file", &recording("main", 9, &["m1", "m2"]));
    let late = fixture.write("late", &recording("late", 8, &["late"]));
    let seeded = recording("b", 7, &["of the parent", "own"]);
    let seeded = seeded.replacen("\"createdAt\":7", "\"createdAt\":7,\"seedLength\":5", 1);
    let early = fixture.write("early", &seeded);
    let same = fixture.write("same", &recording("a", 7, &["a1"]));
    let config = json!({ "file": file, "childFiles": [late, early, same] });
    fixture.mount(serde_json::from_value(config).unwrap()).await.unwrap();
    let mut said = Vec::new();
    for session in ["", "x", "y", "z", ""] {
        said.push(fixture.text(session).await);
    }
    assert_eq!(said, ["m1", "a1", "own", "late", "m2"]);
    assert_eq!(fixture.leftovers(), []);
}

// spec: llm/S74
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_at_the_same_time_are_each_given_an_answer_of_their_own() {
    let answers: Vec<String> = (0..40).map(|number| number.to_string()).collect();
    let texts: Vec<&str> = answers.iter().map(String::as_str).collect();
    let fixture = Fixture::playing(&recording("r", 0, &texts), json!({})).await;
    let llm = fixture.app.get(LLM).unwrap();
    let calls: Vec<_> =
        (0..40).map(|_| tokio::spawn(collected(llm.get().unwrap().stream(request("s"))))).collect();
    let mut said = Vec::new();
    for call in calls {
        said.push(text(&call.await.unwrap().unwrap()).parse::<usize>().unwrap());
    }
    said.sort_unstable();
    assert_eq!(said, (0..40).collect::<Vec<_>>());
    assert_eq!(fixture.leftovers(), []);
}

// spec: llm/S70
#[tokio::test]
async fn an_event_whose_type_only_ends_like_a_packed_row_is_passed_over() {
    let odd = json!({ "type": "acme/bread-chunks", "data": { "loaves": 2 } });
    let text = format!("{}{odd}\n", recording("r", 0, &["a"]));
    let fixture = Fixture::playing(&text, json!({})).await;
    assert_eq!(fixture.text("s").await, "a");
}

// spec: llm/S75
#[tokio::test]
async fn answers_that_were_not_asked_for_fail_a_test_that_says_so() {
    let fixture = Fixture::playing(&recording("r", 0, &["a"]), json!({})).await;
    let replay = fixture.app.get(REPLAY).unwrap();
    let is_consumed = || {
        let replay = replay.get().unwrap();
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| replay.assert_consumed())).is_ok()
    };
    assert!(!is_consumed());
    fixture.text("s").await;
    assert!(is_consumed());
}
