//! Messages, chunks and failures as they are written and read.

#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use dsh_llm::{ContentBlock, FinishReason, LlmFailure, Message, Role, Source, StreamChunk, TokenUsage};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// Reads `text`, and checks that writing gives the same JSON again.
fn round_trip<T: Serialize + DeserializeOwned>(text: &str) -> T {
    let value: T = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&value).unwrap(), text);
    value
}

#[test]
fn blocks_of_every_kind_come_back_as_they_were() {
    let call: ContentBlock = round_trip(r#"{"type":"tool-call","id":"c1","name":"bash","arguments":"{"}"#);
    assert_eq!(call, ContentBlock::ToolCall { id: "c1".into(), name: "bash".into(), arguments: "{".into() });
    round_trip::<ContentBlock>(r#"{"type":"text","text":"a\u0001é"}"#);
    round_trip::<ContentBlock>(r#"{"type":"reasoning","text":""}"#);
    round_trip::<ContentBlock>(r#"{"type":"image","attachment":{"attachmentId":"sha256:00","bytes":1}}"#);
    round_trip::<ContentBlock>(
        r#"{"type":"tool-result","toolCallId":"c1","content":[{"type":"text","text":"x"}],"isError":true}"#,
    );
    round_trip::<ContentBlock>(r#"{"type":"tool-result","toolCallId":"c1","content":[]}"#);
}

#[test]
fn a_kind_that_is_not_known_is_kept_whole() {
    let text = r#"{"type":"video","frames":1.50,"more":{"a":[null]}}"#;
    assert!(matches!(round_trip::<ContentBlock>(text), ContentBlock::Other(_)));
    assert!(matches!(round_trip::<Source>(r#"{"kind":"moon","phase":3}"#), Source::Other(_)));
    assert!(matches!(round_trip::<FinishReason>(r#"{"kind":"tired"}"#), FinishReason::Other(_)));
    assert!(matches!(round_trip::<StreamChunk>(r#"{"type":"pause","ms":1}"#), StreamChunk::Other(_)));
}

#[test]
fn chunks_of_every_kind_come_back_as_they_were() {
    round_trip::<StreamChunk>(r#"{"type":"block-start","index":0,"blockType":"text"}"#);
    round_trip::<StreamChunk>(r#"{"type":"text-delta","index":0,"text":"a"}"#);
    round_trip::<StreamChunk>(r#"{"type":"reasoning-delta","index":1,"text":""}"#);
    round_trip::<StreamChunk>(
        r#"{"type":"tool-call-delta","index":2,"id":"c","name":"x","argumentsDelta":"{"}"#,
    );
    round_trip::<StreamChunk>(r#"{"type":"tool-call-delta","index":2,"id":"c","argumentsDelta":""}"#);
    round_trip::<StreamChunk>(r#"{"type":"block-end","index":0,"block":{"type":"text","text":"a"}}"#);
    round_trip::<StreamChunk>(
        r#"{"type":"usage","usage":{"inputTokens":1,"outputTokens":2,"reasoningTokens":1}}"#,
    );
    round_trip::<StreamChunk>(r#"{"type":"finish","reason":{"kind":"stop"},"replayState":{"response":1}}"#);
    round_trip::<StreamChunk>(
        r#"{"type":"finish","reason":{"kind":"error","failure":{"message":"m","code":"SERVER","status":500}}}"#,
    );
}

#[test]
fn token_deltas_are_told_from_the_rest() {
    let is = |text: &str| serde_json::from_str::<StreamChunk>(text).unwrap().is_token_delta();
    assert!(is(r#"{"type":"text-delta","index":0,"text":"a"}"#));
    assert!(!is(r#"{"type":"text-delta","index":0,"text":""}"#));
    assert!(is(r#"{"type":"tool-call-delta","index":0,"id":"","name":"x","argumentsDelta":""}"#));
    assert!(!is(r#"{"type":"tool-call-delta","index":0,"id":"c","argumentsDelta":""}"#));
    assert!(!is(r#"{"type":"finish","reason":{"kind":"stop"}}"#));
}

#[test]
fn a_message_that_nests_results_too_deeply_is_refused_and_does_not_exhaust_the_stack() {
    let depth = 20_000;
    let open = r#"{"type":"tool-result","toolCallId":"c","content":["#.repeat(depth);
    let text = format!("{open}{}", "]}".repeat(depth));
    let error = serde_json::from_str::<ContentBlock>(&text).unwrap_err();
    assert!(error.to_string().contains("deep") || error.to_string().contains("recursion"), "{error}");
}

#[test]
fn what_is_no_object_or_has_no_tag_is_refused_and_what_breaks_its_tags_promise_is_kept() {
    for text in ["1", "[]", "null", "{}", r#"{"type":1}"#] {
        assert!(serde_json::from_str::<ContentBlock>(text).is_err(), "{text}");
    }
    for text in [r#"{"type":"text"}"#, r#"{"type":"text","text":null}"#] {
        assert!(matches!(round_trip::<ContentBlock>(text), ContentBlock::Other(_)), "{text}");
    }
}

#[test]
fn constructors_fix_role_and_source() {
    let user = Message::user(vec![ContentBlock::text("hi"), ContentBlock::text("you")]);
    assert_eq!((user.role, &user.source, user.text().as_str()), (Role::User, &Source::User {}, "hi\nyou"));
    assert_ne!(user.id, Message::user(vec![]).id);
    let answer = Message::assistant(vec![], "p", "m");
    assert_eq!((answer.role, answer.check_answer()), (Role::Assistant, Ok(())));
    let result = Message::tool_result("c1", vec![ContentBlock::text("x")], true);
    assert_eq!((result.role, result.check_tool_result()), (Role::User, Ok("c1")));
    let value = serde_json::to_value(&result).unwrap();
    assert_eq!(value["content"][0]["isError"], json!(true));
    assert_eq!(value["source"], json!({ "kind": "tool", "callId": "c1" }));
    assert!(user.check_tool_result().is_err() && user.check_answer().is_err());
}

#[test]
fn a_notice_is_cut_at_its_bound_and_never_inside_of_a_character() {
    let summary = |text: &str| match Source::notice("p", text) {
        Source::Plugin { summary: Some(summary), .. } => summary,
        other => panic!("{other:?}"),
    };
    assert_eq!(summary(&"a".repeat(120)), "a".repeat(120));
    assert_eq!(summary(&"a".repeat(121)), format!("{}…", "a".repeat(119)));
    let astral = summary(&"😀".repeat(61));
    assert_eq!((astral.encode_utf16().count(), astral.ends_with("😀…")), (119, true));
}

#[test]
fn facts_of_a_failure_have_bounds() {
    let good = LlmFailure::new("SERVER", "down");
    assert_eq!(good.check(), Ok(()));
    for bad in [
        LlmFailure { message: String::new(), ..good.clone() },
        LlmFailure { code: String::new(), ..good.clone() },
        LlmFailure { status: Some(99), ..good.clone() },
        LlmFailure { status: Some(600), ..good.clone() },
        LlmFailure { provider_retry_after_ms: Some(0.0), ..good.clone() },
        LlmFailure { provider_retry_after_ms: Some(f64::INFINITY), ..good.clone() },
        LlmFailure { request_id: Some(String::new()), ..good.clone() },
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
}

#[test]
fn billed_input_adds_the_disjoint_counts() {
    let usage = TokenUsage {
        input_tokens: 1,
        cache_read_tokens: Some(2),
        cache_write_tokens: Some(4),
        ..Default::default()
    };
    assert_eq!(usage.billed_input(), 7);
    assert_eq!(serde_json::to_value(usage).unwrap().get("reasoningTokens"), None::<&Value>);
}
