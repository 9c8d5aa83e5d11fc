//! Lifecycle inputs that broke other systems, second half: hangs, locks, panics, long chains, dropped waits.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

mod support_errors;
mod support_lifecycle;

use cordis::{App, BoxError, Context, Disposed, Emit, Fiber, Handle, Key, State, define};
use std::{
    future::pending,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};
use support_errors::with_causes;
use support_lifecycle::{Log, both_flavours, counts, errors, fine, ms, paused, secs, unblocked};
use tokio::{
    runtime::Builder,
    sync::Semaphore,
    time::{Instant, sleep, timeout},
};

const PING: Emit<()> = Emit::new("ping");
const NUMBER: Key<u32> = Key::new("number");

async fn idle(_: &Context, _: (), _: &()) -> Result<(), BoxError> {
    fine()
}

/// Registers something of every kind and keeps no handle.
async fn careless(ctx: &Context, _: (), log: &Log) -> Result<(), BoxError> {
    let _ = ctx.on(PING).with(log.on_drop("listener")).run(|_, ()| ())?;
    let held = log.on_drop("effect");
    let _ = ctx.effect("effect", async move || drop(held))?;
    let held = log.on_drop("task");
    let _ = ctx.spawn("task", async move {
        let _held = held;
        pending::<()>().await;
    })?;
    let held = log.on_drop("interval");
    let _ = ctx.interval(ms(1), move || _ = &held)?;
    let _ = ctx.provide(NUMBER, Arc::new(1))?;
    let _ = ctx.plugin(define("child").run(idle), ())?;
    let held = log.on_drop("group");
    let _ = ctx
        .effect_with("group", async move |e| {
            e.on(PING).with(held).run(|_, ()| ())?;
            fine()
        })
        .await?;
    fine()
}

// spec: cases/L7, design/P1
#[test]
fn a_plugin_that_keeps_no_handle_goes_with_everything_it_registered() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let fiber = app.plugin(define("careless").run(careless), log.clone()).unwrap();
        fiber.ready().await.unwrap();
        app.quiet().await;
        assert_eq!((app.listeners(PING), app.registry().len()), (2, 2));
        assert_eq!(fiber.dispose().await, Disposed::default());
        assert_eq!(log.take(), ["group", "interval", "task", "effect", "listener"]);
        assert_eq!((app.listeners(PING), app.registry().len()), (0, 0));
        assert!(app.get(NUMBER).is_none());
        assert_eq!(counts(&app.inspect().fiber), (1, 0));
    });
}

// spec: cases/L7, design/P1
#[test]
fn a_disposer_that_never_returns_is_seen_by_name_while_it_hangs_and_given_up_after_ten_seconds() {
    paused(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let failures = errors(&app);
        let body = async |ctx: &Context, _: (), log: &Log| {
            ctx.effect("older", log.undo("older"))?;
            ctx.effect("hangs", async || pending::<()>().await)?;
            ctx.effect("newer", log.undo("newer"))?;
            fine()
        };
        let fiber = app.plugin(define("p").run(body), log.clone()).unwrap();
        fiber.ready().await.unwrap();
        let start = Instant::now();
        fiber.cancel();
        sleep(secs(9)).await;
        let seen = app.inspect();
        let node = seen.fiber.effects.iter().find_map(|effect| effect.fiber.as_ref()).unwrap();
        assert_eq!((node.state, node.waiting_for.as_deref()), (State::Unloading, Some("hangs")));
        assert!(seen.to_string().contains("p#1 unloading, waiting for hangs"), "{seen}");
        let left = fiber.dispose().await;
        assert_eq!(start.elapsed(), secs(10));
        assert_eq!(left.to_string(), "`hangs` of `p#1` is still running");
        assert_eq!(log.take(), ["newer", "older"]);
        assert_eq!(
            failures.take(),
            ["p#1 hangs: its disposer did not end within its limit; it is dropped at its next await"]
        );
        assert_eq!((fiber.state(), app.registry().len()), (State::Disposed, 0));
    });
}

// spec: cases/L7, design/P1
#[test]
fn what_a_child_left_running_is_named_by_the_disposal_of_its_parent() {
    paused(async || {
        let app = App::new().unwrap();
        let body = async |ctx: &Context, _: (), _: &()| {
            let child = async |ctx: &Context, _: (), _: &()| {
                ctx.effect("hangs", async || pending::<()>().await)?;
                fine()
            };
            ctx.plugin(define("child").run(child), ())?.ready().await?;
            fine()
        };
        let fiber = app.plugin(define("parent").run(body), ()).unwrap();
        fiber.ready().await.unwrap();
        let left = fiber.dispose().await;
        assert_eq!(left.to_string(), "`hangs` of `child#2` is still running");
        assert_eq!(app.shutdown().await, Disposed::default());
    });
}

/// Takes its lock when it is undone and when its service is dropped.
struct Locks(Arc<Mutex<u32>>);

impl Drop for Locks {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

// spec: cases/L8, design/P3
#[test]
fn a_removal_that_takes_a_lock_never_blocks_one_that_holds_it_and_asks_for_the_service() {
    const ROUNDS: u32 = 10_000;
    const SERVICE: Key<Locks> = Key::new("service");
    unblocked(|| {
        for workers in [1, 2] {
            let runtime = match workers {
                1 => Builder::new_current_thread().enable_time().build().unwrap(),
                _ => Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap(),
            };
            let app = runtime.block_on(async { Arc::new(App::new().unwrap()) });
            let lock = Arc::new(Mutex::new(0));
            let (asked, ctx) = (lock.clone(), app.root());
            let asks = thread::spawn(move || {
                let mut found = 0u32;
                for _ in 0..ROUNDS {
                    let _held = asked.lock().unwrap();
                    found += u32::from(ctx.get(SERVICE).is_some_and(|handle| handle.get().is_ok()));
                }
                found
            });
            runtime.block_on(async {
                for _ in 0..ROUNDS {
                    let undone = lock.clone();
                    let callback =
                        app.effect("callback", async move || *undone.lock().unwrap() += 1).unwrap();
                    let provided = app.provide(SERVICE, Arc::new(Locks(lock.clone()))).unwrap();
                    provided.dispose().await;
                    callback.dispose().await;
                }
            });
            assert!(asks.join().unwrap() <= ROUNDS);
            // A value whose last lease was the asker's is dropped by a task of the app.
            let all = || *lock.lock().unwrap() == 2 * ROUNDS;
            runtime.block_on(async {
                while !all() {
                    sleep(ms(1)).await;
                }
            });
        }
    });
}

// spec: cases/L9, design/P3
#[test]
fn a_plugin_that_disposes_itself_from_its_body_goes_and_does_not_wait_for_itself() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let body = async |ctx: &Context, _: (), log: &Log| {
            ctx.effect("undo", log.undo("undo"))?;
            let disposed = ctx.fiber().dispose().await;
            assert!(disposed.requested && !disposed.is_clean());
            assert_eq!(disposed.to_string(), "only requested, from inside of what is disposed");
            log.add("returned");
            fine()
        };
        let fiber = app.plugin(define("p").run(body), log.clone()).unwrap();
        fiber.until(State::Disposed).await;
        assert_eq!(log.take(), ["returned", "undo"]);
        assert!(fiber.error().is_none());
    });
}

// spec: cases/L9, design/P3
#[test]
fn a_child_that_disposes_its_parent_from_its_body_goes_with_it() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let body = async |ctx: &Context, _: (), log: &Log| {
            let child = async |ctx: &Context, _: (), (parent, log): &(Fiber, Log)| {
                ctx.effect("child", log.undo("child undone"))?;
                parent.dispose().await;
                log.add("returned");
                fine()
            };
            ctx.effect("parent", log.undo("parent undone"))?;
            ctx.plugin(define("child").run(child), (ctx.fiber(), log.clone()))?;
            fine()
        };
        let fiber = app.plugin(define("parent").run(body), log.clone()).unwrap();
        fiber.until(State::Disposed).await;
        assert_eq!(log.take(), ["returned", "child undone", "parent undone"]);
        assert_eq!(app.registry().len(), 0);
    });
}

// spec: cases/L9, design/P3
#[test]
fn a_listener_that_disposes_its_plugin_or_its_plugins_parent_returns_and_it_happens() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let body = async |ctx: &Context, _: (), log: &Log| {
            let child = async |ctx: &Context, _: (), (parent, log): &(Fiber, Log)| {
                ctx.on(PING).with((parent.clone(), log.clone())).run(|(parent, log), ()| {
                    parent.cancel();
                    log.add("listener returned");
                })?;
                fine()
            };
            ctx.plugin(define("child").run(child), (ctx.fiber(), log.clone()))?;
            fine()
        };
        for own in [false, true] {
            let parent = app.plugin(define("parent").run(body), log.clone()).unwrap();
            parent.ready().await.unwrap();
            app.quiet().await;
            let child = app.registry().plugins().into_iter().find(|r| r.plugin.name() == "child").unwrap();
            let child = child.fibers[0].clone();
            if own {
                let itself = child.clone();
                child.context().on(PING).prepend().run(move |()| itself.cancel()).unwrap();
            }
            app.emit(PING, &());
            parent.dispose().await;
            assert_eq!((parent.state(), child.state()), (State::Disposed, State::Disposed));
            assert_eq!(app.listeners(PING), 0);
        }
        assert_eq!(log.take()[0], "listener returned");
    });
}

// spec: cases/L10, design/P4
#[test]
fn a_body_that_registers_three_listeners_and_panics_leaves_none_and_the_cause() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let failures = errors(&app);
        let body = async |ctx: &Context, _: (), last: &bool| {
            for _ in 0..3 {
                ctx.on(PING).run(|()| ())?;
            }
            if *last {
                sleep(ms(1)).await;
                panic!("after an await");
            }
            panic!("at its first poll")
        };
        let first = app.plugin(define("first").run(body), false).unwrap();
        let later = app.plugin(define("later").run(body), true).unwrap();
        let causes =
            [with_causes(&first.ready().await.unwrap_err()), with_causes(&later.ready().await.unwrap_err())];
        assert_eq!(
            causes,
            [
                "plugin `first#1` failed: panicked: at its first poll",
                "plugin `later#2` failed: panicked: after an await"
            ]
        );
        assert_eq!((first.state(), later.state(), app.listeners(PING)), (State::Failed, State::Failed, 0));
        let mut failures = failures.take();
        failures.sort();
        assert_eq!(
            failures,
            ["first#1 body: panicked: at its first poll", "later#2 body: panicked: after an await"]
        );
    });
}

// spec: cases/L10, design/P4
#[test]
fn of_three_disposers_the_first_and_third_run_when_the_second_panics() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let failures = errors(&app);
        let body = async |ctx: &Context, _: (), log: &Log| {
            ctx.effect("first", log.undo("first"))?;
            ctx.effect("second", async || -> () { panic!("no") })?;
            ctx.effect("third", log.undo("third"))?;
            fine()
        };
        let fiber = app.plugin(define("p").run(body), log.clone()).unwrap();
        fiber.ready().await.unwrap();
        assert_eq!(fiber.dispose().await, Disposed::default());
        assert_eq!(log.take(), ["third", "first"]);
        assert_eq!(failures.take(), ["p#1 second: panicked: no"]);
    });
}

/// How long the chain of `links` takes to go down and up, twice.
async fn chain(links: usize) -> Duration {
    let app = App::new().unwrap();
    let keys: Vec<Key<u32>> =
        (0..=links).map(|i| Key::new(Box::leak(format!("link {i}").into_boxed_str()))).collect();
    let link = async |ctx: &Context, n: Handle<u32>, key: &Key<u32>| {
        let n = *n.get()?;
        ctx.provide(*key, Arc::new(n + 1))?;
        fine()
    };
    let fibers: Vec<Fiber> = keys
        .windows(2)
        .map(|pair| app.plugin(define("link").needs(pair[0]).run(link), pair[1]).unwrap())
        .collect();
    let start = std::time::Instant::now();
    for _ in 0..2 {
        let first = app.provide(keys[0], Arc::new(0)).unwrap();
        fibers[links - 1].until(State::Active).await;
        let last = app.get(keys[links]).unwrap();
        assert_eq!(*last.get().unwrap() as usize, links);
        assert_eq!(first.dispose().await, Disposed::default());
        assert!(fibers.iter().all(|fiber| fiber.state() == State::Pending));
        assert!(last.get().is_err());
    }
    start.elapsed()
}

// spec: cases/L11, design/P6
#[test]
fn a_chain_of_ten_thousand_goes_down_and_comes_back_twice_in_linear_time() {
    both_flavours(async || {
        chain(100).await;
        let mut seen = Vec::new();
        for _ in 0..5 {
            let (short, long) = (chain(1_000).await, chain(10_000).await);
            // Ten times the length; quadratic work would be a hundred times as much.
            if long < short * 40 {
                return;
            }
            seen.push((short, long));
        }
        panic!("for 1,000 and for 10,000 links: {seen:?}");
    });
}

// spec: cases/L12, cases/L2
#[test]
fn the_wait_of_a_disposal_can_be_dropped_half_way_and_a_second_one_waits_for_the_rest() {
    both_flavours(async || {
        let (app, log, go) = (App::new().unwrap(), Log::new(), Arc::new(Semaphore::new(0)));
        let body = async |ctx: &Context, _: (), (log, go): &(Log, Arc<Semaphore>)| {
            ctx.effect("first", log.undo("first"))?;
            ctx.effect("slow", log.held_undo("slow", go))?;
            ctx.effect("last", log.undo("last"))?;
            fine()
        };
        let fiber = app.plugin(define("p").run(body), (log.clone(), go.clone())).unwrap();
        fiber.ready().await.unwrap();
        assert!(timeout(ms(10), fiber.dispose()).await.is_err());
        log.until_len(2).await;
        assert_eq!((fiber.state(), log.take()), (State::Unloading, vec!["last".into(), "slow start".into()]));
        go.add_permits(1);
        assert_eq!(fiber.dispose().await, Disposed::default());
        assert_eq!((fiber.state(), log.take()), (State::Disposed, vec!["slow end".into(), "first".into()]));
    });
}

// spec: cases/L12
#[test]
fn a_disposal_whose_wait_is_dropped_goes_on_without_anybody() {
    both_flavours(async || {
        let (app, log, go) = (App::new().unwrap(), Log::new(), Arc::new(Semaphore::new(0)));
        let body = async |ctx: &Context, _: (), (log, go): &(Log, Arc<Semaphore>)| {
            ctx.effect("first", log.undo("first"))?;
            ctx.effect("slow", log.held_undo("slow", go))?;
            sleep(ms(60_000)).await;
            fine()
        };
        let fiber = app.plugin(define("p").run(body), (log.clone(), go.clone())).unwrap();
        fiber.until(State::Loading).await;
        while counts(&app.inspect().fiber).1 < 3 {
            sleep(ms(1)).await;
        }
        assert!(timeout(ms(5), fiber.dispose()).await.is_err());
        go.add_permits(1);
        fiber.until(State::Disposed).await;
        assert_eq!(log.take(), ["slow start", "slow end", "first"]);
    });
}

// spec: cases/L12
#[test]
fn a_disposal_that_was_never_polled_asks_for_nothing() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let fiber = app.plugin(define("p").run(idle), ()).unwrap();
        fiber.ready().await.unwrap();
        drop(fiber.dispose());
        app.quiet().await;
        assert_eq!(fiber.state(), State::Active);
    });
}
