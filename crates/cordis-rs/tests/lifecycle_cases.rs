//! Lifecycle inputs that broke other systems, first half: loads, updates, and contexts that are kept.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

mod support_errors;
mod support_lifecycle;

use cordis::{
    App, BoxError, Context, Disposed, Emit, Fiber, Gone, Handle, Key, State, UpdateError, define, keys,
};
use std::{
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
};
use support_errors::with_causes;
use support_lifecycle::{Log, both_flavours, counts, errors, fine, ms, statuses};
use tokio::{
    sync::Semaphore,
    task::JoinHandle,
    time::{sleep, timeout},
};

const PING: Emit<()> = Emit::new("ping");
const NUMBER: Key<u32> = Key::new("number");

async fn listens(ctx: &Context, _: (), log: &Log) -> Result<(), BoxError> {
    ctx.on(PING).with(log.clone()).run(|log, ()| log.add("ping"))?;
    fine()
}

// spec: cases/L1, design/P1
#[test]
fn a_body_that_wakes_after_its_disposal_mounts_nothing() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        app.on(PING).run(|()| ()).unwrap();
        let before = counts(&app.inspect().fiber);
        let go = Arc::new(Semaphore::new(0));
        let body = async |ctx: &Context, _: (), (log, go): &(Log, Arc<Semaphore>)| {
            log.add("body");
            go.acquire().await?.forget();
            let child = ctx.plugin(define("child").run(listens), log.clone());
            log.add(format!("mounted: {}", child.is_ok()));
            fine()
        };
        let fiber = app.plugin(define("p").run(body), (log.clone(), go.clone())).unwrap();
        log.until_len(1).await;
        assert_eq!(fiber.dispose().await, Disposed::default());
        assert_eq!(app.listeners(PING), 1);
        go.add_permits(1);
        sleep(ms(60)).await;
        assert_eq!(app.listeners(PING), 1);
        assert_eq!(counts(&app.inspect().fiber), before);
        assert_eq!(log.take(), ["body"]);
    });
}

// spec: cases/L1, design/P1
#[test]
fn a_body_that_wakes_in_a_task_of_its_own_after_its_disposal_is_refused() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        // The task is nobody's: it survives the plugin and still has its context.
        let stray: Arc<Mutex<Option<JoinHandle<bool>>>> = Arc::default();
        let body = async |ctx: &Context, _: (), (stray, log): &(Arc<Mutex<Option<_>>>, Log)| {
            let (ctx, log) = (ctx.clone(), log.clone());
            *stray.lock().unwrap() = Some(tokio::spawn(async move {
                ctx.fiber().until(State::Disposed).await;
                ctx.plugin(define("child").run(listens), log).is_err()
            }));
            sleep(ms(60_000)).await;
            fine()
        };
        let fiber = app.plugin(define("p").run(body), (stray.clone(), log)).unwrap();
        while stray.lock().unwrap().is_none() {
            sleep(ms(1)).await;
        }
        fiber.dispose().await;
        let stray = stray.lock().unwrap().take().unwrap();
        assert!(stray.await.unwrap());
        assert_eq!((app.listeners(PING), app.registry().len()), (0, 0));
    });
}

// spec: cases/L2, design/P1
#[test]
fn two_tasks_that_dispose_at_once_both_wait_for_the_one_slow_clean_up() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let body = async |ctx: &Context, _: (), log: &Log| {
            ctx.effect("slow", log.slow_undo("slow", ms(30)))?;
            fine()
        };
        let fiber = app.plugin(define("p").run(body), log.clone()).unwrap();
        fiber.ready().await.unwrap();
        let tasks: Vec<_> = (0..2)
            .map(|_| {
                let (fiber, log) = (fiber.clone(), log.clone());
                tokio::spawn(async move {
                    assert_eq!(fiber.dispose().await, Disposed::default());
                    log.add(format!("returned {}", fiber.state()));
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(log.take(), ["slow start", "slow end", "returned disposed", "returned disposed"]);
    });
}

type Configured = (u32, Log, Arc<Semaphore>);

/// Logs `load N`, waits to be let go, and then listens with N.
async fn configured(ctx: &Context, _: (), (n, log, go): &Configured) -> Result<(), BoxError> {
    log.add(format!("load {n}"));
    let (last, end) = (*n, log.clone());
    ctx.effect("undo", async move || end.add(format!("undo {last}")))?;
    go.acquire().await?.forget();
    log.add(format!("commit {n}"));
    ctx.on(PING).with((*n, log.clone())).run(|(n, log), ()| log.add(format!("ping {n}")))?;
    fine()
}

// spec: cases/L2
#[test]
fn of_two_updates_during_a_load_the_last_wins_and_no_stale_one_commits() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let go = Arc::new(Semaphore::new(0));
        let config = |n: u32| (n, log.clone(), go.clone());
        let fiber = app.plugin(define("p").run(configured), config(1)).unwrap();
        log.until_len(1).await;
        let (mut b, mut a) = (pin!(fiber.update(config(2))), pin!(fiber.update(config(1))));
        assert!(timeout(ms(1), b.as_mut()).await.is_err());
        assert!(timeout(ms(1), a.as_mut()).await.is_err());
        go.add_permits(1);
        b.await.unwrap();
        a.await.unwrap();
        app.emit(PING, &());
        let happened = log.take();
        assert_eq!(happened.first().unwrap(), "load 1");
        assert_eq!(happened.last().unwrap(), "ping 1");
        let commits: Vec<_> = happened.iter().filter(|line| line.starts_with("commit")).collect();
        assert_eq!(commits, ["commit 1"]);
        let count = |what: &str| happened.iter().filter(|line| line.starts_with(what)).count();
        assert_eq!(count("load"), count("undo") + 1);
        assert_eq!(app.listeners(PING), 1);
    });
}

// spec: cases/L2
#[test]
fn an_update_during_the_teardown_of_another_wins() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let go = Arc::new(Semaphore::new(0));
        let body = async |ctx: &Context, _: (), (n, log, go): &(u32, Log, Arc<Semaphore>)| {
            log.add(format!("load {n}"));
            ctx.effect("slow", log.held_undo("slow", go))?;
            fine()
        };
        let config = |n: u32| (n, log.clone(), go.clone());
        let fiber = app.plugin(define("p").run(body), config(1)).unwrap();
        fiber.ready().await.unwrap();
        let (other, two) = (fiber.clone(), config(2));
        let first = tokio::spawn(async move { other.update(two).await });
        fiber.until(State::Unloading).await;
        let mut second = pin!(fiber.update(config(3)));
        assert!(timeout(ms(1), second.as_mut()).await.is_err());
        go.add_permits(1);
        second.await.unwrap();
        first.await.unwrap().unwrap();
        assert_eq!(log.take(), ["load 1", "slow start", "slow end", "load 3"]);
    });
}

// spec: cases/L4
#[test]
fn a_child_that_is_mounted_and_disposed_at_once_leaves_its_parent_active() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let told = statuses(&app);
        let body = async |ctx: &Context, _: (), log: &Log| {
            let child = async |ctx: &Context, _: (), log: &Log| {
                log.add("child load");
                ctx.effect("undo", log.undo("child unload"))?;
                fine()
            };
            let child = ctx.plugin(define("child").run(child), log.clone())?;
            child.ready().await?;
            child.dispose().await;
            log.add(format!("child {}", child.state()));
            fine()
        };
        let fiber = app.plugin(define("parent").run(body), log.clone()).unwrap();
        assert_eq!(fiber.ready().await.unwrap(), State::Active);
        assert_eq!(log.take(), ["child load", "child unload", "child disposed"]);
        assert_eq!(
            told.take(),
            [
                "parent pending>loading",
                "child pending>loading",
                "child loading>active",
                "child active>unloading",
                "child unloading>disposed",
                "parent loading>active"
            ]
        );
        assert_eq!(counts(&fiber.context().inspect().fiber), (1, 0));
    });
}

// spec: cases/L4
#[test]
fn a_child_that_is_disposed_before_it_could_start_leaves_its_parent_active() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let body = async |ctx: &Context, _: (), log: &Log| {
            let child = ctx.plugin(define("child").run(listens), log.clone())?;
            child.dispose().await;
            log.add(format!("child {}", child.state()));
            fine()
        };
        let fiber = app.plugin(define("parent").run(body), log.clone()).unwrap();
        assert_eq!(fiber.ready().await.unwrap(), State::Active);
        assert_eq!(log.take(), ["child disposed"]);
        assert_eq!((app.listeners(PING), app.registry().len()), (0, 1));
    });
}

#[derive(Clone)]
struct Entry {
    version: u32,
    broken: bool,
    log: Log,
}

async fn entry(ctx: &Context, _: (), entry: &Entry) -> Result<(), BoxError> {
    ctx.on(PING).with(entry.clone()).run(|entry, ()| entry.log.add(format!("v{}", entry.version)))?;
    if entry.broken { Err(format!("v{} cannot start", entry.version).into()) } else { fine() }
}

/// Three entries of version 1, of which validation refuses version 13.
async fn entries(app: &App, log: &Log) -> Vec<Fiber> {
    let mut fibers = Vec::new();
    for name in ["one", "two", "three"] {
        let plugin = define(name)
            .validate(
                |entry: &Entry| if entry.version == 13 { Err("13 is not a version".into()) } else { Ok(()) },
            )
            .run(entry);
        let fiber = app.plugin(plugin, Entry { version: 1, broken: false, log: log.clone() }).unwrap();
        fiber.ready().await.unwrap();
        fibers.push(fiber);
    }
    fibers
}

/// Changes all entries or none: what was changed is changed back when one fails. The errors: the cause first, then what
/// failed on the way back.
async fn change(fibers: &[Fiber], old: &Entry, new: [Entry; 3]) -> Result<(), Vec<UpdateError>> {
    for (i, (fiber, entry)) in fibers.iter().zip(new).enumerate() {
        let Err(cause) = fiber.update(entry).await else { continue };
        let mut errors = vec![cause];
        for changed in fibers[..=i].iter().rev() {
            errors.extend(changed.update(old.clone()).await.err());
        }
        return Err(errors);
    }
    Ok(())
}

// spec: cases/L5
#[test]
fn three_entries_are_back_on_their_old_versions_when_the_second_change_is_refused() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let fibers = entries(&app, &log).await;
        let version = |version| Entry { version, broken: false, log: log.clone() };
        let failed = change(&fibers, &version(1), [version(2), version(13), version(2)]).await.unwrap_err();
        let failed: Vec<String> = failed.iter().map(|error| with_causes(error)).collect();
        assert_eq!(failed, ["cannot update `two#2`: invalid configuration: 13 is not a version"]);
        app.emit(PING, &());
        assert_eq!(log.take(), ["v1", "v1", "v1"]);
        assert!(fibers.iter().all(|fiber| fiber.state() == State::Active));
    });
}

// spec: cases/L5
#[test]
fn a_refused_change_leaves_its_entry_running_as_it_was() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let fibers = entries(&app, &log).await;
        let told = statuses(&app);
        let refused = Entry { version: 13, broken: false, log: log.clone() };
        assert!(matches!(fibers[1].update(refused).await, Err(UpdateError::Invalid { .. })));
        assert_eq!(told.take(), Vec::<String>::new());
        // Nor does the refused configuration come up at the next load.
        fibers[1].restart().await.unwrap();
        app.emit(PING, &());
        assert_eq!(log.take(), ["v1", "v1", "v1"]);
    });
}

// spec: cases/L5
#[test]
fn three_entries_are_back_on_their_old_versions_when_the_second_ones_body_fails() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let failures = errors(&app);
        let fibers = entries(&app, &log).await;
        let version = |version, broken| Entry { version, broken, log: log.clone() };
        let new = [version(2, false), version(2, true), version(2, false)];
        let failed = change(&fibers, &version(1, false), new).await.unwrap_err();
        let failed: Vec<String> = failed.iter().map(|error| with_causes(error)).collect();
        assert_eq!(failed, ["plugin `two#2` failed: v2 cannot start"]);
        app.emit(PING, &());
        assert_eq!(log.take(), ["v1", "v1", "v1"]);
        assert!(fibers.iter().all(|fiber| fiber.state() == State::Active));
        assert_eq!(failures.take(), ["two#2 body: v2 cannot start"]);
    });
}

// spec: cases/L5
#[test]
fn a_change_that_fails_on_its_way_back_is_reported_as_well() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let fibers = entries(&app, &log).await;
        let version = |version, broken| Entry { version, broken, log: log.clone() };
        let new = [version(2, false), version(13, false), version(2, false)];
        let failed = change(&fibers[..2], &version(1, true), new).await.unwrap_err();
        let failed: Vec<String> = failed.iter().map(|error| with_causes(error)).collect();
        assert_eq!(
            failed,
            [
                "cannot update `two#2`: invalid configuration: 13 is not a version",
                "plugin `two#2` failed: v1 cannot start",
                "plugin `one#1` failed: v1 cannot start"
            ]
        );
        assert_eq!(
            fibers.iter().map(Fiber::state).collect::<Vec<_>>(),
            [State::Failed, State::Failed, State::Active]
        );
    });
}

// spec: cases/L6
#[test]
fn an_interval_ends_with_its_plugin_and_the_kept_context_answers_with_errors() {
    both_flavours(async || {
        let app = App::new().unwrap();
        app.provide(NUMBER, Arc::new(7)).unwrap();
        let ticks = Arc::new(AtomicU32::new(0));
        let body = async |ctx: &Context, _: Handle<u32>, ticks: &Arc<AtomicU32>| {
            let ticks = ticks.clone();
            ctx.interval(ms(20), move || _ = ticks.fetch_add(1, SeqCst))?;
            fine()
        };
        let fiber = app.plugin(define("p").needs(NUMBER).run(body), ticks.clone()).unwrap();
        fiber.ready().await.unwrap();
        let dead = fiber.context();
        while ticks.load(SeqCst) < 2 {
            sleep(ms(5)).await;
        }
        assert!(dead.get(NUMBER).is_some());
        fiber.dispose().await;
        let last = ticks.load(SeqCst);
        sleep(ms(100)).await;
        assert_eq!(ticks.load(SeqCst), last);
        assert!(dead.get(NUMBER).is_none());
        assert!(dead.peek(NUMBER).is_none());
        let errors = [
            dead.provide(NUMBER, Arc::new(1)).unwrap_err().to_string(),
            dead.interval(ms(1), || ()).unwrap_err().to_string(),
            dead.on(PING).run(|()| ()).unwrap_err().to_string(),
            dead.scope().unwrap_err().to_string(),
        ];
        assert!(errors.iter().all(|error| error.contains("inactive context `p#1`")), "{errors:?}");
        assert_eq!(
            dead.sleep(ms(1)).await.unwrap_err().to_string(),
            "the context of `p#1` has been disposed"
        );
        // To tell others is no registration; whoever listens elsewhere hears it.
        dead.emit(PING, &());
        assert_eq!((dead.inspect().fiber.state, dead.fiber().state()), (State::Disposed, State::Disposed));
    });
}

// spec: cases/L6
#[test]
fn a_handle_that_outlives_its_provider_answers_with_an_error() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let provided = app.provide(NUMBER, Arc::new(7)).unwrap();
        let handle = app.get(NUMBER).unwrap();
        assert_eq!(*handle.get().unwrap(), 7);
        provided.dispose().await;
        let gone: Gone = handle.get().unwrap_err();
        assert_eq!(gone.service, "number");
        assert_eq!(app.listeners(keys::STATUS), 0);
    });
}
