//! What each message becomes.

use dsh_llm::{ContentBlock, Message, Modality, Role, Source};
use dsh_llm_deepseek::ModelConfig;
use serde_json::json;

use crate::fixture::{Fixture, asking};
use crate::server::Server;

fn message(role: Role, blocks: serde_json::Value) -> Message {
    let source = match role {
        Role::Assistant => {
            Source::Model { provider: "other".into(), model: "other".into(), replay_state: None }
        }
        _ => Source::User {},
    };
    Message::new(role, serde_json::from_value(blocks).unwrap(), source)
}

// spec: llm/S55, cases/S4
#[tokio::test]
async fn every_block_of_every_role_becomes_what_the_reference_sends() {
    let user = |blocks| message(Role::User, blocks);
    let assistant = |blocks| message(Role::Assistant, blocks);
    let text = |text: &str| json!({ "type": "text", "text": text });
    let reasoning = |text: &str| json!({ "type": "reasoning", "text": text });
    let call = |id: &str, arguments: &str| json!({ "type": "tool-call", "id": id, "name": "f", "arguments": arguments });
    let result = |id: &str, blocks: serde_json::Value| json!({ "type": "tool-result", "toolCallId": id, "content": blocks, "isError": true });
    let cases = [
        (message(Role::System, json!([text("a"), text("b")])), r#"{"role":"system","content":"ab"}"#),
        (user(json!([text("a"), text("b\n"), text("c")])), r#"{"role":"user","content":"ab\nc"}"#),
        (user(json!([])), r#"{"role":"user","content":""}"#),
        (user(json!([text("")])), r#"{"role":"user","content":""}"#),
        (user(json!([text("  \n ")])), r#"{"role":"user","content":"  \n "}"#),
        (
            user(
                json!([text("a\u{0}é😀 \"q\" \\ </script> \u{2028}"), reasoning("r"), call("x", "{}"), { "type": "foo" }]),
            ),
            "{\"role\":\"user\",\"content\":\"a\\u0000é😀 \\\"q\\\" \\\\ </script> \u{2028}\"}",
        ),
        (
            user(json!([
                text("a"),
                result("x", json!([text("r1"), text("r2")])),
                result("y", json!([])),
                text("b")
            ])),
            r#"{"role":"user","content":"ab"},{"role":"tool","tool_call_id":"x","content":"r1r2"},{"role":"tool","tool_call_id":"y","content":"(no output)"}"#,
        ),
        (
            user(json!([result("x", json!([text("")]))])),
            r#"{"role":"tool","tool_call_id":"x","content":"(no output)"}"#,
        ),
        (
            user(json!([result("", json!([reasoning("r")]))])),
            r#"{"role":"tool","tool_call_id":"","content":"(no output)"}"#,
        ),
        (
            user(json!([result("x", json!([text(" \n")]))])),
            r#"{"role":"tool","tool_call_id":"x","content":" \n"}"#,
        ),
        (assistant(json!([])), r#"{"role":"assistant","content":""}"#),
        (assistant(json!([reasoning(" ")])), r#"{"role":"assistant","content":"","reasoning_content":" "}"#),
        (assistant(json!([reasoning(""), text("t")])), r#"{"role":"assistant","content":"t"}"#),
        (
            assistant(json!([
                text("t1"),
                reasoning("r1"),
                call("1", "{\"command\":"),
                text("t2"),
                reasoning("r2")
            ])),
            r#"{"role":"assistant","content":"t1t2","reasoning_content":"r1r2","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"command\":"}}]}"#,
        ),
        (
            assistant(json!([call("", ""), call("2", "  ")])),
            r#"{"role":"assistant","content":"","tool_calls":[{"id":"","type":"function","function":{"name":"f","arguments":""}},{"id":"2","type":"function","function":{"name":"f","arguments":"  "}}]}"#,
        ),
    ];
    let server = Server::saying("hi").await;
    let fixture = Fixture::new(&server).await;
    for (message, _) in &cases {
        fixture.ask(asking(vec![message.clone()])).await;
    }
    let requests = server.requests();
    assert_eq!(requests.len(), cases.len());
    for ((message, expected), request) in cases.iter().zip(&requests) {
        let body = std::str::from_utf8(&request.body).unwrap();
        let sent = body.split_once(r#""messages":["#).unwrap().1.split_once(r#"],"stream":true"#).unwrap().0;
        assert_eq!(sent, *expected, "{message:?}");
    }
}

// spec: llm/S55, cases/S4
#[tokio::test]
async fn a_longer_conversation_begins_with_the_bytes_of_a_shorter_one() {
    let server = Server::saying("hi").await;
    let fixture = Fixture::new(&server).await;
    let mut messages = vec![Message::user(vec![ContentBlock::text("go")])];
    let call = ContentBlock::ToolCall { id: "1".into(), name: "f".into(), arguments: "{}".into() };
    let thought = ContentBlock::Reasoning { text: "hm".into() };
    let more = [
        Message::assistant(vec![thought, call], "deepseek-official", "m"),
        Message::tool_result("1", vec![ContentBlock::text("out")], false),
        Message::assistant(vec![ContentBlock::text("done")], "deepseek-official", "m"),
    ];
    fixture.ask(asking(messages.clone())).await;
    for message in more {
        messages.push(message);
        fixture.ask(asking(messages.clone())).await;
    }
    let said: Vec<String> = server
        .requests()
        .into_iter()
        .map(|request| {
            String::from_utf8(request.body).unwrap().split_once(r#"],"stream""#).unwrap().0.to_owned()
        })
        .collect();
    assert_eq!(said.len(), 4);
    for pair in said.windows(2) {
        assert!(pair[1].starts_with(&pair[0]), "{pair:?}");
    }
}

// spec: llm/S56
#[tokio::test]
async fn a_picture_for_a_model_that_sees_is_refused_before_anything_is_sent() {
    let server = Server::saying("hi").await;
    let sees =
        ModelConfig { input_modalities: vec![Modality::Text, Modality::Image], ..ModelConfig::new("sees") };
    let fixture = Fixture::with(&server, |config| {
        config.models.push(sees);
        // Not even the key is looked for.
        config.api_key_env = "CARGO_PKG_NO_SUCH".to_owned();
    })
    .await;
    let image = json!({ "type": "image", "attachment": { "attachmentId": "sha256:abababab", "bytes": 1 } });
    let nested = json!([{ "type": "tool-result", "toolCallId": "1", "content": [image] }]);
    for (role, blocks) in
        [(Role::User, json!([image])), (Role::Assistant, json!([image])), (Role::User, nested)]
    {
        let mut asked = asking(vec![message(role, blocks)]);
        asked.config.model = "sees".to_owned();
        let failure = fixture.fail(asked).await;
        assert_eq!(failure.code, "UNSUPPORTED_CONTENT");
        assert!(failure.message.contains("sees"), "{}", failure.message);
    }
    assert!(server.requests().is_empty());
}
