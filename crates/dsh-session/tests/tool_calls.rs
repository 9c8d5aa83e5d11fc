//! The calls of a log and the results that belong to them.

use dsh_session::{ContentBlock, ErrorInfo, Problem, ReadError, SessionLog};

const HEADER: &str = r#"{"type":"session","version":0,"id":"s-1","createdAt":1,"delegationDepth":0}"#;

fn read(lines: &[String]) -> Result<SessionLog, ReadError> {
    SessionLog::parse(format!("{HEADER}\n{}\n", lines.join("\n")).as_bytes())
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
    let log = read(&[call(0, "c1")]).unwrap();
    let calls = log.tool_calls();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].call.arguments, "{not json");
    assert_eq!(calls[0].seq, 0);
    assert_eq!(calls[0].result, None);
}

#[test]
fn a_result_belongs_to_the_call_with_its_id() {
    let log =
        read(&[call(0, "c1"), call(1, "c2"), result(2, "c2", "two", APPEND), result(3, "c1", "one", APPEND)]);
    let log = log.unwrap();
    let texts: Vec<_> =
        log.tool_calls().iter().map(|call| call.result.and_then(|result| result.text())).collect();
    assert_eq!(texts, [Some("one".to_owned()), Some("two".to_owned())]);
}

#[test]
fn an_id_used_twice_is_told_apart_by_the_named_source() {
    let second = r#""surfaceOp":"append","sourceEventSeqs":[0]"#;
    let log =
        read(&[call(0, "c"), call(1, "c"), result(2, "c", "first", second), result(3, "c", "later", APPEND)]);
    let log = log.unwrap();
    let texts: Vec<_> =
        log.tool_calls().iter().map(|call| call.result.and_then(|result| result.text())).collect();
    assert_eq!(texts, [Some("first".to_owned()), Some("later".to_owned())]);
}

#[test]
fn a_result_that_was_put_in_the_place_of_another_does_not_count() {
    let replace = r#""surfaceOp":{"op":"replace","start":1,"end":1},"sourceEventSeqs":[1]"#;
    let log = read(&[call(0, "c"), result(1, "c", "whole", APPEND), result(2, "c", "cut", replace)]).unwrap();
    assert_eq!(log.tool_calls()[0].result.and_then(|result| result.text()).as_deref(), Some("whole"));
}

#[test]
fn an_error_result_carries_its_name_and_code() {
    let line = result(1, "c", "x", APPEND)
        .replace(r#""isError":false"#, r#""isError":true"#)
        .replace("]}},", r#"]},"error":{"name":"ToolNotFoundError","code":"UNKNOWN_TOOL"}},"#);
    let log = read(&[call(0, "c"), line]).unwrap();
    let result = log.tool_calls()[0].result.unwrap();
    assert!(result.is_error);
    assert_eq!(
        result.error,
        Some(ErrorInfo { name: "ToolNotFoundError".to_owned(), code: "UNKNOWN_TOOL".to_owned() })
    );
}

#[test]
fn content_that_is_not_text_is_kept_and_has_no_text() {
    let line =
        result(1, "c", "x", APPEND).replace(r#"{"type":"text","text":"x"}"#, r#"{"type":"image","n":1}"#);
    let log = read(&[call(0, "c"), line]).unwrap();
    let result = log.tool_calls()[0].result.unwrap();
    assert_eq!(result.content, [ContentBlock::Other(serde_json::json!({"type": "image", "n": 1}))]);
    assert_eq!(result.text(), None);
}

#[test]
fn a_malformed_call_or_result_is_refused_and_named() {
    for (line, name) in [
        (call(0, "c").replace(r#""callId":"c","#, ""), "callId"),
        (call(0, "c").replace(r#""{not json""#, "{}"), "invalid type"),
        (r#"{"type":"tool/call","seq":0,"time":1,"data":[1,1,"c","bash",""]}"#.to_owned(), "object"),
        (result(0, "c", "x", APPEND).replace(r#""toolCallId":"c""#, r#""toolCallId":"d""#), "toolCallId"),
        (result(0, "c", "x", APPEND).replace(r#""kind":"tool""#, r#""kind":"user""#), "source"),
        (result(0, "c", "x", APPEND).replace(r#""role":"user""#, r#""role":"tool""#), "role"),
        (result(0, "c", "x", APPEND).replace(r#""id":"m0""#, r#""id":"""#), "message.id"),
        (result(0, "c", "x", APPEND).replace(r#""type":"tool-result""#, r#""type":"text""#), "tool-result"),
    ] {
        let error = read(std::slice::from_ref(&line)).expect_err(&line);
        assert!(matches!(error.problem, Problem::BadData { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error} should name {name}");
    }
}
