//! Answers that are cancelled.

use std::time::Duration;

use dsh_llm::{FinishReason, LLM, StreamChunk};
use serde_json::json;

use crate::fixture::{Fixture, SCRIPT, assembled, recording, request};

// spec: llm/S72, llm/S74
#[tokio::test]
async fn an_answer_that_hangs_ends_when_it_is_cancelled() {
    for providers in [json!([]), json!([{ "id": "acme" }])] {
        let fixture = Fixture::new().await;
        let file = fixture.write("file", &recording("r", 0, &[]));
        let ready = fixture.folder.path().join("ready");
        let entry = json!([{ "kind": "hang", "readyFile": ready }]);
        let overrides = fixture.write("overrides", &entry.to_string());
        let config = json!({ "file": file, "overrides": overrides, "providers": providers });
        fixture.mount(serde_json::from_value(config).unwrap()).await.unwrap();
        let request = request("s");
        let cancellation = request.cancellation.clone();
        let cancel = async {
            while !ready.exists() {
                tokio::task::yield_now().await;
            }
            cancellation.cancel();
        };
        let (chunks, ()) = tokio::join!(fixture.ask_for(request), cancel);
        let chunks = chunks.unwrap();
        assert!(matches!(assembled(&chunks).finish(), FinishReason::Aborted { .. }), "{chunks:?}");
        assert_eq!(chunks.len(), 3);
    }
}

// spec: llm/S74
#[tokio::test]
async fn an_answer_that_is_cancelled_behind_its_finish_has_one_finish() {
    let fixture = Fixture::playing(SCRIPT, json!({})).await;
    let request = request("s");
    let cancellation = request.cancellation.clone();
    let mut stream = fixture.app.get(LLM).unwrap().get().unwrap().stream(request);
    let mut finishes = 0;
    while let Some(chunk) = stream.next().await {
        if matches!(chunk.unwrap(), StreamChunk::Finish { .. }) {
            finishes += 1;
            cancellation.cancel();
        }
    }
    assert_eq!(finishes, 1);
}

// spec: llm/S69, llm/S74
#[tokio::test(start_paused = true)]
async fn a_pace_is_kept_and_cancelled_within() {
    let fixture = Fixture::playing(SCRIPT, json!({ "paceMs": 1_000 })).await;
    let start = tokio::time::Instant::now();
    let chunks = fixture.ask("s").await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(chunks.len() as u64));
    let request = request("s");
    let cancellation = request.cancellation.clone();
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        cancellation.cancel();
    };
    let start = tokio::time::Instant::now();
    let (chunks, ()) = tokio::join!(fixture.ask_for(request), cancel);
    assert!(matches!(assembled(&chunks.unwrap()).finish(), FinishReason::Aborted { .. }));
    assert_eq!(start.elapsed(), Duration::from_millis(1_500));
}
