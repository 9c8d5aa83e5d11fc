//! What the lines of a log may hold, and how a log that cannot be read says so.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use dsh_session::{EventData, Problem, ReadError, SessionLog};
use support::{read, refused, text};

const TURN: &str = r#"{"type":"turn/start","seq":0,"time":5,"data":{"turn":1}}"#;
const END: &str = r#"{"type":"turn/end","seq":1,"time":6,"data":{"turn":1,"reason":{"kind":"completed"}}}"#;

#[test]
fn a_log_gives_its_header_and_its_events_in_order() {
    let log = read(&[
        TURN,
        r#"{"type":"turn/end","seq":1,"time":-6,"data":{"turn":1,"reason":{"kind":"completed"}}}"#,
    ])
    .unwrap();
    assert_eq!((log.header.id.as_str(), log.header.cwd.as_deref()), ("s-1", Some("/w")));
    assert_eq!(
        log.events.iter().map(|event| (event.seq(), event.kind().to_owned())).collect::<Vec<_>>(),
        [(0, "turn/start".to_owned()), (1, "turn/end".to_owned())]
    );
    assert_eq!(log.events.get(1).unwrap().time_ms(), -6);
    assert_eq!(log.torn, None);
}

#[test]
fn carriage_returns_at_line_ends_are_accepted() {
    let text = text(&[TURN]).replace('\n', "\r\n");
    assert_eq!(SessionLog::parse(text.as_bytes()).unwrap().events.len(), 1);
}

#[test]
fn an_event_keeps_the_text_of_its_data() {
    let log =
        read(&[r#"{"type":"goal/change","seq":0,"time":5,"data":{"b":1.50,"a":9007199254740993}}"#]).unwrap();
    assert_eq!(log.events.get(0).unwrap().data().get(), r#"{"b":1.50,"a":9007199254740993}"#);
    assert!(
        matches!(log.events.get(0).unwrap().read().unwrap(), EventData::Other(data) if &data == log.events.get(0).unwrap().data())
    );
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

/// What is read of a log whose end is damaged: how many events, and where the rest begins.
fn torn(bytes: &[u8]) -> (usize, Option<(usize, usize, usize)>) {
    let log = SessionLog::parse(bytes).unwrap();
    (log.events.len(), log.torn.map(|torn| (torn.line, torn.offset, torn.bytes)))
}

// spec: session/S96
#[test]
fn from_the_first_line_that_cannot_be_read_the_rest_is_left_out_and_told() {
    let whole = text(&[TURN]);
    for line in ["", "  ", "12", "null", r#"["turn/start",1,5,{}]"#, "{oops", r#"{"type":"#] {
        for after in ["", "{\"type\":\"step/start\",\"seq\":1,\"time\":5,\"data\":{}}\n"] {
            let text = format!("{whole}{line}\n{after}");
            let left = (3, whole.len(), text.len() - whole.len());
            assert_eq!(torn(text.as_bytes()), (1, Some(left)), "{line}");
        }
    }
}

// spec: session/S96
#[test]
fn a_gap_or_a_repeat_in_the_numbers_at_the_end_is_left_out_too() {
    for (found, said) in [("0", Some(0)), ("2", Some(2)), ("-1", None), ("0.5", None), ("\"1\"", None)] {
        let next = format!(r#"{{"type":"step/start","seq":{found},"time":6,"data":{{"turn":1,"step":1}}}}"#);
        let log = read(&[TURN, &next]).unwrap();
        let torn = log.torn.unwrap();
        assert_eq!((log.events.len(), torn.line), (1, 3));
        assert_eq!(torn.problem, Problem::SeqGap { expected: 1, found: said });
    }
}

// spec: session/S96
#[test]
fn damage_before_the_end_of_a_turn_is_no_cut() {
    let (line, problem) = refused(&[TURN, "{oops", END]);
    assert_eq!(line, 3);
    assert!(matches!(problem, Problem::NotJson { .. }), "{problem}");
    assert!(problem.to_string().contains("column 2"), "{problem}");
    let late = END.replace(r#""seq":1"#, r#""seq":7"#);
    assert_eq!(refused(&[TURN, &late]), (3, Problem::SeqGap { expected: 1, found: Some(7) }));
}

#[test]
fn a_damaged_end_that_only_mentions_the_end_of_a_turn_is_a_cut() {
    let whole = text(&[TURN]);
    let mention = r#"{"type":"goal/change","seq":9,"time":6,"data":{"type":"turn/end"}}"#;
    assert_eq!(torn(format!("{whole}{mention}\n").as_bytes()).0, 1);
    assert_eq!(torn(format!("{whole}{{oops\n{END}").as_bytes()).0, 1, "the line itself was cut");
}

// spec: session/S96
#[test]
fn an_end_that_is_no_text_is_left_out_and_told() {
    let mut bytes = text(&[TURN]).into_bytes();
    let before = bytes.len();
    bytes.extend(b"{\"a\":\"\xff\"}\n");
    let log = SessionLog::parse(&bytes).unwrap();
    let torn = log.torn.unwrap();
    assert_eq!((log.events.len(), torn.line, torn.offset), (1, 3, before));
    assert_eq!(torn.problem, Problem::NotUtf8 { column: 7 });
}

// spec: session/S96
#[test]
fn a_last_line_without_its_newline_is_torn_even_if_it_is_whole() {
    let whole = text(&[TURN]);
    let cut = r#"{"type":"goal/change","seq":1,"time":6,"data":"é"}"#;
    for end in 1..=cut.len() {
        let mut bytes = whole.clone().into_bytes();
        bytes.extend(&cut.as_bytes()[..end]);
        assert_eq!(torn(&bytes), (1, Some((3, whole.len(), end))));
    }
    assert_eq!(torn(format!("{whole}{cut}\n").as_bytes()), (2, None));
}

// spec: session/S96, cases/G1, design/P8
#[test]
fn a_log_cut_at_any_byte_of_its_last_two_records_gives_the_whole_ones() {
    let message = r#"{"type":"user/message","seq":3,"time":6,"data":{"id":"m","role":"user","source":{"kind":"user"},"content":[{"type":"text","text":"é\n"}]},"surfaceOp":"append"}"#;
    let row = r#"{"type":"text-chunks","seq0":4,"time0":7,"data":{"turn":2,"step":1,"index":0,"dt":[1,1],"texts":["é","","\""]}}"#;
    let next = r#"{"type":"turn/start","seq":2,"time":6,"data":{"turn":2}}"#;
    let before = text(&[TURN, END, next]);
    let one = format!("{before}{message}\n");
    let two = format!("{one}{row}\n");
    let all = SessionLog::parse(two.as_bytes()).unwrap().events;
    assert_eq!(all.len(), 7);
    for cut in before.len()..=two.len() {
        let log = SessionLog::parse(&two.as_bytes()[..cut]).unwrap();
        let (records, whole) = match cut {
            _ if cut < one.len() => (3, before.len()),
            _ if cut < two.len() => (4, one.len()),
            _ => (7, two.len()),
        };
        assert_eq!(log.events.to_vec(), all.to_vec()[..records], "cut at {cut}");
        let torn = log.torn.map(|torn| (torn.offset, torn.bytes));
        assert_eq!(torn, (cut > whole).then_some((whole, cut - whole)), "cut at {cut}");
    }
}

#[test]
fn a_part_that_cannot_have_been_cut_is_refused_where_it_is_wrong() {
    let text = text(&[TURN, "{oops"]);
    assert_eq!(SessionLog::parse_framed(text.as_bytes(), text.len()).unwrap_err().line, 3);
    let whole = text.len() - "{oops\n".len();
    assert_eq!(SessionLog::parse_framed(text.as_bytes(), whole).unwrap().events.len(), 1);
}

#[test]
fn the_line_of_an_event_is_known_in_packed_rows_too() {
    let row = r#"{"type":"text-chunks","seq0":1,"time0":7,"data":{"turn":1,"step":1,"index":0,"dt":[1,1],"texts":["a","b","c"]}}"#;
    let end = END.replace(r#""seq":1"#, r#""seq":4"#);
    let log = read(&[TURN, row, &end]).unwrap();
    let lines: Vec<_> = (0..6).map(|seq| log.line_of(seq)).collect();
    assert_eq!(lines, [Some(2), Some(3), Some(3), Some(3), Some(4), None]);
}
