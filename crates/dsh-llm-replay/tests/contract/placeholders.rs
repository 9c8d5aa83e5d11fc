//! Parts of answers that are taken out of their requests.

use std::sync::Arc;

use dsh_llm::{ContentBlock, Message, StreamChunk, StreamError};
use serde_json::json;

use crate::fixture::{Fixture, overridden, request, text};

// spec: llm/S73
#[tokio::test]
async fn placeholders_are_taken_from_the_request() {
    let script = json!({ "steps": [{ "text": "It is {{fromRequest:t-(\\d+)}}.", "chunk": 100 }, { "text": "{{fromRequest:zzz}}", "chunk": 100 }] });
    let fixture = Fixture::playing(&script.to_string(), json!({})).await;
    assert_eq!(fixture.text("s").await, "It is 18.");
    let StreamError::Raised(error) = fixture.ask("s").await.unwrap_err() else { panic!() };
    assert!(error.to_string().contains("no match"), "{error}");
}

// spec: llm/S73
#[tokio::test]
async fn placeholders_of_a_script_are_filled_in_before_it_is_cut() {
    let command = json!({ "command": "echo {{fromRequest:t-\\d+}} and the rest" });
    let step = json!({ "text": "It is {{fromRequest:t-(\\d+)}}.", "calls": [{ "name": "bash", "arguments": command }] });
    let fixture = Fixture::playing(&json!({ "steps": [step] }).to_string(), json!({})).await;
    let (mut text, mut arguments) = (String::new(), String::new());
    for chunk in fixture.ask("s").await.unwrap() {
        match chunk {
            StreamChunk::TextDelta { text: piece, .. } => text.push_str(&piece),
            StreamChunk::ToolCallDelta { arguments_delta, .. } => arguments.push_str(&arguments_delta),
            _ => {}
        }
    }
    assert_eq!((text.as_str(), arguments.as_str()), ("It is 18.", r#"{"command":"echo t-18 and the rest"}"#));
}

// spec: llm/S73
#[tokio::test]
async fn what_a_placeholder_is_filled_with_is_not_looked_into() {
    let script = json!({ "steps": [{ "text": "{{fromRequest:<.*>}}" }] });
    let fixture = Fixture::playing(&script.to_string(), json!({})).await;
    let mut request = request("s");
    let said = Message::user(vec![ContentBlock::text("<{{fromRequest:zzz}}>")]);
    request.messages = [Arc::new(said)].into();
    assert_eq!(text(&fixture.ask_for(request).await.unwrap()), "<{{fromRequest:zzz}}>");
}

// spec: llm/S72, llm/S73
#[tokio::test]
async fn the_message_of_a_failure_may_hold_a_placeholder() {
    let entry = json!({ "kind": "throw", "message": "no {{fromRequest:t-\\d+}}", "code": "SERVER" });
    let fixture = overridden(json!([entry])).await;
    let StreamError::Raised(error) = fixture.ask("s").await.unwrap_err() else { panic!() };
    assert_eq!(error.to_string(), "no t-18");
}

// spec: llm/S73
#[tokio::test]
async fn a_placeholder_that_cannot_be_filled_in_is_told_without_what_is_around_it() {
    for (text, told) in [
        (
            "a {{fromRequest:zzz}} b",
            "the placeholder {{fromRequest:zzz}}: the request has no match".to_owned(),
        ),
        (
            &format!("{{{{fromRequest:{}", "é".repeat(5_000)),
            format!("the placeholder {{{{fromRequest:{}…: it has no end", "é".repeat(80)),
        ),
    ] {
        let fixture = Fixture::playing(&json!({ "steps": [{ "text": text }] }).to_string(), json!({})).await;
        let StreamError::Raised(error) = fixture.ask("s").await.unwrap_err() else { panic!() };
        assert_eq!(error.to_string(), told);
    }
}
