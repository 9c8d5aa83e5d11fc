//! `dsh session export`: a log that is sound, or a word about it.

#![cfg(feature = "sqlite")]

use std::fs;

use dsh_session::SessionLog;

use crate::session::{KINDS, Kind, Store, assert_refused, whole};

const FILES: [Kind; 2] = [Kind::Plain, Kind::Zstd];

#[test]
fn a_sound_session_comes_out_as_it_was_stored() {
    for kind in KINDS {
        let store = Store::with(kind, "s-1");
        let ran = store.run(&["export", "s-1"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{kind:?}");
        let (exported, original) = (parsed(&ran.stdout), parsed(&whole().text()));
        assert_eq!(exported, original, "{kind:?}");
    }
}

fn parsed(text: &str) -> Vec<String> {
    let log = SessionLog::parse(text.as_bytes()).unwrap();
    assert_eq!(log.torn, None);
    log.events.iter().map(|event| event.to_line()).collect()
}

#[test]
fn what_is_stored_is_passed_on_byte_for_byte() {
    let store = Store::with(Kind::Plain, "s-1");
    // Spaces that no writer of ours makes.
    let text = fs::read_to_string(store.log("s-1"))
        .unwrap()
        .replace("\"type\":\"turn/end\"", "\"type\" : \"turn/end\"");
    fs::write(store.log("s-1"), &text).unwrap();
    assert_eq!(store.run(&["export", "s-1"]).stdout, text);
}

#[test]
fn a_damaged_session_is_an_error_that_says_what_to_run() {
    for kind in FILES {
        let store = Store::with(kind, "s-1");
        store.damage("s-1");
        let next = format!("`dsh session check {}` says more", store.log("s-1").display());
        for command in ["export", "show", "fork"] {
            assert_refused(&store.run(&[command, "s-1"]), &["session `s-1` is damaged: ", &next]);
        }
    }
}

// spec: session/S98
#[test]
fn a_session_that_is_not_where_it_belongs_is_checked_with_its_store() {
    for kind in FILES {
        let store = Store::with(kind, "s-1");
        let moved = store.path().join("elsewhere");
        fs::rename(store.path().join("--home-user-project--"), moved).unwrap();
        let next = format!("`dsh session --store {} check` says more", store.path().display());
        assert_refused(&store.run(&["export", "s-1"]), &["session `s-1` is damaged: ", &next]);
    }
}

#[test]
fn an_unknown_event_is_an_error_of_an_export_too() {
    let store = Store::with(Kind::Plain, "s-1");
    let text = fs::read_to_string(store.log("s-1")).unwrap().replace("\"tool/call\"", "\"made/up\"");
    fs::write(store.log("s-1"), &text).unwrap();
    let ran = store.run(&["export", "s-1"]);
    assert_refused(&ran, &["cannot be read by this build", "made/up", "`dsh session check "]);
    let raw = store.run(&["export", "--raw", "s-1"]);
    assert_eq!((raw.code, raw.stdout), (Some(0), text));
}

#[test]
fn what_is_torn_off_is_left_out_with_a_warning() {
    for kind in FILES {
        let store = Store::with(kind, "s-1");
        store.cut("s-1", 3);
        let ran = store.run(&["export", "s-1"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stderr.contains("the end of the log is damaged and left out: "), "{}", ran.stderr);
        let kept = parsed(&ran.stdout);
        let before = parsed(&whole().text());
        assert_eq!(kept, before[..kept.len()], "{kind:?}");
        // Of a frame without its checksum the events are whole, and part of the log.
        let lost = if kind == Kind::Zstd { 0 } else { 1 };
        assert_eq!(before.len() - kept.len(), lost, "{kind:?}");
    }
}

#[test]
fn raw_text_is_not_looked_at() {
    let plain = Store::with(Kind::Plain, "s-1");
    plain.damage("s-1");
    let stored = fs::read(plain.log("s-1")).unwrap();
    let ran = plain.run(&["export", "--raw", "s-1"]);
    assert_eq!((ran.code, ran.stdout.as_bytes()), (Some(0), stored.as_slice()), "{}", ran.stderr);
    assert!(ran.stderr.contains("as it is, not checked"), "{}", ran.stderr);

    let packed = Store::with(Kind::Zstd, "s-1");
    packed.cut("s-1", 3);
    assert_eq!(packed.run(&["export", "--raw", "s-"]).code, Some(0));

    let packed = Store::with(Kind::Zstd, "s-1");
    packed.damage("s-1");
    assert_refused(&packed.run(&["export", "--raw", "s-1"]), &["it cannot be unpacked: "]);

    let database = Store::with(Kind::Database, "s-1");
    assert_refused(&database.run(&["export", "--raw", "s-1"]), &["stores no text: leave out --raw"]);
    assert_refused(&plain.run(&["export", "--raw", "--unpacked", "s-1"]), &["cannot be used with"]);
    assert_refused(&plain.run(&["export", "--raw", "none"]), &["there is no session `none`"]);
}

#[test]
fn a_file_is_made_for_its_owner_alone_and_never_over_another() {
    let store = Store::with(Kind::Plain, "s-1");
    let path = store.fixture.path("out.jsonl");
    let shown = path.display().to_string();
    let ran = store.run(&["export", "s-1", "-o", &shown]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
    assert_eq!(fs::read(&path).unwrap(), fs::read(store.log("s-1")).unwrap());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    fs::write(&path, "mine").unwrap();
    assert_refused(&store.run(&["export", "s-1", "-o", &shown]), &["it is there already"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    let nowhere = store.fixture.path("no/such/out").display().to_string();
    assert_refused(&store.run(&["export", "s-1", "-o", &nowhere]), &["its folder does not exist"]);
    let below_a_file = format!("{shown}/out");
    assert_refused(&store.run(&["export", "s-1", "-o", &below_a_file]), &["its folder is none"]);
}

#[test]
fn a_dash_is_standard_output() {
    let store = Store::with(Kind::Plain, "s-1");
    let ran = store.run(&["export", "s-1", "-o", "-"]);
    assert_eq!((ran.code, ran.stdout), (Some(0), fs::read_to_string(store.log("s-1")).unwrap()));
}
