//! What an event is made of, and which events a reader accepts.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use dsh_session::{
    HeaderReason, NewEvent, Payload, Problem, RequestHeader, Seed, Session, SessionHeader, SurfaceOp,
    TodoWrite, is_known, is_surface_type,
};
use serde::{Deserialize, Serialize};
use support::{events, raw, read, refused, session, user};

const TURN: &str = r#"{"type":"turn/start","seq":0,"time":5,"data":{"turn":1}}"#;
const SAID: &str = r#""data":{"id":"m","role":"user","source":{"kind":"user"},"content":[]}"#;

/// Why a line after a first one cannot be.
fn problem(line: &str) -> String {
    let (number, problem) = refused(&[TURN, line]);
    assert_eq!(number, 3, "{problem}");
    problem.to_string()
}

// spec: session/S1
#[test]
fn each_wrong_field_of_an_envelope_refuses_the_log_and_is_named() {
    for (line, name) in [
        (r#"{"type":"","seq":1,"time":6,"ignorable":true,"data":{}}"#, "type"),
        (r#"{"type":"turn/end","seq":1,"data":{}}"#, "time"),
        (r#"{"type":"turn/end","seq":1,"time":5.5,"data":{}}"#, "time"),
        (r#"{"type":"turn/end","seq":1,"time":"5","data":{}}"#, "time"),
        (r#"{"type":"turn/end","seq":1,"time":9007199254740992,"data":{}}"#, "time"),
        (r#"{"type":"turn/end","seq":1,"time":6}"#, "data"),
        (r#"{"type":"turn/end","seq":1,"time":6,"data":{},"extra":1}"#, "extra"),
        (r#"{"type":"turn/end","seq":1,"time":6,"data":{},"ignorable":false}"#, "ignorable"),
        (r#"{"type":"turn/end","seq":1,"time":6,"data":{},"ignorable":1}"#, "boolean"),
        (r#"{"type":"turn/end","seq":1,"time":6,"data":{},"surfaceOp":"append"}"#, "surfaceOp"),
        (r#"{"type":"turn/end","seq":1,"time":6,"data":{},"sourceEventSeqs":[0]}"#, "sourceEventSeqs"),
    ] {
        let text = problem(line);
        assert!(text.contains(name), "{line}: {text}");
    }
}

// spec: session/S1
#[test]
fn times_may_go_back_and_whole_numbers_may_be_written_in_any_way() {
    for (time, read_as) in
        [("-3", -3), ("5.0", 5), ("1e3", 1000), ("-0", 0), ("9007199254740991", 9_007_199_254_740_991)]
    {
        let line = format!(r#"{{"type":"step/start","seq":1e0,"time":{time},"data":{{"turn":1,"step":1}}}}"#);
        assert_eq!(events(&[TURN, &line])[1].time_ms(), read_as, "{time}");
    }
}

// spec: session/S1, S2
#[test]
fn an_unknown_type_refuses_the_whole_log_unless_the_event_can_be_skipped() {
    let required = r#"{"type":"made/up","seq":1,"time":6,"data":{}}"#;
    let (line, found) = refused(&[TURN, required]);
    assert_eq!((line, &found), (3, &Problem::UnknownEventType { kind: "made/up".to_owned(), seq: 1 }));
    assert!(found.is_unsupported());
    let ignorable = required.replace("\"data\"", "\"ignorable\":true,\"data\"");
    let event = &events(&[TURN, &ignorable])[1];
    assert_eq!((event.kind(), event.is_ignorable()), ("made/up", true));
}

// spec: session/S2
#[test]
fn an_event_of_a_known_type_may_say_that_it_can_be_skipped_and_is_kept_all_the_same() {
    let line = r#"{"type":"turn/start","seq":0,"time":5,"data":{"turn":1},"ignorable":true}"#;
    let event = &events(&[line])[0];
    assert!(event.is_ignorable());
    assert_eq!(event.to_line(), line);
}

// spec: session/S3
#[test]
fn no_appended_event_can_be_skipped_and_a_seeded_one_stays_as_it_is() {
    let line = r#"{"type":"made/up","seq":0,"time":5,"ignorable":true,"data":{}}"#;
    let session =
        Session::new(SessionHeader::new("s", 1), Some(Seed::from(read(&[line]).unwrap().events))).unwrap();
    session.append(raw("made/up", "{}")).unwrap();
    session.append(user("hi")).unwrap();
    let skipped: Vec<_> = session.events().iter().map(|event| event.is_ignorable()).collect();
    assert_eq!(skipped, [true, false, false, false]);
}

// spec: session/S4
#[test]
fn exactly_three_types_are_part_of_the_conversation() {
    for kind in ["user/message", "assistant/message", "tool/result"] {
        assert!(is_surface_type(kind) && is_known(kind), "{kind}");
        let line = format!(r#"{{"type":"{kind}","seq":1,"time":6,{SAID}}}"#);
        assert!(problem(&line).contains("surfaceOp"), "{kind} must say what it does to the conversation");
    }
    let session = session();
    for kind in ["user/messages", "assistant/chunk", "tool/call", "compaction/summary", "made/up"] {
        assert!(!is_surface_type(kind), "{kind}");
        session.append(raw(kind, "{}")).unwrap();
    }
    assert_eq!((session.len(), session.messages().len()), (5, 0));
}

#[derive(Serialize, Deserialize)]
struct Mood {
    mood: String,
}

impl Payload for Mood {
    const TYPE: &'static str = "weather/mood";
}

#[test]
fn a_plugin_reads_its_own_type_and_none_of_another() {
    let event = session().append(NewEvent::new(&Mood { mood: "sunny".to_owned() }).unwrap()).unwrap();
    assert_eq!(event.payload::<Mood>().unwrap().unwrap().mood, "sunny");
    assert_eq!(event.payload::<TodoWrite>().unwrap(), None);
    let wrong = session().append(raw("weather/mood", r#"{"mood":1}"#)).unwrap();
    let error = wrong.payload::<Mood>().err().unwrap();
    assert_eq!((error.kind.as_str(), error.seq), ("weather/mood", 0));
}

// spec: session/S5
#[test]
fn an_event_with_a_state_carries_the_whole_state_and_the_last_one_stands() {
    let session = session();
    for (model, system) in [("one", r#","system":"be brief""#), ("two", "")] {
        let data = format!(
            r#"{{"header":{{"config":{{"provider":"p","model":"{model}"}}{system}}},"reason":"change"}}"#
        );
        session.append(raw("request/header", &data)).unwrap();
    }
    let last = session.events().last().unwrap().payload::<RequestHeader>().unwrap().unwrap();
    assert_eq!(last.reason, HeaderReason::Change);
    let header = session.request_header().unwrap();
    assert_eq!(
        (header.config.model.as_str(), header.system.as_deref()),
        ("two", None),
        "nothing of the first is left"
    );
}

#[test]
fn each_wrong_mark_refuses_the_log_and_is_named() {
    for op in [
        "null",
        "[]",
        "1",
        r#""prepend""#,
        r#"["replace",0,0]"#,
        r#"{"op":"append"}"#,
        r#"{"op":"replace","start":0}"#,
        r#"{"op":"replace","start":0,"end":0,"more":1}"#,
        r#"{"op":"replace","start":-1,"end":0}"#,
        r#"{"op":"replace","start":0.5,"end":0}"#,
        r#"{"op":"replace","start":0,"end":9007199254740992}"#,
    ] {
        let line = format!(r#"{{"type":"user/message","seq":1,"time":6,{SAID},"surfaceOp":{op}}}"#);
        let text = problem(&line);
        assert!(text.contains("surfaceOp") || text.contains("2^53"), "{op}: {text}");
    }
}

#[test]
fn each_wrong_list_of_sources_refuses_the_log_and_is_named() {
    for (sources, name) in [
        ("[]", "empty"),
        ("[0,0]", "twice"),
        ("[1]", "before"),
        ("null", "null"),
        ("[-1]", "-1"),
        ("[0.5]", "0.5"),
        (r#"["0"]"#, "string"),
        ("0", "sequence"),
    ] {
        let line = format!(
            r#"{{"type":"user/message","seq":1,"time":6,{SAID},"surfaceOp":"append","sourceEventSeqs":{sources}}}"#
        );
        let text = problem(&line);
        assert!(text.contains(name), "{sources}: {text}");
    }
}

#[test]
fn a_line_is_written_again_as_it_came_whatever_is_in_it() {
    for line in [
        TURN,
        r#"{"type":"goal/change","seq":0,"time":-5,"data":{"b":1.50,"a":[9007199254740993,-0,1e999,"\ud800","\u00e9"]}}"#,
        r#"{"type":"assistant/message","seq":0,"time":5,"data":{"turn":1,"step":1,"message":{"id":"m","role":"assistant","source":{"kind":"model","provider":"p","model":"m"},"content":[]},"new":true},"sourceEventSeqs":[],"surfaceOp":"append"}"#,
        r#"{"type":"made/up","seq":0,"time":5,"data":null,"ignorable":true}"#,
    ] {
        assert_eq!(events(&[line])[0].to_line(), line);
    }
}

#[test]
fn a_replacement_names_the_range_that_it_replaces() {
    let said = |seq: u64, op: &str| format!(r#"{{"type":"user/message","seq":{seq},"time":6,{SAID},{op}}}"#);
    let events = events(&[
        &said(0, r#""surfaceOp":"append""#),
        &said(1, r#""sourceEventSeqs":[0],"surfaceOp":{"op":"replace","start":0,"end":0}"#),
    ]);
    assert_eq!(events[1].surface(), Some(SurfaceOp::Replace { start: 0, end: 0 }));
    assert_eq!(events[1].sources(), Some(&[0][..]));
}
