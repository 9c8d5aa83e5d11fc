//! A log that is cut at any byte is opened, repaired and added to again.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::fs;
use std::sync::Arc;

use dsh_session::{Event, Opened, SessionLog, Storage as _, closers};
use dsh_session_jsonl::{Compression, decode};
use support::{BOTH, HEADER, chunk, events, header, log_path, put, quick, text, turn_end, turn_start};

/// A turn with a packed row, a user's message and an end, then an open turn.
fn all() -> Vec<Arc<Event>> {
    let user = |seq: usize| {
        format!(
            r#"{{"type":"user/message","seq":{seq},"time":{seq},"data":{{"id":"m{seq}","role":"user","source":{{"kind":"user"}},"content":[{{"type":"text","text":"héllo {seq} 😀"}}]}},"surfaceOp":"append"}}"#
        )
    };
    let step = |seq: usize| {
        format!(r#"{{"type":"step/start","seq":{seq},"time":{seq},"data":{{"turn":1,"step":1}}}}"#)
    };
    let mut lines = vec![turn_start(0), user(1), turn_end(2), turn_start(3), user(4), step(5)];
    lines.extend((6..12).map(|seq| chunk(seq, "pièce")));
    lines.push(user(12));
    events(&lines)
}

fn written(root: &std::path::Path, compression: Compression, batches: &[&[Arc<Event>]]) -> Vec<u8> {
    let store = quick(root, compression);
    let mut writer = store.create(&header(), batches[0]).unwrap();
    for batch in &batches[1..] {
        writer.append(batch).unwrap();
    }
    fs::read(log_path(root, compression)).unwrap()
}

/// How many events a file of so many bytes must have: those of the batches that are whole in it.
fn acknowledged(ends: &[(usize, usize)], length: usize) -> usize {
    ends.iter().filter(|(end, _)| *end <= length).map(|(_, count)| *count).max().unwrap_or(0)
}

// spec: session/S96, S97, design/P8
#[test]
fn a_log_cut_at_any_byte_of_its_last_two_batches_loses_none_before_them() {
    let all = all();
    for compression in BOTH {
        let root = tempfile::tempdir().unwrap();
        let batches = [&all[..3], &all[3..6], &all[6..13]];
        let mut ends = Vec::new();
        for count in 1..=3 {
            let root = tempfile::tempdir().unwrap();
            let length = written(root.path(), compression, &batches[..count]).len();
            ends.push((length, batches[..count].iter().map(|batch| batch.len()).sum()));
        }
        let file = written(root.path(), compression, &batches);
        for length in ends[0].0..=file.len() {
            let root = tempfile::tempdir().unwrap();
            put(root.path(), compression, &file[..length]);
            cut_file_is_usable(root.path(), compression, acknowledged(&ends, length), &all);
        }
    }
}

fn cut_file_is_usable(root: &std::path::Path, compression: Compression, least: usize, all: &[Arc<Event>]) {
    let store = quick(root, compression);
    let Opened { stored, mut writer } = store.open("t").unwrap().unwrap();
    let kept = stored.events.len();
    assert!(kept >= least, "{kept} of {least} events left");
    assert_eq!(stored.events.to_vec(), all[..kept]);

    let closers = closers(&stored.events);
    writer.repair(&closers).unwrap();
    drop(writer);
    let Opened { stored, mut writer } = store.open("t").unwrap().unwrap();
    assert_eq!(stored.torn, None);
    assert_eq!(stored.events.to_vec(), [&all[..kept], &closers].concat());

    let next = stored.events.len();
    let more = format!(r#"{{"type":"x/note","seq":{next},"time":0,"data":1,"ignorable":true}}"#);
    let raw = store.read_raw("t").unwrap().unwrap().content;
    let more =
        SessionLog::parse(format!("{raw}{more}\n").as_bytes()).unwrap().events.from(next).collect::<Vec<_>>();
    writer.append(&more).unwrap();
    drop(writer);
    let Opened { stored, .. } = store.open("t").unwrap().unwrap();
    assert_eq!(stored.torn, None);
    assert_eq!(stored.events.len(), next + 1);
}

// spec: session/S96, S97
#[test]
fn a_log_cut_at_any_byte_is_read_or_refused_and_never_holds_what_was_not_written() {
    let all = all();
    for compression in BOTH {
        let root = tempfile::tempdir().unwrap();
        let file = written(root.path(), compression, &[&all[..3], &all[3..6], &all[6..13]]);
        let mut before = 0;
        for length in 0..=file.len() {
            // Before the header is whole there is no session.
            let Ok(read) = decode("t", "log", &file[..length], compression, u64::MAX) else {
                assert!(before == 0 && length < HEADER.len() + 20, "cut at {length}");
                continue;
            };
            assert_eq!(read.events.to_vec(), all[..read.events.len()]);
            assert!(read.events.len() >= before, "more bytes, fewer events: cut at {length}");
            before = read.events.len();
        }
        assert_eq!(before, all.len());
    }
}

// spec: session/S96, S93
#[test]
fn a_cut_row_is_dropped_whole() {
    let root = tempfile::tempdir().unwrap();
    let all = all();
    let file = written(root.path(), Compression::None, &[&all[..6], &all[6..12]]);
    let row = text(&[String::from_utf8(file.clone()).unwrap().lines().last().unwrap().to_owned()]);
    assert!(row.starts_with("{\"type\":\"text-chunks\""));
    for length in file.len() - row.len()..file.len() {
        let read = decode("t", "log", &file[..length], Compression::None, u64::MAX).unwrap();
        assert_eq!(read.events.len(), 6);
    }
}
