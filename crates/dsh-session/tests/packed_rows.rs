//! Packed rows stand for one event per piece.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use dsh_session::{EventData, Problem, ReadError, SessionLog};

const HEADER: &str = r#"{"type":"session","version":0,"id":"s-1","createdAt":1,"delegationDepth":0}"#;

fn read(rows: &[&str]) -> Result<SessionLog, ReadError> {
    SessionLog::parse(format!("{HEADER}\n{}\n", rows.join("\n")).as_bytes())
}

fn chunks(log: &SessionLog) -> Vec<(u64, i64, serde_json::Value)> {
    log.events
        .iter()
        .map(|event| {
            let EventData::Other { kind, data } = &event.data else { panic!("a chunk is not typed") };
            assert_eq!(kind, "assistant/chunk");
            (event.seq, event.time_ms, serde_json::from_str(data.get()).unwrap())
        })
        .collect()
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
    assert_eq!(read(&[row, &next(3)]).unwrap().events.len(), 4);
    assert_eq!(
        read(&[row, &next(1)]).unwrap_err(),
        ReadError { line: 3, problem: Problem::SeqGap { expected: 3, found: 1 } }
    );
}

#[test]
fn a_malformed_row_is_refused() {
    for row in [
        r#"{"type":"text-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[0],"texts":["a"]}}"#,
        r#"{"type":"text-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[],"texts":[]}}"#,
        r#"{"type":"text-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[],"texts":["a"],"x":1}}"#,
        r#"{"type":"text-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[],"args":["a"]}}"#,
        r#"{"type":"text-chunks","seq":0,"time":1,"data":{"turn":1,"step":1,"index":0,"dt":[],"texts":["a"]}}"#,
        r#"{"type":"text-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[0.5],"texts":["a","b"]}}"#,
        r#"{"type":"text-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[9007199254740992],"texts":["a","b"]}}"#,
        r#"{"type":"tool-call-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[],"args":["a"]}}"#,
    ] {
        let error = read(&[row]).expect_err(row);
        assert!(matches!(error.problem, Problem::BadEvent { .. }), "{error}");
        assert_eq!(error.line, 2);
    }
}
