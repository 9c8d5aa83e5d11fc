//! Tool calls, numbered in many ways.

use dsh_llm::ContentBlock;
use serde_json::{Value, json};

use crate::fixture::{Fixture, raw};

/// A body of these pieces of calls.
fn body(pieces: &[Value]) -> String {
    let event = |piece: &Value| {
        format!("data: {}\n\n", json!({ "choices": [{ "delta": { "tool_calls": [piece] } }] }))
    };
    let events: String = pieces.iter().map(event).collect();
    let finish = json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }] });
    format!("{events}data: {finish}\n\ndata: [DONE]\n\n")
}

fn head(index: Value, id: &str, name: &str) -> Value {
    json!({ "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": "" } })
}

fn tail(index: Value, arguments: &str) -> Value {
    json!({ "index": index, "function": { "arguments": arguments } })
}

/// A piece that says nothing of its number.
fn unnumbered(mut piece: Value) -> Value {
    piece.as_object_mut().unwrap().remove("index");
    piece
}

// spec: llm/S64, cases/S3
#[tokio::test]
async fn two_calls_have_the_right_arguments_however_they_are_numbered() {
    let (first, second) = (r#"{"path":"a.txt"}"#, r#"{"command":"ls"}"#);
    let in_turn = |one: Value, other: Value| {
        vec![
            head(one.clone(), "c1", "read"),
            tail(one.clone(), &first[..5]),
            tail(one, &first[5..]),
            head(other.clone(), "c2", "bash"),
            tail(other.clone(), &second[..5]),
            tail(other, &second[5..]),
        ]
    };
    let interleaved = |one: Value, other: Value| {
        vec![
            head(one.clone(), "c1", "read"),
            head(other.clone(), "c2", "bash"),
            tail(other.clone(), &second[..5]),
            tail(one.clone(), &first[..5]),
            tail(one, &first[5..]),
            tail(other, &second[5..]),
        ]
    };
    let ways = [
        ("both at 0", in_turn(json!(0), json!(0))),
        ("in order", in_turn(json!(0), json!(1))),
        ("without numbers", in_turn(json!(null), json!(null)).into_iter().map(unnumbered).collect()),
        ("numbers that are null", in_turn(json!(null), json!(null))),
        ("interleaved", interleaved(json!(0), json!(1))),
        ("a gap", interleaved(json!(0), json!(2))),
        ("the other way round", interleaved(json!(1), json!(0))),
        ("a tail with another number", {
            vec![
                head(json!(0), "c1", "read"),
                tail(json!(1), first),
                head(json!(2), "c2", "bash"),
                tail(json!(3), second),
            ]
        }),
    ];
    for (way, pieces) in ways {
        let came = Fixture::new([raw(body(&pieces))]).await.ask().await;
        let call = |id: &str, name: &str, arguments: &str| ContentBlock::ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        assert_eq!(came.blocks(), [call("c1", "read", first), call("c2", "bash", second)], "{way}");
    }
}
