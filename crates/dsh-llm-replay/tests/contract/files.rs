//! Files that cannot be played.

use dsh_llm_replay::Config;
use serde_json::json;

use crate::fixture::{Fixture, recording};

// spec: llm/S70, llm/S71
#[tokio::test]
async fn a_recording_that_cannot_be_played_is_said_with_its_line() {
    let unfinished = recording("r", 0, &["a"]);
    let unfinished: String =
        unfinished.lines().filter(|line| !line.contains("finish")).map(|line| format!("{line}\n")).collect();
    let raw = json!({ "type": "compaction/summary", "data": { "llmStreamCall": true } });
    for (text, told) in [
        ("{\"id\":\"r\"}\n{\"type\":\"x\"", "line 2"),
        ("{\"id\":\"r\"}\n\n{\"type\":\"assistant/chunk\",\"data\":{}}", "line 3"),
        (unfinished.as_str(), "turn 1, step 1"),
        (&format!("{{\"id\":\"r\"}}\n{raw}\n"), "rawOutput"),
        ("\n", "is empty"),
    ] {
        let fixture = Fixture::new().await;
        let file = Some(fixture.write("file", text));
        let error = fixture.mount(Config { file, ..Config::default() }).await.unwrap_err();
        assert!(error.contains(told), "{error}");
    }
    let fixture = Fixture::new().await;
    let error =
        fixture.mount(Config { file: Some("no such file".into()), ..Config::default() }).await.unwrap_err();
    assert!(error.contains("no such file cannot be read"), "{error}");
}

// spec: llm/S70
#[tokio::test]
async fn a_file_that_is_no_recording_is_not_played_as_an_empty_one() {
    for (text, told) in [
        ("[]\n", "line 1"),
        ("{\"id\":\"r\"\n{}\n", "line 1"),
        ("{\"id\":\"r\"}\n[\"step/start\", {}]\n", "line 2"),
        ("{ \"stpes\": [{ \"text\": \"a\" }] }\n", "neither"),
        ("{ \"stpes\": [{}] }", "neither"),
        ("{\n \"steps\": [{ \"text\": \"a\" },]\n}", "line 2"),
    ] {
        let fixture = Fixture::new().await;
        let file = Some(fixture.write("file", text));
        let mounted = fixture.mount(Config { file, ..Config::default() }).await;
        let error = mounted.map(|_| text).unwrap_err();
        assert!(error.contains(told), "{text}: {error}");
    }
}

// spec: llm/S69
#[tokio::test]
async fn files_that_are_not_texts_of_a_bounded_size_are_refused() {
    let fixture = Fixture::new().await;
    let long = fixture.write("long", "");
    std::fs::File::options().write(true).open(&long).unwrap().set_len(1 << 40).unwrap();
    let packed = fixture.folder.path().join("packed");
    std::fs::write(&packed, [0x28, 0xb5, 0x2f, 0xfd, 0xff]).unwrap();
    let folder = fixture.folder.path().to_owned();
    for (file, told) in [(long, "longer than"), (packed, "zstd"), (folder, "no regular file")] {
        let error = fixture.mount(Config { file: Some(file), ..Config::default() }).await.unwrap_err();
        assert!(error.contains(told), "{error}");
    }
}

// spec: llm/S69
#[tokio::test]
async fn overrides_and_other_sessions_need_a_recording() {
    for config in [
        Config { overrides: Some("o".into()), ..Config::default() },
        Config { child_files: Some(vec!["c".into()]), ..Config::default() },
    ] {
        let error = Fixture::new().await.mount(config).await.unwrap_err();
        assert!(error.contains("DSH_SNAPSHOT_FILE"), "{error}");
    }
}

// spec: llm/S70, llm/S71
#[tokio::test]
async fn a_recording_that_is_cut_at_any_byte_is_played_or_refused_in_words() {
    let row = json!({ "type": "text-chunks", "data": { "turn": 1, "step": 2, "index": 0, "dt": [0, 1], "texts": ["é", "看", "c"] } });
    let finish = json!({ "type": "assistant/chunk", "data": { "turn": 1, "step": 2, "chunk": { "type": "finish", "reason": { "kind": "stop" } } } });
    let text = format!("{}{row}\n{finish}\n", recording("r", 7, &["a"]));
    let whole = "{\"id\":\"r\",\"createdAt\":7}".len();
    let fixture = Fixture::new().await;
    let mut played = 0;
    for cut in 0..=text.len() {
        let file = fixture.folder.path().join("file");
        std::fs::write(&file, &text.as_bytes()[..cut]).unwrap();
        match fixture.mount(Config { file: Some(file), ..Config::default() }).await {
            Ok(fiber) => {
                played += 1;
                assert!(cut >= whole);
                fiber.dispose().await;
            }
            Err(error) => {
                assert!(error.contains("file") && !error.contains("panic"), "cut at {cut}: {error}")
            }
        }
    }
    assert!(played >= 4, "{played}");
}

// spec: llm/S70
#[tokio::test]
async fn packed_rows_with_numbers_that_cannot_be_are_said_with_their_line() {
    for row in [
        json!({ "type": "text-chunks", "seq0": u64::MAX, "data": { "turn": 1, "step": 1, "index": 0, "dt": [], "texts": ["a"] } }),
        json!({ "type": "text-chunks", "data": { "turn": 1, "step": 1, "index": 0, "dt": [i64::MAX], "texts": ["a", "b"] } }),
        json!({ "type": "text-chunks", "data": { "turn": 1.5, "step": 1, "index": 0, "dt": [], "texts": ["a"] } }),
        json!({ "type": "text-chunks", "data": { "turn": 1, "step": 1, "index": 0, "dt": [0, 0], "texts": ["a"] } }),
        json!({ "type": "text-chunks", "data": { "turn": 1, "step": 1, "index": 0, "dt": [], "texts": [] } }),
        json!({ "type": "tool-call-chunks", "data": { "turn": 1, "step": 1, "index": 0, "id": 5, "dt": [], "args": ["a"] } }),
    ] {
        let fixture = Fixture::new().await;
        let file = Some(fixture.write("file", &format!("{{\"id\":\"r\"}}\n{row}\n")));
        let error = fixture.mount(Config { file, ..Config::default() }).await.map(|_| row).unwrap_err();
        assert!(error.contains("line 2"), "{error}");
    }
}
