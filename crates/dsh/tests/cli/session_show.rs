//! `dsh session show` and `ls`: what is read by people.

#![cfg(feature = "sqlite")]

use serde_json::{Value, json};

use crate::fixture::Log;
use crate::session::{Kind, Store, ended, whole};

fn shown(log: &Log, options: &[&str]) -> String {
    let store = Store::new(Kind::Zstd);
    store.add("s-1", log);
    let ran = store.run(&[&["show", "s-1"], options].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    ran.stdout
}

fn answer(content: Value) -> (&'static str, Value, Value) {
    let message = json!({ "id": "m", "role": "assistant", "source": { "kind": "model", "provider": "p", "model": "a-model" }, "content": content });
    (
        "assistant/message",
        json!({ "turn": 1, "step": 1, "message": message }),
        json!({ "surfaceOp": "append", "sourceEventSeqs": [0] }),
    )
}

#[test]
fn a_result_names_its_tool() {
    let text = shown(&whole(), &[]);
    assert!(text.contains("\n     2  result of bash\n        a file\n"), "{text}");
    let block = json!({ "type": "tool-result", "toolCallId": "call-1", "content": [{ "type": "text", "text": "no" }], "isError": true });
    let message = json!({ "id": "m", "role": "user", "source": { "kind": "tool", "callId": "call-1" }, "content": [block] });
    let failed =
        json!({ "turn": 1, "step": 1, "message": message, "error": { "name": "E", "code": "DENIED" } });
    let log = Log::new().bash("ls").event("tool/result", failed, json!({ "surfaceOp": "append" }));
    let text = shown(&log, &[]);
    assert!(text.contains("\n     2  bash failed, DENIED\n        no\n"), "{text}");
}

#[test]
fn an_empty_answer_is_said_to_be_empty() {
    let (kind, data, more) = answer(json!([]));
    let text = shown(&ended(Log::new().event(kind, data, more)), &[]);
    assert!(text.contains("\n     1  a-model (empty)\n"), "{text}");
    let text = shown(&ended(Log::new().bash("true").result("")), &[]);
    assert!(text.contains("\n     2  result of bash (empty)\n"), "{text}");
}

#[test]
fn a_session_without_a_word_hints_at_its_events() {
    let log = Log::new().event("todo/write", json!({ "todos": [] }), json!({}));
    let store = Store::new(Kind::Plain);
    store.add("s-1", &log);
    let events = store.run(&["show", "--events", "s-1"]).stdout;
    assert!(events.contains("todo/write") && !events.contains("--events"), "{events}");
    // The log of one event, without a turn.
    let quiet =
        Log::new().text().replace("turn/start", "todo/write").replace("{\"turn\":1}", "{\"todos\":[]}");
    std::fs::write(store.log("s-1"), quiet).unwrap();
    let text = store.run(&["show", "s-1"]).stdout;
    assert!(text.ends_with("Nothing was said. Show what happened, 1 event, with --events.\n"), "{text}");
}

#[test]
fn an_open_turn_is_told_without_a_command_that_there_is_not() {
    let text = shown(&Log::new().bash("ls"), &[]);
    assert!(text.ends_with("The next agent that goes on with it adds 1 event.\n"), "{text}");
    assert!(!shown(&whole(), &[]).contains("open"));
}

#[test]
#[cfg(target_os = "linux")]
fn the_width_of_the_terminal_is_followed() {
    use crate::terminal::Terminal;

    let store = Store::new(Kind::Plain);
    store.add("s-1", &ended(Log::new().bash("ls").result(&"x".repeat(500))));
    let path = store.path().display().to_string();
    let lines = |columns, arguments: &[&str]| {
        let arguments = [&["session", "--store", &path], arguments].concat();
        let (code, text) =
            Terminal { columns, no_color: Some("1"), ..Terminal::default() }.run(&store.fixture, &arguments);
        assert_eq!(code, Some(0), "{text}");
        text.lines().map(|line| line.trim_end_matches('\r').chars().count()).max().unwrap()
    };
    assert_eq!(lines(60, &["show", "s-1"]), 60);
    assert_eq!(lines(120, &["show", "s-1"]), 120);
    assert_eq!(lines(50, &["ls"]), 50);
    assert_eq!(store.run(&["show", "s-1"]).stdout.lines().map(str::len).max(), Some(8 + 159 + "…".len()));
}
