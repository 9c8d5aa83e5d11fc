//! Rows that cannot be read, before and after the last end of a turn.

use dsh_session::{Storage as _, StorageError};

use crate::fixture::{Folder, chunk, events, line, read, seqs, stored, turns};

/// A whole turn, then an open one: 0 to 2, and 3 to 6.
fn lines() -> Vec<String> {
    let mut lines = turns(1);
    lines.extend([line("turn/start", 3, r#"{"turn":2}"#)]);
    lines.extend((4..7).map(|seq| line("goal/change", seq, "{}")));
    lines
}

const DAMAGE: [&str; 6] = [
    "UPDATE events SET data = '{' WHERE seq = ",
    "UPDATE events SET data = 3 WHERE seq = ",
    "UPDATE events SET data = x'28B52FFD00' WHERE seq = ",
    "UPDATE events SET data = CAST(x'22ff22' AS TEXT) WHERE seq = ",
    "UPDATE events SET ignorable = 0 WHERE seq = ",
    "DELETE FROM events WHERE seq = ",
];

// spec: session/S107, session/S96
#[test]
fn a_bad_row_at_or_before_the_last_end_of_a_turn_makes_the_log_corrupt() {
    for damage in DAMAGE {
        for seq in 0..2 {
            let folder = Folder::new();
            let store = stored(&folder, &lines());
            assert_eq!(folder.run(&format!("{damage}{seq}")), 1);
            let error = store.read("s").unwrap_err();
            assert!(matches!(error, StorageError::Corrupt { .. }), "{damage}: {error}");
            assert!(error.to_string().contains(&format!("the row of seq {seq}")), "{error}");
            assert!(matches!(store.open("s"), Err(StorageError::Corrupt { .. })));
        }
    }
    for damage in &DAMAGE[..5] {
        let folder = Folder::new();
        let store = stored(&folder, &lines());
        folder.run(&format!("{damage}2"));
        assert!(matches!(store.read("s"), Err(StorageError::Corrupt { .. })), "{damage}");
    }
}

// spec: session/S107, session/S96
#[test]
fn a_bad_row_after_the_last_end_of_a_turn_tears_the_log_there_until_it_is_repaired() {
    for damage in DAMAGE {
        let folder = Folder::new();
        let store = stored(&folder, &lines());
        folder.run(&format!("{damage}4"));
        let before = read(&store);
        assert_eq!(seqs(&before), [0, 1, 2, 3], "{damage}");
        assert!(before.torn.as_ref().unwrap().contains("from seq 4 on"), "{:?}", before.torn);
        assert_eq!(read(&store).revision, before.revision, "a read repairs nothing");

        let mut opened = store.open("s").unwrap().unwrap();
        assert_eq!(opened.stored.torn, before.torn);
        let closers = events(&{
            let mut closed = lines()[..4].to_vec();
            closed.push(line("turn/end", 4, r#"{"turn":2,"reason":{"kind":"completed"}}"#));
            closed
        });
        let error = opened.writer.append(&closers[4..]).unwrap_err();
        assert!(error.to_string().contains("must be repaired"), "{error}");
        opened.writer.repair(&closers[4..]).unwrap();
        let after = read(&store);
        assert_eq!((after.events, after.torn), (closers, None), "{damage}");
        assert_ne!(after.revision, before.revision);
        assert_eq!(folder.column("SELECT CAST(count(*) AS TEXT) FROM events"), ["5"]);
    }
}

// spec: session/S107
#[test]
fn a_repair_without_closers_only_cuts_and_the_writer_goes_on() {
    let folder = Folder::new();
    let store = stored(&folder, &lines());
    folder.run("UPDATE events SET data = '[' WHERE seq = 5");
    let mut opened = store.open("s").unwrap().unwrap();
    opened.writer.repair(&[]).unwrap();
    assert_eq!(seqs(&read(&store)), [0, 1, 2, 3, 4]);
    opened.writer.append(&events(&lines())[5..]).unwrap();
    assert_eq!(read(&store).events, events(&lines()));
}

// spec: session/S107
#[test]
fn a_repair_is_refused_where_the_damage_is_not_the_one_that_was_found() {
    for change in [
        "UPDATE events SET data = '{}' WHERE seq = 5",
        "UPDATE events SET data = '[' WHERE seq = 4",
        "UPDATE events SET data = '[[' WHERE seq = 5",
        "DELETE FROM events WHERE seq = 6",
        "UPDATE sessions SET revision = revision + 1",
        "UPDATE sessions SET incarnation = '00000000-0000-4000-8000-000000000000'",
    ] {
        let folder = Folder::new();
        let store = stored(&folder, &lines());
        folder.run("UPDATE events SET data = '[' WHERE seq = 5");
        let mut opened = store.open("s").unwrap().unwrap();
        folder.run(change);
        let count = folder.column("SELECT group_concat(seq || data) FROM events");
        assert!(matches!(opened.writer.repair(&[]), Err(StorageError::Stale { .. })), "{change}");
        assert_eq!(folder.column("SELECT group_concat(seq || data) FROM events"), count);
    }
}

// spec: session/S80
#[test]
fn a_repair_of_a_sound_log_writes_only_its_closers() {
    let folder = Folder::new();
    let store = stored(&folder, &lines());
    let before = read(&store).revision;
    let mut opened = store.open("s").unwrap().unwrap();
    opened.writer.repair(&[]).unwrap();
    assert_eq!(read(&store).revision, before);
    let mut closed = lines();
    closed.push(line("turn/end", 7, r#"{"turn":2,"reason":{"kind":"completed"}}"#));
    opened.writer.repair(&events(&closed)[7..]).unwrap();
    assert_ne!(read(&store).revision, before);
    assert_eq!(read(&store).events, events(&closed));
}

// spec: session/S107
#[test]
fn a_packed_row_with_something_wrong_in_it_goes_as_a_whole() {
    let folder = Folder::new();
    let mut lines = turns(1);
    lines.extend((3..9).map(|seq| chunk(seq, "a")));
    let store = stored(&folder, &lines);
    folder.run("UPDATE events SET data = replace(data, '\"dt\":[1', '\"dt\":[1.5') WHERE seq = 3");
    assert_eq!(seqs(&read(&store)), [0, 1, 2]);
}

// spec: session/S79
#[test]
fn what_this_build_does_not_know_is_unsupported_and_never_torn() {
    for (change, what) in [
        ("UPDATE events SET type = 'made/up' WHERE seq = 6", "`made/up` (seq 6)"),
        ("UPDATE sessions SET version = 1", "the log is newer"),
        ("UPDATE sessions SET version = -1, cwd = 'relative'", "the log is older"),
    ] {
        let folder = Folder::new();
        let store = stored(&folder, &lines());
        folder.run(change);
        let error = store.read("s").unwrap_err();
        assert!(matches!(error, StorageError::Unsupported { .. }), "{error:?}");
        assert!(error.to_string().contains(what), "{error}");
    }
    let folder = Folder::new();
    let store = stored(&folder, &lines());
    folder.run("UPDATE events SET type = 'made/up', ignorable = 1 WHERE seq = 6");
    assert_eq!(read(&store).events[6].kind(), "made/up");
}

#[test]
fn an_event_that_can_be_read_and_is_not_allowed_there_is_no_torn_end() {
    for change in [
        "UPDATE events SET surface_op = '\"append\"' WHERE seq = 6",
        "UPDATE events SET source_event_seqs = x'00' WHERE seq = 6",
        "UPDATE events SET type = 'user/message', surface_op = '\"append\"' WHERE seq = 6",
    ] {
        let folder = Folder::new();
        let store = stored(&folder, &lines());
        folder.run(change);
        assert!(matches!(store.read("s"), Err(StorageError::Corrupt { .. })), "{change}");
    }
}
