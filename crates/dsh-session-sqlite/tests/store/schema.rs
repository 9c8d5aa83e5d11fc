//! Whose a database is.

use dsh_session::{Storage as _, StorageError};
use rusqlite::Connection;

use crate::fixture::{Folder, events, header, stored, turns};

fn refused(folder: &Folder) -> String {
    let store = folder.store();
    let error = store.list().unwrap_err();
    assert!(matches!(error, StorageError::Place { .. }), "{error:?}");
    // Nor is it written to.
    assert_eq!(store.create(&header(), &[]).err().unwrap().to_string(), error.to_string());
    error.to_string()
}

/// A database for its owner alone, as another program left it.
fn foreign(statements: &str) -> Folder {
    let folder = Folder::new();
    let database = folder.database();
    database.execute_batch(statements).unwrap();
    private(&folder);
    folder
}

fn private(folder: &Folder) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
    }
}

// spec: session/S103
#[test]
fn a_pristine_database_gets_strict_tables_a_version_an_application_id_and_a_store_id() {
    let folder = Folder::new();
    stored(&folder, &turns(1));
    let number = |pragma: &str| -> i64 {
        folder.database().pragma_query_value(None, pragma, |row| row.get(0)).unwrap()
    };
    assert_eq!((number("user_version"), number("application_id")), (17, 0x4453_4850));
    assert_eq!(
        folder.column(
            "SELECT name || ' ' || strict FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite_%' \
             ORDER BY name"
        ),
        ["events 1", "persistence_state 1", "sessions 1"]
    );
    assert_eq!(
        folder.column(
            "SELECT group_concat(name || ' ' || type || ' ' || pk) FROM pragma_table_info('sessions')"
        ),
        [
            "id TEXT 1,version INTEGER 0,created_at INTEGER 0,cwd TEXT 0,parent_session TEXT 0,seed_length INTEGER 0,\
          origin TEXT 0,delegation_depth INTEGER 0,agent_preset TEXT 0,incarnation TEXT 0,revision INTEGER 0"
        ]
    );
    assert_eq!(
        folder
            .column("SELECT group_concat(name || ' ' || type || ' ' || pk) FROM pragma_table_info('events')"),
        ["session_id TEXT 1,seq INTEGER 2,type TEXT 0,time INTEGER 0,data ANY 0,source_event_seqs BLOB 0,\
          surface_op TEXT 0,ignorable INTEGER 0"]
    );
    let ids = "SELECT store_id FROM persistence_state WHERE singleton = 1 UNION ALL SELECT incarnation FROM sessions";
    assert!(folder.column(ids).iter().all(|id| id.len() == 36 && id.as_bytes()[14] == b'4'));
    for statement in [
        "INSERT INTO persistence_state VALUES (2, 'x')",
        "INSERT INTO events VALUES ('s', 9, 'a', 1, '', NULL, NULL, 2)",
        "INSERT INTO events VALUES ('nobody', 9, 'a', 1, '', NULL, NULL, NULL)",
        "INSERT INTO events VALUES ('s', 0, 'a', 1, '', NULL, NULL, NULL)",
    ] {
        let database = folder.database();
        database.pragma_update(None, "foreign_keys", true).unwrap();
        assert!(database.execute(statement, ()).is_err(), "{statement}");
    }
    folder.run("PRAGMA foreign_keys = on");
    let database = folder.database();
    database.pragma_update(None, "foreign_keys", true).unwrap();
    database.execute("DELETE FROM sessions", ()).unwrap();
    assert_eq!(folder.column("SELECT CAST(count(*) AS TEXT) FROM events"), ["0"]);
}

// spec: session/S103
#[test]
fn an_empty_file_is_pristine() {
    let folder = Folder::new();
    std::fs::write(folder.path(), b"").unwrap();
    private(&folder);
    stored(&folder, &turns(1));
    assert_eq!(folder.column("SELECT id FROM sessions"), ["s"]);
}

// spec: session/S103
#[test]
fn another_programs_database_is_refused_and_left_as_it_is() {
    for (statements, reason) in [
        ("CREATE TABLE notes (a)", "tables and no version"),
        ("PRAGMA application_id = 77", "application id 0x4d"),
        ("PRAGMA user_version = 17", "application id 0x0"),
    ] {
        let folder = foreign(statements);
        let before = std::fs::read(folder.path()).unwrap();
        let error = refused(&folder);
        assert!(error.contains(reason), "{error}");
        assert!(std::fs::read(folder.path()).unwrap() == before, "{statements}");
    }
}

// spec: session/S103
#[test]
fn a_file_that_is_no_database_is_refused_and_left_as_it_is() {
    let folder = Folder::new();
    let text = "no database\n".repeat(1_000);
    std::fs::write(folder.path(), &text).unwrap();
    private(&folder);
    assert!(refused(&folder).contains("cannot be read"));
    assert_eq!(std::fs::read_to_string(folder.path()).unwrap(), text);
}

// spec: session/S103
#[test]
fn an_older_and_a_newer_version_are_refused_with_what_to_do() {
    for (version, advice) in [(16, "cannot be upgraded"), (18, "upgrade to use it")] {
        let folder = Folder::new();
        drop(stored(&folder, &turns(1)));
        folder.run(&format!("PRAGMA user_version = {version}"));
        let error = refused(&folder);
        assert!(error.contains(&format!("version {version}")) && error.contains(advice), "{error}");
    }
}

// spec: session/S103
#[test]
fn any_object_that_differs_is_named() {
    for (statement, object) in [
        ("CREATE TABLE notes (a)", "table `notes`"),
        ("CREATE INDEX by_type ON events (type)", "index `by_type`"),
        ("CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END", "trigger `t`"),
        ("CREATE VIEW v AS SELECT 1", "view `v`"),
        ("ALTER TABLE sessions ADD COLUMN more TEXT", "table `sessions`"),
        ("DROP TABLE events", "index `sqlite_autoindex_events_1`"),
    ] {
        let folder = Folder::new();
        drop(stored(&folder, &turns(1)));
        folder.run(statement);
        let error = refused(&folder);
        assert!(error.contains(object), "{object}: {error}");
    }
}

// spec: session/S103
#[test]
fn every_write_looks_at_the_tables_again() {
    let folder = Folder::new();
    let store = folder.store();
    let mut writer = store.create(&header(), &events(&turns(1))).unwrap();
    folder.run("CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END");
    let more = &events(&turns(2))[3..];
    assert!(writer.append(more).unwrap_err().to_string().contains("trigger `t`"));
    assert_eq!(folder.column("SELECT CAST(count(*) AS TEXT) FROM events"), ["3"]);
    folder.run("DROP TRIGGER t");
    writer.append(more).unwrap();
    folder.run("PRAGMA user_version = 18");
    assert!(writer.repair(&[]).is_ok());
    assert!(writer.append(&events(&turns(3))[6..]).unwrap_err().to_string().contains("version 18"));
}

#[test]
fn a_store_without_a_uuid_is_refused() {
    for statement in ["DELETE FROM persistence_state", "UPDATE persistence_state SET store_id = 'x'"] {
        let folder = Folder::new();
        drop(stored(&folder, &turns(1)));
        folder.run(statement);
        assert!(refused(&folder).contains("store id"), "{statement}");
    }
}

#[test]
fn eight_threads_make_one_database_together() {
    let folder = Folder::new();
    std::thread::scope(|threads| {
        for thread in 0..8 {
            let folder = &folder;
            threads.spawn(move || {
                let header = dsh_session::SessionHeader::new(format!("s{thread}"), 1);
                drop(folder.store().create(&header, &[]).unwrap());
            });
        }
    });
    assert_eq!(folder.store().list().unwrap().len(), 8);
    let stores: i64 = Connection::open(folder.path())
        .unwrap()
        .query_row("SELECT count(*) FROM persistence_state", (), |row| row.get(0))
        .unwrap();
    assert_eq!(stores, 1);
}
