//! Services under two threads: removal against look-ups, leases and locks of their users.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use cordis::{App, Context, Key};
use std::{
    cell::Cell,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

const ROUNDS: usize = 10_000;
const LOCKED: Key<TakesTheLock> = Key::new("locked");

thread_local! {
    static HOLDS_THE_LOCK: Cell<bool> = const { Cell::new(false) };
}

/// A user's lock, which its service takes when it is dropped.
#[derive(Default)]
struct Users {
    lock: Mutex<()>,
    drops: AtomicUsize,
    /// Drops on a thread that holds the lock: each would have blocked for ever.
    blocked: AtomicUsize,
}

struct TakesTheLock(Arc<Users>);

impl Drop for TakesTheLock {
    fn drop(&mut self) {
        self.0.drops.fetch_add(1, SeqCst);
        if HOLDS_THE_LOCK.get() {
            self.0.blocked.fetch_add(1, SeqCst);
            return;
        }
        drop(self.0.lock.lock().unwrap());
    }
}

impl Users {
    /// Does something under the lock.
    fn locked<T>(&self, work: impl FnOnce() -> T) -> T {
        let guard = self.lock.lock().unwrap();
        HOLDS_THE_LOCK.set(true);
        let done = work();
        HOLDS_THE_LOCK.set(false);
        drop(guard);
        done
    }
}

/// Looks again and again while a value is provided and removed `ROUNDS` times.
fn race(ctx: &Context, look: impl Fn(&Users) + Sync) {
    let users: Arc<Users> = Arc::default();
    let over = AtomicBool::new(false);
    let runtime = tokio::runtime::Handle::current();
    thread::scope(|scope| {
        scope.spawn(|| {
            let _entered = runtime.enter();
            while !over.load(SeqCst) {
                look(&users);
            }
        });
        for _ in 0..ROUNDS {
            let effect = ctx.provide(LOCKED, Arc::new(TakesTheLock(users.clone()))).unwrap();
            runtime.block_on(effect.dispose());
        }
        over.store(true, SeqCst);
    });
    // A value that was leased is dropped soon after its last lease.
    while Arc::strong_count(&users) > 1 {
        thread::yield_now();
    }
    assert_eq!((users.drops.load(SeqCst), users.blocked.load(SeqCst)), (ROUNDS, 0));
}

fn with_a_runtime(test: impl FnOnce(&App)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _entered = runtime.enter();
    test(&App::new().unwrap());
}

// spec: cases/L8, design/P3
#[test]
fn a_value_that_takes_a_lock_when_dropped_does_not_block_one_who_looks_it_up_under_that_lock() {
    with_a_runtime(|app| {
        race(app, |users| {
            users.locked(|| {
                for _ in 0..20 {
                    drop(app.get(LOCKED));
                    drop(app.peek(LOCKED));
                }
            });
        });
    });
}

// spec: cases/L8, design/P3
#[test]
fn a_value_that_takes_a_lock_when_dropped_does_not_block_one_who_gives_the_last_lease_back_under_that_lock() {
    with_a_runtime(|app| {
        race(app, |users| {
            users.locked(|| {
                let Some(handle) = app.get(LOCKED) else { return };
                for _ in 0..20 {
                    drop(handle.get());
                }
            });
        });
    });
}

// spec: cases/L8, design/P3
#[test]
fn a_value_that_takes_a_lock_when_dropped_does_not_block_one_whose_handle_fails_under_that_lock() {
    with_a_runtime(|app| {
        race(app, |users| {
            let Some(handle) = app.get(LOCKED) else { return };
            for _ in 0..50 {
                // A lease that was given keeps the value, so it is given back outside of the lock.
                let lease = users.locked(|| handle.get());
                if lease.is_err() {
                    return;
                }
            }
        });
    });
}

// spec: design/P1
#[test]
fn a_handle_used_on_another_thread_works_before_the_removal_and_fails_after_it() {
    const WORD: Key<Word> = Key::new("word");
    struct Word(AtomicBool);
    impl Drop for Word {
        fn drop(&mut self) {
            self.0.store(false, SeqCst);
        }
    }
    with_a_runtime(|app| {
        let runtime = tokio::runtime::Handle::current();
        for _ in 0..2_000 {
            let effect = app.provide(WORD, Arc::new(Word(AtomicBool::new(true)))).unwrap();
            let handle = app.get(WORD).unwrap();
            let removed = AtomicBool::new(false);
            let report = thread::scope(|scope| {
                let user = scope.spawn(|| {
                    loop {
                        let over = removed.load(SeqCst);
                        match handle.get() {
                            Ok(word) => {
                                assert!(word.0.load(SeqCst), "a lease gave a dropped value");
                                assert!(!over, "a handle worked after the removal had returned");
                            }
                            Err(_) if over => return,
                            Err(_) => {}
                        }
                    }
                });
                let report = runtime.block_on(effect.dispose());
                removed.store(true, SeqCst);
                user.join().unwrap();
                report
            });
            assert!(report.still_running.is_empty());
            // A lease may have been out at that very moment; then there was one.
            assert!(report.leases.iter().all(|held| held.leases == 1), "{report}");
            assert!(app.peek(WORD).is_none());
        }
    });
}

// spec: cordis-core/C17, design/P1
#[test]
fn a_provider_that_goes_leaves_its_successor_in_place() {
    const PLACE: Key<usize> = Key::new("place");
    with_a_runtime(|app| {
        let runtime = tokio::runtime::Handle::current();
        let won = [const { AtomicUsize::new(0) }; 2];
        // Until both have had their turns: how many tries that takes is up to the system's scheduler.
        let take_turns = |mine: usize| {
            let _entered = runtime.enter();
            while won.iter().any(|won| won.load(SeqCst) < ROUNDS) {
                if let Ok(effect) = app.provide(PLACE, Arc::new(mine)) {
                    let there = app.get(PLACE).map(|place| *place.get().unwrap());
                    assert_eq!(there, Some(mine), "what was just provided is not there");
                    effect.cancel();
                    won[mine].fetch_add(1, SeqCst);
                }
                thread::yield_now();
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| take_turns(1));
            take_turns(0);
        });
        assert!(app.peek(PLACE).is_none());
    });
}
