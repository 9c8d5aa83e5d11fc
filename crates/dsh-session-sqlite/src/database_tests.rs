#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use std::time::Duration;

use super::{Database, WriteError};
use crate::config::JournalMode;
use crate::place::Place;

fn pragma(database: &Database, name: &str) -> String {
    let value = database.write(|access| Ok(super::read_pragma(&access.transaction, name).unwrap()));
    value.map_err(WriteError::into_error).unwrap()
}

fn database(place: Place, journal: JournalMode) -> Database {
    Database::new(place, journal, Duration::from_millis(1_234))
}

// spec: session/S104
#[test]
fn a_connection_trusts_no_schema_maps_nothing_and_syncs_fully() {
    let folder = tempfile::tempdir().unwrap();
    for journal in [JournalMode::Wal, JournalMode::Delete, JournalMode::Truncate, JournalMode::Persist] {
        let database = database(Place::File(folder.path().join(journal.name())), journal);
        for (name, value) in [
            ("trusted_schema", "0"),
            ("mmap_size", "0"),
            ("foreign_keys", "1"),
            ("synchronous", "2"),
            ("journal_mode", journal.name()),
            ("busy_timeout", "1234"),
        ] {
            assert_eq!(pragma(&database, name), value, "{name}");
        }
    }
}

// spec: session/S104
#[test]
fn a_database_in_memory_keeps_its_journal_there_too() {
    let database = database(Place::Memory, JournalMode::Wal);
    assert_eq!(
        (pragma(&database, "journal_mode"), pragma(&database, "synchronous")),
        ("memory".into(), "2".into())
    );
}

// spec: session/S104
#[test]
fn a_journal_mode_that_cannot_be_set_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let first = database(Place::File(path.clone()), JournalMode::Wal);
    assert_eq!(pragma(&first, "journal_mode"), "wal");
    let second = Database::new(Place::File(path), JournalMode::Delete, Duration::from_millis(20));
    let error = second.read(|_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("`journal_mode`"), "{error}");
    first.close().unwrap();
    assert_eq!(pragma(&second, "journal_mode"), "delete");
}
