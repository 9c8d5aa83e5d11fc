//! Finding and listing logs among whatever is in a root.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use dsh_session::{SessionHeader, Storage as _, StorageError};
use dsh_session_jsonl::{Compression, JsonlStorage};
use support::faulty::FaultyDisk;
use support::{BOTH, HEADER, config, file_name, frame, header, log_path, message, note, notes, put, quick};

fn line(header: &SessionHeader, compression: Compression) -> Vec<u8> {
    let line = format!("{}\n", header.to_line().unwrap());
    match compression {
        Compression::Zstd => frame(&line),
        Compression::None => line.into_bytes(),
    }
}

fn ids(store: &JsonlStorage) -> Vec<String> {
    let mut ids: Vec<String> = store.list().unwrap().into_iter().map(|listed| listed.header.id).collect();
    ids.sort();
    ids
}

// spec: session/S98
#[test]
fn what_is_no_log_is_not_listed() {
    for compression in BOTH {
        let root = tempfile::tempdir().unwrap();
        let store = quick(root.path(), compression);
        drop(store.create(&header(), &notes(1)).unwrap());
        fs::write(root.path().join("file"), "x").unwrap();
        fs::write(root.path().join("_no-cwd/file"), "x").unwrap();
        fs::write(root.path().join("_no-cwd/t/other"), "x").unwrap();
        fs::create_dir(root.path().join("_no-cwd/empty")).unwrap();
        for (name, content) in [("none", &b""[..]), ("half", &line(&header(), compression)[..20])] {
            fs::create_dir(root.path().join("_no-cwd").join(name)).unwrap();
            fs::write(root.path().join("_no-cwd").join(name).join(file_name(compression)), content).unwrap();
        }
        assert_eq!(ids(&store), ["t"], "{compression:?}");
    }
}

// spec: session/S98
#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_log_is_not_waited_for() {
    for compression in BOTH {
        let root = tempfile::tempdir().unwrap();
        let store = quick(root.path(), compression);
        drop(store.create(&header(), &notes(1)).unwrap());
        let folder = root.path().join("_no-cwd/pipe");
        fs::create_dir(&folder).unwrap();
        let made = std::process::Command::new("mkfifo").arg(folder.join(file_name(compression))).status();
        assert!(made.unwrap().success());
        assert_eq!(ids(&store), ["t"], "{compression:?}");
        for failed in [store.read("pipe").err(), store.open("pipe").err(), store.read_raw("pipe").err()] {
            assert!(failed.unwrap().to_string().contains("pipe"), "{compression:?}");
        }
    }
}

// spec: session/S98
#[test]
fn a_plain_file_whose_first_line_is_no_header_is_not_listed() {
    for first in [
        "hello\n".to_owned(),
        format!("{}\n", note(0)),
        "\n".to_owned() + HEADER + "\n",
        HEADER.to_owned(),
        HEADER.replace("\"createdAt\":1", "\"createdAt\":1.5") + "\n",
        HEADER.replace(",\"delegationDepth\":0", "") + "\n",
        HEADER.replace("\"version\":0", "\"version\":1,\"origin\":\"x\"") + "\n",
    ] {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), Compression::None, first.as_bytes());
        assert_eq!(ids(&quick(root.path(), Compression::None)), [""; 0], "{first}");
    }
}

// spec: session/S98, S92
#[test]
fn a_header_that_does_not_belong_where_it_is_is_left_out_of_the_list_and_fails_whoever_asks_for_it() {
    for (name, first) in [
        ("another id", HEADER.replace("\"id\":\"t\"", "\"id\":\"other\"")),
        ("another cwd", HEADER.replace("\"createdAt\"", "\"cwd\":\"/x\",\"createdAt\"")),
        ("relative cwd", HEADER.replace("\"createdAt\"", "\"cwd\":\"x\",\"createdAt\"")),
        ("cwd null", HEADER.replace("\"createdAt\"", "\"cwd\":null,\"createdAt\"")),
        ("retired key", HEADER.replace("\"createdAt\"", "\"sandboxMode\":1,\"createdAt\"")),
    ] {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), Compression::None, format!("{first}\n").as_bytes());
        let store = quick(root.path(), Compression::None);
        // Another one is listed all the same.
        drop(store.create(&SessionHeader::new("sound", 1), &notes(1)).unwrap());
        assert_eq!(ids(&store), ["sound"], "{name}");
        assert!(matches!(store.read("t"), Err(StorageError::Corrupt { .. })), "{name}");
        assert!(matches!(store.open("t").err(), Some(StorageError::Corrupt { .. })), "{name}");
    }
}

// spec: session/S94
#[test]
fn a_list_reads_no_further_than_the_header() {
    for compression in BOTH {
        let root = tempfile::tempdir().unwrap();
        let mut bytes = line(&header(), compression);
        bytes.extend([b'x'; 100]);
        bytes.push(b'\n');
        put(root.path(), compression, &bytes);
        assert_eq!(ids(&quick(root.path(), compression)), ["t"]);
    }
}

// spec: session/S98
#[test]
fn one_id_in_two_projects_is_an_error_to_those_who_ask_for_it() {
    let root = tempfile::tempdir().unwrap();
    let store = quick(root.path(), Compression::Zstd);
    drop(store.create(&header(), &notes(1)).unwrap());
    let other = SessionHeader { cwd: Some("/x".to_owned()), ..header() };
    let folder = root.path().join("--x--/t");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("session.jsonl.zstd"), line(&other, Compression::Zstd)).unwrap();
    let error = message(&store.read("t").unwrap_err());
    assert!(error.contains("--x--") && error.contains("_no-cwd"), "{error}");
    assert!(store.open("t").is_err());
    assert_eq!(store.list().unwrap().len(), 1, "it is listed once");
}

// spec: session/S98
#[test]
fn an_id_of_another_project_is_taken() {
    let root = tempfile::tempdir().unwrap();
    let store = quick(root.path(), Compression::Zstd);
    drop(store.create(&SessionHeader { cwd: Some("/x".to_owned()), ..header() }, &notes(1)).unwrap());
    assert!(matches!(store.create(&header(), &notes(1)).err(), Some(StorageError::Exists { .. })));
    assert!(!log_path(root.path(), Compression::Zstd).exists());
}

// spec: session/S94
#[test]
fn a_root_of_the_other_encoding_is_refused_and_the_error_says_what_to_do() {
    for (compression, other) in
        [(Compression::Zstd, Compression::None), (Compression::None, Compression::Zstd)]
    {
        let root = tempfile::tempdir().unwrap();
        let early = quick(root.path(), compression);
        put(root.path(), other, &line(&header(), other));
        for error in [
            JsonlStorage::open(config(root.path(), compression)).err().unwrap(),
            early.list().unwrap_err(),
            early.read("t").unwrap_err(),
            early.open("t").err().unwrap(),
            early.create(&header(), &notes(1)).err().unwrap(),
        ] {
            let StorageError::Place { what, .. } = &error else { panic!("{error}") };
            assert!(what.contains(file_name(other)) && what.contains("compression: "), "{what}");
        }
    }
}

// spec: session/S94
#[test]
fn a_log_beside_its_folder_is_refused_and_the_error_says_what_to_do() {
    for name in ["t.jsonl", "t.jsonl.zstd"] {
        let root = tempfile::tempdir().unwrap();
        let early = quick(root.path(), Compression::None);
        fs::create_dir_all(root.path().join("_no-cwd")).unwrap();
        fs::write(root.path().join("_no-cwd").join(name), HEADER).unwrap();
        for error in [
            JsonlStorage::open(config(root.path(), Compression::None)).err().unwrap(),
            early.list().unwrap_err(),
            early.read("t").unwrap_err(),
        ] {
            let StorageError::Place { what, .. } = &error else { panic!("{error}") };
            assert!(what.contains(name) && what.contains("move it"), "{what}");
        }
    }
}

// spec: session/S98
#[test]
fn only_not_found_is_absence() {
    let root = tempfile::tempdir().unwrap();
    let store = quick(root.path(), Compression::Zstd);
    fs::create_dir_all(log_path(root.path(), Compression::Zstd)).unwrap();
    assert!(matches!(store.read("t"), Err(StorageError::Io { .. })), "the log is a folder");
    assert_eq!(store.list().unwrap(), [], "it is left out");
    assert!(store.read("u").unwrap().is_none());
    assert!(matches!(store.read(&"x".repeat(300)), Err(StorageError::Io { .. })));
}

// spec: session/S98
#[cfg(unix)]
#[test]
fn a_link_to_a_project_is_not_followed() {
    let root = tempfile::tempdir().unwrap();
    let store = quick(root.path(), Compression::Zstd);
    drop(store.create(&header(), &notes(1)).unwrap());
    std::os::unix::fs::symlink(root.path().join("_no-cwd"), root.path().join("--link--")).unwrap();
    assert_eq!(ids(&store), ["t"]);
    assert_eq!(store.read("t").unwrap().unwrap().events.len(), 1);
}

// spec: session/S98
#[cfg(unix)]
#[test]
fn another_name_for_the_very_folder_is_accepted() {
    let root = tempfile::tempdir().unwrap();
    let other = SessionHeader { cwd: Some("/X".to_owned()), ..header() };
    let store = quick(root.path(), Compression::None);
    drop(store.create(&other, &notes(1)).unwrap());
    // What a file system that ignores case shows: the header says `X`, the folder is found as `x`.
    fs::rename(root.path().join("--X--"), root.path().join("--x--")).unwrap();
    assert!(store.read("t").is_err(), "another folder");
    std::os::unix::fs::symlink(root.path().join("--x--"), root.path().join("--X--")).unwrap();
    assert_eq!(store.read("t").unwrap().unwrap().events.len(), 1);
}

fn revision(root: &Path) -> String {
    quick(root, Compression::Zstd).revision("t").unwrap().unwrap()
}

// spec: session/S99, S80
#[cfg(unix)]
#[test]
fn a_revision_names_the_file_and_changes_with_it() {
    use std::os::unix::fs::MetadataExt as _;

    let root = tempfile::tempdir().unwrap();
    let store = quick(root.path(), Compression::Zstd);
    let mut writer = store.create(&header(), &notes(2)[..1]).unwrap();
    let first = revision(root.path());
    let meta = fs::metadata(log_path(root.path(), Compression::Zstd)).unwrap();
    let ns = |seconds: i64, ns: i64| i128::from(seconds) * 1_000_000_000 + i128::from(ns);
    let expected = format!(
        "{}:{}:{}:{}:{}",
        meta.dev(),
        meta.ino(),
        meta.size(),
        ns(meta.mtime(), meta.mtime_nsec()),
        ns(meta.ctime(), meta.ctime_nsec())
    );
    assert_eq!(first, expected);
    assert_eq!(store.read("t").unwrap().unwrap().revision, first);
    assert_eq!(store.list().unwrap()[0].revision, first);
    assert_eq!(revision(root.path()), first, "reading changes nothing");
    writer.append(&notes(2)[1..]).unwrap();
    assert_ne!(revision(root.path()), first);
}

// spec: session/S99
#[test]
fn a_log_that_is_written_to_is_read_as_it_was_at_one_moment() {
    let root = tempfile::tempdir().unwrap();
    let store = quick(root.path(), Compression::None);
    let all = notes(400);
    let mut writer = store.create(&header(), &all[..1]).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for index in 1..400 {
                writer.append(&all[index..=index]).unwrap();
            }
        });
        let mut seen = 0;
        while seen < 400 {
            match store.read("t") {
                Ok(stored) => {
                    let stored = stored.unwrap();
                    assert!(stored.events.len() >= seen, "it never goes back");
                    seen = stored.events.len();
                }
                // It never held still while it was looked at.
                Err(error) => assert!(matches!(error, StorageError::Stale { .. }), "{error}"),
            }
        }
    });
}

// spec: session/S99
#[test]
fn a_log_that_changes_while_it_is_read_is_read_again() {
    for compression in BOTH {
        let (root, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
        let all = notes(3);
        let writer = quick(root.path(), compression).create(&header(), &all[..1]).unwrap();
        let (writer, seen) = (Mutex::new(writer), AtomicUsize::new(1));
        let events = all.clone();
        disk.meddle(2, move || {
            let next = seen.fetch_add(1, Ordering::Relaxed);
            writer.lock().unwrap().append(&events[next..=next]).unwrap();
        });
        let store = JsonlStorage::open_on(config(root.path(), compression), Arc::new(disk)).unwrap();
        let stored = store.read("t").unwrap().unwrap();
        assert_eq!(stored.events.to_vec(), all);
        assert_eq!(Some(stored.revision), store.revision("t").unwrap());
    }
}

// spec: session/S99
#[test]
fn a_log_that_is_replaced_while_it_is_read_is_read_again() {
    let (root, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
    drop(quick(root.path(), Compression::None).create(&header(), &notes(1)).unwrap());
    let (path, other) = (log_path(root.path(), Compression::None), root.path().join("other"));
    let text = fs::read_to_string(&path).unwrap().replace("\"n\":0", "\"n\":7");
    fs::write(&other, text).unwrap();
    let target = path.clone();
    disk.meddle(1, move || fs::rename(&other, &target).unwrap());
    let store = JsonlStorage::open_on(config(root.path(), Compression::None), Arc::new(disk)).unwrap();
    assert_eq!(store.read("t").unwrap().unwrap().events.first().unwrap().data().get(), "{\"n\":7}");
}

// spec: session/S99
#[test]
fn a_log_that_never_holds_still_is_an_error_and_not_a_wait_for_ever() {
    let (root, disk) = (tempfile::tempdir().unwrap(), FaultyDisk::default());
    drop(quick(root.path(), Compression::None).create(&header(), &notes(1)).unwrap());
    let path = log_path(root.path(), Compression::None);
    disk.meddle(usize::MAX, move || {
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b" ").unwrap();
    });
    let store = JsonlStorage::open_on(config(root.path(), Compression::None), Arc::new(disk)).unwrap();
    assert!(matches!(store.read("t"), Err(StorageError::Stale { .. })));
}
