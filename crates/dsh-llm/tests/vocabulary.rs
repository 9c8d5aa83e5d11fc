//! What is said between agents and models.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::sync::Arc;

use dsh_llm::{
    Backoff, CallConfig, ContentBlock, FinishReason, ImageBudget, ImageEncoding, InvalidFailure,
    InvalidMessage, LlmError, LlmFailure, Message, ModelRequest, PluginForm, Purpose, RetryPolicy, Role,
    Source, StreamChunk, TokenUsage, ToolSchema, code, offload_images,
};
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use serde_json::{Value, json};

// spec: llm/S1, llm/S2
#[test]
fn messages_are_made_with_an_id_of_their_own_and_a_fixed_role() {
    let user = Message::user(vec![ContentBlock::text("hi")]);
    let answer = Message::assistant(vec![], "acme", "m");
    let result = Message::tool_result("c1", vec![ContentBlock::text("out")], true);
    assert_eq!((user.role, answer.role, result.role), (Role::User, Role::Assistant, Role::User));
    let ids = [&user.id, &answer.id, &result.id];
    assert!(ids.iter().all(|id| id.len() == 36) && ids[0] != ids[1] && ids[1] != ids[2]);
    assert_eq!(
        answer.source,
        Source::Model { provider: "acme".into(), model: "m".into(), replay_state: None }
    );
    assert_eq!(result.source, Source::Tool { call_id: "c1".into() });
    assert_eq!(result.check_tool_result().unwrap(), "c1");
    // One that was written comes back as it was, with its id.
    for message in [user, answer, result] {
        let read: Message = serde_json::from_str(&serde_json::to_string(&message).unwrap()).unwrap();
        assert_eq!(read, message);
    }
}

// spec: llm/S1, llm/S2
#[test]
fn a_message_without_an_id_or_of_another_origin_than_it_claims_is_refused() {
    let user = Message::user(vec![ContentBlock::text("hi")]);
    let answer = Message::assistant(vec![], "acme", "m");
    let result = Message::tool_result("c1", vec![], false);
    let nameless = |message: &Message| Message { id: String::new(), ..message.clone() };
    assert_eq!(nameless(&user).check(), Err(InvalidMessage::NoId));
    assert_eq!(nameless(&answer).check_answer(), Err(InvalidMessage::NoId));
    assert_eq!(nameless(&result).check_tool_result(), Err(InvalidMessage::NoId));
    assert_eq!(user.check_answer(), Err(InvalidMessage::NoModel));
    for (provider, model) in [("", "m"), ("acme", "")] {
        assert_eq!(Message::assistant(vec![], provider, model).check_answer(), Err(InvalidMessage::NoModel));
    }
    let of_another = Message { source: Source::Tool { call_id: "c2".into() }, ..result.clone() };
    let twice = Message { content: [&result.content[..], &result.content[..]].concat(), ..result };
    for wrong in [user, of_another, twice, Message::tool_result("", vec![], false)] {
        assert_eq!(wrong.check_tool_result(), Err(InvalidMessage::NoCall), "{wrong:?}");
    }
}

// spec: llm/S3
#[test]
fn sources_are_told_by_their_kind_and_a_notice_has_a_short_summary() {
    let written = |source: &Source| serde_json::to_value(source).unwrap();
    assert_eq!(written(&Source::User {}), json!({ "kind": "user" }));
    assert_eq!(written(&Source::Tool { call_id: "c".into() }), json!({ "kind": "tool", "callId": "c" }));
    let model = Source::Model { provider: "p".into(), model: "m".into(), replay_state: Some(json!(1)) };
    assert_eq!(written(&model), json!({ "kind": "model", "provider": "p", "model": "m", "replayState": 1 }));
    for form in ["instructions", "catalog", "snapshot", "notice", "relay", "recall"] {
        let source: Source =
            serde_json::from_value(json!({ "kind": "plugin", "plugin": "x", "form": form })).unwrap();
        let Source::Plugin { form: Some(known), .. } = &source else { panic!("{source:?}") };
        assert!(!matches!(known, PluginForm::Other(_)), "{form}");
        assert_eq!(written(&source)["form"], form);
    }
    let summary = |text: &str| match Source::notice("x", text) {
        Source::Plugin { summary: Some(summary), .. } => summary,
        other => panic!("{other:?}"),
    };
    let fits = "x".repeat(120);
    assert_eq!(summary(&fits), fits);
    assert_eq!(summary(&"x".repeat(121)), format!("{}…", "x".repeat(119)));
    // Counted as the reference counts: a character outside of the first plane is two units.
    assert_eq!(summary(&"😀".repeat(61)), format!("{}…", "😀".repeat(59)));
}

// spec: llm/S4
#[test]
fn blocks_are_told_by_their_type_and_unknown_ones_are_kept() {
    for block in [
        json!({ "type": "text", "text": "a" }),
        json!({ "type": "reasoning", "text": "a" }),
        json!({ "type": "image", "attachment": { "attachmentId": "sha256:00", "bytes": 3 } }),
        json!({ "type": "tool-call", "id": "c", "name": "n", "arguments": "{ not checked" }),
        json!({ "type": "tool-result", "toolCallId": "c", "content": [{ "type": "text", "text": "b" }], "isError": true }),
        json!({ "type": "tool-result", "toolCallId": "c", "content": [] }),
        json!({ "type": "audio", "data": [1, 2] }),
    ] {
        let read: ContentBlock = serde_json::from_value(block.clone()).unwrap();
        assert_eq!(matches!(read, ContentBlock::Other(_)), block["type"] == "audio", "{block}");
        assert_eq!(serde_json::to_value(&read).unwrap(), block);
    }
}

// spec: llm/S5
#[test]
fn a_piece_of_the_answer_itself_is_text_reasoning_arguments_or_a_name() {
    let is = |chunk: Value| serde_json::from_value::<StreamChunk>(chunk).unwrap().is_token_delta();
    let call = |name: Option<&str>, arguments: &str| {
        json!({ "type": "tool-call-delta", "index": 0, "id": "c", "argumentsDelta": arguments,
            "name": name.map_or(json!("x"), |name| json!(name)) })
    };
    assert!(is(json!({ "type": "text-delta", "index": 0, "text": "a" })));
    assert!(is(json!({ "type": "reasoning-delta", "index": 0, "text": " " })));
    assert!(is(call(Some("f"), "")) && is(call(None, "{")));
    assert!(is(json!({ "type": "tool-call-delta", "index": 0, "id": "", "argumentsDelta": "{" })));
    assert!(!is(json!({ "type": "tool-call-delta", "index": 0, "id": "c", "argumentsDelta": "" })));
    for silent in [
        json!({ "type": "text-delta", "index": 0, "text": "" }),
        json!({ "type": "block-start", "index": 0, "blockType": "text" }),
        json!({ "type": "usage", "usage": { "inputTokens": 1, "outputTokens": 1 } }),
        json!({ "type": "finish", "reason": { "kind": "stop" } }),
    ] {
        assert!(!is(silent.clone()), "{silent}");
    }
}

// spec: llm/S6, llm/S7
#[test]
fn a_request_says_which_model_how_and_with_what() {
    let tool = ToolSchema { name: "n".into(), description: "d".into(), parameters: serde_json::Map::new() };
    assert_eq!(
        serde_json::to_value(&tool).unwrap(),
        json!({ "name": "n", "description": "d", "parameters": {} })
    );
    let config = json!({ "provider": "p", "model": "m", "reasoningEffort": "high", "temperature": 0.5, "maxTokens": 7, "stop": ["x"] });
    let read: CallConfig = serde_json::from_value(config.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), config);
    let bare = serde_json::to_value(CallConfig::new("p", "m")).unwrap();
    assert_eq!(bare, json!({ "provider": "p", "model": "m" }));
    for (purpose, text) in [(Purpose::Compaction, "compaction"), (Purpose::SessionTitle, "session-title")] {
        assert_eq!(serde_json::to_value(purpose).unwrap(), text);
    }
}

// spec: llm/S9
#[test]
fn what_a_request_holds_is_shared_and_only_its_cancellation_is_live() {
    let message = Arc::new(Message::user(vec![ContentBlock::text("hi")]));
    let request = ModelRequest::new(CallConfig::new("p", "m"), [message.clone()]);
    let copy = request.clone();
    assert!(Arc::ptr_eq(&request.messages, &copy.messages) && Arc::ptr_eq(&copy.messages[0], &message));
    request.cancellation.cancel();
    assert!(copy.cancellation.is_cancelled());
}

// spec: llm/S12, llm/S13, llm/S14
#[test]
fn finishes_failures_and_usage_are_written_as_the_log_has_them() {
    let failure = json!({ "message": "m", "code": "RATE_LIMIT", "status": 429, "providerRetryAfterMs": 2000.0, "requestId": "r" });
    for reason in [
        json!({ "kind": "stop" }),
        json!({ "kind": "tool-calls" }),
        json!({ "kind": "max-tokens" }),
        json!({ "kind": "aborted", "failure": failure }),
        json!({ "kind": "error", "failure": failure }),
        json!({ "kind": "odd", "more": 1 }),
    ] {
        let read: FinishReason = serde_json::from_value(reason.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), reason);
    }
    let usage = json!({ "inputTokens": 1, "outputTokens": 2, "cacheReadTokens": 3, "cacheWriteTokens": 4, "reasoningTokens": 5 });
    let read: TokenUsage = serde_json::from_value(usage.clone()).unwrap();
    assert_eq!((serde_json::to_value(read).unwrap(), read.billed_input()), (usage, 8));
}

// spec: llm/S13, llm/S24
#[test]
fn an_error_carries_facts_within_their_bounds() {
    let fine = LlmFailure::new(code::SERVER, "x");
    let refused = |change: fn(&mut LlmFailure)| {
        let mut failure = fine.clone();
        change(&mut failure);
        LlmError::try_from(failure).unwrap_err()
    };
    assert_eq!(refused(|failure| failure.message.clear()), InvalidFailure::Message);
    assert_eq!(refused(|failure| failure.code.clear()), InvalidFailure::Code);
    for status in [0, 99, 600] {
        let failure = LlmFailure { status: Some(status), ..fine.clone() };
        assert_eq!(LlmError::try_from(failure).unwrap_err(), InvalidFailure::Status);
    }
    for delay in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let failure = LlmFailure { provider_retry_after_ms: Some(delay), ..fine.clone() };
        assert_eq!(LlmError::try_from(failure).unwrap_err(), InvalidFailure::Delay);
    }
    assert_eq!(refused(|failure| failure.request_id = Some(String::new())), InvalidFailure::RequestId);
    let error =
        LlmError::try_from(LlmFailure { status: Some(503), ..fine }).unwrap().with_source("the cause");
    assert_eq!(
        (error.code(), error.to_string().as_str(), error.failure().status),
        ("SERVER", "x", Some(503))
    );
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "the cause");
}

// spec: llm/S25, llm/S26
#[test]
fn codes_are_those_of_the_log_and_an_empty_one_is_unknown() {
    let codes = [
        code::NO_ADAPTER,
        code::DUPLICATE_ADAPTER,
        code::INVALID_ADAPTER,
        code::REGISTRATION_DISPOSED,
        code::INVALID_DIRECTORY,
        code::DUPLICATE_DIRECTORY,
        code::INVALID_DISCOVERY,
        code::DUPLICATE_DISCOVERY,
        code::NO_DISCOVERY,
        code::INVALID_CATALOG,
        code::INVALID_MODEL_INFO,
        code::INVALID_MODEL_CONTEXT,
        code::INVALID_MODEL_MAX_TOKENS,
        code::INVALID_MODEL_REASONING,
        code::UNSUPPORTED_REASONING_EFFORT,
        code::INVALID_PREPARED_CALL,
        code::CONTEXT_WINDOW_EXCEEDED,
        code::QUOTA,
        code::RATE_LIMIT,
        code::AUTH,
        code::INVALID_REQUEST,
        code::SERVER,
        code::TRANSPORT,
        code::TIMEOUT,
        code::ABORTED,
        code::STREAM_CLOSED,
        code::MALFORMED_RESPONSE,
        code::EMPTY_RESPONSE,
        code::INVALID_CREDENTIAL,
        code::MISSING_CREDENTIAL,
        code::UNSUPPORTED_CONTENT,
        code::UNKNOWN,
    ];
    let expected = "NO_ADAPTER DUPLICATE_ADAPTER INVALID_ADAPTER REGISTRATION_DISPOSED INVALID_DIRECTORY \
        DUPLICATE_DIRECTORY INVALID_DISCOVERY DUPLICATE_DISCOVERY NO_DISCOVERY INVALID_CATALOG INVALID_MODEL_INFO \
        INVALID_MODEL_CONTEXT INVALID_MODEL_MAX_TOKENS INVALID_MODEL_REASONING UNSUPPORTED_REASONING_EFFORT \
        INVALID_PREPARED_CALL CONTEXT_WINDOW_EXCEEDED QUOTA RATE_LIMIT AUTH INVALID_REQUEST SERVER TRANSPORT TIMEOUT \
        ABORTED STREAM_CLOSED MALFORMED_RESPONSE EMPTY_RESPONSE INVALID_CREDENTIAL MISSING_CREDENTIAL \
        UNSUPPORTED_CONTENT UNKNOWN";
    assert_eq!(codes.join(" "), expected.split_whitespace().collect::<Vec<_>>().join(" "));
    let error = LlmError::new("", "");
    assert!(error.code() == "UNKNOWN" && !error.to_string().is_empty());
}

// spec: llm/S45
#[test]
fn a_policy_of_retries_has_defaults_and_knows_its_keys() {
    let read = |policy: Value| serde_json::from_value::<RetryPolicy>(policy);
    let normal = read(json!({ "mode": "normal" })).unwrap();
    assert_eq!(normal, RetryPolicy::default());
    let RetryPolicy::Normal { max_retries, retryable_codes, backoff } = normal else { panic!() };
    assert_eq!(
        (max_retries, backoff.initial_delay_ms, backoff.max_delay_ms, backoff.jitter_ratio),
        (5, 500.0, 10_000.0, 0.1)
    );
    assert_eq!(retryable_codes, ["EMPTY_RESPONSE", "RATE_LIMIT", "SERVER", "TIMEOUT", "TRANSPORT"]);
    let leftover = json!({ "mode": "always", "maxRetries": 1, "retryableCodes": ["X"], "backoff": { "maxDelayMs": 600.0 } });
    let backoff = Backoff { max_delay_ms: 600.0, ..Backoff::default() };
    assert_eq!(read(leftover).unwrap(), RetryPolicy::Always { backoff });
    for wrong in [
        json!({ "maxRetries": 1 }),
        json!({ "mode": "never" }),
        json!({ "mode": "normal", "foo": 1 }),
        json!({ "mode": "always", "foo": 1 }),
        json!({ "mode": "normal", "maxRetries": -1 }),
        json!({ "mode": "normal", "backoff": { "foo": 1 } }),
    ] {
        assert!(read(wrong.clone()).is_err(), "{wrong}");
    }
}

// spec: llm/S45
#[test]
fn a_policy_that_cannot_be_followed_is_refused() {
    let check = |policy: Value| serde_json::from_value::<RetryPolicy>(policy).unwrap().check();
    for fine in [
        json!({ "mode": "normal", "maxRetries": 0, "retryableCodes": ["X"] }),
        json!({ "mode": "always", "backoff": { "initialDelayMs": 0.5, "maxDelayMs": 2_147_483_647.0, "jitterRatio": 1.0 } }),
        json!({ "mode": "always", "backoff": { "initialDelayMs": 7, "maxDelayMs": 7, "jitterRatio": 0 } }),
    ] {
        assert_eq!(check(fine.clone()), Ok(()), "{fine}");
    }
    for wrong in [
        json!({ "mode": "normal", "retryableCodes": [] }),
        json!({ "mode": "normal", "retryableCodes": ["X", "X"] }),
        json!({ "mode": "normal", "retryableCodes": [""] }),
        json!({ "mode": "always", "backoff": { "initialDelayMs": 0 } }),
        json!({ "mode": "always", "backoff": { "maxDelayMs": 2_147_483_648.0 } }),
        json!({ "mode": "always", "backoff": { "initialDelayMs": 8, "maxDelayMs": 7 } }),
        json!({ "mode": "always", "backoff": { "jitterRatio": 1.1 } }),
        json!({ "mode": "always", "backoff": { "jitterRatio": -0.1 } }),
    ] {
        assert!(check(wrong.clone()).is_err(), "{wrong}");
    }
}

fn image(bytes: u64) -> ContentBlock {
    ContentBlock::Image { attachment: json!({ "attachmentId": "sha256:00", "bytes": bytes }) }
}

fn all(images: &[u64]) -> Arc<[Arc<Message>]> {
    // Every second one in the result of a tool.
    let message = |(at, bytes): (usize, &u64)| match at % 2 {
        0 => Message::user(vec![ContentBlock::text("look"), image(*bytes)]),
        _ => Message::tool_result("c", vec![image(*bytes)], false),
    };
    images.iter().enumerate().map(message).map(Arc::new).collect()
}

/// Which pictures are still there.
fn kept(messages: &[Arc<Message>]) -> Vec<bool> {
    fn has(blocks: &[ContentBlock]) -> bool {
        blocks.iter().any(|block| match block {
            ContentBlock::Image { .. } => true,
            ContentBlock::ToolResult { content, .. } => has(content),
            _ => false,
        })
    }
    messages.iter().map(|message| has(&message.content)).collect()
}

const ROOM: ImageBudget = ImageBudget {
    max_images: 100,
    image_quantum: 1,
    max_bytes: 1_000_000,
    byte_quantum: 1,
    encoding: ImageEncoding::Raw,
};

// spec: llm/S43
#[test]
fn the_oldest_pictures_go_in_whole_quanta() {
    let left = |images: &[u64], budget: ImageBudget| {
        let messages = all(images);
        let offloaded = offload_images(messages.clone(), &budget);
        assert_eq!(kept(&messages).len(), images.len(), "what was given is not changed");
        kept(&offloaded).into_iter().filter(|kept| *kept).count()
    };
    assert_eq!(left(&[10; 5], ROOM), 5);
    assert_eq!(left(&[10; 5], ImageBudget { max_images: 4, ..ROOM }), 4);
    assert_eq!(left(&[10; 5], ImageBudget { max_images: 4, image_quantum: 3, ..ROOM }), 2);
    assert_eq!(left(&[10; 5], ImageBudget { max_images: 4, image_quantum: 30, ..ROOM }), 0);
    // One byte too much: the first one is enough.
    assert_eq!(left(&[10; 5], ImageBudget { max_bytes: 49, ..ROOM }), 4);
    assert_eq!(left(&[10; 5], ImageBudget { max_bytes: 40, ..ROOM }), 4);
    // 1 too much is rounded to 10, and more than that has to go.
    assert_eq!(left(&[10; 5], ImageBudget { max_bytes: 49, byte_quantum: 10, ..ROOM }), 3);
    assert_eq!(left(&[3; 2], ImageBudget { max_bytes: 7, encoding: ImageEncoding::Base64, ..ROOM }), 1);
    assert_eq!(left(&[3; 2], ImageBudget { max_bytes: 8, encoding: ImageEncoding::Base64, ..ROOM }), 2);
    let messages = all(&[1, 2]);
    assert!(Arc::ptr_eq(&messages, &offload_images(messages.clone(), &ROOM)), "nothing to do");
}

proptest! {
    // spec: llm/S43
    #[test]
    fn what_is_left_of_the_pictures_is_their_end_and_fits(
        images in vec(0_u64..50, 0..20),
        max_images in 0_u64..10, image_quantum in 0_u64..5,
        max_bytes in 0_u64..300, byte_quantum in 0_u64..60,
        raw in any::<bool>(),
    ) {
        let encoding = if raw { ImageEncoding::Raw } else { ImageEncoding::Base64 };
        let budget = ImageBudget { max_images, image_quantum, max_bytes, byte_quantum, encoding };
        let messages = all(&images);
        let offloaded = offload_images(messages.clone(), &budget);
        let kept = kept(&offloaded);
        let first = kept.iter().position(|kept| *kept).unwrap_or(kept.len());
        prop_assert!(kept[first..].iter().all(|kept| *kept), "the oldest go");
        let size = |bytes: &u64| if raw { *bytes } else { bytes.div_ceil(3) * 4 };
        prop_assert!(images[first..].iter().map(size).sum::<u64>() <= max_bytes);
        prop_assert!((images.len() - first) as u64 <= max_images);
        for (before, after) in messages.iter().zip(offloaded.iter()).skip(first) {
            prop_assert!(Arc::ptr_eq(before, after));
        }
        prop_assert_eq!(&offload_images(messages, &budget), &offloaded);
    }

    // spec: llm/S43
    #[test]
    fn without_quanta_no_picture_goes_that_there_is_room_for(
        images in vec(1_u64..50, 0..20), max_images in 0_u64..10, max_bytes in 0_u64..300,
    ) {
        let offloaded = offload_images(all(&images), &ImageBudget { max_images, max_bytes, ..ROOM });
        let gone = kept(&offloaded).into_iter().filter(|kept| !kept).count();
        if let Some(last) = gone.checked_sub(1) {
            let bytes: u64 = images[last..].iter().sum();
            prop_assert!(bytes > max_bytes || (images.len() - last) as u64 > max_images);
        }
    }
}
