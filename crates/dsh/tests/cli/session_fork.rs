//! `dsh session fork`: where it is possible, and what is said where it is not.

#![cfg(feature = "sqlite")]

use serde_json::json;

use crate::fixture::Log;
use crate::session::{KINDS, Kind, Store, assert_refused, ended, whole};

/// Two whole turns, 0 to 3 and 4 to 5, and an open one from 6 on.
fn three_turns() -> Log {
    let second = json!({ "turn": 2 });
    let end = json!({ "turn": 2, "reason": { "kind": "completed" } });
    whole().event("turn/start", second, json!({})).event("turn/end", end, json!({})).event(
        "turn/start",
        json!({ "turn": 3 }),
        json!({}),
    )
}

#[test]
fn a_fork_is_a_new_session_of_the_events_up_to_its_number() {
    for kind in KINDS {
        let store = Store::new(kind);
        store.add("s-1", &three_turns());
        let made = store.json(&["fork", "s-1", "--at", "3", "--as", "child", "--json"], 0);
        assert_eq!(made[0]["inherited"], 4);
        assert_eq!((&made[0]["session"], &made[0]["parent"]), (&json!("child"), &json!("s-1")));
        let shown = store.run(&["show", "child"]);
        assert!(shown.stdout.contains("  fork of s-1, 4 events inherited\n"), "{}", shown.stdout);
        // The parent's id is whole, however it was given.
        let made = store.json(&["fork", "s-", "--at", "3", "--json"], 0);
        assert_eq!(made[0]["parent"], "s-1");
    }
}

// spec: session/S64
#[test]
fn a_fork_in_an_open_turn_names_the_numbers_that_are_possible() {
    let store = Store::new(Kind::Zstd);
    store.add("s-1", &three_turns());
    for (at, says) in [
        (
            &["--at", "1"][..],
            "cannot be forked at 1: the turn that began at 0 is open there; possible is --at 3",
        ),
        (&["--at", "4"], "the turn that began at 4 is open there; possible are --at 3 and --at 5"),
        (&["--at", "6"], "the turn that began at 6 is open there; possible is --at 5"),
        (&[], "cannot be forked at 6: the turn that began at 6 is open there; possible is --at 5"),
        (&["--at", "7"], "session `s-1` has no event 7: its last event is 6"),
    ] {
        assert_refused(&store.run(&[&["fork", "s-1"], at].concat()), &[says]);
    }
    for at in ["3", "5"] {
        assert_eq!(store.run(&["fork", "s-1", "--at", at]).code, Some(0), "{at}");
    }
    store.add("started", &Log::new());
    let says = "there is no event at which it can be forked";
    assert_refused(&store.run(&["fork", "started"]), &[says]);
}

#[test]
fn an_id_that_is_taken_is_refused() {
    for kind in KINDS {
        let store = Store::with(kind, "s-1");
        assert_refused(
            &store.run(&["fork", "s-1", "--as", "s-1"]),
            &["there is a session `s-1` in ", "with --as"],
        );
        assert_eq!(store.json(&["show", "--json", "s-1"], 0).len(), 5);
    }
}

#[test]
fn one_event_is_not_many() {
    let store = Store::new(Kind::Plain);
    store.add("s-1", &ended(Log::new()));
    assert_eq!(store.run(&["fork", "s-1", "--as", "c"]).stdout, "c (2 events of s-1)\n");
}

#[test]
fn what_is_damaged_at_the_end_is_not_inherited_and_that_is_said() {
    let store = Store::new(Kind::Plain);
    store.add("s-1", &three_turns());
    store.cut("s-1", 3);
    let ran = store.run(&["fork", "s-1", "--as", "c"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "c (6 events of s-1)\n"));
    assert!(ran.stderr.contains("damaged and left out"), "{}", ran.stderr);
}
