//! What ends the open turn of a log that was cut off: pure, in order, and exactly once.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::sync::Arc;

use dsh_llm::{ContentBlock, Role, Source};
use dsh_session::{Event, Events, SurfaceOp, ToolResult, TurnEnd, TurnEndReason, closers};
use support::{events, read, text};

/// The lines of a log, numbered as they come; the time of each is ten times its number.
fn log(events: &[String]) -> Vec<Arc<Event>> {
    let line = |(seq, rest): (usize, &String)| {
        let (kind, data) = rest.split_once(' ').unwrap();
        let mark = match kind {
            "user/message" | "assistant/message" | "tool/result" => r#","surfaceOp":"append""#,
            _ => "",
        };
        format!(r#"{{"type":"{kind}","seq":{seq},"time":{},"data":{data}{mark}}}"#, seq * 10)
    };
    let lines: Vec<_> = events.iter().enumerate().map(line).collect();
    support::events(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

fn turn(turn: u64) -> String {
    format!(r#"turn/start {{"turn":{turn}}}"#)
}

fn turn_end(turn: u64) -> String {
    format!(r#"turn/end {{"turn":{turn},"reason":{{"kind":"completed"}}}}"#)
}

fn step(turn: u64, step: u64) -> String {
    format!(r#"step/start {{"turn":{turn},"step":{step}}}"#)
}

fn step_end(turn: u64, step: u64) -> String {
    format!(r#"step/end {{"turn":{turn},"step":{step}}}"#)
}

fn asks(ids: &[&str]) -> String {
    let calls: Vec<_> = ids
        .iter()
        .map(|id| format!(r#"{{"type":"tool-call","id":"{id}","name":"bash","arguments":"{{}}"}}"#))
        .collect();
    format!(
        r#"assistant/message {{"turn":1,"step":1,"message":{{"id":"m","role":"assistant","source":{{"kind":"model","provider":"p","model":"m"}},"content":[{{"type":"text","text":"x"}},{}]}}}}"#,
        calls.join(",")
    )
}

fn starts(id: &str) -> String {
    format!(r#"tool/call {{"turn":1,"step":1,"callId":"{id}","name":"bash","arguments":"{{}}"}}"#)
}

fn answers(id: &str) -> String {
    format!(
        r#"tool/result {{"turn":1,"step":1,"message":{{"id":"r-{id}","role":"user","source":{{"kind":"tool","callId":"{id}"}},"content":[{{"type":"tool-result","toolCallId":"{id}","content":[]}}]}}}}"#
    )
}

fn closing(events: &[Arc<Event>]) -> Vec<Arc<Event>> {
    closers(&events.iter().cloned().collect::<Events>())
}

/// What the closers of a log are, in short: the type, and for a result its call and whether that had begun.
fn ends(log: &[Arc<Event>]) -> Vec<String> {
    let short = |event: &Arc<Event>| match event.payload::<ToolResult>().unwrap() {
        Some(result) => format!("{} {}", result.call_id(), result.error.as_ref().unwrap().code),
        None => event.kind().to_owned(),
    };
    closing(log).iter().map(short).collect()
}

/// The log and its closers, by way of its file.
fn closed(log: &[Arc<Event>]) -> Vec<Arc<Event>> {
    let lines: Vec<_> = log.iter().chain(&closing(log)).map(|event| event.to_line()).collect();
    let read = events(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(read[log.len()..], closing(log)[..], "what was made is what is read");
    read
}

// spec: session/S67
#[test]
fn a_log_without_an_open_turn_needs_no_closers() {
    for events in [
        vec![],
        vec!["todo/write {\"todos\":[]}".to_owned()],
        vec![step(1, 1), asks(&["c1"]), starts("c1")],
        vec![turn(1), turn_end(1)],
        vec![turn(1), step(1, 1), asks(&["c1"]), turn_end(1), "todo/write {\"todos\":[]}".to_owned()],
    ] {
        assert_eq!(ends(&log(&events)), [""; 0], "{events:?}");
    }
}

// spec: session/S68
#[test]
fn an_open_turn_is_closed_from_the_inside_out() {
    assert_eq!(ends(&log(&[turn(1)])), ["turn/end"]);
    assert_eq!(ends(&log(&[turn(1), step(1, 1)])), ["step/end", "turn/end"]);
    assert_eq!(ends(&log(&[turn(1), step(1, 1), step_end(1, 1)])), ["turn/end"]);
    let open = log(&[turn(1), turn_end(1), turn(2), step(2, 3), asks(&["c2", "c1"]), starts("c1")]);
    assert_eq!(ends(&open), ["c2 TOOL_NOT_STARTED", "c1 TOOL_OUTCOME_UNKNOWN", "step/end", "turn/end"]);
    let made = closing(&open);
    assert_eq!(
        made.iter().map(|event| (event.seq(), event.time_ms())).collect::<Vec<_>>(),
        [(6, 50), (7, 50), (8, 50), (9, 50)]
    );
    let data: Vec<_> = made[2..].iter().map(|event| event.data().get().to_owned()).collect();
    assert_eq!(data, [r#"{"turn":2,"step":3}"#, r#"{"turn":2,"reason":{"kind":"interrupted"}}"#]);
    let end = made[3].payload::<TurnEnd>().unwrap().unwrap();
    assert_eq!(end, TurnEnd { turn: 2, reason: TurnEndReason::Interrupted {} });
    let result = made[0].payload::<ToolResult>().unwrap().unwrap();
    assert_eq!((result.turn, result.step), (2, 3), "of the open turn and step");
}

// spec: session/S68, cases/G3
#[test]
fn a_log_is_closed_exactly_once() {
    let open = log(&[turn(1), step(1, 1), asks(&["c1", "c2", "c3"]), starts("c2"), answers("c1")]);
    assert_eq!(ends(&open), ["c2 TOOL_OUTCOME_UNKNOWN", "c3 TOOL_NOT_STARTED", "step/end", "turn/end"]);
    let closed = closed(&open);
    assert_eq!(ends(&closed), [""; 0]);
    assert_eq!(closing(&open), closing(&open), "and always in the same way");
    for cut in 0..=closed.len() {
        let whole = self::closed(&closed[..cut]);
        assert_eq!(ends(&whole), [""; 0], "cut after {cut}");
        let results = whole.iter().filter_map(|event| event.payload::<ToolResult>().unwrap());
        let mut calls: Vec<_> = results.map(|result| result.call_id().to_owned()).collect();
        calls.sort_unstable();
        let asked = if cut > 2 { vec!["c1", "c2", "c3"] } else { vec![] };
        assert_eq!(calls, asked, "one result for each call, cut after {cut}");
    }
}

// spec: session/S69
#[test]
fn only_unanswered_calls_of_the_open_step_are_pending() {
    let of = |rest: &[String]| {
        let mut all = vec![turn(1), step(1, 1), asks(&["c1", "c2"])];
        all.extend_from_slice(rest);
        ends(&log(&all))
    };
    let both = ["c1 TOOL_NOT_STARTED", "c2 TOOL_NOT_STARTED", "step/end", "turn/end"];
    assert_eq!(of(&[]), both);
    assert_eq!(of(&[starts("c9")]), both, "nobody asked for it");
    assert_eq!(of(&[starts("c1"), answers("c1")]), ["c2 TOOL_NOT_STARTED", "step/end", "turn/end"]);
    assert_eq!(of(&[answers("c2"), answers("c1")]), ["step/end", "turn/end"]);
    assert_eq!(of(&[answers("c9")]), both, "an answer to none of them");
    assert_eq!(of(&[step_end(1, 1)]), ["turn/end"]);
    assert_eq!(of(&[step_end(1, 1), step(1, 2)]), ["step/end", "turn/end"]);
    assert_eq!(of(&[turn_end(1)]), [""; 0]);
    assert_eq!(of(&[turn_end(1), turn(2), step(2, 1)]), ["step/end", "turn/end"]);
    assert_eq!(
        of(&[turn(2), step(2, 1)]),
        ["step/end", "turn/end"],
        "a turn that begins forgets the one before"
    );
    let more = of(&[starts("c1"), asks(&["c3"])]);
    assert_eq!(
        more,
        ["c1 TOOL_OUTCOME_UNKNOWN", "c2 TOOL_NOT_STARTED", "c3 TOOL_NOT_STARTED", "step/end", "turn/end"]
    );
    let early = ends(&log(&[turn(1), step(1, 1), starts("c1"), asks(&["c1"])]));
    assert_eq!(early, ["c1 TOOL_NOT_STARTED", "step/end", "turn/end"], "recorded before it was asked for");
}

/// The closers of two calls, the first of which had begun.
fn two() -> (ToolResult, Arc<Event>, ToolResult, Arc<Event>) {
    let made = closing(&log(&[turn(1), step(1, 1), asks(&["c1", "c2"]), starts("c1")]));
    let of = |at: usize| made[at].payload::<ToolResult>().unwrap().unwrap();
    (of(0), made[0].clone(), of(1), made[1].clone())
}

// spec: session/S70
#[test]
fn a_call_that_had_not_begun_may_be_made_again() {
    let (_, _, result, event) = two();
    let error = result.error.as_ref().unwrap();
    assert_eq!((error.name.as_str(), error.code.as_str()), ("ToolNotStartedError", "TOOL_NOT_STARTED"));
    assert_eq!(
        (event.surface(), event.sources(), event.is_ignorable()),
        (Some(SurfaceOp::Append), None, false)
    );
    let text = result.text().unwrap();
    assert!(text.contains("interrupted") && text.contains("again"), "{text}");
}

// spec: session/S70
#[test]
fn a_call_that_had_begun_has_an_unknown_outcome_and_names_its_start() {
    let (result, event, ..) = two();
    let error = result.error.as_ref().unwrap();
    assert_eq!(
        (error.name.as_str(), error.code.as_str()),
        ("ToolOutcomeUnknownError", "TOOL_OUTCOME_UNKNOWN")
    );
    assert_eq!((event.surface(), event.sources()), (Some(SurfaceOp::Append), Some(&[3][..])));
    let text = result.text().unwrap();
    for said in ["not", "recorded", "only if it reads", "same end", "look first", "ask the user"] {
        assert!(text.contains(said), "{text}");
    }
}

// spec: session/S70
#[test]
fn a_closing_result_is_an_error_with_an_id_of_its_call_and_its_place() {
    let (first, _, second, _) = two();
    for (result, id, call) in
        [(&first, "interrupted-tool-result-c1-4", "c1"), (&second, "interrupted-tool-result-c2-5", "c2")]
    {
        let message = &result.message;
        assert_eq!((message.id.as_str(), message.role), (id, Role::User));
        assert_eq!(message.source, Source::Tool { call_id: call.to_owned() });
        assert!(result.is_error() && result.meta.is_none());
        assert!(
            matches!(message.content.as_slice(), [ContentBlock::ToolResult { tool_call_id, is_error: Some(true), content }]
            if tool_call_id == call && matches!(content.as_slice(), [ContentBlock::Text { .. }]))
        );
    }
}

// spec: session/S68, cases/G1
#[test]
fn a_log_cut_at_any_byte_is_closed_to_a_log_that_is_read_whole() {
    let all = closed(&log(&[turn(1), step(1, 1), asks(&["c1", "c2"]), starts("c2"), answers("c2")]));
    let lines: Vec<_> = all.iter().map(|event| event.to_line()).collect();
    let whole = text(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    for cut in support::HEADER.len() + 1..=whole.len() {
        let log = dsh_session::SessionLog::parse(&whole.as_bytes()[..cut]).unwrap();
        let mended: Vec<_> =
            log.events.iter().chain(closing(&log.events.to_vec())).map(|event| event.to_line()).collect();
        let read = read(&mended.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        assert!(read.torn.is_none() && closing(&read.events.to_vec()).is_empty(), "cut at {cut}");
    }
}
