//! Databases that somebody prepared, or a disk destroyed.

use std::fs;

use dsh_session::{Storage as _, StorageError};
use dsh_session_sqlite::SqliteStore;
use proptest::prelude::*;

use crate::fixture::{Folder, chunk, line, read, seqs, stored, turns};

fn torn(folder: &Folder) -> String {
    let found = read(&folder.store());
    assert_eq!(seqs(&found), [0, 1, 2]);
    found.torn.expect("a torn log")
}

fn with_row(values: &str) -> Folder {
    let folder = Folder::new();
    drop(stored(&folder, &turns(1)));
    folder.run(&format!("INSERT INTO events VALUES ('s', 3, {values})"));
    folder
}

/// A database whose tables say they are strict, with a row from before they said so.
fn with_untyped_row(values: &str) -> Folder {
    let folder = Folder::new();
    drop(stored(&folder, &turns(1)));
    let database = folder.database();
    database
        .execute_batch(
            "PRAGMA writable_schema = on; \
             UPDATE sqlite_schema SET sql = replace(sql, ') STRICT', ')') WHERE name = 'events'; \
             PRAGMA writable_schema = reset;",
        )
        .unwrap();
    drop(database);
    let database = folder.database();
    database
        .execute_batch(&format!(
            "PRAGMA ignore_check_constraints = on; INSERT INTO events VALUES ({values}); \
             PRAGMA writable_schema = on; \
             UPDATE sqlite_schema SET sql = sql || ' STRICT' WHERE name = 'events'; \
             PRAGMA writable_schema = reset;"
        ))
        .unwrap();
    folder
}

#[test]
fn values_that_a_column_of_any_type_takes_are_told_by_their_type() {
    for (values, reason) in [
        ("'goal/change', 1, 1.5, NULL, NULL, NULL", "`data` cannot be a value of type Real"),
        ("'goal/change', 1, 15, NULL, NULL, NULL", "`data` cannot be 15"),
        ("'goal/change', 1, x'7b7d', NULL, NULL, NULL", "no frame of zstd"),
        ("'goal/change', 1, '', NULL, NULL, NULL", "EOF"),
        ("'goal/change', 1, '{} {}', NULL, NULL, NULL", "trailing"),
        ("CAST(x'ff' AS TEXT), 1, '{}', NULL, NULL, NULL", "`type` is not valid UTF-8"),
        ("'text-chunks', 1, '{}', NULL, NULL, 0", "missing field"),
        ("'goal/change', 1, '{}', NULL, NULL, 0", "no type of a packed row"),
        ("'user/message', 1, '{}', x'80', '\"append\"', NULL", "the last number is cut"),
        ("'user/message', 1, '{}', x'8000', '\"append\"', NULL", "more bytes than it needs"),
        ("'user/message', 1, '{}', x'ffffffffffffffffff01', '\"append\"', NULL", "out of range"),
        ("'user/message', 1, '{}', NULL, 'append', NULL", "not a JSON object"),
    ] {
        let torn = torn(&with_row(values));
        assert!(torn.contains(reason), "{values}: {torn}");
    }
}

#[test]
fn values_of_types_that_a_column_cannot_have_are_told_by_their_type() {
    for (values, reason) in [
        ("'s', 3, x'00', 1, '{}', NULL, NULL, NULL", "`type` cannot be a value of type Blob"),
        ("'s', 3, 'goal/change', 'late', '{}', NULL, NULL, NULL", "`time` cannot be a value of type Text"),
        ("'s', 'x', 'goal/change', 1, '{}', NULL, NULL, NULL", "`seq` cannot be a value of type Text"),
        (
            "'s', 3, 'goal/change', 1, '{}', 'x', NULL, NULL",
            "`source_event_seqs` cannot be a value of type Text",
        ),
        ("'s', 3, 'goal/change', 1, '{}', NULL, x'00', NULL", "`surface_op` cannot be a value of type Blob"),
        ("'s', 3, 'goal/change', 1, '{}', NULL, NULL, 2", "`ignorable` cannot be 2"),
        ("'s', 3, 'goal/change', 1, '{}', NULL, NULL, 'x'", "`ignorable` cannot be a value of type Text"),
    ] {
        let folder = with_untyped_row(values);
        let found = torn(&folder);
        assert!(found.contains(reason), "{values}: {found}");
        let store = folder.store();
        store.open("s").unwrap().unwrap().writer.repair(&[]).unwrap();
        assert_eq!((seqs(&read(&store)), read(&store).torn), (vec![0, 1, 2], None), "{values}");
    }
}

#[test]
fn a_row_before_the_first_makes_the_log_corrupt() {
    let folder = Folder::new();
    let store = stored(&folder, &turns(1));
    folder.run("INSERT INTO events VALUES ('s', -1, 'goal/change', 1, '{}', NULL, NULL, NULL)");
    let error = store.read("s").unwrap_err();
    assert!(error.to_string().contains("`seq` is negative"), "{error}");
}

#[test]
fn numbers_at_their_limits_are_refused() {
    for (values, reason) in [
        (
            "9223372036854775807, 'goal/change', 1, '{}', NULL, NULL, NULL",
            "expected seq 3, found 9223372036854775807",
        ),
        (
            "3, 'text-chunks', 9223372036854775807, '{\"turn\":1,\"step\":1,\"index\":0,\"dt\":[1,1],\"texts\":[\"\",\"\",\"\"]}', NULL, NULL, 0",
            "beyond 2^53",
        ),
    ] {
        let folder = Folder::new();
        drop(stored(&folder, &turns(1)));
        folder.run(&format!("INSERT INTO events VALUES ('s', {values})"));
        let torn = torn(&folder);
        assert!(torn.contains(reason), "{values}: {torn}");
    }
    let folder = Folder::new();
    let store = stored(&folder, &turns(1));
    folder.run("UPDATE sessions SET revision = 9223372036854775807");
    let mut writer = store.open("s").unwrap().unwrap().writer;
    let error = writer.append(&crate::fixture::events(&turns(2))[3..]).unwrap_err();
    assert!(error.to_string().contains("cannot be counted"), "{error}");
}

#[test]
fn a_few_bytes_that_unfold_to_much_are_refused_by_what_they_say_of_themselves() {
    let folder = Folder::new();
    drop(stored(&folder, &turns(1)));
    let bomb = zstd::bulk::compress(&vec![b' '; (256 << 20) + 1], 3).unwrap();
    assert!(bomb.len() < 1 << 20);
    let insert = "INSERT INTO events VALUES ('s', 3, ?1, 1, ?2, NULL, NULL, ?3)";
    folder.database().execute(insert, ("goal/change", &bomb, None::<i64>)).unwrap();
    assert!(torn(&folder).contains("268435457 bytes long, more than 268435456"));
    folder.run("DELETE FROM events WHERE seq = 3");
    let bomb = zstd::bulk::compress(&vec![b' '; (1 << 20) + 1], 3).unwrap();
    folder.database().execute(insert, ("text-chunks", &bomb, Some(0))).unwrap();
    assert!(torn(&folder).contains("1048577 bytes long, more than 1048576"));
}

#[test]
fn a_bad_row_of_a_session_is_named_and_hides_no_other_session() {
    for (change, reason) in [
        ("created_at = -1", "`created_at` must not be negative"),
        ("created_at = 9007199254740992", "more than 2^53 - 1"),
        ("cwd = 'w'", "absolute"),
        ("cwd = CAST(x'ff' AS TEXT)", "invalid utf-8"),
        ("origin = 'user'", "`origin` must be `subagent`"),
        ("incarnation = ''", "no UUID"),
        ("revision = 0", "`revision` must be positive"),
    ] {
        let folder = Folder::new();
        let store = stored(&folder, &turns(1));
        drop(store.create(&dsh_session::SessionHeader::new("t", 1), &[]).unwrap());
        folder.run(&format!("UPDATE sessions SET {change} WHERE id = 's'"));
        let error = store.read("s").unwrap_err();
        assert!(matches!(error, StorageError::Corrupt { .. }), "{error:?}");
        assert!(error.to_string().contains(reason), "{error}");
        let ids: Vec<_> = store.list().unwrap().into_iter().map(|listed| listed.header.id).collect();
        assert_eq!(ids, ["t"]);
    }
}

/// A database without a log beside it, as bytes.
fn whole_database() -> Vec<u8> {
    let folder = Folder::new();
    let mut lines = turns(3);
    lines.extend((9..40).map(|seq| chunk(seq, "some text")));
    lines.push(line("goal/change", 40, &format!("[\"{}\"]", "a".repeat(20_000))));
    stored(&folder, &lines).close().unwrap();
    fs::read(folder.path()).unwrap()
}

/// What a user does with a store; only errors and events may come of it.
fn use_it(store: &SqliteStore) {
    let _ = store.list();
    let _ = store.revision("s");
    let _ = store.read_from("s", 20);
    if let Ok(Some(stored)) = store.read("s") {
        assert!(stored.events.iter().enumerate().all(|(seq, event)| event.seq() == seq as u64));
    }
    if let Ok(Some(mut opened)) = store.open("s") {
        let _ = opened.writer.repair(&[]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_database_with_bytes_changed_anywhere_gives_errors_or_events(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        static WHOLE: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(whole_database);
        let mut bytes = WHOLE.clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let folder = Folder::new();
        drop(stored(&folder, &[]));
        fs::write(folder.path(), bytes).unwrap();
        for beside in ["-wal", "-shm"] {
            let _ = fs::remove_file(folder.path() + beside);
        }
        use_it(&folder.store());
    }
}
