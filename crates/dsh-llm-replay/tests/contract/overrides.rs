//! Other answers for a recording.

use std::time::Duration;

use dsh_llm::{LLM, StreamError};
use dsh_llm_replay::Config;
use serde_json::json;

use crate::fixture::{Fixture, overridden, recording, request};

// spec: llm/S72
#[tokio::test]
async fn overrides_replace_all_answers_or_some() {
    let fixture = Fixture::new().await;
    let file = fixture.write("file", &recording("r", 0, &["a", "b"]));
    let stop = json!({ "type": "finish", "reason": { "kind": "stop" } });
    let failing = json!({ "kind": "throw", "chunks": [], "message": "broken", "code": "SERVER" });
    let patches = json!({ "patches": [{ "at": 2, "entry": { "kind": "chunks", "chunks": [stop] } }, { "at": 0, "entry": failing }] });
    let overrides = fixture.write("overrides", &patches.to_string());
    let config = Config { file: Some(file.clone()), overrides: Some(overrides), ..Config::default() };
    fixture.mount(config).await.unwrap();
    let StreamError::Raised(error) = fixture.ask("s").await.unwrap_err() else { panic!() };
    assert_eq!(error.to_string(), "broken");
    assert_eq!(fixture.text("s").await, "b");
    assert_eq!(fixture.ask("s").await.unwrap().len(), 1);
    for (text, told) in [
        (json!({ "patches": [{ "at": 3, "entry": failing }] }), "there are 2"),
        (json!({ "patches": [{ "at": 0, "entry": failing }, { "at": 0, "entry": failing }] }), "twice"),
        (
            json!({ "patches": [{ "at": 0, "entry": { "kind": "chunks", "chunks": [{ "type": "odd" }] } }] }),
            "unknown type",
        ),
        (json!({ "patches": [{ "at": 0, "entry": { "kind": "hang", "extra": 1 } }] }), "expected"),
        (json!(5), "expected"),
    ] {
        let fixture = Fixture::new().await;
        let overrides = Some(fixture.write("overrides", &text.to_string()));
        let config = Config { file: Some(file.clone()), overrides, ..Config::default() };
        let error = fixture.mount(config).await.unwrap_err();
        assert!(error.contains(told), "{error}");
    }
    // All of them: the recording need not be whole then.
    let fixture = Fixture::new().await;
    let file = Some(fixture.write("file", "{\"id\":\"r\"}\nno JSON"));
    let overrides =
        Some(fixture.write("overrides", &json!([{ "kind": "chunks", "chunks": [stop] }]).to_string()));
    fixture.mount(Config { file, overrides, ..Config::default() }).await.unwrap();
    assert_eq!(fixture.ask("s").await.unwrap().len(), 1);
}

// spec: llm/S72
#[tokio::test]
async fn a_failure_with_the_code_of_a_cancelling_is_raised_like_any_other() {
    let entry = json!({ "kind": "throw", "message": "gone", "code": "ABORTED" });
    let fixture = overridden(json!([entry])).await;
    let StreamError::Raised(error) = fixture.ask("s").await.unwrap_err() else { panic!() };
    assert_eq!(error.to_string(), "gone");
}

// spec: llm/S72
#[tokio::test(start_paused = true)]
async fn the_file_that_says_that_an_answer_hangs_keeps_what_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    std::fs::write(&ready, "mine").unwrap();
    let fixture = overridden(json!([{ "kind": "hang", "readyFile": ready }])).await;
    let mut stream = fixture.app.get(LLM).unwrap().get().unwrap().stream(request("s"));
    for _ in 0..2 {
        stream.next().await.unwrap().unwrap();
    }
    let hangs = tokio::time::timeout(Duration::from_millis(20), stream.next()).await;
    assert!(hangs.is_err());
    assert_eq!(std::fs::read_to_string(ready).unwrap(), "mine");
}

// spec: llm/S72
#[tokio::test]
async fn a_piece_with_a_key_that_it_does_not_have_is_refused() {
    for piece in [
        json!({ "type": "text-delta", "index": 0, "text": "a", "txet": "b" }),
        json!({ "type": "block-end", "index": 0, "block": { "type": "text", "text": "a", "odd": 1 } }),
        json!({ "type": "usage", "usage": { "inputTokens": 1, "outputTokens": 2, "odd": 3 } }),
        json!({ "type": "finish", "reason": { "kind": "stop" }, "odd": null }),
    ] {
        for kind in ["chunks", "throw"] {
            let fixture = Fixture::new().await;
            let mut entry = json!({ "kind": kind, "chunks": [piece] });
            if kind == "throw" {
                entry["message"] = json!("m");
                entry["code"] = json!("SERVER");
            }
            let file = Some(fixture.write("file", &recording("r", 0, &[])));
            let overrides = Some(fixture.write("overrides", &json!([entry]).to_string()));
            let mounted = fixture.mount(Config { file, overrides, ..Config::default() }).await;
            let error = mounted.map(|_| entry).unwrap_err();
            assert!(error.contains("piece 0") && error.contains("odd\"") | error.contains("txet"), "{error}");
        }
    }
}
