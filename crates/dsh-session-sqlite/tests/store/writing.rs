//! Batches, revisions, and who wrote in between.

use std::time::{Duration, Instant};

use dsh_session::{Origin, SessionHeader, Storage as _, StorageError};
use dsh_session_sqlite::{Config, JournalMode, SqliteStore};

use crate::fixture::{Folder, events, header, line, read, seqs, stored, turns};

// spec: session/S102
#[test]
fn a_configuration_has_defaults_and_bounds() {
    let config: Config = serde_json::from_str(r#"{"path":"a.db"}"#).unwrap();
    assert_eq!(config, Config::new("a.db"));
    assert_eq!(
        serde_json::to_value(&config).unwrap(),
        serde_json::json!({"path": "a.db", "journalMode": "wal", "busyTimeoutMs": 5000, "packChunks": true,
            "writeBatchMaxDelayMs": 200, "preparedSessionCacheSize": 5})
    );
    for mode in ["wal", "delete", "truncate", "persist"] {
        let text = format!(r#"{{"path":"a.db","journalMode":"{mode}"}}"#);
        assert!(serde_json::from_str::<Config>(&text).is_ok());
    }
    for wrong in [
        r#"{"path":"a","journalMode":"off"}"#,
        r#"{"path":"a","busyTimeoutMs":-1}"#,
        r#"{"path":"a","more":1}"#,
    ] {
        assert!(serde_json::from_str::<Config>(wrong).is_err(), "{wrong}");
    }
    for (busy_timeout_ms, fits) in [(0, true), (i32::MAX as u32, true), (i32::MAX as u32 + 1, false)] {
        let config = Config { busy_timeout_ms, ..Config::new(":memory:") };
        assert_eq!(SqliteStore::new(&config).is_ok(), fits);
    }
    assert!(SqliteStore::new(&Config::new("")).is_err());
}

// spec: session/S102
#[test]
fn a_session_is_at_no_location_and_has_no_raw_log() {
    let store = stored(&Folder::new(), &[]);
    assert_eq!(store.locate(&header()), None);
    assert!(!store.has_raw());
    assert!(matches!(store.read_raw("s"), Err(StorageError::Unsupported { .. })));
}

#[test]
fn a_database_in_memory_ends_with_its_store() {
    let config = Config::new(":memory:");
    let store = SqliteStore::new(&config).unwrap();
    drop(store.create(&header(), &events(&turns(1))).unwrap());
    assert_eq!(seqs(&read(&store)), [0, 1, 2]);
    assert!(SqliteStore::new(&config).unwrap().read("s").unwrap().is_none());
    assert!(!std::path::Path::new(":memory:").exists());
}

#[test]
fn every_field_of_a_header_comes_back() {
    let folder = Folder::new();
    let full = SessionHeader {
        cwd: Some("C:\\w".to_owned()),
        parent_session: Some("p".to_owned()),
        seed_length: Some(0),
        origin: Some(Origin::Subagent),
        delegation_depth: 3,
        agent_preset: Some("\u{1f600}".to_owned()),
        ..SessionHeader::new("full\0", (1 << 53) - 1)
    };
    let store = folder.store();
    for header in [full, SessionHeader::new("x", 0)] {
        drop(store.create(&header, &[]).unwrap());
        assert_eq!(store.read(&header.id).unwrap().unwrap().header, header);
    }
    let wrong = SessionHeader { cwd: Some("relative".to_owned()), ..SessionHeader::new("y", 1) };
    assert!(store.create(&wrong, &[]).err().unwrap().to_string().contains("relative"));
    assert_eq!(store.list().unwrap().len(), 2);
}

#[test]
fn an_id_that_is_taken_is_refused_also_while_it_is_written() {
    let folder = Folder::new();
    let store = folder.store();
    let writer = store.create(&header(), &events(&turns(1))).unwrap();
    for _ in 0..2 {
        assert!(matches!(store.create(&header(), &[]), Err(StorageError::Exists { .. })));
    }
    drop(writer);
    assert!(matches!(store.create(&header(), &[]), Err(StorageError::Exists { .. })));
    assert_eq!(seqs(&read(&store)), [0, 1, 2]);
}

#[test]
fn looking_for_a_session_makes_no_database() {
    let folder = Folder::new();
    let store = folder.store();
    assert!(store.read("s").unwrap().is_none() && store.open("s").unwrap().is_none());
    assert!(store.read_from("s", 3).unwrap().is_none() && store.revision("s").unwrap().is_none());
    assert!(store.list().unwrap().is_empty());
    assert!(!std::path::Path::new(&folder.path()).exists());
    drop(store.create(&header(), &[]).unwrap());
    assert!(store.read("t").unwrap().is_none() && store.open("t").unwrap().is_none());
    assert!(store.revision("t").unwrap().is_none());
}

// spec: session/S106
#[test]
fn a_batch_that_does_not_follow_on_is_refused_and_stores_nothing() {
    let folder = Folder::new();
    let store = folder.store();
    let all = events(&turns(3));
    let mut writer = store.create(&header(), &all[..3]).unwrap();
    for wrong in [&all[..3], &all[2..5], &all[4..6]] {
        assert!(matches!(writer.append(wrong), Err(StorageError::Stale { .. })));
    }
    let gap = [all[3].clone(), all[5].clone()];
    assert!(matches!(writer.append(&gap), Err(StorageError::Corrupt { .. })));
    assert!(matches!(store.create(&SessionHeader::new("t", 1), &all[1..]), Err(StorageError::Stale { .. })));
    assert_eq!(seqs(&read(&store)), [0, 1, 2]);
    writer.append(&all[3..]).unwrap();
    assert_eq!(read(&store).events, all);
}

// spec: session/S106
#[test]
fn a_writer_is_stale_when_anybody_else_wrote() {
    let more = "INSERT INTO events VALUES ('s', 3, 'goal/change', 1, '{}', NULL, NULL, NULL)";
    for change in [
        more,
        "DELETE FROM events WHERE seq = 2",
        "DELETE FROM events",
        "UPDATE events SET data = '{' WHERE seq = 2",
        "UPDATE sessions SET revision = 2",
        "UPDATE sessions SET incarnation = '00000000-0000-4000-8000-000000000000'",
        "DELETE FROM sessions",
    ] {
        let folder = Folder::new();
        let store = folder.store();
        let mut writer = store.create(&header(), &events(&turns(1))).unwrap();
        folder.run(change);
        let next = events(&turns(2));
        for _ in 0..2 {
            assert!(matches!(writer.append(&next[3..]), Err(StorageError::Stale { .. })), "{change}");
        }
    }
}

// spec: session/S106
#[test]
fn a_batch_adds_rows_and_one_to_the_revision_and_changes_no_other_row() {
    let folder = Folder::new();
    let store = folder.store();
    let all = events(&turns(3));
    let mut writer = store.create(&header(), &all[..3]).unwrap();
    let rows = "SELECT group_concat(rowid || seq || type || time || data) FROM events WHERE seq < 3";
    let before = folder.column(rows);
    for (revision, batch) in [(2, 3..5), (3, 5..6), (4, 6..9)] {
        writer.append(&all[batch]).unwrap();
        assert_eq!(folder.column("SELECT CAST(revision AS TEXT) FROM sessions"), [revision.to_string()]);
    }
    writer.append(&[]).unwrap();
    assert_eq!(folder.column("SELECT CAST(revision AS TEXT) FROM sessions"), ["4"]);
    assert_eq!(folder.column(rows), before);
}

// spec: session/S108, session/S80
#[test]
fn a_revision_names_the_store_the_incarnation_and_the_count() {
    let folder = Folder::new();
    let store = stored(&folder, &turns(1));
    let id = folder.column("SELECT store_id FROM persistence_state").remove(0);
    let incarnation = folder.column("SELECT incarnation FROM sessions").remove(0);
    let name = |count: u32| format!("sqlite:{id}:{incarnation}:{count}");
    assert_eq!(store.revision("s").unwrap().unwrap(), name(1));
    store.open("s").unwrap().unwrap().writer.append(&events(&turns(2))[3..]).unwrap();
    assert_eq!(read(&store).revision, name(2));
    assert_eq!(folder.store().list().unwrap()[0].revision, name(2));
    assert_eq!(folder.store().read_from("s", 4).unwrap().unwrap().revision, name(2));
    let other = Folder::new();
    assert_ne!(stored(&other, &turns(1)).revision("s").unwrap().unwrap(), name(1));
    // The same id, made anew.
    folder.run("DELETE FROM events");
    folder.run("DELETE FROM sessions");
    drop(store.create(&header(), &[]).unwrap());
    assert_ne!(store.revision("s").unwrap().unwrap(), name(1));
}

// spec: session/S106
#[test]
fn a_batch_waits_for_the_lock_and_can_be_tried_again() {
    let folder = Folder::new();
    let store = SqliteStore::new(&Config { busy_timeout_ms: 60, ..folder.config() }).unwrap();
    let all = events(&turns(2));
    let mut writer = store.create(&header(), &all[..3]).unwrap();
    let other = folder.database();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = Instant::now();
    assert!(matches!(writer.append(&all[3..]), Err(StorageError::Io { .. })));
    assert!(begun.elapsed() >= Duration::from_millis(50));
    assert_eq!(seqs(&read(&store)), [0, 1, 2], "readers do not wait");
    other.execute_batch("COMMIT").unwrap();
    writer.append(&all[3..]).unwrap();
    assert_eq!(read(&store).events, all);
}

#[test]
fn a_commit_that_fails_stores_nothing_and_can_be_tried_again() {
    let folder = Folder::new();
    let (journal_mode, busy_timeout_ms) = (JournalMode::Delete, 30);
    let store = SqliteStore::new(&Config { journal_mode, busy_timeout_ms, ..folder.config() }).unwrap();
    let all = events(&turns(2));
    let mut writer = store.create(&header(), &all[..3]).unwrap();
    // A reader lets a writer begin, and not end, in this mode.
    let reader = folder.database();
    reader.execute_batch("BEGIN; SELECT * FROM sessions").unwrap();
    assert!(matches!(writer.append(&all[3..]), Err(StorageError::Io { .. })));
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(seqs(&read(&store)), [0, 1, 2]);
    writer.append(&all[3..]).unwrap();
    assert_eq!(read(&store).events, all);
}

#[test]
fn a_store_that_was_closed_refuses_everything_and_the_session_is_free_after_its_writer() {
    let folder = Folder::new();
    let store = folder.store();
    let all = events(&turns(2));
    let mut writer = store.create(&header(), &all[..3]).unwrap();
    store.close().unwrap();
    let refused =
        |error: StorageError| assert!(error.to_string().contains("the store was closed"), "{error}");
    refused(writer.append(&all[3..]).unwrap_err());
    refused(store.read("s").unwrap_err());
    refused(store.list().unwrap_err());
    store.close().unwrap();
    drop(writer);
    folder.store().open("s").unwrap().unwrap().writer.append(&all[3..]).unwrap();
}

#[test]
fn data_that_is_too_long_is_refused_and_the_batch_with_it() {
    let folder = Folder::new();
    let store = folder.store();
    let mut writer = store.create(&header(), &[]).unwrap();
    let lines =
        [line("goal/change", 0, "{}"), line("goal/change", 1, &format!("\"{}\"", "a".repeat(256 << 20)))];
    let error = writer.append(&events(&lines)).unwrap_err();
    assert!(format!("{error:?}").contains("seq 1: the data is 268435458 bytes long"), "{error:?}");
    assert_eq!(seqs(&read(&store)), <[u64; 0]>::default());
    writer.append(&events(&lines[..1])).unwrap();
}
