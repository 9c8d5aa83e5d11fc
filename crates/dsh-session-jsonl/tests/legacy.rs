//! Shapes from before the format's first version: read as what became of them, and left on disk as they are.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::fs;

use dsh_session::{Storage as _, StorageError};
use dsh_session_jsonl::Compression;
use serde_json::{Value, json};
use support::{BOTH, HEADER, frame, log_path, message, object, put, quick, text, turn_start};

fn file(lines: &[Value], compression: Compression) -> Vec<u8> {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let (header, lines) = (format!("{HEADER}\n"), text(&lines));
    match compression {
        Compression::Zstd => [frame(&header), frame(&lines)].concat(),
        Compression::None => (header + &lines).into_bytes(),
    }
}

fn event(seq: usize, kind: &str, data: &Value) -> Value {
    json!({"type": kind, "seq": seq, "time": seq, "data": data})
}

fn surface(seq: usize, kind: &str, data: &Value, op: &Value) -> Value {
    json!({"type": kind, "seq": seq, "time": seq, "data": data, "surfaceOp": op})
}

/// What is read of these lines, in both encodings, after a look at the file: it is as it was.
#[track_caller]
fn read(lines: &[Value]) -> Result<Vec<Value>, StorageError> {
    let mut answers = BOTH.map(|compression| {
        let root = tempfile::tempdir().unwrap();
        let bytes = file(lines, compression);
        put(root.path(), compression, &bytes);
        let answer = quick(root.path(), compression).read("t");
        assert_eq!(fs::read(log_path(root.path(), compression)).unwrap(), bytes, "storage is not rewritten");
        answer.map(|stored| {
            let stored = stored.unwrap();
            assert_eq!(stored.torn, None);
            stored.events.iter().map(|event| object(&event)).collect::<Vec<_>>()
        })
    });
    let plain = std::mem::replace(&mut answers[1], Ok(Vec::new()));
    match (&answers[0], &plain) {
        (Ok(one), Ok(two)) => assert_eq!(one, two),
        (Err(one), Err(two)) => assert_eq!(std::mem::discriminant(one), std::mem::discriminant(two)),
        (one, two) => panic!("{one:?} and {two:?}"),
    }
    plain
}

#[track_caller]
fn becomes(old: Value, new: Value) {
    let start = event(0, "turn/start", &json!({"turn": 1}));
    assert_eq!(read(&[start.clone(), old]).unwrap(), [start, new]);
}

#[track_caller]
fn is_malformed(old: &Value) {
    let error = read(&[event(0, "turn/start", &json!({"turn": 1})), old.clone()]).unwrap_err();
    assert!(matches!(error, StorageError::Corrupt { .. }));
    let error = message(&error);
    assert!(error.contains("line 3") && error.contains("never written"), "{old}: {error}");
}

// spec: session/S81
#[test]
fn the_trigger_of_a_turn_is_dropped() {
    let trigger = json!({"kind": "user", "more": 1});
    becomes(
        event(1, "turn/start", &json!({"turn": 2, "trigger": trigger})),
        event(1, "turn/start", &json!({"turn": 2})),
    );
    for data in [
        json!({"turn": 0, "trigger": trigger}),
        json!({"turn": 1, "trigger": {}}),
        json!({"turn": 1, "trigger": {"kind": ""}}),
        json!({"turn": 1, "trigger": "user"}),
        json!({"turn": 1, "trigger": trigger, "x": 1}),
    ] {
        is_malformed(&event(1, "turn/start", &data));
    }
}

// spec: session/S81
#[test]
fn old_reasons_for_the_end_of_a_turn_are_read_as_the_new_ones() {
    let end = |reason: Value| event(1, "turn/end", &json!({"turn": 1, "reason": reason}));
    let failure =
        json!({"message": "m", "code": "C", "status": 500, "requestId": "r", "providerRetryAfterMs": 7});
    for (old, new) in [
        (json!({"kind": "aborted"}), json!({"kind": "aborted", "reason": {"kind": "legacy"}})),
        (json!({"kind": "disposed"}), json!({"kind": "aborted", "reason": {"kind": "disposed"}})),
        (
            json!({"kind": "error", "step": 1, "message": "m"}),
            json!({"kind": "error", "error": {"message": "m", "code": "UNKNOWN"}}),
        ),
        (
            json!({"kind": "error", "step": 0, "message": "m", "code": "C"}),
            json!({"kind": "error", "error": {"message": "m", "code": "C"}}),
        ),
        (json!({"kind": "error", "step": 2, "failure": failure}), json!({"kind": "error", "error": failure})),
    ] {
        becomes(end(old), end(new));
    }
    for new in [
        json!({"kind": "completed"}),
        json!({"kind": "interrupted"}),
        json!({"kind": "aborted", "reason": {"kind": "user"}}),
        json!({"kind": "error", "error": failure}),
    ] {
        becomes(end(new.clone()), end(new));
    }
    for reason in [
        json!({"kind": "aborted", "x": 1}),
        json!({"kind": "disposed", "reason": {"kind": "user"}}),
        json!({"kind": "completed", "x": 1}),
        json!({"kind": "error", "message": "m"}),
        json!({"kind": "error", "step": -1, "message": "m"}),
        json!({"kind": "error", "step": 1, "message": "m", "code": 5}),
        json!({"kind": "error", "step": 1, "failure": {"message": "m"}}),
        json!({"kind": 5}),
        json!("aborted"),
    ] {
        is_malformed(&end(reason));
    }
    is_malformed(&event(1, "turn/end", &json!({"turn": 1})));
    is_malformed(&event(1, "turn/end", &json!({"turn": 0, "reason": {"kind": "completed"}})));
}

fn text_block(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

// spec: session/S81
#[test]
fn a_steering_message_is_one_of_the_user() {
    let append = json!("append");
    becomes(
        surface(
            1,
            "steering/message",
            &json!({"turn": 1, "content": text_block("hi"), "source": {"kind": "user"}}),
            &append,
        ),
        surface(
            1,
            "user/message",
            &json!({"content": text_block("hi"), "source": {"kind": "user"}, "id": "legacy-message:t:1", "role": "user"}),
            &append,
        ),
    );
    let wrapped = json!({"id": "m", "role": "user", "content": text_block("hi"), "source": {"kind": "user"}});
    becomes(
        surface(1, "steering/message", &json!({"turn": 1, "message": wrapped}), &append),
        surface(1, "user/message", &wrapped, &append),
    );
    for data in [
        json!({"turn": 1.5, "message": wrapped}),
        json!({"message": wrapped}),
        json!("x"),
        json!({"turn": 1, "content": []}),
    ] {
        is_malformed(&surface(1, "steering/message", &data, &append));
    }
}

// spec: session/S81
#[test]
fn messages_from_before_they_had_ids_get_one() {
    let append = json!("append");
    let old = [
        surface(
            0,
            "user/message",
            &json!({"content": text_block("hi"), "source": {"kind": "user"}}),
            &append,
        ),
        surface(
            1,
            "assistant/message",
            &json!({"turn": 1, "step": 1, "content": [{"type": "tool-call", "id": "c", "name": "n", "arguments": "{}"}], "provenance": {"provider": "p", "model": "m"}}),
            &append,
        ),
        surface(
            2,
            "tool/result",
            &json!({"turn": 1, "step": 1, "callId": "c", "content": text_block("r"), "isError": false}),
            &append,
        ),
        json!({"type": "tool/result", "seq": 3, "time": 3, "data": {"turn": 1, "step": 1, "callId": "c", "content": text_block("short"), "isError": false},
               "surfaceOp": {"op": "replace", "start": 2, "end": 2}, "sourceEventSeqs": [2]}),
    ];
    let read = read(&old).unwrap();
    assert_eq!(
        read[0]["data"],
        json!({"content": text_block("hi"), "source": {"kind": "user"}, "id": "legacy-message:t:0", "role": "user"})
    );
    assert_eq!(
        read[1]["data"],
        json!({"turn": 1, "step": 1, "message": {"id": "legacy-message:t:1", "role": "assistant",
               "content": [{"type": "tool-call", "id": "c", "name": "n", "arguments": "{}"}],
               "source": {"provider": "p", "model": "m", "kind": "model"}}})
    );
    let result = |text: &str| {
        json!({"turn": 1, "step": 1, "message": {"id": "legacy-message:t:2", "role": "user",
               "content": [{"type": "tool-result", "toolCallId": "c", "content": text_block(text), "isError": false}],
               "source": {"kind": "tool", "callId": "c"}}})
    };
    assert_eq!(read[2]["data"], result("r"));
    assert_eq!(read[3]["data"], result("short"), "the result that it replaces gives it its id");
}

// spec: session/S81
#[test]
fn a_message_that_looks_new_and_is_malformed_is_not_taken_for_an_old_one() {
    let append = json!("append");
    for data in [json!({"role": "user", "content": [], "source": {"kind": "user"}}), json!({"content": []})] {
        let error = read(&[surface(0, "user/message", &data, &append)]).unwrap_err();
        assert!(matches!(error, StorageError::Corrupt { .. }), "{error}");
    }
}

// spec: session/S81
#[test]
fn what_was_given_up_before_the_first_version_is_always_refused() {
    for (kind, data) in [
        ("request/header-delta", json!({})),
        ("mode/set", json!({"mode": "x"})),
        (
            "request/header",
            json!({"reason": "fallback", "header": {"config": {"provider": "p", "model": "m"}}}),
        ),
    ] {
        let mut old = event(0, kind, &data);
        old["ignorable"] = json!(true);
        let error = read(&[old]).unwrap_err();
        assert!(matches!(error, StorageError::Corrupt { .. }), "{error}");
    }
}

// spec: session/S81, S96
#[test]
fn an_old_shape_in_front_of_a_torn_end_does_not_move_where_it_is_cut() {
    let root = tempfile::tempdir().unwrap();
    let old = event(0, "turn/start", &json!({"turn": 1, "trigger": {"kind": "user"}}));
    let aborted = event(1, "turn/end", &json!({"turn": 1, "reason": {"kind": "aborted"}}));
    let sound = file(&[old, aborted], Compression::None);
    put(root.path(), Compression::None, &[&sound[..], b"{\"type\":\"ste"].concat());
    let store = quick(root.path(), Compression::None);
    let mut opened = store.open("t").unwrap().unwrap();
    opened.writer.repair(&[]).unwrap();
    assert_eq!(fs::read(log_path(root.path(), Compression::None)).unwrap(), sound);
}

// spec: session/S81, S97
#[test]
fn old_shapes_of_a_torn_frame_are_written_again_as_they_were() {
    let root = tempfile::tempdir().unwrap();
    let old = event(1, "turn/start", &json!({"turn": 1, "trigger": {"kind": "user"}}));
    let torn = frame(&text(&[old.to_string()]));
    let first = event(0, "turn/start", &json!({"turn": 1, "trigger": {"kind": "user"}}));
    let bytes = [&file(&[first], Compression::Zstd)[..], &torn[..torn.len() - 1]].concat();
    put(root.path(), Compression::Zstd, &bytes);
    let store = quick(root.path(), Compression::Zstd);
    let mut opened = store.open("t").unwrap().unwrap();
    assert_eq!(opened.stored.events.len(), 2);
    opened.writer.repair(&[]).unwrap();
    let frames = support::frames(&fs::read(log_path(root.path(), Compression::Zstd)).unwrap());
    assert_eq!(frames[2], text(&[old.to_string()]));
}

// spec: session/S81
#[test]
fn a_text_that_speaks_of_old_shapes_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let speaks = json!({"type": "user/message", "seq": 1, "time": 1, "surfaceOp": "append", "data": {"id": "m", "role": "user",
        "source": {"kind": "user"}, "content": text_block("{\"type\":\"turn/start\",\"data\":{\"turn\":1,\"trigger\":{}}} turn/end steering/message")}});
    let lines = [turn_start(0), speaks.to_string()];
    put(root.path(), Compression::None, format!("{HEADER}\n{}", text(&lines)).as_bytes());
    let stored = quick(root.path(), Compression::None).read("t").unwrap().unwrap();
    assert_eq!(object(&stored.events.get(1).unwrap()), speaks);
}
