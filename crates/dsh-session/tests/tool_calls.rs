//! The calls of a log and the results that belong to them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use dsh_llm::ContentBlock;
use dsh_session::{ErrorInfo, LoggedCall, Problem, tool_calls};
use support::{events, refused};

fn calls(lines: &[String]) -> Vec<LoggedCall> {
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    tool_calls(&events(&lines).into_iter().collect()).unwrap()
}

fn texts(lines: &[String]) -> Vec<Option<String>> {
    calls(lines).into_iter().map(|call| call.result.and_then(|result| result.text())).collect()
}

fn call(seq: u64, id: &str) -> String {
    format!(
        r#"{{"type":"tool/call","seq":{seq},"time":1,"data":{{"turn":1,"step":1,"callId":"{id}","name":"bash","arguments":"{{not json"}}}}"#
    )
}

fn result(seq: u64, id: &str, text: &str, rest: &str) -> String {
    format!(
        r#"{{"type":"tool/result","seq":{seq},"time":1,"data":{{"turn":1,"step":1,"message":{{"id":"m{seq}","role":"user","source":{{"kind":"tool","callId":"{id}"}},"content":[{{"type":"tool-result","toolCallId":"{id}","content":[{{"type":"text","text":"{text}"}}],"isError":false}}]}}}},{rest}}}"#
    )
}

const APPEND: &str = r#""surfaceOp":"append""#;

#[test]
fn a_call_keeps_the_text_of_its_arguments() {
    let calls = calls(&[call(0, "c1")]);
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].call.arguments, "{not json");
    assert_eq!(calls[0].seq, 0);
    assert_eq!(calls[0].result, None);
}

#[test]
fn a_result_belongs_to_the_call_with_its_id() {
    let lines =
        [call(0, "c1"), call(1, "c2"), result(2, "c2", "two", APPEND), result(3, "c1", "one", APPEND)];
    assert_eq!(texts(&lines), [Some("one".to_owned()), Some("two".to_owned())]);
}

#[test]
fn an_id_used_twice_is_told_apart_by_the_named_source() {
    let named = r#""surfaceOp":"append","sourceEventSeqs":[0]"#;
    let lines = [call(0, "c"), call(1, "c"), result(2, "c", "first", named), result(3, "c", "later", APPEND)];
    assert_eq!(texts(&lines), [Some("first".to_owned()), Some("later".to_owned())]);
}

#[test]
fn a_result_that_was_put_in_the_place_of_another_does_not_count() {
    let replace = r#""surfaceOp":{"op":"replace","start":2,"end":2},"sourceEventSeqs":[2]"#;
    let later = result(3, "c", "cut", replace).replace(r#""id":"m3""#, r#""id":"m2""#);
    let lines = [call(0, "c"), call(1, "c"), result(2, "c", "whole", APPEND), later];
    assert_eq!(texts(&lines), [None, Some("whole".to_owned())], "nor for another call that waits");
}

#[test]
fn an_error_result_carries_its_name_and_code() {
    let line = result(1, "c", "x", APPEND)
        .replace(r#""isError":false"#, r#""isError":true"#)
        .replace("]}},", r#"]},"error":{"name":"ToolNotFoundError","code":"UNKNOWN_TOOL"}},"#);
    let result = calls(&[call(0, "c"), line]).remove(0).result.unwrap();
    assert!(result.is_error());
    assert_eq!(
        result.error,
        Some(ErrorInfo { name: "ToolNotFoundError".to_owned(), code: "UNKNOWN_TOOL".to_owned() })
    );
}

#[test]
fn content_that_is_not_text_is_kept_and_has_no_text() {
    let line =
        result(1, "c", "x", APPEND).replace(r#"{"type":"text","text":"x"}"#, r#"{"type":"sound","n":1}"#);
    let result = calls(&[call(0, "c"), line]).remove(0).result.unwrap();
    assert_eq!(result.content(), [ContentBlock::Other(serde_json::json!({"type": "sound", "n": 1}))]);
    assert_eq!(result.text(), None);
}

#[test]
fn a_malformed_call_is_named() {
    for (line, name) in [
        (call(0, "c").replace(r#""callId":"c","#, ""), "callId"),
        (call(0, "c").replace(r#""{not json""#, "{}"), "invalid type"),
        (r#"{"type":"tool/call","seq":0,"time":1,"data":[1,1,"c","bash",""]}"#.to_owned(), "object"),
    ] {
        let error = tool_calls(&events(&[&line]).into_iter().collect()).expect_err(&line);
        assert_eq!((error.kind.as_str(), error.seq), ("tool/call", 0));
        assert!(error.to_string().contains(name), "{error} should name {name}");
    }
}

// spec: session/S42
#[test]
fn a_malformed_result_refuses_the_log_and_is_named() {
    for (from, to, name) in [
        (r#""toolCallId":"c""#, r#""toolCallId":"d""#, "call"),
        (r#""kind":"tool""#, r#""kind":"user""#, "kind `tool`"),
        (r#""role":"user""#, r#""role":"tool""#, "tool"),
        (r#""role":"user""#, r#""role":"assistant""#, "role"),
        (r#""id":"m0""#, r#""id":"""#, "id"),
        (r#""callId":"c""#, r#""callId":"""#, "call"),
        (r#""type":"tool-result""#, r#""type":"text""#, "tool-result"),
        (
            r#""content":[{"type":"tool-result""#,
            r#""content":[{"type":"text","text":""},{"type":"tool-result""#,
            "one block",
        ),
        (r#""content":[{"type":"text","text":"x"}]"#, r#""content":"x""#, "tool-result"),
    ] {
        let line = result(0, "c", "x", APPEND).replace(from, to);
        assert_ne!(line, result(0, "c", "x", APPEND));
        let (number, problem) = refused(&[&line]);
        assert!(matches!(&problem, Problem::BadData { kind, .. } if kind == "tool/result"), "{problem}");
        assert_eq!(number, 2);
        assert!(problem.to_string().contains(name), "{problem} should name {name}");
    }
}
