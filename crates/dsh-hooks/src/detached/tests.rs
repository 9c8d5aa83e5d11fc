//! Hooks that nobody waits for.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use super::Detached;

/// Counts how many of it were dropped.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn detached() -> (Arc<Detached>, Arc<AtomicUsize>) {
    (Arc::new(Detached::new(Handle::current())), Arc::default())
}

// spec: timeout-jobs-hooks/J63
#[tokio::test(start_paused = true)]
async fn draining_nothing_ends_at_once() {
    let (detached, _) = detached();
    detached.drain().await;
    detached.drain().await;
    assert!(detached.token().is_cancelled());
}

// spec: timeout-jobs-hooks/J63
#[tokio::test(start_paused = true)]
async fn draining_tells_the_hooks_to_end_and_waits_until_they_have() {
    let (detached, done) = detached();
    for cleaning in [1, 5] {
        let (token, done) = (detached.token(), Arc::clone(&done));
        detached.track(async move {
            token.cancelled().await;
            sleep(Duration::from_secs(cleaning)).await;
            done.fetch_add(1, SeqCst);
        });
    }
    assert!(!detached.token().is_cancelled());
    detached.drain().await;
    assert_eq!(done.load(SeqCst), 2);
}

// spec: timeout-jobs-hooks/J63
#[tokio::test(start_paused = true)]
async fn a_hook_that_is_tracked_meanwhile_is_waited_for_as_well() {
    let (detached, done) = detached();
    let (again, token) = (Arc::clone(&detached), detached.token());
    let counted = Arc::clone(&done);
    detached.track(async move {
        token.cancelled().await;
        sleep(Duration::from_secs(1)).await;
        again.track(async move {
            sleep(Duration::from_secs(1)).await;
            counted.fetch_add(1, SeqCst);
        });
    });
    detached.drain().await;
    assert_eq!(done.load(SeqCst), 1);
}

// spec: timeout-jobs-hooks/J63
#[tokio::test(start_paused = true)]
async fn a_hook_that_panics_harms_nobody() {
    let (detached, done) = detached();
    detached.track(async { panic!("expected by the test") });
    let counted = Arc::clone(&done);
    detached.track(async move {
        sleep(Duration::from_secs(1)).await;
        counted.fetch_add(1, SeqCst);
    });
    detached.drain().await;
    assert_eq!(done.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn after_the_drain_nothing_runs() {
    let (detached, ended) = detached();
    detached.drain().await;
    let dropped = Dropped(Arc::clone(&ended));
    detached.track(async move {
        drop(dropped);
        unreachable!("it ran");
    });
    // Waits for the task that drops it.
    detached.drain().await;
    assert_eq!(ended.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_is_given_up_ends_the_hooks_where_they_stand() {
    let (detached, ended) = detached();
    let dropped = Dropped(Arc::clone(&ended));
    detached.track(async move {
        let _dropped = dropped;
        std::future::pending().await
    });
    assert!(timeout(Duration::from_secs(10), detached.drain()).await.is_err());
    detached.drain().await;
    assert_eq!(ended.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_dropped_leaves_nothing_behind() {
    let (detached, ended) = detached();
    let (told, mut gone) = tokio::sync::mpsc::unbounded_channel::<()>();
    let dropped = Dropped(Arc::clone(&ended));
    detached.track(async move {
        let _held = (dropped, told);
        std::future::pending().await
    });
    tokio::task::yield_now().await;
    drop(detached);
    assert_eq!(gone.recv().await, None);
    assert_eq!(ended.load(SeqCst), 1);
}
