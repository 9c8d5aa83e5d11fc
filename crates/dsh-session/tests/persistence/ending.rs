//! The end of the store: what is written, what is told, and what is refused after it.

use std::sync::Arc;
use std::time::Duration;

use dsh_session::{PersistError, SessionHeader};

use crate::host::{Host, given_up_when, log, say, settle, texts, until};
use crate::memory::{Disk, Fault};

// spec: session/S87
#[tokio::test]
async fn the_end_of_the_store_writes_all_that_is_left_and_closes_the_storage_last() {
    let host = Host::new().await;
    let mut sessions = Vec::new();
    for number in 0..40 {
        let (session, effect) = host.live(&format!("s{number:02}"));
        say(&session, "a");
        sessions.push((session, effect));
    }
    assert!(host.keeper.dispose().await.is_clean());
    let calls = host.disk.calls();
    assert_eq!(calls.iter().filter(|call| call.starts_with("create")).count(), 40);
    assert_eq!(calls.last().map(String::as_str), Some("close"));
    assert_eq!(host.disk.claims(), 0);
    host.app.assert_no_errors();
}

// spec: session/S87
#[tokio::test]
async fn the_end_of_the_store_tells_all_failures_as_one() {
    let host = Host::new().await;
    let mut sessions = Vec::new();
    for id in ["a", "b", "c"] {
        let (header, events) = log(id, &["stored"]);
        if id != "b" {
            host.disk.put(header, events, None);
        }
        sessions.push(host.live(id));
        say(&sessions.last().unwrap().0, "live");
    }
    host.keeper.dispose().await;
    let errors = host.app.take_errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    let message = &errors[0].message;
    assert!(message.contains("`a`: what is stored as `a` is another session"), "{message}");
    assert!(message.contains("`c`: what is stored as `c` is another session"), "{message}");
    assert!(!message.contains("`b`"), "{message}");
    assert_eq!(texts(host.disk.events("b")), ["live"], "the failures of others do not hold it up");
    assert!(host.disk.is_closed());
}

// spec: session/S87
#[tokio::test]
async fn a_storage_that_panics_at_the_end_is_told_and_the_others_are_written() {
    let host = Host::new().await;
    let (one, _one) = host.live("one");
    let (two, _two) = host.live("two");
    say(&one, "a");
    say(&two, "a");
    host.disk.fail([Fault::Panic]);
    host.keeper.dispose().await;
    let errors = host.app.take_errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].message.contains("the storage did not come back"), "{}", errors[0].message);
    assert_eq!((host.disk.events("one").len(), host.disk.events("two").len()), (1, 1));
    assert!(host.disk.is_closed());
}

// spec: session/S87
#[tokio::test]
async fn work_that_was_begun_is_awaited_and_work_that_comes_later_is_refused() {
    let host = Host::new().await;
    let kept = host.kept();
    let (header, events) = log("s", &["a", "b"]);
    let lease = kept.get().unwrap();
    lease.create(header).await.unwrap();
    let hold = host.disk.hold("s");
    let appending = tokio::spawn({
        let (kept, first) = (host.kept(), events[..1].to_vec());
        async move { kept.get().unwrap().append("s", first).await }
    });
    until("the append writes", || host.disk.waiting() == 1).await;
    let keeper = host.keeper.clone();
    let ending = tokio::spawn(async move { keeper.dispose().await });
    settle().await;
    assert!(!ending.is_finished());
    let errors = [
        lease.append("s", events[1..].to_vec()).await.err(),
        lease.create(SessionHeader::new("t", 1)).await.err(),
        lease.inspect("s").await.err(),
        lease.load("s").await.err(),
        lease.prepare("s").await.err(),
    ];
    for error in errors {
        assert!(matches!(error, Some(PersistError::Closed)), "{error:?}");
    }
    drop(hold);
    appending.await.unwrap().unwrap();
    ending.await.unwrap();
    assert_eq!(texts(host.disk.events("s")), ["a"]);
    assert!(matches!(lease.list().await, Err(PersistError::Closed)));
    drop(lease);
}

// spec: session/S87
#[tokio::test]
async fn a_preparation_that_outlives_the_store_holds_nothing() {
    let mut host = Host::new().await;
    let (header, events) = log("s", &["a"]);
    host.disk.put(header, events, None);
    let prepared = host.kept().get().unwrap().prepare("s").await.unwrap();
    host.keeper.dispose().await;
    assert_eq!(host.disk.claims(), 0);
    host.keep_again().await;
    let _effect = host.enter(&prepared);
    let session = prepared.session().clone();
    drop(prepared);
    say(&session, "b");
    host.flush(&session).await.unwrap();
    assert_eq!(texts(host.disk.events("s")), ["a", "b"]);
}

// spec: session/S87, design/P1
#[tokio::test(start_paused = true)]
async fn a_write_that_hangs_is_named_by_the_unload_and_neither_it_nor_others_are_lost() {
    let mut host = Host::new().await;
    let (hung, _hung) = host.live("hung");
    let (other, _other) = host.live("other");
    say(&hung, "a");
    say(&other, "a");
    let hold = host.disk.hold("hung");
    let keeper = host.keeper.clone();
    let ending = tokio::spawn(async move { keeper.dispose().await });
    until("the write hangs", || host.disk.waiting() == 1).await;
    until("the other is written", || host.disk.events("other").len() == 1).await;
    tokio::time::advance(Duration::from_secs(59)).await;
    settle().await;
    assert!(!ending.is_finished());
    tokio::time::advance(Duration::from_secs(2)).await;
    let disposed = ending.await.unwrap();
    let late: Vec<_> = disposed.still_running.iter().map(|late| late.step.as_str()).collect();
    assert_eq!(late, ["write what is left"]);

    say(&hung, "b");
    drop(hold);
    until("the write ends", || host.disk.events("hung").len() == 1).await;
    until("the claim is given up", || host.disk.claims() == 0).await;
    host.keep_again().await;
    host.flush(&hung).await.unwrap();
    assert_eq!(texts(host.disk.events("hung")), ["a", "b"]);
}

// spec: session/S77, S87
#[tokio::test]
async fn who_waits_for_a_reserved_session_is_told_when_the_store_ends() {
    let host = Host::new().await;
    let (header, events) = log("s", &["a"]);
    host.disk.put(header, events, None);
    let _held = host.kept().get().unwrap().prepare("s").await.unwrap();
    let kept = host.kept();
    let waiting = tokio::spawn(async move { kept.get().unwrap().prepare("s").await.map(drop) });
    settle().await;
    assert!(!waiting.is_finished());
    host.keeper.dispose().await;
    let told = tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap().unwrap();
    assert!(matches!(told, Err(PersistError::Closed)), "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_ends_although_a_session_goes_on_without_a_pause() {
    let host = Host::new().await;
    let (session, _effect) = host.live("s");
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let appending = std::thread::spawn({
        let (session, stop) = (session.clone(), stop.clone());
        move || {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                say(&session, "a");
                std::thread::sleep(Duration::from_micros(20));
            }
        }
    });
    until("some are there", || session.len() > 50).await;
    let before = session.len();
    let disposed = tokio::time::timeout(Duration::from_secs(60), host.keeper.dispose()).await;
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    appending.join().unwrap();
    assert!(disposed.unwrap().is_clean());
    assert!(host.disk.events("s").len() as u64 >= before);
}

#[test]
fn a_runtime_that_ends_in_the_middle_of_a_write_leaves_a_prefix_that_can_be_resumed() {
    let disk = Disk::default();
    let runtime =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let first = runtime();
    let hold = disk.hold("s");
    let (session, host, effect) = first.block_on(async {
        let host = Host::over(&disk).await;
        let (session, effect) = host.live("s");
        say(&session, "a");
        say(&session, "b");
        given_up_when(host.flush(&session), || disk.waiting() == 1).await;
        (session, host, effect)
    });
    first.shutdown_background();
    drop((host, effect));
    say(&session, "c");
    drop(hold);
    runtime().block_on(async {
        until("the write that was begun ends", || disk.events("s").len() == 2 && disk.claims() == 0).await;
        let host = Host::over(&disk).await;
        let prepared = host.kept().get().unwrap().prepare("s").await.unwrap();
        assert_eq!(texts(&prepared.session().events()), ["a", "b"]);
        host.app.assert_no_errors();
    });
}

#[tokio::test]
async fn the_end_of_the_app_ends_the_store_in_order() {
    let host = Host::new().await;
    let (session, _effect) = host.live("s");
    say(&session, "a");
    assert!(host.app.shutdown().await.is_clean());
    assert_eq!(texts(host.disk.events("s")), ["a"]);
    assert!(host.disk.is_closed());
}
