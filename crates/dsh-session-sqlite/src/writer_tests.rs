#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use std::sync::Arc;
use std::time::Duration;

use dsh_session::{SessionHeader, StorageError, Writer as _};
use uuid::Uuid;

use super::SqliteWriter;
use crate::claim::Claims;
use crate::config::JournalMode;
use crate::database::{Database, WriteError};
use crate::header_row::{self, State};
use crate::place::Place;
use crate::store::Shared;

fn writer() -> SqliteWriter {
    let database = Database::new(Place::Memory, JournalMode::Wal, Duration::ZERO);
    let claims = Arc::new(Claims::new(&Place::Memory));
    let shared = Arc::new(Shared { database, claims, pack: true });
    let state = State { incarnation: Uuid::new_v4().to_string(), revision: 1 };
    let insert = shared.database.write(|access| {
        header_row::insert(&access.transaction, &SessionHeader::new("s", 1), &state).unwrap();
        Ok(())
    });
    insert.map_err(WriteError::into_error).unwrap();
    let claim = shared.claims.take("s").unwrap();
    SqliteWriter { shared, _claim: claim, id: "s".to_owned(), state, next: 0, torn: None, poisoned: false }
}

#[test]
fn a_failed_commit_is_harmless_only_while_the_session_is_seen_to_be_as_before() {
    let mut writer = writer();
    assert!(writer.is_unchanged());
    writer.state.revision = 2;
    assert!(!writer.is_unchanged(), "the commit took effect");
    writer.state.revision = 1;
    writer.shared.database.close().unwrap();
    assert!(!writer.is_unchanged(), "the database cannot be read");
}

#[test]
fn a_poisoned_writer_refuses_everything() {
    let mut writer = writer();
    writer.append(&[]).unwrap();
    writer.poisoned = true;
    assert!(matches!(writer.append(&[]), Err(StorageError::Poisoned { .. })));
    assert!(matches!(writer.repair(&[]), Err(StorageError::Poisoned { .. })));
}
