//! Adding to what is stored without a live session.

use dsh_session::{PersistError, SessionHeader, StorageError, TurnStart};

use crate::host::{Host, add, log, texts};
use crate::memory::Fault;

fn is_taken(result: Result<(), PersistError>) -> bool {
    matches!(result, Err(PersistError::Storage(StorageError::Exists { .. })))
}

// spec: session/S71
#[tokio::test]
async fn a_created_session_is_stored_with_its_first_events() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let (header, events) = log("s", &["a", "b"]);
    kept.create(header.clone()).await.unwrap();
    assert_eq!(kept.list().await.unwrap(), []);
    assert_eq!(host.disk.calls(), ["list"], "nothing is written");
    kept.append("s", events).await.unwrap();
    assert_eq!(host.disk.calls(), ["create s 2"], "header and events at once");
    assert_eq!(kept.list().await.unwrap(), [header]);
}

// spec: session/S71
#[tokio::test]
async fn an_id_that_is_reserved_stored_or_live_cannot_be_created() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    kept.create(SessionHeader::new("reserved", 1)).await.unwrap();
    assert!(is_taken(kept.create(SessionHeader::new("reserved", 1)).await));
    let (header, events) = log("stored", &["a"]);
    host.disk.put(header.clone(), events, None);
    assert!(is_taken(kept.create(header).await));
    let (_session, _effect) = host.live("live");
    assert!(is_taken(kept.create(SessionHeader::new("live", 1)).await));
}

// spec: session/S71
#[tokio::test]
async fn a_header_that_cannot_be_is_refused() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let refused = kept.create(SessionHeader::new("s", (1 << 53) - 1)).await;
    assert!(refused.is_ok());
    let refused = kept.create(SessionHeader::new("t", 1 << 53)).await.unwrap_err();
    assert!(matches!(refused, PersistError::BadHeader { .. }), "{refused}");
    let refused = kept.create(SessionHeader::new("", 1)).await.unwrap_err();
    assert!(matches!(refused, PersistError::BadHeader { .. }), "{refused}");
}

// spec: session/S72
#[tokio::test]
async fn appended_events_must_go_on_where_the_log_ends() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let (header, events) = log("s", &["a", "b", "c", "d"]);
    kept.create(header).await.unwrap();
    let early = kept.append("s", events[1..].to_vec()).await.unwrap_err();
    assert!(matches!(early, PersistError::NotNext { expected: 0, found: 1, .. }), "{early}");
    kept.append("s", events[..2].to_vec()).await.unwrap();
    let again = kept.append("s", events[..2].to_vec()).await.unwrap_err();
    assert!(matches!(again, PersistError::NotNext { expected: 2, found: 0, .. }), "{again}");
    let gap = vec![events[2].clone(), events[2].clone()];
    let gap = kept.append("s", gap).await.unwrap_err();
    assert!(matches!(gap, PersistError::NotNext { expected: 3, found: 2, .. }), "{gap}");
    kept.append("s", events[2..].to_vec()).await.unwrap();
    assert_eq!(host.disk.events("s"), events);
}

// spec: session/S72
#[tokio::test]
async fn appending_nothing_does_nothing_and_types_are_not_looked_at() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let (header, events) = log("s", &["of a type that nobody knows"]);
    kept.create(header).await.unwrap();
    kept.append("s", Vec::new()).await.unwrap();
    assert_eq!(host.disk.called(), 0);
    kept.append("s", events).await.unwrap();
    assert_eq!(host.disk.kinds("s"), ["x/note"]);
}

// spec: session/S72
#[tokio::test]
async fn an_append_that_failed_has_stored_nothing_and_can_be_made_again() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let (header, events) = log("s", &["a", "b"]);
    kept.create(header).await.unwrap();
    host.disk.fail([Fault::Fail, Fault::None, Fault::Fail]);
    kept.append("s", events[..1].to_vec()).await.unwrap_err();
    kept.append("s", events[..1].to_vec()).await.unwrap();
    kept.append("s", events[1..].to_vec()).await.unwrap_err();
    kept.append("s", events[1..].to_vec()).await.unwrap();
    assert_eq!(host.disk.events("s"), events);
}

// spec: session/S73
#[tokio::test]
async fn an_append_to_a_stored_session_repairs_what_a_crash_left_first() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let session = dsh_session::Session::detached("s");
    add(&session, &TurnStart { turn: 1 });
    let header = (**session.header()).clone();
    host.disk.put(header, session.events().to_vec(), Some("cut"));
    let (_, later) = log("s", &["0", "1", "after"]);
    kept.append("s", later[2..].to_vec()).await.unwrap();
    assert_eq!(host.disk.calls(), ["open s", "repair s 1", "append s 1"]);
    assert_eq!(host.disk.kinds("s"), ["turn/start", "turn/end", "x/note"]);
}

// spec: session/S73
#[tokio::test]
async fn an_append_is_refused_while_the_session_is_resumed_live_or_unknown() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let (header, events) = log("s", &["a"]);
    host.disk.put(header, events.clone(), None);
    let prepared = kept.prepare("s").await.unwrap();
    let refused = kept.append("s", events.clone()).await.unwrap_err();
    assert!(matches!(refused, PersistError::Reserved { .. }), "{refused}");
    let _effect = host.enter(&prepared);
    let refused = kept.append("s", events.clone()).await.unwrap_err();
    assert!(matches!(refused, PersistError::Live { .. }), "{refused}");
    let refused = kept.append("t", events).await.unwrap_err();
    assert!(matches!(refused, PersistError::NotFound { .. }), "{refused}");
}

// spec: session/S73, S75
#[tokio::test]
async fn a_session_that_was_appended_to_can_be_loaded_and_appended_to_again() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let (header, events) = log("s", &["a", "b"]);
    kept.create(header).await.unwrap();
    kept.append("s", events[..1].to_vec()).await.unwrap();
    assert_eq!(texts(&kept.load("s").await.unwrap().events), ["a"]);
    kept.append("s", events[1..].to_vec()).await.unwrap();
    assert_eq!(texts(&kept.prepare("s").await.unwrap().session().events()), ["a", "b"]);
}

// spec: session/S71
#[tokio::test]
async fn a_reserved_name_has_no_log_to_read_and_stays_reserved() {
    let host = Host::new().await;
    let kept = host.kept();
    let kept = kept.get().unwrap();
    let (header, events) = log("s", &["a"]);
    kept.create(header).await.unwrap();
    for missing in [kept.load("s").await.err(), kept.prepare("s").await.err(), kept.inspect("s").await.err()]
    {
        let missing = missing.unwrap();
        assert!(matches!(missing, PersistError::NotFound { .. }), "{missing}");
    }
    kept.append("s", events).await.unwrap();
}

// spec: session/S74
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_on_one_session_is_done_one_after_the_other_and_in_order() {
    let host = Host::new().await;
    let (header, events) = log("s", &["0", "1", "2", "3", "4", "5", "6", "7"]);
    host.kept().get().unwrap().create(header).await.unwrap();
    let hold = host.disk.hold("s");
    // The first one is for the other session.
    host.disk.fail([Fault::None, Fault::None, Fault::None, Fault::Fail]);
    let mut appends = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let (kept, event) = (host.kept(), event.clone());
        appends.push(tokio::spawn(async move { kept.get().unwrap().append("s", vec![event]).await }));
        if index == 0 {
            crate::host::until("the first one writes", || host.disk.waiting() == 1).await;
        }
        crate::host::settle().await;
    }
    assert_eq!(host.disk.calls(), ["create s 1"], "the others wait for their turns");
    let other = host.kept();
    let (header, free) = log("t", &["a"]);
    other.get().unwrap().create(header).await.unwrap();
    other.get().unwrap().append("t", free).await.unwrap();
    drop(hold);
    let mut ends = Vec::new();
    for append in appends {
        ends.push(append.await.unwrap().is_ok());
    }
    assert_eq!(ends, [true, true, false, false, false, false, false, false]);
    assert_eq!(texts(host.disk.events("s")), ["0", "1"]);
    host.kept().get().unwrap().append("s", events[2..].to_vec()).await.unwrap();
    assert_eq!(host.disk.events("s"), events);
}
