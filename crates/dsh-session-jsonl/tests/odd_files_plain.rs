//! What becomes of files that are not quite logs, uncompressed: what a crash explains is taken away, all else is an error.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::fs;

use dsh_session::{Storage as _, StorageError};
use dsh_session_jsonl::Compression;
use support::{HEADER, chunk, kinds, log_path, put, quick, repaired, turn_end, turn_start};

/// What is expected of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    /// So many events; nothing is torn.
    Whole(usize),
    /// So many events; the file's sound part is so many lines long.
    Torn(usize, usize),
    Corrupt,
    Unsupported,
}
use Read::{Corrupt, Torn, Unsupported, Whole};

fn seen(root: &std::path::Path, bytes: &[u8]) -> Read {
    put(root, Compression::None, bytes);
    match quick(root, Compression::None).read("t") {
        Ok(Some(stored)) => match stored.torn {
            None => Whole(stored.events.len()),
            Some(_) => {
                let count = stored.events.len();
                repaired(&quick(root, Compression::None), "t").unwrap().unwrap();
                let after = fs::read(log_path(root, Compression::None)).unwrap();
                let sound = bytes.split_inclusive(|byte| *byte == b'\n');
                let mut rest = &after[..];
                let lines = sound.take_while(|line| match rest.strip_prefix(*line) {
                    Some(left) if line.ends_with(b"\n") => {
                        rest = left;
                        true
                    }
                    _ => false,
                });
                Torn(count, lines.count())
            }
        },
        Ok(None) => panic!("there is a file"),
        Err(StorageError::Corrupt { .. }) => Corrupt,
        Err(StorageError::Unsupported { .. }) => Unsupported,
        Err(other) => panic!("{other}"),
    }
}

#[track_caller]
fn check(rows: &[(&str, String, Read)]) {
    for (name, text, expected) in rows {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(seen(root.path(), text.as_bytes()), *expected, "{name}: {text}");
    }
}

fn log(lines: &[&str]) -> String {
    format!("{HEADER}\n{}", lines.iter().map(|line| format!("{line}\n")).collect::<String>())
}

// spec: session/S92
#[test]
fn a_file_without_a_whole_header_is_corrupt_to_those_who_ask_for_it() {
    check(&[
        ("empty", String::new(), Corrupt),
        ("header without newline", HEADER.to_owned(), Corrupt),
        ("header only", log(&[]), Whole(0)),
        ("half header", HEADER[..30].to_owned(), Corrupt),
        ("header not JSON", "hello\n".to_owned(), Corrupt),
        ("header is an event", format!("{}\n", turn_start(0)), Corrupt),
        ("all NUL", "\0\0\0\0".to_owned(), Corrupt),
        ("blank line before it", format!("\n{}", log(&[])), Corrupt),
        ("BOM", format!("\u{feff}{}", log(&[])), Corrupt),
    ]);
}

// spec: session/S96
#[test]
fn the_first_bad_line_ends_the_log_unless_a_turn_ends_later() {
    let (start, end) = (&*turn_start(0), &*turn_end(1));
    let good = log(&[start, end]);
    check(&[
        ("good", good.clone(), Whole(2)),
        ("no newline at the end", good.trim_end().to_owned(), Torn(1, 2)),
        ("NUL bytes at the end", format!("{good}\0\0\0\0"), Torn(2, 3)),
        ("NUL line at the end", format!("{good}\0\0\n"), Torn(2, 3)),
        ("NUL line before the turn's end", log(&[start, "\0\0", end]), Corrupt),
        ("blank line in the middle", log(&[start, "", end]), Corrupt),
        ("blank line at the end", log(&[start, end, ""]), Torn(2, 3)),
        ("two blank lines at the end", log(&[start, end, "", ""]), Torn(2, 3)),
        ("space line at the end", log(&[start, end, "  "]), Torn(2, 3)),
        ("gap at the tail", log(&[start, end, &turn_start(5)]), Torn(2, 3)),
        ("gap, a turn ends later", log(&[start, &turn_start(5), &turn_end(6)]), Corrupt),
        ("gap at the turn's end itself", log(&[start, &turn_end(2)]), Corrupt),
        ("first seq 1", log(&[&turn_start(1)]), Torn(0, 1)),
        ("duplicate seq at the tail", log(&[start, start]), Torn(1, 2)),
        ("duplicate seq, a turn ends later", log(&[start, start, end]), Corrupt),
        ("bad line at the tail", log(&[start, "{x}"]), Torn(1, 2)),
        ("bad line, good ones after", log(&[start, "{x}", &turn_start(1)]), Torn(1, 2)),
        ("bad line, a turn ends later", log(&[start, "{x}", end]), Corrupt),
        ("line is an array", log(&["[]"]), Torn(0, 1)),
        ("line is null", log(&["null"]), Torn(0, 1)),
        ("line is a number", log(&[start, end, "5"]), Torn(2, 3)),
        ("second header", log(&[HEADER, start, end]), Corrupt),
        ("BOM in line 2", log(&[&format!("\u{feff}{start}"), end]), Corrupt),
    ]);
}

// spec: session/S96
#[test]
fn white_space_and_repeated_keys_are_no_damage() {
    let (start, end) = (&*turn_start(0), &*turn_end(1));
    check(&[
        ("CRLF after the header", format!("{HEADER}\r\n{start}\n{end}\n"), Whole(2)),
        ("CRLF everywhere", log(&[start, end]).replace('\n', "\r\n"), Whole(2)),
        ("spaces around", log(&[&format!("  {start} \t"), end]), Whole(2)),
        (
            "repeated key in data",
            log(&[&start.replace("\"turn\":1", "\"turn\":2,\"turn\":1"), end]),
            Whole(2),
        ),
    ]);
}

// spec: session/S79
#[test]
fn what_a_later_build_may_have_written_is_unsupported_and_not_corrupt() {
    let (start, end) = (&*turn_start(0), &*turn_end(1));
    let typed = |fields: &str| format!("{{{fields},\"seq\":0,\"time\":0,\"data\":{{}}}}");
    check(&[
        ("unknown type", log(&[&typed("\"type\":\"x/y\"")]), Unsupported),
        ("unknown type, ignorable", log(&[&typed("\"type\":\"x/y\",\"ignorable\":true")]), Whole(1)),
        (
            "known type, ignorable",
            log(&[&start.replace("{\"type\"", "{\"ignorable\":true,\"type\""), end]),
            Whole(2),
        ),
        ("version 1", log(&[start, end]).replace("\"version\":0", "\"version\":1"), Unsupported),
        ("version -1", log(&[start, end]).replace("\"version\":0", "\"version\":-1"), Unsupported),
        ("version -0", log(&[start, end]).replace("\"version\":0", "\"version\":-0"), Whole(2)),
        ("version \"0\"", log(&[start, end]).replace("\"version\":0", "\"version\":\"0\""), Corrupt),
        ("no version", log(&[start, end]).replace("\"version\":0,", ""), Corrupt),
    ]);
}

// spec: session/S79
#[test]
fn the_error_for_another_version_names_the_file() {
    let root = tempfile::tempdir().unwrap();
    let path =
        put(root.path(), Compression::None, log(&[]).replace("\"version\":0", "\"version\":7").as_bytes());
    let store = quick(root.path(), Compression::None);
    let error = store.read("t").unwrap_err().to_string();
    assert!(error.contains(path.to_str().unwrap()) && error.contains("version 7"), "{error}");
    assert_eq!(store.list().unwrap().len(), 1, "it is listed all the same");
}

// spec: session/S79, S92
#[test]
fn an_event_that_no_cut_explains_is_corrupt() {
    let end = &*turn_end(1);
    let time = |time: &str| log(&[&turn_start(0).replace("\"time\":0", &format!("\"time\":{time}")), end]);
    let seq = |seq: &str| log(&[&turn_start(0).replace("\"seq\":0", &format!("\"seq\":{seq}")), end]);
    check(&[
        ("negative time", time("-7"), Whole(2)),
        ("time 5.5", time("5.5"), Corrupt),
        ("time 1e3", time("1e3"), Whole(2)),
        ("time 5.0", time("5.0"), Whole(2)),
        ("time string", time("\"5\""), Corrupt),
        ("time 2^53", time("9007199254740992"), Corrupt),
        ("seq 0.0", seq("0.0"), Whole(2)),
        ("seq 0.5", seq("0.5"), Corrupt),
        ("seq string", seq("\"0\""), Corrupt),
        ("seq -1", seq("-1"), Corrupt),
        ("extra key", log(&[&turn_start(0).replace("\"time\"", "\"x\":1,\"time\""), end]), Corrupt),
        ("no data", log(&["{\"type\":\"turn/start\",\"seq\":0,\"time\":0}", end]), Corrupt),
        (
            "surface type without mark",
            log(&[
                "{\"type\":\"user/message\",\"seq\":0,\"time\":0,\"data\":{\"id\":\"m\",\"role\":\"user\",\"content\":[],\"source\":{\"kind\":\"user\"}}}",
            ]),
            Corrupt,
        ),
        (
            "mark on turn/start",
            log(&[&turn_start(0).replace("\"time\"", "\"surfaceOp\":\"append\",\"time\""), end]),
            Corrupt,
        ),
        (
            "deep nesting",
            log(&[&format!(
                "{{\"type\":\"x/y\",\"seq\":0,\"time\":0,\"ignorable\":true,\"data\":{}1{}}}",
                "[".repeat(100),
                "]".repeat(100)
            )]),
            Whole(1),
        ),
    ]);
}

// spec: session/S93, S96
#[test]
fn a_packed_row_is_read_whole_or_not_at_all() {
    let start = &*turn_start(0);
    let row = |fields: &str| {
        format!(
            "{{\"type\":\"text-chunks\",\"seq0\":1,\"time0\":1,\"data\":{{\"turn\":1,\"step\":1,\"index\":0,{fields}}}}}"
        )
    };
    let three = row("\"dt\":[1,-2],\"texts\":[\"a\",\"\",\"b\"]");
    check(&[
        ("three", log(&[start, &three]), Whole(4)),
        ("two", log(&[start, &row("\"dt\":[1],\"texts\":[\"a\",\"b\"]")]), Whole(3)),
        ("one", log(&[start, &row("\"dt\":[],\"texts\":[\"a\"]")]), Whole(2)),
        ("none", log(&[start, &row("\"dt\":[],\"texts\":[]")]), Torn(1, 2)),
        ("wrong arity", log(&[start, &row("\"dt\":[1],\"texts\":[\"a\",\"b\",\"c\"]")]), Torn(1, 2)),
        ("gap", log(&[start, &three.replace("\"seq0\":1", "\"seq0\":2")]), Torn(1, 2)),
        ("ignorable", log(&[start, &three.replace("\"seq0\"", "\"ignorable\":true,\"seq0\"")]), Torn(1, 2)),
        ("extra key in data", log(&[start, &three.replace("\"turn\"", "\"x\":1,\"turn\"")]), Torn(1, 2)),
        ("seq0 1.5", log(&[start, &three.replace("\"seq0\":1", "\"seq0\":1.5")]), Torn(1, 2)),
        ("float gap of time", log(&[start, &row("\"dt\":[1.5],\"texts\":[\"a\",\"b\"]")]), Torn(1, 2)),
        ("negative index", log(&[start, &three.replace("\"index\":0", "\"index\":-1")]), Whole(4)),
        (
            "malformed, a turn ends later",
            log(&[start, &row("\"dt\":[],\"texts\":[]"), &turn_end(1)]),
            Corrupt,
        ),
        ("mixed with single ones", log(&[start, &three, &chunk(4, "c"), &turn_end(5)]), Whole(6)),
    ]);
}

// spec: session/S92
#[test]
fn a_header_is_read_whatever_the_order_of_its_keys_and_refused_for_retired_ones() {
    let with = |field: &str| log(&[]).replace("\"createdAt\"", &format!("{field},\"createdAt\""));
    check(&[
        (
            "type last",
            "{\"version\":0,\"id\":\"t\",\"createdAt\":1,\"delegationDepth\":0,\"type\":\"session\"}\n"
                .to_owned(),
            Whole(0),
        ),
        ("extra key", with("\"x\":1"), Whole(0)),
        ("sandboxMode", with("\"sandboxMode\":\"off\""), Corrupt),
        ("approvalPolicy", with("\"approvalPolicy\":\"ask\""), Corrupt),
        ("no delegationDepth", log(&[]).replace(",\"delegationDepth\":0", ""), Corrupt),
        ("delegationDepth -0", log(&[]).replace("\"delegationDepth\":0", "\"delegationDepth\":-0"), Corrupt),
        ("createdAt 1.5", log(&[]).replace("\"createdAt\":1", "\"createdAt\":1.5"), Corrupt),
        ("createdAt -1", log(&[]).replace("\"createdAt\":1", "\"createdAt\":-1"), Corrupt),
        ("origin", with("\"origin\":\"x\""), Corrupt),
        ("seedLength beyond the log", with("\"seedLength\":9"), Whole(0)),
        ("seedLength -1", with("\"seedLength\":-1"), Corrupt),
        ("cwd null", with("\"cwd\":null"), Corrupt),
    ]);
}

// spec: session/S96
#[test]
fn bytes_that_are_no_text_are_read_as_a_replacement_and_stay_as_they_are() {
    let root = tempfile::tempdir().unwrap();
    let mut bytes = log(&[&turn_start(0)]).into_bytes();
    bytes.extend(b"{\"type\":\"x/y\",\"seq\":1,\"time\":0,\"data\":\"a\xffb\",\"ignorable\":true}\n");
    let before = bytes.clone();
    put(root.path(), Compression::None, &bytes);
    let store = quick(root.path(), Compression::None);
    let stored = store.read("t").unwrap().unwrap();
    assert_eq!(stored.torn, None);
    assert_eq!(stored.events.get(1).unwrap().data().get(), "\"a\u{fffd}b\"");
    let stored = repaired(&store, "t").unwrap().unwrap();
    assert_eq!(kinds(&stored.events), ["turn/start", "x/y", "turn/end"]);
    let after = fs::read(log_path(root.path(), Compression::None)).unwrap();
    assert!(after.starts_with(&before));
}

// spec: session/S96
#[test]
fn a_torn_line_behind_bytes_that_are_no_text_is_cut_off_at_its_own_place() {
    let root = tempfile::tempdir().unwrap();
    let mut bytes = log(&[]).into_bytes();
    bytes.extend(b"{\"type\":\"x/y\",\"seq\":0,\"time\":0,\"data\":\"\xff\xff\xff\",\"ignorable\":true}\n");
    let sound = bytes.clone();
    bytes.extend(b"{\"type\":\"x/y\",\"se");
    put(root.path(), Compression::None, &bytes);
    repaired(&quick(root.path(), Compression::None), "t").unwrap().unwrap();
    assert_eq!(fs::read(log_path(root.path(), Compression::None)).unwrap(), sound);
}
