use dsh_llm::ContentBlock;
use serde_json::{Value, json};

use super::{Came, body, call, calls, none, piece, whole};

// spec: llm/S64, cases/S3
#[test]
fn calls_are_told_apart_however_they_are_numbered() {
    let two = [call("c1", "read", "{\"a\":1}"), call("c2", "bash", "{\"b\":2}")];
    let (c1, c2, read, bash) = (json!("c1"), json!("c2"), json!("read"), json!("bash"));
    let same = |index: Value| {
        [
            vec![
                piece(index.clone(), c1.clone(), read.clone(), "{\"a\":1}"),
                piece(index.clone(), c2.clone(), bash.clone(), "{\"b\":2}"),
            ],
            vec![
                piece(index.clone(), c1.clone(), read.clone(), ""),
                piece(index.clone(), none(), none(), "{\"a\""),
                piece(index.clone(), none(), none(), ":1}"),
                piece(index.clone(), c2.clone(), bash.clone(), "{\"b\""),
                piece(index.clone(), none(), none(), ":2}"),
            ],
            vec![
                piece(index.clone(), c1.clone(), read.clone(), "{\"a\""),
                piece(index.clone(), c1.clone(), read.clone(), ":1}"),
                piece(index.clone(), c2.clone(), bash.clone(), "{\"b\""),
                piece(index, c2.clone(), bash.clone(), ":2}"),
            ],
        ]
    };
    for pieces in [json!(0), none(), json!(null)].into_iter().flat_map(same) {
        assert_eq!(calls(&pieces), two, "{pieces:?}");
    }
    let interleaved = |first: Value, second: Value| {
        vec![
            piece(first.clone(), c1.clone(), read.clone(), ""),
            piece(second.clone(), c2.clone(), bash.clone(), "{\"b\""),
            piece(first, none(), none(), "{\"a\":1}"),
            piece(second, none(), none(), ":2}"),
        ]
    };
    for (first, second) in [(0, 1), (0, 2), (1, 0), (7, 3)] {
        assert_eq!(calls(&interleaved(json!(first), json!(second))), two, "{first} {second}");
    }
    assert_eq!(calls(&interleaved(json!("0"), json!(-1))), two);
    // In one delta.
    let delta = json!({ "tool_calls": [
        { "index": 0, "id": "c1", "function": { "name": "read", "arguments": "{\"a\":1}" } },
        { "index": 1, "id": "c2", "function": { "name": "bash", "arguments": "{\"b\":2}" } },
    ] });
    assert_eq!(calls(&[delta]), two);
}

// spec: llm/S64, cases/S3
#[test]
fn a_head_and_its_tail_with_another_number_are_one_call() {
    let head = |index: u64, id: &str| piece(json!(index), json!(id), json!("bash"), "");
    let tail = |index: u64, text: &str| piece(json!(index), none(), none(), text);
    assert_eq!(calls(&[head(0, "c1"), tail(1, "{\"a\""), tail(1, ":1}")]), [call("c1", "bash", "{\"a\":1}")]);
    let pieces = [head(0, "c1"), tail(1, "{}"), head(2, "c2"), tail(3, "{\"b\":2}")];
    assert_eq!(calls(&pieces), [call("c1", "bash", "{}"), call("c2", "bash", "{\"b\":2}")]);
}

// spec: llm/S64
#[test]
fn ids_and_names_may_come_late_often_or_never() {
    let late = [
        piece(json!(0), none(), none(), ""),
        piece(json!(0), json!("c1"), none(), "{"),
        piece(json!(0), none(), json!("bash"), "}"),
    ];
    assert_eq!(calls(&late), [call("c1", "bash", "{}")]);
    let often =
        [piece(json!(0), json!("c1"), json!("bash"), "{"), piece(json!(0), json!("c1"), json!("bash"), "}")];
    assert_eq!(calls(&often), [call("c1", "bash", "{}")]);
    let made_up = [
        piece(json!(0), json!("x1"), json!("bash"), "{"),
        piece(json!(0), json!("x2"), json!(""), "\"a\":1"),
        piece(json!(0), json!("x3"), none(), "}"),
    ];
    assert_eq!(calls(&made_up), [call("x1", "bash", "{\"a\":1}")]);
    let never = [
        piece(json!(0), json!(""), json!("read"), "{\"a\":1}"),
        piece(json!(1), none(), json!("bash"), "{\"b\":2}"),
    ];
    assert_eq!(calls(&never), [call("", "read", "{\"a\":1}"), call("", "bash", "{\"b\":2}")]);
    let without_any = [
        piece(none(), none(), json!("read"), "{\"a\":1}"),
        piece(none(), none(), json!("read"), "{\"b\":2}"),
    ];
    assert_eq!(calls(&without_any), [call("", "read", "{\"a\":1}"), call("", "read", "{\"b\":2}")]);
    let nothing_to_say =
        [piece(none(), none(), json!("read"), ""), piece(none(), none(), json!("bash"), "{}")];
    assert_eq!(calls(&nothing_to_say), [call("", "read", ""), call("", "bash", "{}")]);
    let other_number =
        [piece(json!(0), json!("c1"), json!("read"), ""), piece(json!(1), json!("c1"), none(), "{}")];
    assert_eq!(calls(&other_number), [call("c1", "read", "{}")]);
    let same_id = [
        piece(json!(0), json!("c"), json!("read"), "{\"a\":1}"),
        piece(json!(1), json!("c"), json!("read"), "{\"b\":2}"),
    ];
    assert_eq!(calls(&same_id), [call("c", "read", "{\"a\":1}"), call("c", "read", "{\"b\":2}")]);
}

// spec: llm/S64
#[test]
fn a_call_without_an_id_is_given_one_of_its_own() {
    let pieces = [0, 1].map(|index| piece(json!(index), json!(""), json!("read"), "{}"));
    let ids: Vec<String> = whole(&pieces, "tool_calls")
        .blocks()
        .into_iter()
        .filter_map(|block| match block {
            ContentBlock::ToolCall { id, .. } => Some(id),
            _ => None,
        })
        .collect();
    assert!(ids.len() == 2 && ids[0] != ids[1] && ids.iter().all(|id| id.len() > 5), "{ids:?}");
}

// spec: llm/S64
#[test]
fn arguments_may_be_absent_or_an_object() {
    let arguments = |arguments: Value| {
        let call = json!({ "index": 0, "id": "c", "function": { "name": "f", "arguments": arguments } });
        calls(&[json!({ "tool_calls": [call] })])
    };
    assert_eq!(arguments(json!(null)), [call("c", "f", "")]);
    let spaced = r#"data: {"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":{ "a" : 1 }}}]}}]}"#;
    let came = Came::of(format!("{spaced}\n\ndata: [DONE]\n").as_bytes(), 11);
    assert_eq!(came.blocks(), [call("c", "f", "{\"a\":1}")]);
    assert_eq!(arguments(json!({ "a": [1, "é"] })), [call("c", "f", "{\"a\":[1,\"é\"]}")]);
    assert_eq!(arguments(json!("{\"q\":\"\\\"\"}")), [call("c", "f", "{\"q\":\"\\\"\"}")]);
}

#[test]
fn more_calls_than_anybody_makes_are_refused() {
    let pieces: Vec<Value> = (0..1_001)
        .map(|index| json!({ "index": index, "id": format!("c{index}"), "function": { "name": "f" } }))
        .collect();
    let came = Came::of(&body(&[json!({ "choices": [{ "delta": { "tool_calls": pieces } }] })]), usize::MAX);
    assert_eq!(came.code(), "MALFORMED_RESPONSE");
}

#[test]
fn a_call_whose_every_piece_has_another_index_is_not_slow() {
    let pieces: Vec<Value> = (1..60_000).map(|index| json!({ "index": index })).collect();
    let first = json!({ "index": 0, "id": "c", "function": { "name": "f", "arguments": "{}" } });
    let body = body(&[
        json!({ "choices": [{ "delta": { "tool_calls": [first] } }] }),
        json!({ "choices": [{ "delta": { "tool_calls": pieces } }] }),
    ]);
    let begun = std::time::Instant::now();
    let came = Came::of(&[body, b"data: [DONE]\n\n".to_vec()].concat(), usize::MAX);
    assert_eq!(came.blocks().len(), 1);
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
}
