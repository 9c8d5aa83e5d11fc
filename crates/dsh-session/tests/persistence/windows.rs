//! Writing behind: windows, flushes and failures of writes.

use std::sync::Arc;
use std::time::Duration;

use dsh_session::WriteOptions;

use crate::host::{Host, given_up_when, pass, say, settle, texts, until};
use crate::memory::{Disk, Fault};
use crate::warnings::Warnings;

// spec: session/S82
#[tokio::test(start_paused = true)]
async fn the_first_event_opens_a_window_that_later_ones_do_not_extend() {
    let host = Host::new().await;
    let (session, _effect) = host.live("s");
    say(&session, "a");
    pass(150).await;
    say(&session, "b");
    pass(49).await;
    assert_eq!(host.disk.called(), 0);
    pass(1).await;
    until("both are written", || host.disk.events("s").len() == 2).await;
    assert_eq!(host.disk.calls(), ["open s", "create s 2"]);
    assert_eq!(texts(host.disk.events("s")), ["a", "b"]);
}

// spec: session/S82
#[tokio::test(start_paused = true)]
async fn events_admitted_during_a_write_form_the_next_batch() {
    let host = Host::new().await;
    let (session, _effect) = host.live("s");
    say(&session, "a");
    let hold = host.disk.hold("s");
    pass(200).await;
    until("the first write waits", || host.disk.waiting() == 1).await;
    say(&session, "b");
    say(&session, "c");
    drop(hold);
    until("the first write ended", || host.disk.events("s").len() == 1).await;
    host.disk.calls();
    pass(199).await;
    assert_eq!(host.disk.called(), 0, "their own window is still open");
    pass(1).await;
    until("they are written", || host.disk.events("s").len() == 3).await;
    assert_eq!(host.disk.calls(), ["append s 2"]);
}

// spec: session/S82
#[tokio::test(start_paused = true)]
async fn a_window_that_expired_during_a_write_is_written_at_once_after_it() {
    let host = Host::new().await;
    let (session, _effect) = host.live("s");
    say(&session, "a");
    let hold = host.disk.hold("s");
    pass(200).await;
    until("the first write waits", || host.disk.waiting() == 1).await;
    say(&session, "b");
    pass(200).await;
    assert_eq!(host.disk.calls(), ["open s", "create s 1"]);
    drop(hold);
    until("both are written", || host.disk.events("s").len() == 2).await;
    assert_eq!(host.disk.calls(), ["append s 1"]);
}

// spec: session/S82
#[tokio::test(start_paused = true)]
async fn the_length_of_the_window_is_configured_within_its_bounds() {
    let mut options = WriteOptions::default();
    assert_eq!((options.write_batch_max_delay_ms, options.prepared_session_cache_size), (200, 5));
    for (delay, fits) in [(0, false), (1, true), (2_147_483_647, true), (2_147_483_648, false)] {
        options.write_batch_max_delay_ms = delay;
        assert_eq!(options.check().is_ok(), fits, "{delay}");
    }
    options.write_batch_max_delay_ms = 1_000;
    let host = Host::with(Disk::default(), options).await;
    let (session, _effect) = host.live("s");
    say(&session, "a");
    pass(999).await;
    assert_eq!(host.disk.called(), 0);
    pass(1).await;
    until("it is written", || host.disk.events("s").len() == 1).await;
    options.prepared_session_cache_size = 0;
    assert!(options.check().is_err());
}

// spec: session/S83
#[tokio::test(start_paused = true)]
async fn a_flush_does_not_wait_for_the_window_and_ends_it() {
    let host = Host::new().await;
    let (session, _effect) = host.live("s");
    say(&session, "a");
    pass(100).await;
    assert_eq!(host.flush(&session).await, Ok(true));
    assert_eq!(host.disk.calls(), ["open s", "create s 1"]);
    say(&session, "b");
    pass(199).await;
    assert_eq!(host.disk.called(), 0, "the window of the second event began with it");
    pass(1).await;
    until("it is written", || host.disk.events("s").len() == 2).await;
    assert_eq!(host.disk.calls(), ["append s 1"]);
}

#[tokio::test(start_paused = true)]
async fn a_flush_leaves_no_task_behind_however_long_the_window() {
    let mut options = WriteOptions::default();
    options.write_batch_max_delay_ms = 2_147_483_647;
    let host = Host::with(Disk::default(), options).await;
    let (session, _effect) = host.live("s");
    let effects = host.app.effects(&host.keeper.context());
    for _ in 0..50 {
        say(&session, "a");
        host.flush(&session).await.unwrap();
    }
    until("no task is left", || host.app.effects(&host.keeper.context()) == effects).await;
    assert_eq!(host.disk.events("s").len(), 50);
}

// spec: session/S83
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flush_writes_what_is_added_while_it_runs() {
    let host = Arc::new(Host::new().await);
    let (session, _effect) = host.live("s");
    say(&session, "a");
    let hold = host.disk.hold("s");
    let flush = tokio::spawn({
        let (host, session) = (host.clone(), session.clone());
        async move { host.flush(&session).await }
    });
    until("the flush writes", || host.disk.waiting() == 1).await;
    say(&session, "b");
    drop(hold);
    assert_eq!(flush.await.unwrap(), Ok(true));
    assert_eq!(texts(host.disk.events("s")), ["a", "b"]);
}

// spec: session/S83
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flushes_at_the_same_time_write_everything_once() {
    let host = Arc::new(Host::new().await);
    let (session, _effect) = host.live("s");
    say(&session, "a");
    let hold = host.disk.hold("s");
    let flushes: Vec<_> = (0..8)
        .map(|_| {
            let (host, session) = (host.clone(), session.clone());
            tokio::spawn(async move { host.flush(&session).await })
        })
        .collect();
    until("one writes", || host.disk.waiting() == 1).await;
    drop(hold);
    for flush in flushes {
        assert_eq!(flush.await.unwrap(), Ok(true));
    }
    assert_eq!(host.disk.calls(), ["open s", "create s 1"]);
}

#[tokio::test]
async fn a_flush_with_nothing_to_write_calls_nothing() {
    let host = Host::new().await;
    let (session, _effect) = host.live("s");
    assert_eq!(host.flush(&session).await, Ok(true));
    assert_eq!(host.disk.called(), 0);
    say(&session, "a");
    host.flush(&session).await.unwrap();
    host.disk.calls();
    host.flush(&session).await.unwrap();
    assert_eq!(host.disk.called(), 0);
}

// spec: session/S84
#[tokio::test(start_paused = true)]
async fn a_failed_write_is_told_once_kept_in_order_and_tried_again_with_the_next_event() {
    let (warnings, _guard) = Warnings::of_this_thread();
    let host = Host::new().await;
    let (session, _effect) = host.live("s");
    say(&session, "first");
    host.flush(&session).await.unwrap();
    host.disk.calls();

    host.disk.fail([Fault::Fail, Fault::Fail]);
    say(&session, "a");
    pass(200).await;
    until("its failure is told", || warnings.count() == 1).await;
    assert_eq!(host.disk.calls(), ["append s 1"]);
    pass(60_000).await;
    assert_eq!(host.disk.called(), 0, "nothing is tried again by itself");
    say(&session, "b");
    pass(200).await;
    until("both are tried", || host.disk.called() == 1).await;
    settle().await;
    assert_eq!((host.disk.calls(), warnings.count()), (vec!["append s 2".to_owned()], 1));
    say(&session, "c");
    pass(200).await;
    until("all are written", || host.disk.events("s").len() == 4).await;
    assert_eq!(host.disk.calls(), ["append s 3"]);
    assert_eq!(texts(host.disk.events("s")), ["first", "a", "b", "c"]);

    host.disk.fail([Fault::Fail]);
    say(&session, "d");
    pass(200).await;
    until("a failure after a success is a new one", || warnings.count() == 2).await;
}

// spec: session/S84
#[tokio::test(start_paused = true)]
async fn a_flush_tries_again_and_tells_of_a_repeated_failure() {
    let host = Host::new().await;
    let (session, _effect) = host.live("s");
    host.disk.fail([Fault::Fail, Fault::Fail]);
    say(&session, "a");
    pass(200).await;
    until("it is tried", || host.disk.called() == 2).await;
    let error = host.flush(&session).await.unwrap_err();
    assert!(error.ends_with("cannot create: the disk is on fire"), "{error}");
    assert_eq!(host.flush(&session).await, Ok(true));
    assert_eq!(texts(host.disk.events("s")), ["a"]);
}

// spec: session/S74
#[tokio::test]
async fn a_spoilt_writer_is_given_up_and_the_log_mended() {
    let host = Host::new().await;
    let (session, _effect) = host.live("s");
    say(&session, "a");
    host.flush(&session).await.unwrap();
    for fault in [Fault::Spoil, Fault::Panic] {
        for text in ["b", "c", "d", "e"] {
            say(&session, text);
        }
        host.disk.fail([fault]);
        host.flush(&session).await.unwrap_err();
        assert!(host.disk.is_torn("s"));
        assert_eq!(host.flush(&session).await, Ok(true), "{fault:?}");
        assert!(!host.disk.is_torn("s"));
        assert_eq!(host.disk.events("s").len() as u64, session.len());
    }
    assert_eq!(texts(host.disk.events("s")), ["a", "b", "c", "d", "e", "b", "c", "d", "e"]);
}

#[tokio::test]
async fn a_storage_that_panics_while_it_creates_a_log_is_found_to_have_created_it() {
    let host = Host::new().await;
    let (session, _effect) = host.live("s");
    say(&session, "a");
    host.disk.fail([Fault::Panic]);
    let error = host.flush(&session).await.unwrap_err();
    assert!(error.contains("the storage did not come back"), "{error}");
    say(&session, "b");
    assert_eq!(host.flush(&session).await, Ok(true));
    assert_eq!(texts(host.disk.events("s")), ["a", "b"]);
}

#[tokio::test]
async fn a_flush_that_nobody_waits_for_any_more_ends_all_the_same() {
    let host = Host::new().await;
    let (session, _effect) = host.live("s");
    say(&session, "a");
    let hold = host.disk.hold("s");
    given_up_when(host.flush(&session), || host.disk.waiting() == 1).await;
    drop(hold);
    until("it is written", || host.disk.events("s").len() == 1).await;
    say(&session, "b");
    assert_eq!(host.flush(&session).await, Ok(true));
    assert_eq!(texts(host.disk.events("s")), ["a", "b"]);
}

/// A thousand flushes of one event each behind a log of `length` events; how long they took.
async fn flushes_behind(length: usize) -> Duration {
    let host = Host::new().await;
    let (session, _effect) = host.live("s");
    for _ in 0..length {
        say(&session, "a");
    }
    host.flush(&session).await.unwrap();
    host.disk.calls();
    let begun = std::time::Instant::now();
    for _ in 0..1_000 {
        say(&session, "b");
        host.flush(&session).await.unwrap();
    }
    let took = begun.elapsed();
    let calls = host.disk.calls();
    assert_eq!(calls.len(), 1_000);
    assert!(calls.iter().all(|call| call == "append s 1"));
    took
}

#[tokio::test]
async fn a_long_log_is_not_read_or_written_again_by_a_flush() {
    let mut seen = Vec::new();
    for _ in 0..5 {
        let (short, long) = (flushes_behind(100).await, flushes_behind(100_000).await);
        // Other work on the machine slows both; a walk over the log for each event would be a thousand times as long.
        if long < short * 10 {
            return;
        }
        seen.push((short, long));
    }
    panic!("behind 100 and behind 100,000 events: {seen:?}");
}
