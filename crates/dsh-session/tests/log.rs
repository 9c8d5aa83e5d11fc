//! What a log may hold, and how a log that cannot be read says so.

use dsh_session::{EventData, Problem, ReadError, SessionLog, SurfaceOp, TornTail};

const HEADER: &str =
    r#"{"type":"session","version":0,"id":"s-1","createdAt":1,"cwd":"/w","delegationDepth":0}"#;
const TURN: &str = r#"{"type":"turn/start","seq":0,"time":5,"data":{"turn":1}}"#;

fn log(lines: &[&str]) -> String {
    let mut text = String::from(HEADER);
    for line in lines {
        text.push('\n');
        text.push_str(line);
    }
    text.push('\n');
    text
}

fn read(lines: &[&str]) -> Result<SessionLog, ReadError> {
    SessionLog::parse(log(lines).as_bytes())
}

fn problem(lines: &[&str]) -> (usize, Problem) {
    match read(lines) {
        Ok(_) => panic!("the log must be refused"),
        Err(error) => (error.line, error.problem),
    }
}

fn problem_text(line: &str) -> String {
    let (number, problem) = problem(&[TURN, line]);
    assert_eq!(number, 3);
    problem.to_string()
}

#[test]
fn a_log_gives_its_header_and_its_events_in_order() {
    let log = read(&[
        TURN,
        r#"{"type":"turn/end","seq":1,"time":-6,"data":{"turn":1,"reason":{"kind":"completed"}}}"#,
    ])
    .unwrap();
    assert_eq!((log.header.id.as_str(), log.header.cwd.as_deref()), ("s-1", Some("/w")));
    assert_eq!(
        log.events.iter().map(|event| (event.seq, event.kind())).collect::<Vec<_>>(),
        [(0, "turn/start"), (1, "turn/end")]
    );
    assert_eq!(log.events[1].time_ms, -6);
    assert_eq!(log.torn, None);
}

#[test]
fn carriage_returns_at_line_ends_are_accepted() {
    let text = log(&[TURN]).replace('\n', "\r\n");
    assert_eq!(SessionLog::parse(text.as_bytes()).unwrap().events.len(), 1);
}

#[test]
fn an_event_keeps_the_text_of_its_data() {
    let log =
        read(&[r#"{"type":"goal/change","seq":0,"time":5,"data":{"b":1.50,"a":9007199254740993}}"#]).unwrap();
    let EventData::Other { data, .. } = &log.events[0].data else { panic!("not typed") };
    assert_eq!(data.get(), r#"{"b":1.50,"a":9007199254740993}"#);
}

#[test]
fn data_nested_100_000_levels_deep_is_read_without_recursion() {
    let deep = format!(
        r#"{{"type":"made/up","seq":0,"time":5,"ignorable":true,"data":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert_eq!(read(&[&deep]).unwrap().events.len(), 1);
}

#[test]
fn an_empty_log_is_refused() {
    assert_eq!(SessionLog::parse(b"").unwrap_err(), ReadError { line: 1, problem: Problem::Empty });
}

#[test]
fn a_compressed_log_is_refused_with_the_remedy() {
    let error = SessionLog::parse(&[0x28, 0xb5, 0x2f, 0xfd, 0, 1]).unwrap_err();
    assert!(error.to_string().contains("zstd -d"), "{error}");
}

#[test]
fn a_first_line_that_is_no_header_is_refused() {
    for first in [TURN, r#"{"version":0}"#, r#"{"type":"Session","version":0}"#] {
        assert_eq!(
            SessionLog::parse(format!("{first}\n").as_bytes()).unwrap_err().problem,
            Problem::NotAHeader
        );
    }
}

#[test]
fn a_foreign_version_is_unsupported_before_any_other_field_is_looked_at() {
    for (version, advice) in [(1, "newer"), (-1, "older")] {
        let error = SessionLog::parse(format!("{{\"type\":\"session\",\"version\":{version}}}\n").as_bytes())
            .unwrap_err();
        assert_eq!(error.problem, Problem::UnsupportedVersion { found: version, supported: 0 });
        assert!(error.problem.is_unsupported());
        assert!(error.to_string().contains(advice), "{error}");
    }
}

#[test]
fn each_bad_field_of_the_header_is_named() {
    for (from, to, name) in [
        (r#""version":0"#, r#""version":"0""#, "version"),
        (r#""version":0,"#, "", "version"),
        (r#""id":"s-1""#, r#""id":"""#, "id"),
        (r#""createdAt":1"#, r#""createdAt":-0"#, "-0"),
        (r#""createdAt":1"#, r#""createdAt":9007199254740992"#, "createdAt"),
        (r#""cwd":"/w""#, r#""cwd":"w""#, "cwd"),
        (r#""cwd":"/w""#, r#""cwd":null"#, "null"),
        (r#","delegationDepth":0"#, "", "delegationDepth"),
        (r#""cwd":"/w""#, r#""origin":"user""#, "origin"),
        (r#""cwd":"/w""#, r#""sandboxMode":"read-only""#, "sandboxMode"),
    ] {
        let header = HEADER.replace(from, to);
        assert_ne!(header, HEADER);
        let error = SessionLog::parse(format!("{header}\n").as_bytes()).unwrap_err();
        assert!(matches!(error.problem, Problem::BadHeader { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn a_broken_line_is_named_and_no_event_is_given() {
    let (line, problem) = problem(&[TURN, "{oops", r#"{"type":"turn/end","seq":1,"time":6,"data":{}}"#]);
    assert_eq!(line, 3);
    assert!(matches!(problem, Problem::NotJson { .. }), "{problem}");
    assert!(problem.to_string().contains("column 2"), "{problem}");
}

#[test]
fn a_line_that_is_empty_or_no_object_is_refused() {
    for line in ["", "  ", "12", r#"["turn/start",1,5,{}]"#, "null"] {
        assert!(matches!(problem(&[TURN, line]), (3, Problem::NotJson { .. })));
    }
}

#[test]
fn a_line_that_is_not_utf8_is_refused() {
    let mut bytes = log(&[TURN]).into_bytes();
    bytes.extend(b"{\"a\":\"\xff\"}\n");
    assert_eq!(
        SessionLog::parse(&bytes).unwrap_err(),
        ReadError { line: 3, problem: Problem::NotUtf8 { column: 7 } }
    );
}

#[test]
fn a_last_line_that_was_cut_is_left_out_and_told() {
    let text = log(&[TURN]);
    let cut = r#"{"type":"user/message","seq":1,"data":"é"#;
    for end in 1..=cut.len() {
        let mut bytes = text.clone().into_bytes();
        bytes.extend(&cut.as_bytes()[..end]);
        let log = SessionLog::parse(&bytes).unwrap();
        assert_eq!(log.events.len(), 1);
        assert_eq!(log.torn, Some(TornTail { line: 3, bytes: end }));
    }
}

#[test]
fn a_last_line_that_is_whole_needs_no_newline() {
    let text = log(&[TURN]);
    let log = SessionLog::parse(text.trim_end().as_bytes()).unwrap();
    assert_eq!((log.events.len(), log.torn), (1, None));
}

#[test]
fn a_broken_last_line_with_its_newline_is_not_a_cut() {
    assert!(matches!(problem(&[TURN, r#"{"type":"#]), (3, Problem::NotJson { .. })));
}

#[test]
fn a_gap_or_a_repeat_in_the_numbers_is_refused() {
    for found in [0, 2, 7] {
        let next = format!(r#"{{"type":"turn/end","seq":{found},"time":6,"data":{{}}}}"#);
        assert_eq!(problem(&[TURN, &next]), (3, Problem::SeqGap { expected: 1, found }));
    }
}

#[test]
fn an_unknown_type_refuses_the_log_unless_it_is_ignorable() {
    let required = r#"{"type":"made/up","seq":1,"time":6,"data":{}}"#;
    let (line, found) = problem(&[TURN, required]);
    assert_eq!((line, &found), (3, &Problem::UnknownEventType { kind: "made/up".to_owned(), seq: 1 }));
    assert!(found.is_unsupported());
    let ignorable = required.replace("\"data\"", "\"ignorable\":true,\"data\"");
    assert!(read(&[TURN, &ignorable]).unwrap().events[1].ignorable);
}

#[test]
fn each_bad_field_of_an_envelope_is_named() {
    for (line, name) in [
        (r#"{"seq":1,"time":6,"data":{}}"#, "type"),
        (r#"{"type":"","seq":1,"time":6,"data":{}}"#, "type"),
        (r#"{"type":"turn/end","time":6,"data":{}}"#, "seq"),
        (r#"{"type":"turn/end","seq":-1,"time":6,"data":{}}"#, "-1"),
        (r#"{"type":"turn/end","seq":1,"data":{}}"#, "time"),
        (r#"{"type":"turn/end","seq":1,"time":6}"#, "data"),
        (r#"{"type":"turn/end","seq":1,"seq":1,"time":6,"data":{}}"#, "seq"),
        (r#"{"type":"turn/end","seq":1,"time":6,"data":{},"extra":1}"#, "extra"),
        (r#"{"type":"turn/end","seq":1,"time":6,"data":{},"ignorable":false}"#, "ignorable"),
        (r#"{"type":"turn/end","seq":1,"time":6,"data":{},"surfaceOp":"append"}"#, "surfaceOp"),
        (r#"{"type":"turn/end","seq":1,"time":6,"data":{},"sourceEventSeqs":[0]}"#, "sourceEventSeqs"),
        (r#"{"type":"user/message","seq":1,"time":6,"data":{}}"#, "surfaceOp"),
        (r#"{"type":"user/message","seq":1,"time":6,"data":{},"surfaceOp":null}"#, "surfaceOp"),
        (r#"{"type":"user/message","seq":1,"time":6,"data":{},"surfaceOp":"prepend"}"#, "surfaceOp"),
        (r#"{"type":"user/message","seq":1,"time":6,"data":{},"surfaceOp":["replace",0,0]}"#, "surfaceOp"),
        (
            r#"{"type":"user/message","seq":1,"time":6,"data":{},"surfaceOp":"append","sourceEventSeqs":[]}"#,
            "empty",
        ),
        (
            r#"{"type":"user/message","seq":1,"time":6,"data":{},"surfaceOp":"append","sourceEventSeqs":[0,0]}"#,
            "twice",
        ),
        (
            r#"{"type":"user/message","seq":1,"time":6,"data":{},"surfaceOp":"append","sourceEventSeqs":[1]}"#,
            "before",
        ),
    ] {
        let text = problem_text(line);
        assert!(text.contains(name), "{line}: {text}");
    }
}

#[test]
fn a_replacement_names_the_range_that_it_replaces() {
    let log = read(&[
        TURN,
        r#"{"type":"user/message","seq":1,"time":6,"data":{},"surfaceOp":{"op":"replace","start":0,"end":0},"sourceEventSeqs":[0]}"#,
    ])
    .unwrap();
    assert_eq!(log.events[1].surface, Some(SurfaceOp::Replace { start: 0, end: 0 }));
    assert_eq!(log.events[1].source_seqs.as_deref(), Some(&[0][..]));
}
