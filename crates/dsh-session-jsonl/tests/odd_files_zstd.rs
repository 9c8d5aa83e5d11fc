//! What becomes of files that are not quite logs, compressed: only a last frame that is not whole is explained by a crash.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::fs;

use dsh_session::{Storage as _, StorageError};
use dsh_session_jsonl::{Compression, Config, JsonlStorage};
use support::{
    HEADER, frame, frame_of, frames, kinds, log_path, message, note, put, quick, repaired, turn_end,
    turn_start,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    Whole(usize),
    /// So many events are kept.
    Torn(usize),
    Corrupt,
}
use Read::{Corrupt, Torn, Whole};

fn header_frame() -> Vec<u8> {
    frame(&format!("{HEADER}\n"))
}

fn log(more: &[&[u8]]) -> Vec<u8> {
    [header_frame(), more.concat()].concat()
}

fn lines(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A name, the file, what is read of it, and how many sessions are listed.
type Row<'a> = (&'a str, Vec<u8>, Read, Result<usize, ()>);

#[track_caller]
fn check(rows: &[Row<'_>]) {
    for (name, bytes, expected, listed) in rows {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), Compression::Zstd, bytes);
        let store = quick(root.path(), Compression::Zstd);
        let seen = match store.read("t") {
            Ok(Some(stored)) if stored.torn.is_some() => Torn(stored.events.len()),
            Ok(Some(stored)) => Whole(stored.events.len()),
            Ok(None) => panic!("there is a file"),
            Err(StorageError::Corrupt { .. }) => Corrupt,
            Err(other) => panic!("{name}: {other}"),
        };
        assert_eq!(seen, *expected, "{name}");
        // Where the reference's list fails as a whole, the log is left out.
        assert_eq!(store.list().unwrap().len(), listed.unwrap_or(0), "{name}: list");
    }
}

fn both() -> String {
    lines(&[&turn_start(0), &turn_end(1)])
}

// spec: session/S97
#[test]
fn frames_are_read_whatever_their_level_and_checksum() {
    let both = both();
    let (start, end) = (frame(&lines(&[&turn_start(0)])), frame(&lines(&[&turn_end(1)])));
    let half = turn_start(0);
    let (one, two) = half.split_at(20);
    check(&[
        ("good", log(&[&frame(&both)]), Whole(2), Ok(1)),
        ("header alone", log(&[]), Whole(0), Ok(1)),
        ("no checksum", log(&[&frame_of(both.as_bytes(), 3, false)]), Whole(2), Ok(1)),
        ("level 19", log(&[&frame_of(both.as_bytes(), 19, true)]), Whole(2), Ok(1)),
        ("empty frame in the middle", log(&[&start, &frame(""), &end]), Whole(2), Ok(1)),
        ("record over two frames", log(&[&frame(one), &frame(&format!("{two}\n")), &end]), Whole(2), Ok(1)),
        (
            "content size and one segment",
            log(&[&zstd::bulk::compress(both.as_bytes(), 3).unwrap()]),
            Whole(2),
            Ok(1),
        ),
    ]);
}

// spec: session/S97
#[test]
fn a_damaged_frame_that_is_whole_is_corrupt() {
    let start = frame(&lines(&[&turn_start(0)]));
    let broken = |mut frame: Vec<u8>, from_end: usize| {
        let at = frame.len() - from_end;
        frame[at] ^= 0x55;
        frame
    };
    let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0][..], b"xx"].concat();
    check(&[
        ("bad checksum, last", log(&[&broken(start.clone(), 1)]), Corrupt, Ok(1)),
        (
            "bad checksum, middle",
            log(&[&broken(start.clone(), 1), &frame(&lines(&[&turn_end(1)]))]),
            Corrupt,
            Ok(1),
        ),
        ("bad payload", log(&[&broken(start.clone(), 10)]), Corrupt, Ok(1)),
        ("skippable frame", log(&[&skippable, &frame(&both())]), Corrupt, Ok(1)),
        ("40 bytes of garbage", log(&[&start, &[7; 40]]), Corrupt, Ok(1)),
        ("40 NUL bytes", log(&[&start, &[0; 40]]), Corrupt, Ok(1)),
        ("no newline at the end", log(&[&frame(&turn_start(0))]), Corrupt, Ok(1)),
        ("bad line in the last frame", log(&[&start, &frame("{x}\n")]), Corrupt, Ok(1)),
        ("gap in the last frame", log(&[&start, &frame(&lines(&[&note(5)]))]), Corrupt, Ok(1)),
        ("blank line", log(&[&frame(&lines(&[&turn_start(0), "", &turn_end(1)]))]), Corrupt, Ok(1)),
        ("two headers", log(&[&header_frame(), &start]), Corrupt, Ok(1)),
    ]);
}

// spec: session/S94, S97
#[test]
fn the_first_frame_holds_the_header_and_nothing_else() {
    let header = header_frame();
    let mut bad = header.clone();
    *bad.last_mut().unwrap() ^= 1;
    let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0][..], b"xx"].concat();
    check(&[
        ("empty file", Vec::new(), Corrupt, Ok(0)),
        ("half a frame", header[..40].to_vec(), Corrupt, Ok(0)),
        ("bad checksum", bad, Corrupt, Err(())),
        ("events in it", frame(&format!("{HEADER}\n{}", both())), Corrupt, Err(())),
        (
            "half the line",
            [frame(&HEADER[..20]), frame(&format!("{}\n", &HEADER[20..]))].concat(),
            Corrupt,
            Err(()),
        ),
        ("skippable frame first", [skippable, header].concat(), Corrupt, Err(())),
    ]);
}

// spec: session/S97
#[test]
fn what_is_behind_the_last_whole_frame_is_torn_if_it_may_be_the_start_of_one() {
    let start = frame(&lines(&[&turn_start(0)]));
    let more = frame(&lines(&[&note(1), &note(2)]));
    check(&[
        ("magic only", log(&[&start, &more[..4]]), Torn(1), Ok(1)),
        ("1 byte", log(&[&start, &more[..1]]), Torn(1), Ok(1)),
        ("3 bytes of garbage", log(&[&start, b"abc"]), Torn(1), Ok(1)),
        ("2 NUL bytes", log(&[&start, &[0, 0]]), Torn(1), Ok(1)),
        ("half of its only block", log(&[&start, &more[..more.len() / 2]]), Torn(1), Ok(1)),
        ("without its checksum", log(&[&start, &more[..more.len() - 4]]), Torn(3), Ok(1)),
        ("1 byte of its checksum missing", log(&[&start, &more[..more.len() - 1]]), Torn(3), Ok(1)),
    ]);
}

// spec: session/S97
#[test]
fn whole_blocks_of_a_torn_frame_are_kept_and_written_again_as_one_frame() {
    let events: Vec<String> = (0..6000).map(note).collect();
    let text = support::text(&events);
    let big = frame(&text);
    let root = tempfile::tempdir().unwrap();
    put(root.path(), Compression::Zstd, &log(&[&big[..big.len() * 8 / 10]]));
    let store = quick(root.path(), Compression::Zstd);
    let seen = store.read("t").unwrap().unwrap().events.len();
    let kept = text[..128 << 10].lines().count() - 1;
    assert!(seen >= kept && seen < 6000, "{seen} of 6000, at least {kept}");

    let stored = repaired(&store, "t").unwrap().unwrap();
    assert_eq!(stored.events.len(), seen);
    let file = fs::read(log_path(root.path(), Compression::Zstd)).unwrap();
    let frames = frames(&file);
    assert_eq!(frames.len(), 2);
    assert!(text.starts_with(&frames[1]));
    assert!(file.starts_with(&header_frame()), "what was whole stays");
}

// spec: session/S97
#[test]
fn a_repair_ends_the_turn_in_the_same_frame_as_what_is_kept() {
    let root = tempfile::tempdir().unwrap();
    let torn = frame(&lines(&[&turn_start(0), &note(1)]));
    put(root.path(), Compression::Zstd, &log(&[&torn[..torn.len() - 2]]));
    let stored = repaired(&quick(root.path(), Compression::Zstd), "t").unwrap().unwrap();
    assert_eq!(kinds(&stored.events), ["turn/start", "x/note", "turn/end"]);
    let frames = frames(&fs::read(log_path(root.path(), Compression::Zstd)).unwrap());
    assert_eq!(frames.iter().map(|frame| frame.lines().count()).collect::<Vec<_>>(), [1, 3]);
}

// spec: session/S97
#[test]
fn a_log_that_unpacks_to_more_than_is_allowed_is_an_error_and_not_a_full_memory() {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..512 {
        std::io::Write::write_all(&mut encoder, &zeros).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    assert!(bomb.len() < 100_000);
    for bytes in [log(&[&bomb]), log(&[&bomb[..bomb.len() - 1]])] {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), Compression::Zstd, &bytes);
        let mut config = Config::new(root.path());
        config.max_log_bytes = 1 << 20;
        let store = JsonlStorage::open(config).unwrap();
        let error = message(&store.read("t").unwrap_err());
        assert!(error.contains("longer than 1048576 bytes") && error.contains("maxLogBytes"), "{error}");
    }
}

// spec: session/S97
#[test]
fn a_header_that_unpacks_to_more_than_is_allowed_is_left_out_of_the_list_and_named() {
    let root = tempfile::tempdir().unwrap();
    put(root.path(), Compression::Zstd, &zstd::bulk::compress(&vec![b' '; 2 << 20], 3).unwrap());
    let store = quick(root.path(), Compression::Zstd);
    assert_eq!(store.list().unwrap(), []);
    assert!(matches!(store.read("t"), Err(StorageError::Corrupt { .. })));
}
