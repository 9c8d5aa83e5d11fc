//! Making logs, adding to them, and who may.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::fs;
use std::io::Write as _;

use dsh_session::{Opened, Storage as _, StorageError};
use dsh_session_jsonl::{Compression, JsonlStorage};
use support::{
    BOTH, HEADER, chunk, config, events, frame, frames, header, kinds, log_path, message, note, notes, put,
    quick, repaired, store, text, turn_end, turn_start,
};

// spec: session/S92, S94, S95
#[test]
fn a_new_log_is_its_header_and_its_first_batch() {
    for compression in BOTH {
        let root = tempfile::tempdir().unwrap();
        drop(store(root.path(), compression).create(&header(), &notes(2)).unwrap());
        let file = fs::read(log_path(root.path(), compression)).unwrap();
        let (first, second) = (format!("{HEADER}\n"), text(&[note(0), note(1)]));
        match compression {
            Compression::Zstd => assert_eq!(file, [frame(&first), frame(&second)].concat()),
            Compression::None => assert_eq!(String::from_utf8(file).unwrap(), first + &second),
        }
    }
}

// spec: session/S94
#[test]
fn a_frame_has_a_checksum_and_no_content_size() {
    let root = tempfile::tempdir().unwrap();
    drop(quick(root.path(), Compression::Zstd).create(&header(), &notes(2)).unwrap());
    let file = fs::read(log_path(root.path(), Compression::Zstd)).unwrap();
    assert_eq!(file[..6], [0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58]);
}

// spec: session/S94, S95
#[test]
fn a_batch_is_added_as_one_frame_or_as_its_lines() {
    for compression in BOTH {
        let root = tempfile::tempdir().unwrap();
        let all = notes(5);
        let mut writer = store(root.path(), compression).create(&header(), &all[..1]).unwrap();
        let before = fs::read(log_path(root.path(), compression)).unwrap();
        writer.append(&all[1..4]).unwrap();
        writer.append(&all[4..]).unwrap();
        let after = fs::read(log_path(root.path(), compression)).unwrap();
        assert!(after.starts_with(&before), "what was there stays");
        let lines: Vec<String> = (0..5).map(note).collect();
        match compression {
            Compression::Zstd => assert_eq!(frames(&after)[2..], [text(&lines[1..4]), text(&lines[4..])]),
            Compression::None => {
                assert_eq!(String::from_utf8(after).unwrap(), format!("{HEADER}\n{}", text(&lines)))
            }
        }
    }
}

// spec: session/S93
#[test]
fn runs_are_packed_within_a_batch_and_never_across_two() {
    let lines: Vec<String> = (0..8).map(|seq| chunk(seq, "a")).collect();
    let all = events(&lines);
    let written = |pack: bool| {
        let root = tempfile::tempdir().unwrap();
        let mut config = config(root.path(), Compression::None);
        config.pack_chunks = pack;
        let mut writer = JsonlStorage::open(config).unwrap().create(&header(), &all[..2]).unwrap();
        writer.append(&all[2..]).unwrap();
        let read = quick(root.path(), Compression::None).read("t").unwrap().unwrap();
        assert_eq!(read.events.to_vec(), all, "both are read");
        fs::read_to_string(log_path(root.path(), Compression::None)).unwrap()
    };
    let row = r#"{"type":"text-chunks","seq0":2,"time0":2,"data":{"turn":1,"step":1,"index":0,"dt":[1,1,1,1,1],"texts":["a","a","a","a","a","a"]}}"#;
    assert_eq!(written(true), format!("{HEADER}\n{}\n{}\n{row}\n", lines[0], lines[1]));
    assert_eq!(written(false), format!("{HEADER}\n{}", text(&lines)));
}

// spec: session/S95
#[cfg(unix)]
#[test]
fn folders_and_files_are_for_their_owner_alone_and_nothing_else_is_left() {
    use std::os::unix::fs::MetadataExt as _;

    for compression in BOTH {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        let _writer = store(&root, compression).create(&header(), &notes(1)).unwrap();
        let mode = |path: &std::path::Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&root), 0o700);
        assert_eq!(mode(&root.join("_no-cwd")), 0o700);
        assert_eq!(mode(&root.join("_no-cwd/t")), 0o700);
        let log = log_path(&root, compression);
        assert_eq!(mode(&log), 0o600);
        assert_eq!(fs::metadata(&log).unwrap().nlink(), 1);
        let mut names: Vec<_> =
            fs::read_dir(log.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [log.file_name().unwrap(), "session.lock".as_ref()]);
        assert_eq!(mode(&log.with_file_name("session.lock")), 0o600);
    }
}

// spec: session/S95
#[test]
fn a_log_that_is_there_is_never_made_again() {
    for compression in BOTH {
        let root = tempfile::tempdir().unwrap();
        let store = quick(root.path(), compression);
        drop(store.create(&header(), &notes(2)).unwrap());
        let before = fs::read(log_path(root.path(), compression)).unwrap();
        assert!(matches!(store.create(&header(), &notes(1)).err(), Some(StorageError::Exists { .. })));
        assert_eq!(fs::read(log_path(root.path(), compression)).unwrap(), before);
    }
}

// spec: session/S95
#[test]
fn a_temporary_file_of_somebody_who_was_killed_is_in_nobodys_way() {
    let root = tempfile::tempdir().unwrap();
    let stale = put(root.path(), Compression::Zstd, b"").with_file_name(".session.jsonl.zstd.tmp");
    fs::rename(log_path(root.path(), Compression::Zstd), &stale).unwrap();
    let store = quick(root.path(), Compression::Zstd);
    drop(store.create(&header(), &notes(2)).unwrap());
    assert_eq!(store.read("t").unwrap().unwrap().events.len(), 2);
    assert!(!stale.exists());
}

// spec: session/S72
#[test]
fn an_empty_batch_writes_nothing_and_a_wrong_number_is_refused() {
    for compression in BOTH {
        let root = tempfile::tempdir().unwrap();
        let store = quick(root.path(), compression);
        let all = notes(5);
        let mut writer = store.create(&header(), &all[..1]).unwrap();
        let before = store.revision("t").unwrap();
        writer.append(&[]).unwrap();
        writer.repair(&[]).unwrap();
        for wrong in [&all[..1], &all[2..3], &[all[1].clone(), all[3].clone()]] {
            let error = message(&writer.append(wrong).unwrap_err());
            assert!(error.contains("expected the event"), "{error}");
        }
        assert_eq!(store.revision("t").unwrap(), before);
        writer.append(&all[1..]).unwrap();
        assert_eq!(store.read("t").unwrap().unwrap().events.to_vec(), all);
        assert!(
            store.create(&dsh_session::SessionHeader::new("u", 1), &all[1..]).is_err(),
            "numbers start at 0"
        );
    }
}

// spec: session/S101, design/P8
#[test]
fn a_second_writer_in_the_same_process_is_refused_until_the_first_has_gone() {
    for compression in BOTH {
        let root = tempfile::tempdir().unwrap();
        let store = quick(root.path(), compression);
        let writer = store.create(&header(), &notes(1)).unwrap();
        for other in [&store, &quick(root.path(), compression)] {
            let Some(StorageError::Busy { holder, .. }) = other.open("t").err() else {
                panic!("two writers")
            };
            assert_eq!(holder, format!("this process ({})", std::process::id()));
            assert_eq!(other.read("t").unwrap().unwrap().events.len(), 1, "readers are not kept out");
        }
        drop(writer);
        let first = store.open("t").unwrap().unwrap();
        assert!(store.open("t").is_err());
        drop(first);
        assert!(store.open("t").is_ok());
    }
}

// spec: design/P8
#[test]
fn a_log_that_somebody_else_has_written_to_is_not_written_to_again() {
    for compression in BOTH {
        let root = tempfile::tempdir().unwrap();
        let store = quick(root.path(), compression);
        let all = notes(3);
        let mut writer = store.create(&header(), &all[..1]).unwrap();
        let line = text(&[note(1)]);
        let bytes = if compression == Compression::Zstd { frame(&line) } else { line.into_bytes() };
        let path = log_path(root.path(), compression);
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(&bytes).unwrap();
        assert!(matches!(writer.append(&all[1..2]), Err(StorageError::Stale { .. })));
        drop(writer);
        let Opened { stored, mut writer } = store.open("t").unwrap().unwrap();
        assert_eq!(stored.events.to_vec(), all[..2]);
        writer.append(&all[2..]).unwrap();

        fs::remove_file(&path).unwrap();
        assert!(
            matches!(writer.append(&notes(4)[3..]), Err(StorageError::Stale { .. })),
            "it would write to a file without a name"
        );
    }
}

// spec: session/S95, S96, S97
#[test]
fn a_repair_and_an_append_after_it_leave_one_sound_log() {
    for compression in BOTH {
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path(), compression);
        drop(store.create(&header(), &events(&[turn_start(0)])).unwrap());
        let path = log_path(root.path(), compression);
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"t").unwrap();
        let stored = repaired(&store, "t").unwrap().unwrap();
        assert_eq!(kinds(&stored.events), ["turn/start", "turn/end"]);
        assert_eq!(stored.torn, None);
        assert!(!path.with_file_name(format!(".{}.tmp", support::file_name(compression))).exists());
        let mut writer = store.open("t").unwrap().unwrap().writer;
        let lines = [turn_start(0), turn_end(1), note(2)];
        writer.append(&events(&lines)[2..]).unwrap();
        assert_eq!(store.read("t").unwrap().unwrap().events.len(), 3);
    }
}

// spec: session/S85
#[test]
fn an_append_to_a_torn_log_takes_the_torn_end_away_and_closes_nothing() {
    for compression in BOTH {
        let root = tempfile::tempdir().unwrap();
        let store = quick(root.path(), compression);
        drop(store.create(&header(), &events(&[turn_start(0)])).unwrap());
        fs::OpenOptions::new()
            .append(true)
            .open(log_path(root.path(), compression))
            .unwrap()
            .write_all(b"{\"t")
            .unwrap();
        let Opened { stored, mut writer } = store.open("t").unwrap().unwrap();
        assert!(stored.torn.is_some());
        writer.append(&events(&[turn_start(0), note(1)])[1..]).unwrap();
        let stored = store.read("t").unwrap().unwrap();
        assert_eq!(kinds(&stored.events), ["turn/start", "x/note"]);
        assert_eq!(stored.torn, None);
    }
}

// spec: session/S76, S78
#[test]
fn reading_changes_nothing_on_the_disk() {
    for compression in BOTH {
        let root = tempfile::tempdir().unwrap();
        let store = quick(root.path(), compression);
        drop(store.create(&header(), &events(&[turn_start(0), note(1), note(2)])).unwrap());
        let path = log_path(root.path(), compression);
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"t").unwrap();
        let (bytes, before) = (fs::read(&path).unwrap(), store.revision("t").unwrap());
        assert!(store.read("t").unwrap().unwrap().torn.is_some());
        let suffix = store.read_from("t", 1).unwrap().unwrap();
        assert_eq!(kinds(&suffix.events), ["x/note", "x/note"]);
        assert!(store.read_from("t", 9).unwrap().unwrap().events.is_empty());
        store.read_raw("t").unwrap();
        store.list().unwrap();
        assert_eq!(store.revision("t").unwrap(), before);
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}
