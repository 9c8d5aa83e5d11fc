//! Looking at sessions: what is read, what is remembered, and what is repaired by that.

use dsh_session::{
    CreateSession, Location, PersistError, Problem, SessionHeader, StorageError, TurnEnd, TurnEndReason,
    TurnStart, WriteOptions,
};

use crate::host::{Host, add, log, say, texts};
use crate::memory::Disk;

/// A log in the middle of a turn, with a torn end.
fn crashed(disk: &Disk, id: &str) {
    let session = dsh_session::Session::detached(id);
    add(&session, &TurnStart { turn: 1 });
    say(&session, "a");
    let header = (**session.header()).clone();
    disk.put(header, session.events().to_vec(), Some("the last line was cut"));
}

fn end(turn: u64) -> TurnEnd {
    TurnEnd { turn, reason: TurnEndReason::Completed {} }
}

// spec: session/S75
#[tokio::test]
async fn a_stored_session_is_repaired_by_its_load_once() {
    let host = Host::new().await;
    crashed(&host.disk, "s");
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let loaded = kept.load("s").await.unwrap();
    assert_eq!(host.disk.calls(), ["open s", "repair s 1"]);
    assert_eq!(loaded.torn.as_deref(), Some("the last line was cut"));
    assert_eq!(loaded.closers, 1);
    assert_eq!(loaded.events.to_vec(), host.disk.events("s"));
    assert_eq!(host.disk.kinds("s"), ["turn/start", "x/note", "turn/end"]);

    let again = kept.load("s").await.unwrap();
    assert_eq!((again.torn, again.closers, again.events), (None, 0, loaded.events));
    assert_eq!(host.disk.calls(), ["open s"]);
    assert_eq!(host.disk.claims(), 0);
}

// spec: session/S75
#[tokio::test]
async fn a_live_session_is_flushed_by_its_load_and_never_closed() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let (session, _effect) = host.live("s");
    let missing = kept.load("s").await.unwrap_err();
    assert!(matches!(missing, PersistError::NotFound { .. }), "{missing}");
    add(&session, &TurnStart { turn: 1 });
    let open = kept.load("s").await.unwrap_err();
    assert!(matches!(open, PersistError::OpenTurn { .. }), "{open}");
    assert_eq!(host.disk.called(), 0);
    add(&session, &end(1));
    let loaded = kept.load("s").await.unwrap();
    assert_eq!(loaded.events.to_vec(), host.disk.events("s"));
    assert_eq!(loaded.events.len(), 2);
}

// spec: session/S75, S76, S78
#[tokio::test]
async fn what_is_not_there_is_not_found_by_any_way() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let errors = [
        kept.load("s").await.err(),
        kept.inspect("s").await.err(),
        kept.prepare("s").await.err(),
        kept.read_from("s", 0).await.err(),
        kept.read_raw("s").await.err(),
    ];
    for error in errors {
        let error = error.unwrap();
        assert!(matches!(&error, PersistError::NotFound { id } if id == "s"), "{error}");
    }
    assert_eq!(format!("{kept:?}"), "SessionPersistence { tracks: 0, .. }");
}

// spec: session/S76
#[tokio::test]
async fn an_inspection_closes_in_memory_only() {
    let host = Host::new().await;
    crashed(&host.disk, "s");
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let seen = kept.inspect("s").await.unwrap();
    assert_eq!((seen.closers, seen.events.len()), (1, 3));
    assert_eq!(host.disk.calls(), ["read s"]);
    assert!(host.disk.is_torn("s"));
    assert_eq!(host.disk.kinds("s"), ["turn/start", "x/note"]);
}

// spec: session/S76
#[tokio::test]
async fn an_inspection_of_a_live_session_shows_it_as_it_is() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let (session, _effect) = host.live("s");
    assert_eq!(kept.inspect("s").await.unwrap().events.len(), 0);
    add(&session, &TurnStart { turn: 1 });
    let seen = kept.inspect("s").await.unwrap();
    assert_eq!((seen.events, seen.closers), (session.events(), 0));
    assert_eq!(host.disk.called(), 0);
}

// spec: session/S76
#[tokio::test]
async fn an_inspection_is_remembered_until_the_log_changes() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let (header, events) = log("s", &["a", "b"]);
    host.disk.put(header.clone(), events[..1].to_vec(), None);
    kept.inspect("s").await.unwrap();
    kept.inspect("s").await.unwrap();
    assert_eq!(host.disk.calls(), ["read s"]);
    // As another process does it.
    host.disk.put(header, events, None);
    assert_eq!(texts(&kept.inspect("s").await.unwrap().events), ["a", "b"]);
    assert_eq!(host.disk.calls(), ["read s"]);
}

// spec: session/S76
#[tokio::test]
async fn the_inspections_used_least_lately_are_forgotten() {
    let mut options = WriteOptions::default();
    options.prepared_session_cache_size = 2;
    let host = Host::with(Disk::default(), options).await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    for id in ["a", "b", "c"] {
        let (header, events) = log(id, &["x"]);
        host.disk.put(header, events, None);
    }
    for id in ["a", "b", "a", "c", "a", "c", "b"] {
        kept.inspect(id).await.unwrap();
    }
    assert_eq!(host.disk.calls(), ["read a", "read b", "read c", "read b"]);
}

// spec: session/S78
#[tokio::test]
async fn reading_from_a_number_gives_what_is_stored_and_repairs_nothing() {
    let host = Host::new().await;
    crashed(&host.disk, "s");
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let suffix = kept.read_from("s", 1).await.unwrap();
    assert_eq!(suffix.events.to_vec(), host.disk.events("s")[1..]);
    assert!(suffix.torn.is_some());
    for past in [2, 3, u64::MAX] {
        assert_eq!(kept.read_from("s", past).await.unwrap().events.to_vec(), []);
    }
    assert_eq!(host.disk.calls(), ["read s"; 4], "nothing is remembered");
    assert!(host.disk.is_torn("s"));
}

// spec: session/S78
#[tokio::test]
async fn reading_from_a_number_flushes_a_live_session() {
    let host = Host::new().await;
    let (session, _effect) = host.live("s");
    say(&session, "a");
    say(&session, "b");
    let kept = host.kept();
    assert_eq!(texts(&kept.get().unwrap().read_from("s", 1).await.unwrap().events), ["b"]);
}

// spec: session/S79
#[tokio::test]
async fn a_log_of_another_session_is_damaged_however_it_is_looked_at() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let (header, events) = log("other", &["a"]);
    host.disk.put_as("s", header, events, Some("cut"));
    let errors = [
        kept.load("s").await.err(),
        kept.inspect("s").await.err(),
        kept.prepare("s").await.err(),
        kept.read_from("s", 0).await.err(),
    ];
    for error in errors {
        let error = error.unwrap();
        assert!(
            matches!(&error, PersistError::Storage(StorageError::Corrupt { what, .. }) if what.contains("`other`")),
            "{error}"
        );
    }
    assert!(host.disk.is_torn("s"), "nothing was repaired");
    assert_eq!(host.disk.claims(), 0);
}

// spec: session/S79
#[tokio::test]
async fn a_log_that_makes_no_session_is_refused_before_anything_is_written() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let (header, events) = log("s", &["a", "b"]);
    host.disk.put(header, events[1..].to_vec(), Some("cut"));
    let error = kept.prepare("s").await.unwrap_err();
    assert!(matches!(error, PersistError::Seed { .. }), "{error}");
    assert_eq!(host.disk.calls(), ["open s"]);
    assert_eq!(host.disk.claims(), 0);
}

// spec: session/S79
#[test]
fn what_a_build_does_not_know_is_told_apart_from_damage() {
    let unknown = [
        Problem::UnsupportedVersion { found: 1, supported: 0 },
        Problem::UnknownEventType { kind: "x/y".to_owned(), seq: 7 },
    ];
    for problem in unknown {
        let text = match StorageError::of_problem("s", "/w/session.jsonl: line 3", &problem) {
            StorageError::Unsupported { id, what } => format!("{id}: {what}"),
            other => panic!("{other:?}"),
        };
        assert_eq!(text, format!("s: /w/session.jsonl: line 3: {problem}"));
    }
    for (found, advice) in [(1, "the log is newer, upgrade"), (-1, "the log is older")] {
        assert!(Problem::UnsupportedVersion { found, supported: 0 }.to_string().contains(advice));
    }
    let damaged = StorageError::of_problem("s", "line 3", &Problem::SeqGap { expected: 1, found: Some(3) });
    assert!(matches!(damaged, StorageError::Corrupt { .. }), "{damaged:?}");
}

// spec: session/S80
#[tokio::test]
async fn a_revision_changes_with_the_log_and_only_with_it() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    crashed(&host.disk, "s");
    let revision = async || {
        let listed = kept.list_snapshots().await.unwrap();
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].header.id, "s");
        listed[0].revision.clone()
    };
    let first = revision().await;
    assert_eq!(host.disk.calls(), ["list"], "no log is read");
    kept.inspect("s").await.unwrap();
    assert_eq!(revision().await, first);
    kept.load("s").await.unwrap();
    let repaired = revision().await;
    assert_ne!(repaired, first);
    kept.load("s").await.unwrap();
    assert_eq!(revision().await, repaired);
    let (_, later) = log("s", &["0", "1", "2", "b"]);
    kept.append("s", later[3..].to_vec()).await.unwrap();
    assert_ne!(revision().await, repaired);
}

#[tokio::test]
async fn the_storage_is_asked_for_places_and_raw_logs() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let (header, events) = log("s", &["a"]);
    assert_eq!(kept.locate(&header), Some(Location::Jsonl { path: "/memory/s".into() }));
    let nowhere = SessionHeader { cwd: Some("/w".to_owned()), ..header.clone() };
    assert_eq!(kept.locate(&nowhere), None);
    assert_eq!(host.disk.called(), 0);
    assert!(kept.has_raw());
    host.disk.put(header, events, None);
    assert_eq!(kept.read_raw("s").await.unwrap().content, "x/note\n");
}

#[tokio::test]
async fn a_failure_to_open_does_not_poison_what_comes_after_it() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    crashed(&host.disk, "s");
    host.disk.fail_opens(2);
    assert!(kept.load("s").await.is_err());
    assert!(kept.prepare("s").await.is_err());
    assert_eq!(kept.load("s").await.unwrap().closers, 1);
    let options = CreateSession { id: Some("t".to_owned()), ..CreateSession::default() };
    let (session, _effect) = host.live_with(options);
    say(&session, "a");
    host.disk.fail_opens(1);
    host.flush(&session).await.unwrap_err();
    assert_eq!(host.flush(&session).await, Ok(true));
}
