#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use dsh_llm::{Assembler, ContentBlock, LlmError, StreamChunk, TokenUsage};
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use serde_json::{Value, json};

use super::Answer;

mod calls;

/// What came of a body, in pieces of so many bytes.
#[derive(Debug)]
struct Came {
    chunks: Vec<StreamChunk>,
    ended: Result<(), LlmError>,
}

impl Came {
    fn of(body: &[u8], piece: usize) -> Self {
        let mut answer = Answer::new();
        let mut chunks = Vec::new();
        for piece in body.chunks(piece.max(1)) {
            let fed = answer.feed(piece);
            chunks.extend(std::iter::from_fn(|| answer.next()));
            if let Err(error) = fed {
                return Self { chunks, ended: Err(error) };
            }
        }
        let ended = answer.end();
        chunks.extend(std::iter::from_fn(|| answer.next()));
        Self { chunks, ended }
    }

    fn assembled(&self) -> Assembler {
        let mut assembler = Assembler::new();
        self.chunks.iter().for_each(|chunk| assembler.add(chunk).unwrap());
        assembler
    }

    fn blocks(&self) -> Vec<ContentBlock> {
        self.assembled().blocks().unwrap()
    }

    fn finish(&self) -> Value {
        json!(self.assembled().finish())
    }

    fn code(&self) -> &str {
        self.ended.as_ref().unwrap_err().code()
    }
}

fn body(payloads: &[Value]) -> Vec<u8> {
    payloads.iter().map(|payload| format!("data: {payload}\n\n")).collect::<String>().into_bytes()
}

/// The deltas as a body that ends as it should.
fn whole(deltas: &[Value], finish: &str) -> Came {
    let mut payloads: Vec<Value> =
        deltas.iter().map(|delta| json!({ "choices": [{ "delta": delta }] })).collect();
    payloads.push(json!({ "choices": [{ "delta": {}, "finish_reason": finish }] }));
    let mut body = body(&payloads);
    body.extend_from_slice(b"data: [DONE]\n\n");
    let came = Came::of(&body, usize::MAX);
    came.ended.as_ref().unwrap();
    came
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::text(text)
}

fn reasoning(text: &str) -> ContentBlock {
    ContentBlock::Reasoning { text: text.to_owned() }
}

fn call(id: &str, name: &str, arguments: &str) -> ContentBlock {
    let [id, name, arguments] = [id, name, arguments].map(str::to_owned);
    ContentBlock::ToolCall { id, name, arguments }
}

/// A piece of a call.
fn piece(index: Value, id: Value, name: Value, arguments: &str) -> Value {
    let mut call = json!({ "function": { "arguments": arguments } });
    for (target, key, value) in [("", "index", index), ("", "id", id), ("function", "name", name)] {
        if value != json!("absent") {
            let place = if target.is_empty() { &mut call } else { &mut call[target] };
            place[key] = value;
        }
    }
    json!({ "tool_calls": [call] })
}

fn none() -> Value {
    json!("absent")
}

/// The calls; an id that was made up is shown as none.
fn calls(pieces: &[Value]) -> Vec<ContentBlock> {
    let mut blocks = whole(pieces, "tool_calls").blocks();
    for block in &mut blocks {
        if let ContentBlock::ToolCall { id, .. } = block
            && id.starts_with("call_")
        {
            id.clear();
        }
    }
    blocks
}

// spec: llm/S64, llm/S65
#[test]
fn an_answer_is_translated_in_the_order_of_its_pieces() {
    let came = whole(
        &[
            json!({ "role": "assistant", "content": "", "reasoning_content": "Think " }),
            json!({ "content": "I", "reasoning_content": "hard." }),
            json!({ "content": " run it." }),
            json!({ "tool_calls": [{ "index": 0, "id": "c1", "function": { "name": "bash", "arguments": "" } }] }),
            json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "{}" } }] }),
        ],
        "tool_calls",
    );
    let chunks: Vec<Value> = came.chunks.iter().map(|chunk| json!(chunk)).collect();
    let expected = [
        json!({ "type": "block-start", "index": 0, "blockType": "reasoning" }),
        json!({ "type": "reasoning-delta", "index": 0, "text": "Think " }),
        json!({ "type": "reasoning-delta", "index": 0, "text": "hard." }),
        json!({ "type": "block-start", "index": 1, "blockType": "text" }),
        json!({ "type": "text-delta", "index": 1, "text": "I" }),
        json!({ "type": "text-delta", "index": 1, "text": " run it." }),
        json!({ "type": "block-start", "index": 2, "blockType": "tool-call" }),
        json!({ "type": "tool-call-delta", "index": 2, "id": "c1", "name": "bash", "argumentsDelta": "" }),
        json!({ "type": "tool-call-delta", "index": 2, "id": "c1", "name": "bash", "argumentsDelta": "{}" }),
        json!({ "type": "block-end", "index": 0, "block": { "type": "reasoning", "text": "Think hard." } }),
        json!({ "type": "block-end", "index": 1, "block": { "type": "text", "text": "I run it." } }),
        json!({ "type": "block-end", "index": 2, "block": { "type": "tool-call", "id": "c1", "name": "bash", "arguments": "{}" } }),
        json!({ "type": "finish", "reason": { "kind": "tool-calls" } }),
    ];
    assert_eq!(chunks, expected);
}

// spec: llm/S64
#[test]
fn there_is_one_block_of_text_and_one_of_reasoning() {
    let came = whole(
        &[
            json!({ "content": "t1" }),
            json!({ "reasoning_content": "r1" }),
            json!({ "content": "t2", "reasoning_content": "" }),
            json!({ "content": null, "reasoning": "r2" }),
        ],
        "stop",
    );
    assert_eq!(came.blocks(), [text("t1t2"), reasoning("r1r2")]);
}

// spec: llm/S66
#[test]
fn the_reason_is_mapped_and_the_last_one_stands() {
    let ended = |finish: &str| whole(&[json!({ "content": "x" })], finish).finish();
    assert_eq!(ended("stop"), json!({ "kind": "stop" }));
    assert_eq!(ended(""), json!({ "kind": "stop" }));
    assert_eq!(ended("tool_calls"), json!({ "kind": "tool-calls" }));
    assert_eq!(ended("length"), json!({ "kind": "max-tokens" }));
    let filtered = ended("content_filter");
    assert_eq!(filtered["kind"], "error");
    assert_eq!(filtered["failure"]["code"], "CONTENT_FILTER");
    let payloads = ["length", "stop"]
        .map(|reason| json!({ "choices": [{ "delta": { "content": "a" }, "finish_reason": reason }] }));
    let came = Came::of(&[body(&payloads), b"data: [DONE]\n\n".to_vec()].concat(), 7);
    assert_eq!((came.finish(), came.blocks()), (json!({ "kind": "stop" }), vec![text("aa")]));
    let none = json!({ "choices": [{ "delta": { "content": "a" }, "finish_reason": 7 }] });
    let came = Came::of(&[body(&[none]), b"data: [DONE]\n\n".to_vec()].concat(), 7);
    assert_eq!(came.finish(), json!({ "kind": "stop" }));
}

// spec: llm/S66
#[test]
fn a_stop_without_a_block_is_an_error_after_the_usage() {
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 1, "completion_tokens": 0 } });
    let stop = json!({ "choices": [{ "delta": { "refusal": "no" }, "finish_reason": "stop" }] });
    let came = Came::of(&[body(&[stop, usage]), b"data: [DONE]\n\n".to_vec()].concat(), usize::MAX);
    assert_eq!(came.finish()["failure"]["code"], "EMPTY_RESPONSE");
    assert!(matches!(came.chunks.as_slice(), [StreamChunk::Usage { .. }, StreamChunk::Finish { .. }]));
    // Only a stop is looked at so closely, and reasoning is something.
    assert_eq!(whole(&[], "length").finish(), json!({ "kind": "max-tokens" }));
    assert_eq!(whole(&[json!({ "reasoning_content": " " })], "stop").finish(), json!({ "kind": "stop" }));
}

// spec: llm/S65, llm/S67
#[test]
fn the_last_usage_is_told_without_what_came_from_a_cache() {
    let counted = |usages: &[Value]| {
        let payloads: Vec<Value> = usages
            .iter()
            .map(|usage| json!({ "choices": [{ "delta": { "content": "a" } }], "usage": usage }))
            .collect();
        Came::of(&[body(&payloads), b"data: [DONE]\n\n".to_vec()].concat(), usize::MAX).assembled().usage()
    };
    let usage = |input, output, cached, reasoning| TokenUsage {
        input_tokens: input,
        output_tokens: output,
        cache_read_tokens: cached,
        cache_write_tokens: None,
        reasoning_tokens: reasoning,
    };
    let plain = json!({ "prompt_tokens": 50, "completion_tokens": 12 });
    assert_eq!(
        counted(&[json!({ "prompt_tokens": 1, "completion_tokens": 1 }), plain]),
        Some(usage(50, 12, None, None))
    );
    let hit = json!({ "prompt_tokens": 100, "completion_tokens": 20, "prompt_cache_hit_tokens": 30,
        "completion_tokens_details": { "reasoning_tokens": 5 } });
    assert_eq!(counted(&[hit]), Some(usage(70, 20, Some(30), Some(5))));
    let both = json!({ "prompt_tokens": 100, "completion_tokens": 20, "prompt_cache_hit_tokens": 30,
        "prompt_tokens_details": { "cached_tokens": 0 } });
    assert_eq!(counted(&[both]), Some(usage(100, 20, Some(0), None)));
    let more = json!({ "prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 30 });
    assert_eq!(counted(&[more]), Some(usage(0, 2, Some(30), None)));
    assert_eq!(
        counted(&[json!({ "prompt_tokens": 12.0, "completion_tokens": 3 })]),
        Some(usage(12, 3, None, None))
    );
    for broken in
        [json!({}), json!(null), json!("7"), json!({ "prompt_tokens": "100", "completion_tokens": 1 })]
    {
        assert_eq!(counted(&[broken]), None);
    }
}

// spec: llm/S63, cases/S2
#[test]
fn a_body_that_ends_too_early_is_a_cut_and_what_is_no_stream_is_told() {
    let body = body(&[json!({ "choices": [{ "delta": { "content": "half" }, "finish_reason": "stop" }] })]);
    let came = Came::of(&body, usize::MAX);
    assert_eq!((came.code(), came.chunks.len()), ("TRANSPORT", 2), "the text is there, and no end");
    for (body, told) in [
        ("", "nothing came"),
        ("{\"error\": \"no\"}", "{\\\"error"),
        ("<html>\n<p>é", "<html>"),
        (": ping\n\n", "ping"),
    ] {
        let came = Came::of(body.as_bytes(), 3);
        assert_eq!(came.code(), "STREAM_CLOSED", "{body}");
        let message = came.ended.unwrap_err().to_string();
        assert!(message.contains(told), "{message}");
    }
}

// spec: llm/S63
#[test]
fn what_is_no_json_is_told_after_what_came_before_it() {
    let body =
        b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[\n\ndata: [DONE]\n\n";
    for piece in [1, 9, usize::MAX] {
        let came = Came::of(body, piece);
        assert_eq!((came.code(), came.chunks.len()), ("MALFORMED_RESPONSE", 2));
        assert!(came.ended.unwrap_err().to_string().contains("{\\\"choices\\\":["));
    }
}

#[test]
fn an_error_in_the_stream_is_the_servers_word() {
    let told = |error: Value| {
        let came = Came::of(&body(&[json!({ "error": error })]), usize::MAX);
        let error = came.ended.unwrap_err();
        (error.code().to_owned(), error.to_string())
    };
    let (code, message) = told(json!({ "message": "overloaded", "type": "server_error" }));
    assert_eq!(code, "SERVER");
    assert!(message.ends_with("overloaded"), "{message}");
    assert_eq!(told(json!({ "message": "slow", "code": 429 })).0, "RATE_LIMIT");
    assert_eq!(told(json!({ "message": "x", "code": "rate_limit_exceeded" })).0, "RATE_LIMIT");
    assert_eq!(told(json!({ "message": "Insufficient Balance" })).0, "QUOTA");
    assert_eq!(
        told(json!({ "message": "x", "code": "context_length_exceeded" })).0,
        "CONTEXT_WINDOW_EXCEEDED"
    );
    assert_eq!(told(json!("boom")).0, "SERVER");
    let nothing = Came::of(&body(&[json!({ "error": null, "choices": [] })]), usize::MAX);
    assert_eq!(nothing.code(), "TRANSPORT", "it says nothing of an error");
}

#[test]
fn what_is_of_another_type_says_nothing() {
    let odd = [
        json!([]),
        json!("hi"),
        json!(5),
        json!(null),
        json!({}),
        json!({ "choices": null }),
        json!({ "choices": 7 }),
        json!({ "choices": [null, 1, "x", []] }),
        json!({ "choices": [{ "delta": null }, { "delta": [1] }] }),
        json!({ "choices": [{ "delta": { "content": 5, "tool_calls": "x" } }] }),
        json!({ "choices": [{ "delta": { "content": [{ "text": "x" }], "tool_calls": [null, 3] } }] }),
        json!({ "choices": [{ "message": { "content": "x" } }] }),
    ];
    let came = Came::of(&[body(&odd), b"data: [DONE]\n\n".to_vec()].concat(), usize::MAX);
    assert!(came.ended.is_ok());
    let blocks = came.blocks();
    assert!(
        blocks.iter().all(|block| matches!(block, ContentBlock::ToolCall { name, .. } if name.is_empty())),
        "{blocks:?}"
    );
}

#[test]
fn bad_bytes_and_deep_nesting_do_no_harm() {
    let came = Came::of(b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xff\"}}]}\n\ndata: [DONE]\n\n", 5);
    assert_eq!(came.blocks(), [text("a\u{fffd}")]);
    let deep = format!("data: {{\"x\":{}\n\n", "[".repeat(200_000));
    assert_eq!(Came::of(deep.as_bytes(), usize::MAX).code(), "MALFORMED_RESPONSE");
    let deep = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":{}1{}}}}}]}}\n\ndata: [DONE]\n\n",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let came = Came::of(deep.as_bytes(), usize::MAX);
    assert!(came.ended.is_ok() || came.code() == "MALFORMED_RESPONSE");
}

/// What came of one event of this text.
fn one(delta: &str) -> Came {
    Came::of(
        format!("data: {{\"choices\":[{{\"delta\":{delta}}}]}}\n\ndata: [DONE]\n\n").as_bytes(),
        usize::MAX,
    )
}

#[test]
fn half_a_surrogate_pair_is_replaced_and_nothing_else_is_lost() {
    assert_eq!(one(r#"{"content":"a\ud83db"}"#).blocks(), [text("a\u{fffd}b")]);
    let arguments =
        r#"{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"a\":\"\ud83d x\"}"}}]}"#;
    assert_eq!(one(arguments).blocks(), [call("c", "f", "{\"a\":\"\u{fffd} x\"}")]);
}

#[test]
fn of_two_equal_keys_the_last_one_counts() {
    assert_eq!(one(r#"{"content":"a","content":"b"}"#).blocks(), [text("b")]);
}

#[test]
fn an_event_right_before_an_unfinished_done_counts() {
    for start in ["", "\u{feff}"] {
        let came = Came::of(
            format!("{start}data: {{\"choices\":[{{\"delta\":{{\"content\":\"hi\"}}}}]}}\ndata: [DONE]")
                .as_bytes(),
            usize::MAX,
        );
        assert!(came.ended.is_ok(), "{:?}", came.ended);
        assert_eq!(came.blocks(), [ContentBlock::text("hi")]);
    }
}

#[test]
fn a_mark_before_a_done_without_an_end_is_left_out() {
    let came = Came::of("\u{feff}data: [DONE]".as_bytes(), 1);
    assert!(came.ended.is_ok(), "{:?}", came.ended);
}

proptest! {
    #[test]
    fn any_bytes_give_the_same_pieces_however_they_are_cut(bytes in proptest::collection::vec(any::<u8>(), 0..300), piece in 1_usize..40) {
        let (one, other) = (Came::of(&bytes, usize::MAX), Came::of(&bytes, piece));
        prop_assert_eq!(&one.chunks, &other.chunks);
        prop_assert_eq!(one.ended.map_err(|error| error.code().to_owned()), other.ended.map_err(|error| error.code().to_owned()));
    }

    #[test]
    fn a_cut_anywhere_gives_a_beginning_of_the_whole(at in 0_usize..700) {
        let came = body(&[
            json!({ "choices": [{ "delta": { "reasoning_content": "why é" } }] }),
            json!({ "choices": [{ "delta": { "content": "so 😀" } }] }),
            json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "id": "c", "function": { "name": "f", "arguments": "{}" } }] } }] }),
            json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }], "usage": { "prompt_tokens": 1, "completion_tokens": 2 } }),
        ]);
        let all = [came, b"data: [DONE]\n\n".to_vec()].concat();
        let whole = Came::of(&all, usize::MAX);
        let cut = Came::of(&all[..at.min(all.len())], usize::MAX);
        prop_assert!(whole.chunks.starts_with(&cut.chunks));
        prop_assert_eq!(cut.ended.is_ok(), cut.chunks.iter().any(|chunk| matches!(chunk, StreamChunk::Finish { .. })));
    }
}
