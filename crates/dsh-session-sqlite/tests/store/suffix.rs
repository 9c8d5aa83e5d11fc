//! Reading from the middle.

use dsh_session::Storage as _;

use crate::fixture::{Folder, chunk, events, line, seqs, stored, turns};

// spec: session/S108
#[test]
fn a_read_may_begin_inside_of_the_longest_packed_row() {
    let folder = Folder::new();
    let mut lines: Vec<String> = (0..1_024).map(|seq| chunk(seq, "a")).collect();
    lines.push(line("goal/change", 1_024, "{}"));
    let store = stored(&folder, &lines);
    assert_eq!(folder.column("SELECT CAST(seq AS TEXT) FROM events"), ["0", "1024"]);
    for from in [1, 512, 1_023, 1_024] {
        let suffix = store.read_from("s", from).unwrap().unwrap();
        assert_eq!(suffix.events, events(&lines)[usize::try_from(from).unwrap()..]);
    }
    for from in [1_025, 1 << 60, u64::MAX] {
        assert_eq!(seqs(&store.read_from("s", from).unwrap().unwrap()), <[u64; 0]>::default());
    }
}

// spec: session/S108, session/S78
#[test]
fn what_is_damaged_before_the_suffix_is_not_seen_and_after_it_is() {
    let folder = Folder::new();
    let store = stored(&folder, &turns(4));
    folder.run("UPDATE events SET data = '{' WHERE seq = 1");
    assert!(store.read("s").is_err());
    assert_eq!(seqs(&store.read_from("s", 6).unwrap().unwrap()), [6, 7, 8, 9, 10, 11]);
    assert!(store.read_from("s", 1).is_err());
    let end = store.read_from("s", 12).unwrap().unwrap();
    folder.run("UPDATE events SET data = '{' WHERE seq = 11");
    let after = store.read_from("s", 12).unwrap().unwrap();
    assert_eq!((end.events, end.torn), (after.events, after.torn));
    folder.run("UPDATE events SET data = (SELECT data FROM events WHERE seq = 8) WHERE seq = 11");
    folder.run("DELETE FROM events WHERE seq = 7");
    assert!(store.read_from("s", 6).is_err());
    assert_eq!(seqs(&store.read_from("s", 8).unwrap().unwrap()), [8, 9, 10, 11]);
}

// spec: session/S108
#[test]
fn a_gap_at_the_beginning_of_the_suffix_is_an_error_not_an_empty_log() {
    let folder = Folder::new();
    let store = stored(&folder, &turns(2));
    folder.run("DELETE FROM events WHERE seq = 3");
    let error = store.read_from("s", 3).unwrap_err().to_string();
    assert!(error.contains("expected seq 3, found 4"), "{error}");
}

// spec: session/S108
#[test]
fn a_packed_row_that_ends_before_the_suffix_is_left_alone() {
    let folder = Folder::new();
    let mut lines: Vec<String> = (0..4).map(|seq| chunk(seq, "a")).collect();
    lines.extend((4..6).map(|seq| line("goal/change", seq, "{}")));
    let store = stored(&folder, &lines);
    for from in 4..6 {
        assert_eq!(store.read_from("s", from).unwrap().unwrap().events.len() as u64, 6 - from);
    }
}

#[test]
fn a_suffix_may_replace_what_is_before_it() {
    let folder = Folder::new();
    let said = |seq: usize, marks: &str| {
        let data =
            r#"{"id":"m","role":"user","source":{"kind":"user"},"content":[{"type":"text","text":"a"}]}"#;
        format!(r#"{{"type":"user/message","seq":{seq},"time":9,"data":{data},{marks}}}"#)
    };
    let lines = [
        said(0, r#""surfaceOp":"append""#),
        said(1, r#""sourceEventSeqs":[0],"surfaceOp":{"op":"replace","start":0,"end":0}"#),
    ];
    let store = stored(&folder, &lines);
    assert_eq!(store.read_from("s", 1).unwrap().unwrap().events, events(&lines)[1..]);
}
