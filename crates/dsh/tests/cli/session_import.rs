//! `dsh session import`: from a log into a store, and back.

#![cfg(feature = "sqlite")]

use std::fs;
use std::process::Stdio;

use crate::fixture::{Fixture, Ran};
use crate::session::{KINDS, Kind, Store, assert_refused, whole};

#[test]
fn a_session_goes_from_any_store_into_any_other() {
    for from in KINDS {
        let source = Store::with(from, "s-1");
        let text = source.run(&["export", "s-1"]).stdout;
        for to in KINDS {
            let target = Store::new(to);
            fs::write(target.fixture.log(), &text).unwrap();
            let log = target.fixture.log().display().to_string();
            // A database is made, for there is none yet.
            let ran = target.run(&["import", &log]);
            assert_eq!(
                (ran.code, ran.stdout.as_str()),
                (Some(0), "s-1 (4 events)\n"),
                "{to:?}: {}",
                ran.stderr
            );
            assert_eq!(target.run(&["export", "--unpacked", "s-1"]).stdout, text, "{from:?} {to:?}");
        }
    }
}

#[test]
fn a_compressed_log_and_standard_input_are_read_too() {
    let source = Store::with(Kind::Zstd, "s-1");
    let target = Store::new(Kind::Database);
    let path = target.path().display().to_string();
    let mut command = target.fixture.command();
    command.args(["session", "--store", &path, "import", "-", "--as", "other"]);
    command.stdin(Stdio::from(fs::File::open(source.log("s-1")).unwrap()));
    let ran = Ran::from(command.output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "other (4 events)\n"), "{}", ran.stderr);
    assert_eq!(target.json(&["show", "--json", "other"], 0)[0]["header"]["id"], "other");
}

#[test]
fn an_id_that_is_there_is_refused() {
    for kind in KINDS {
        let store = Store::with(kind, "s-1");
        fs::write(store.fixture.log(), whole().text().replace("a file", "another")).unwrap();
        let log = store.fixture.log().display().to_string();
        assert_refused(&store.run(&["import", &log]), &["there is a session `s-1` in ", "with --as"]);
        assert!(store.run(&["show", "s-1"]).stdout.contains("a file"));
    }
}

#[test]
fn a_log_that_cannot_be_read_makes_nothing() {
    let fixture = Fixture::with_text("nonsense\n");
    let (log, store) = (fixture.log().display().to_string(), fixture.path("new.db").display().to_string());
    let import = |log: &str| fixture.run(&["session", "--store", &store, "import", log]);
    assert_refused(
        &import(&log),
        &["the log cannot be read: ", "line 1", "`dsh session check FILE` says more"],
    );
    fs::write(fixture.log(), "").unwrap();
    assert_refused(&import(&log), &["the log is empty"]);
    assert_refused(&import("/no/such/log"), &["cannot read /no/such/log"]);
    assert!(!fixture.path("new.db").exists());
}

#[test]
fn what_is_damaged_at_the_end_is_left_out_with_a_warning() {
    let store = Store::new(Kind::Plain);
    fs::write(store.fixture.log(), format!("{}{{\"type", whole().text())).unwrap();
    let log = store.fixture.log().display().to_string();
    let ran = store.run(&["import", &log]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "s-1 (4 events)\n"));
    assert!(ran.stderr.contains("damaged and left out: "), "{}", ran.stderr);
}
