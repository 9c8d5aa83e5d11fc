//! What is appended can be read again: whatever an append lets in, the reader of files takes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::sync::Arc;

use dsh_llm::{ContentBlock, Message, Role, Source};
use dsh_session::{
    AssistantMessage, NewEvent, Payload, Session, SessionHeader, SessionLog, StepStart, TurnStart, closers,
    is_known, rows,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Writes a session as a file and reads it.
fn reread(session: &Session) -> SessionLog {
    let events = session.events().to_vec();
    let mut text = SessionHeader::new("s-1", 1).to_line().unwrap();
    text.push('\n');
    rows(&events, true).for_each(|row| row.write_line(&mut text));
    let log = SessionLog::parse(text.as_bytes()).unwrap();
    assert!(log.torn.is_none(), "{:?}", log.torn);
    assert_eq!(log.events, session.events());
    log
}

#[derive(Serialize, Deserialize)]
struct Mood {
    mood: String,
}

impl Payload for Mood {
    const TYPE: &'static str = "weather/mood";
}

dsh_session::event_type!(Mood::TYPE);

// spec: session/S2, session/S16
#[test]
fn the_type_of_a_plugin_that_said_so_is_read_again_and_another_is_not() {
    let session = Session::detached("s-1");
    session.append(NewEvent::new(&Mood { mood: "sunny".into() }).unwrap()).unwrap();
    let log = reread(&session);
    let mood = log.events.get(0).unwrap().payload::<Mood>().unwrap().unwrap();
    assert_eq!(mood.mood, "sunny");
    assert!(is_known("weather/mood") && !is_known("weather/other"));
}

// spec: session/S9, session/S92
#[test]
fn a_text_with_line_breaks_between_its_values_stays_one_line() {
    #[derive(Serialize, Deserialize)]
    struct Raw {
        raw: Box<serde_json::value::RawValue>,
    }
    impl Payload for Raw {
        const TYPE: &'static str = "todo/write";
    }
    let session = Session::detached("s-1");
    session.append(NewEvent::raw("todo/write", "{\r\n \"a\": \"x\\ny\",\n\"b\": [1,\n2]}").unwrap()).unwrap();
    let raw = serde_json::value::RawValue::from_string("[\n1,\r\n\"a\\nb\"]".to_owned()).unwrap();
    session.append(NewEvent::new(&Raw { raw }).unwrap()).unwrap();
    let log = reread(&session);
    assert_eq!(log.events.get(0).unwrap().data().get(), r#"{ "a": "x\ny","b": [1,2]}"#);
}

// spec: session/S41, session/S17
#[test]
fn what_no_reader_takes_is_refused_before_it_is_written() {
    let header = |text: &str| NewEvent::raw("request/header", text);
    assert!(header(r#"{"header":{"config":{"provider":"","model":"m"}},"reason":"initial"}"#).is_err());
    let marker = r#"{"header":{"config":{"provider":"p","model":"m","maxTokens":1},"adapterDefaults":{"maxTokens":false}},"reason":"initial"}"#;
    assert!(header(marker).is_err());
    assert!(NewEvent::raw("", "{}").is_err());
    let said = |content: Vec<ContentBlock>, source: Source| {
        NewEvent::user(Arc::new(Message { id: "m".into(), role: Role::User, content, source }))
    };
    assert!(said(vec![], Source::Other(json!({}))).is_err(), "a source without a kind");
    assert!(said(vec![ContentBlock::Other(json!({}))], Source::User {}).is_err(), "a block without a type");
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    assert!(said(vec![ContentBlock::Other(json!({ "type": "x", "deep": deep }))], Source::User {}).is_err());
    assert!(NewEvent::raw("assistant/message", r#"{"turn":1,"step":1,"message":["m","assistant",[],{"kind":"model","provider":"p","model":"m"}]}"#).is_err());
}

// spec: session/S69, session/S70
#[test]
fn a_call_without_an_id_is_closed_over_and_the_closed_log_is_read_again() {
    let session = Session::detached("s-1");
    let call = |id: &str| ContentBlock::ToolCall { id: id.into(), name: "x".into(), arguments: "{}".into() };
    session.append(NewEvent::new(&TurnStart { turn: 1 }).unwrap()).unwrap();
    session.append(NewEvent::new(&StepStart { turn: 1, step: 1 }).unwrap()).unwrap();
    let message = Arc::new(Message::assistant(vec![call(""), call("c1")], "p", "m"));
    let answer = AssistantMessage { turn: 1, step: 1, message, usage: None, interrupted: None };
    session.append(NewEvent::answer(&answer).unwrap()).unwrap();
    let events: Vec<_> = session.events().iter().chain(closers(&session.events())).collect();
    let mut text = SessionHeader::new("s-1", 1).to_line().unwrap() + "\n";
    rows(&events, true).for_each(|row| row.write_line(&mut text));
    let log = SessionLog::parse(text.as_bytes()).unwrap();
    assert_eq!((log.events.len(), closers(&log.events).len()), (6, 0));
}

// spec: session/S8, session/S79
#[test]
fn any_foreign_number_is_a_foreign_version() {
    for (version, ours) in [
        ("0", true),
        ("0.0", true),
        ("-0", true),
        ("1", false),
        ("0.5", false),
        ("-0.5", false),
        ("1e20", false),
    ] {
        let text = format!(
            "{{\"type\":\"session\",\"version\":{version},\"id\":\"s\",\"createdAt\":1,\"delegationDepth\":0}}\n"
        );
        match SessionLog::parse(text.as_bytes()) {
            Ok(_) => assert!(ours, "{version}"),
            Err(error) => assert!(!ours && error.problem.is_unsupported(), "{version}: {error}"),
        }
    }
}
