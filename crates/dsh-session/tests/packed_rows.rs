//! Packed rows stand for one event per piece.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::sync::Arc;

use dsh_session::{AssistantChunk, Event, Problem, Row, SessionLog, rows};
use support::{events, raw, read, refused, session, text};

const END: &str = r#"{"type":"turn/end","seq":9,"time":2,"data":{"turn":1,"reason":{"kind":"completed"}}}"#;

fn chunks(log: &SessionLog) -> Vec<(u64, i64, serde_json::Value)> {
    let value = |event: Arc<Event>| {
        assert_eq!(event.kind(), "assistant/chunk");
        event.payload::<AssistantChunk>().unwrap().unwrap();
        (event.seq(), event.time_ms(), serde_json::from_str(event.data().get()).unwrap())
    };
    log.events.iter().map(value).collect()
}

#[test]
fn text_pieces_become_events_with_their_own_numbers_and_times() {
    let log = read(&[
        r#"{"type":"text-chunks","seq0":0,"time0":100,"data":{"turn":1,"step":2,"index":3,"dt":[5,-1],"texts":["a","","b"]}}"#,
    ])
    .unwrap();
    let piece = |text: &str| serde_json::json!({"turn": 1, "step": 2, "chunk": {"type": "text-delta", "index": 3, "text": text}});
    assert_eq!(chunks(&log), [(0, 100, piece("a")), (1, 105, piece("")), (2, 104, piece("b"))]);
}

#[test]
fn reasoning_and_tool_call_pieces_are_unpacked_too() {
    let log = read(&[
        r#"{"type":"reasoning-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[0],"texts":["x","y"]}}"#,
        r#"{"type":"tool-call-chunks","seq0":2,"time0":1,"data":{"turn":1,"step":1,"index":1,"dt":[0],"id":"c","name":"bash","args":["{","}"]}}"#,
        r#"{"type":"tool-call-chunks","seq0":4,"time0":1,"data":{"turn":1,"step":1,"index":1,"dt":[],"id":"c","args":["{"]}}"#,
    ])
    .unwrap();
    let chunks = chunks(&log);
    assert_eq!(chunks.len(), 5);
    assert_eq!(chunks[1].2["chunk"]["type"], "reasoning-delta");
    assert_eq!(
        chunks[3].2["chunk"],
        serde_json::json!({"type": "tool-call-delta", "index": 1, "id": "c", "name": "bash", "argumentsDelta": "}"})
    );
    assert_eq!(chunks[4].2["chunk"].get("name"), None);
}

#[test]
fn a_row_takes_as_many_numbers_as_it_has_pieces() {
    let row = r#"{"type":"text-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[0,0],"texts":["a","b","c"]}}"#;
    let next =
        |seq: u64| format!(r#"{{"type":"step/end","seq":{seq},"time":2,"data":{{"turn":1,"step":1}}}}"#);
    assert_eq!(events(&[row, &next(3)]).len(), 4);
    let torn = read(&[row, &next(1)]).unwrap();
    assert_eq!(torn.events.len(), 3);
    assert_eq!(torn.torn.unwrap().problem, Problem::SeqGap { expected: 3, found: Some(1) });
}

// spec: session/S96
#[test]
fn a_malformed_row_gives_no_event_at_the_end_and_refuses_the_log_before_the_end_of_a_turn() {
    let row = |rest: &str| format!(r#"{{"type":"text-chunks",{rest}}}"#);
    let of =
        |data: &str| row(&format!(r#""seq0":0,"time0":1,"data":{{"turn":1,"step":1,"index":0,{data}}}"#));
    for row in [
        of(r#""dt":[0],"texts":["a"]"#),
        of(r#""dt":[],"texts":[]"#),
        of(r#""dt":[],"texts":["a"],"x":1"#),
        of(r#""dt":[],"args":["a"]"#),
        of(r#""dt":[],"texts":[1]"#),
        of(r#""dt":[0.5],"texts":["a","b"]"#),
        of(r#""dt":[9007199254740992],"texts":["a","b"]"#),
        of(r#""dt":[9007199254740991],"texts":["a","b"]"#),
        row(r#""seq0":0,"time0":1,"data":{"turn":null,"step":1,"index":0,"dt":[],"texts":["a"]}"#),
        row(r#""seq":0,"time":1,"data":{"turn":1,"step":1,"index":0,"dt":[],"texts":["a"]}"#),
        row(r#""seq0":0.5,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[],"texts":["a"]}"#),
        row(
            r#""seq0":0,"time0":1,"ignorable":true,"data":{"turn":1,"step":1,"index":0,"dt":[],"texts":["a"]}"#,
        ),
        of(r#""dt":[],"args":["a"]"#).replace("text-", "tool-call-"),
        of(r#""dt":[],"id":1,"args":["a"]"#).replace("text-", "tool-call-"),
    ] {
        let log = read(&[&row]).unwrap();
        assert_eq!(log.events.to_vec(), [], "{row}");
        assert!(matches!(log.torn.unwrap().problem, Problem::BadRow { .. }), "{row}");
        let (line, problem) = refused(&[&row, END]);
        assert!((line, matches!(problem, Problem::BadRow { .. })) == (2, true), "{row}: {problem}");
    }
}

/// How a batch is written: the type of each line, and how many events it stands for.
fn written(events: &[Arc<Event>]) -> Vec<(&str, usize)> {
    let of = |row: Row<'_>| match row {
        Row::Event(_) => ("event", 1),
        Row::Run(run) => (run.kind(), run.events().len()),
    };
    rows(events, true).map(of).collect()
}

/// Chunks without their envelope, one after the other.
fn batch(chunks: &[&str]) -> Vec<Arc<Event>> {
    let session = session();
    for chunk in chunks {
        session
            .append(raw("assistant/chunk", &format!(r#"{{"turn":1,"step":1,"chunk":{{{chunk}}}}}"#)))
            .unwrap();
    }
    session.events().iter().collect()
}

// spec: session/S93
#[test]
fn three_pieces_of_one_block_become_a_row_and_two_do_not() {
    let text = r#""type":"text-delta","index":0,"text":"""#;
    let other = r#""type":"text-delta","index":1,"text":"a""#;
    let thought = r#""type":"reasoning-delta","index":0,"text":"a""#;
    let end = r#""type":"finish","reason":"stop""#;
    assert_eq!(written(&batch(&[text, text])), [("event", 1), ("event", 1)]);
    assert_eq!(written(&batch(&[text, text, text])), [("text-chunks", 3)]);
    assert_eq!(
        written(&batch(&[thought, text, text, text, text, end])),
        [("event", 1), ("text-chunks", 4), ("event", 1)]
    );
    assert_eq!(
        written(&batch(&[text, text, other, other, other])),
        [("event", 1), ("event", 1), ("text-chunks", 3)]
    );
    let off: Vec<_> =
        rows(&batch(&[text, text, text]), false).map(|row| matches!(row, Row::Event(_))).collect();
    assert_eq!(off, [true, true, true]);
}

// spec: session/S93
#[test]
fn pieces_of_a_tool_call_share_their_id_and_the_same_name_or_none() {
    let of = |id: &str, name: &str| {
        format!(r#""type":"tool-call-delta","index":1,"id":"{id}",{name}"argumentsDelta":"{{""#)
    };
    let (named, bare, other) = (of("c", r#""name":"bash","#), of("c", ""), of("d", ""));
    let batch = batch(&[&named, &named, &named, &bare, &bare, &bare, &other, &other, &other]);
    assert_eq!(written(&batch), [("tool-call-chunks", 3), ("tool-call-chunks", 3), ("tool-call-chunks", 3)]);
}

// spec: session/S93
#[test]
fn what_a_row_cannot_keep_is_written_as_it_is() {
    let lossy = [
        r#""type":"text-delta","index":0,"text":"a","more":1"#,
        r#""type":"text-delta","index":"0","text":"a""#,
        r#""type":"text-delta","index":0,"text":null"#,
        r#""type":"text-delta","index":0,"text":"a","id":"c""#,
        r#""type":"block-start","index":0,"blockType":"text""#,
    ];
    for chunk in lossy {
        assert_eq!(written(&batch(&[chunk; 3])), [("event", 1); 3], "{chunk}");
    }
    let skipped = r#"{"type":"assistant/chunk","seq":N,"time":1,"data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"a"}},"ignorable":true}"#;
    let lines: Vec<_> = (0..3).map(|seq| skipped.replace('N', &seq.to_string())).collect();
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    assert_eq!(written(&events(&lines)), [("event", 1); 3]);
}

// spec: session/S93
#[test]
fn a_row_is_written_in_the_order_of_the_format() {
    let lines = [
        r#"{"type":"assistant/chunk","seq":0,"time":9,"data":{"turn":1,"step":2,"chunk":{"argumentsDelta":"{","type":"tool-call-delta","index":3,"id":"c","name":"n"}}}"#,
        r#"{"type":"assistant/chunk","seq":1,"time":7,"data":{"turn":1,"step":2,"chunk":{"type":"tool-call-delta","index":3,"id":"c","name":"n","argumentsDelta":"\u00e9"}}}"#,
        r#"{"type":"assistant/chunk","seq":2,"time":9,"data":{"turn":1,"step":2,"chunk":{"type":"tool-call-delta","index":3,"id":"c","name":"n","argumentsDelta":"}"}}}"#,
    ];
    let events = events(&lines);
    let mut line = String::new();
    rows(&events, true).for_each(|row| row.write_line(&mut line));
    assert_eq!(
        line,
        concat!(
            r#"{"type":"tool-call-chunks","seq0":0,"time0":9,"data":{"turn":1,"step":2,"index":3,"dt":[-2,2],"id":"c","name":"n","args":["{","\u00e9","}"]}}"#,
            "\n"
        )
    );
    let again = SessionLog::parse(format!("{}{line}", text(&[])).as_bytes()).unwrap();
    assert_eq!(again.events.to_vec()[1..], events[1..], "the first one's keys stand in another order now");
    assert_eq!(
        chunks(&again)[0].2,
        serde_json::from_str::<serde_json::Value>(events[0].data().get()).unwrap()
    );
}
