//! The place that `--store` names: what it is, and what is wrong with it.

#![cfg(feature = "sqlite")]

use std::fs;

use crate::fixture::Fixture;
use crate::session::{Kind, Store, assert_refused};

#[test]
fn a_file_that_is_no_session_database_is_refused_and_stays_as_it_was() {
    let foreign = [b"SQLite format 3\0".as_slice(), &[0; 84]].concat();
    for (bytes, why) in [
        (&b""[..], "it is empty"),
        (b"a letter\n", "it is no SQLite database"),
        (b"{\"type\":\"session\"}\n", "it looks like a log"),
        (&foreign, "it is another program's"),
    ] {
        for command in [&["ls"][..], &["check"], &["show", "x"], &["export", "x"], &["fork", "x"]] {
            let fixture = Fixture::new();
            let path = fixture.path("some.db");
            fs::write(&path, bytes).unwrap();
            let shown = path.display().to_string();
            let ran = fixture.run(&[&["session", "--store", &shown], command].concat());
            assert_refused(&ran, &["is no session database", why]);
            assert_eq!(fs::read(&path).unwrap(), bytes);
            assert!(!fixture.path("some.db-wal").exists());
        }
    }
}

#[test]
fn looking_at_a_database_does_not_change_it() {
    let store = Store::with(Kind::Database, "s-1");
    // One that keeps no log beside it, and is to stay so.
    let rollback = dsh_session_sqlite::Config {
        journal_mode: dsh_session_sqlite::JournalMode::Delete,
        ..dsh_session_sqlite::Config::new(store.path().to_str().unwrap())
    };
    drop(dsh_session::Storage::list(&dsh_session_sqlite::SqliteStore::new(&rollback).unwrap()).unwrap());
    let before = fs::read(store.path()).unwrap();
    for command in [&["ls"][..], &["check"], &["show", "s-1"], &["export", "s-1"]] {
        assert_eq!(store.run(command).code, Some(0), "{command:?}");
        assert!(fs::read(store.path()).unwrap() == before, "{command:?}");
    }
    assert_eq!(store.run(&["fork", "s-1"]).code, Some(0));
    assert!(fs::read(store.path()).unwrap() != before);
}

/// SQLite's own texts come with numbers that help nobody.
#[test]
fn errors_of_databases_speak_of_the_command_line() {
    let store = Store::with(Kind::Database, "s-1");
    let mut bytes = fs::read(store.path()).unwrap();
    // The number of the tables' version.
    bytes[60..64].copy_from_slice(&3_u32.to_be_bytes());
    fs::write(store.path(), &bytes).unwrap();
    let ran = store.run(&["ls"]);
    assert_refused(&ran, &["older than", "name another one with --store"]);
    assert!(!ran.stderr.contains("`path`"), "{}", ran.stderr);

    bytes.truncate(100);
    bytes.extend([0x55; 5_000]);
    fs::write(store.path(), &bytes).unwrap();
    let ran = store.run(&["ls"]);
    assert_refused(&ran, &["session database "]);
    assert!(!ran.stderr.contains("Error code"), "{}", ran.stderr);
}

#[test]
#[cfg(unix)]
fn a_database_in_a_folder_that_cannot_be_written_is_read_or_said_why_not() {
    use std::os::unix::fs::PermissionsExt as _;

    let store = Store::with(Kind::Database, "s-1");
    let folder = store.fixture.path("locked");
    fs::create_dir(&folder).unwrap();
    let path = folder.join("sessions.db");
    fs::copy(store.path(), &path).unwrap();
    let mode = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o500);
    let ran = store.fixture.run(&["session", "--store", path.to_str().unwrap(), "ls"]);
    let is_powerful = fs::write(folder.join("probe"), "").is_ok();
    mode(0o700);
    if is_powerful {
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    } else {
        assert_refused(&ran, &["this folder cannot be written: copy the database"]);
    }
}

#[test]
fn a_folder_inside_of_a_store_gets_a_hint() {
    for kind in [Kind::Plain, Kind::Zstd] {
        let store = Store::with(kind, "s-1");
        let hint = format!("did you mean `--store {}`?", store.path().display());
        let session = store.log("s-1").parent().unwrap().to_owned();
        for (folder, what) in [
            (session.as_path(), "is the folder of one session"),
            (session.parent().unwrap(), "is the folder of one project"),
        ] {
            for command in [&["ls"][..], &["check"], &["show", "s-1"]] {
                let arguments = [&["session", "--store", folder.to_str().unwrap()], command].concat();
                assert_refused(&store.fixture.run(&arguments), &[what, &hint]);
            }
        }
    }
}

#[test]
fn a_folder_without_logs_gets_a_hint() {
    let fixture = Fixture::new();
    let folder = fixture.path("tmp").display().to_string();
    for command in ["ls", "check"] {
        let ran = fixture.run(&["session", "--store", &folder, command]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        assert!(
            ran.stdout.starts_with(&format!("there are no sessions in {folder}; a store is ")),
            "{}",
            ran.stdout
        );
    }
    assert_refused(&fixture.run(&["session", "--store", &folder, "show", "x"]), &["a store is "]);

    let store = Store::with(Kind::Plain, "s-1");
    let home = store.fixture.path("home");
    fs::create_dir(&home).unwrap();
    fs::rename(store.path(), home.join("sessions")).unwrap();
    let ran = store.fixture.run(&["session", "--store", home.to_str().unwrap(), "ls"]);
    let hint = format!("did you mean `--store {}`?", home.join("sessions").display());
    assert!(ran.stdout.contains(&hint), "{}", ran.stdout);
}

#[test]
fn who_has_no_store_yet_has_no_sessions() {
    let fixture = Fixture::new();
    let run = |command: &str| {
        let mut program = fixture.command();
        let output =
            program.args(["session", command]).env("DSH_HOME", fixture.path("home")).output().unwrap();
        crate::fixture::Ran::from(output)
    };
    let (ls, check) = (run("ls"), run("check"));
    assert_eq!((ls.code, check.code), (Some(0), Some(0)));
    assert!(ls.stdout.starts_with("there are no sessions in "), "{}", ls.stdout);
    assert_eq!(ls.stdout, check.stdout);
    assert!(!fixture.path("home").exists());
}

#[test]
fn a_store_that_is_not_there_is_an_error() {
    let fixture = Fixture::new();
    let path = fixture.path("none").display().to_string();
    for command in [&["ls"][..], &["check"], &["show", "x"]] {
        let ran = fixture.run(&[&["session", "--store", &path], command].concat());
        assert_refused(&ran, &["there is no folder and no database "]);
    }
}

#[test]
#[cfg(unix)]
fn a_store_that_is_no_file_is_an_error_and_not_waited_for() {
    let ran = Fixture::new().run(&["session", "--store", "/dev/null", "ls"]);
    assert_refused(&ran, &["/dev/null is neither a folder nor a regular file"]);
}

#[test]
fn a_store_of_both_encodings_is_refused_where_one_session_is_asked_for() {
    let store = Store::with(Kind::Plain, "s-1");
    let packed = Store::with(Kind::Zstd, "s-2");
    let into = store.path().join("--home-user-project--").join("s-2");
    fs::rename(packed.log("s-2").parent().unwrap(), into).unwrap();
    for command in [&["ls"][..], &["show", "s-1"], &["export", "s-1"], &["fork", "s-1"]] {
        assert_refused(
            &store.run(command),
            &["holds logs of both kinds", "move one kind into another folder"],
        );
    }
}
