//! Waiting for a fiber, trying it again, and what a withdrawn need does to one that loads.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

mod support_errors;
mod support_lifecycle;

use cordis::{App, Context, Fiber, FiberError, Handle, Inactive, Key, State, define};
use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
    },
};
use support_errors::with_causes;
use support_lifecycle::{Log, both_flavours, effects, errors, fine, ms, paused, statuses};
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep, timeout},
};

const NUMBER: Key<u32> = Key::new("number");
const OTHER: Key<u32> = Key::new("other");

/// A plugin whose load and unload take a second each.
fn slow(app: &App, log: &Log) -> Fiber {
    let plugin = define("slow").needs(NUMBER).run(async |ctx: &Context, n: Handle<u32>, log: &Log| {
        log.add(format!("load {} start", *n.get()?));
        ctx.effect("undo", log.slow_undo("undo", ms(1000)))?;
        sleep(ms(1000)).await;
        log.add("load end");
        fine()
    });
    app.plugin(plugin, log.clone()).unwrap()
}

/// A body that fails as often as its configuration says, and then no more.
fn failing(app: &App, times: &Arc<AtomicU32>) -> Fiber {
    let body = async |_: &Context, _: Handle<u32>, left: &Arc<AtomicU32>| {
        let left = left.fetch_update(SeqCst, SeqCst, |n| n.checked_sub(1));
        left.map_or_else(|_| fine(), |n| Err(format!("{} left", n - 1).into()))
    };
    app.plugin(define("failing").needs(NUMBER).run(body), times.clone()).unwrap()
}

// spec: cordis-core/C59, cordis-core/C60
#[test]
fn a_need_that_is_withdrawn_during_the_load_ends_it_and_one_that_comes_back_starts_another() {
    paused(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let told = statuses(&app);
        let provided = app.provide(NUMBER, Arc::new(1)).unwrap();
        let fiber = slow(&app, &log);
        sleep(ms(400)).await;
        assert_eq!(fiber.state(), State::Loading);
        provided.cancel();
        sleep(ms(400)).await;
        assert_eq!(fiber.state(), State::Unloading);
        sleep(ms(1000)).await;
        assert_eq!(fiber.state(), State::Pending);
        app.provide(NUMBER, Arc::new(2)).unwrap();
        sleep(ms(400)).await;
        assert_eq!(fiber.state(), State::Loading);
        sleep(ms(1000)).await;
        assert_eq!(fiber.state(), State::Active);
        assert_eq!(log.take(), ["load 1 start", "undo start", "undo end", "load 2 start", "load end"]);
        assert_eq!(
            told.take(),
            [
                "slow pending>loading",
                "slow loading>unloading",
                "slow unloading>pending",
                "slow pending>loading",
                "slow loading>active"
            ]
        );
    });
}

// spec: cordis-core/C60
#[test]
fn a_need_that_goes_after_the_load_leaves_the_plugin_pending_when_its_unload_has_ended() {
    paused(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let provided = app.provide(NUMBER, Arc::new(1)).unwrap();
        let fiber = slow(&app, &log);
        sleep(ms(1200)).await;
        assert_eq!(fiber.state(), State::Active);
        provided.cancel();
        sleep(ms(400)).await;
        assert_eq!(fiber.state(), State::Unloading);
        sleep(ms(1000)).await;
        assert_eq!(fiber.state(), State::Pending);
    });
}

// spec: cordis-core/C59
#[test]
fn a_service_lost_and_regained_during_the_load_is_another_act_and_reloads() {
    paused(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let provided = app.provide(NUMBER, Arc::new(1)).unwrap();
        let fiber = slow(&app, &log);
        sleep(ms(400)).await;
        provided.dispose().await;
        app.provide(NUMBER, Arc::new(1)).unwrap();
        assert_eq!(fiber.ready().await.unwrap(), State::Active);
        assert_eq!(log.take(), ["load 1 start", "undo start", "undo end", "load 1 start", "load end"]);
    });
}

// spec: cordis-core/C61
#[test]
fn ready_means_settled_and_is_at_once_so_for_a_pending_fiber() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let fiber = slow(&app, &log);
        assert_eq!(timeout(ms(60_000), fiber.ready()).await.unwrap().unwrap(), State::Pending);
        assert_eq!(fiber.ready().await.unwrap(), State::Pending);
    });
}

// spec: cordis-core/C61
#[test]
fn ready_waits_through_all_the_work_that_follows() {
    both_flavours(async || {
        let (app, log, go) = (App::new().unwrap(), Log::new(), Arc::new(Semaphore::new(0)));
        let plugin = define("p").run(async |ctx: &Context, _: (), (log, go): &(Log, Arc<Semaphore>)| {
            log.add("load start");
            ctx.effect("undo", log.held_undo("undo", go))?;
            sleep(ms(20)).await;
            log.add("load end");
            fine()
        });
        let fiber = app.plugin(plugin, (log.clone(), go.clone())).unwrap();
        fiber.ready().await.unwrap();
        let restarting = fiber.clone();
        tokio::spawn(async move { restarting.restart().await });
        fiber.until(State::Unloading).await;
        let mut ready = pin!(fiber.ready());
        assert!(timeout(ms(1), ready.as_mut()).await.is_err());
        go.add_permits(1);
        assert_eq!(ready.await.unwrap(), State::Active);
        assert_eq!(
            log.take(),
            ["load start", "load end", "undo start", "undo end", "load start", "load end"]
        );
    });
}

// spec: cordis-core/C62
#[test]
fn the_handle_that_mounting_gives_is_the_fiber_itself_waited_for_or_not() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let handle = slow(&app, &log);
        let same = handle.context().fiber();
        assert_eq!(handle, same);
        assert_eq!((handle.uid(), handle.name()), (same.uid(), same.name()));
        // What is asked of the handle happens to the fiber.
        handle.cancel();
        same.dispose().await;
        assert_eq!((handle.state(), same.state()), (State::Disposed, State::Disposed));
        assert_eq!(app.registry().len(), 0);
    });
}

// spec: cordis-core/C63
#[test]
fn a_failed_plugin_is_not_tried_again_by_itself() {
    paused(async || {
        let app = App::new().unwrap();
        let failures = errors(&app);
        app.provide(NUMBER, Arc::new(1)).unwrap();
        let fiber = failing(&app, &Arc::new(1.into()));
        assert!(fiber.ready().await.is_err());
        sleep(ms(3_600_000)).await;
        assert_eq!(fiber.state(), State::Failed);
        assert_eq!(failures.take(), ["failing#1 body: 0 left"]);
    });
}

// spec: cordis-core/C63
#[test]
fn a_failed_plugin_is_tried_again_when_one_of_its_needs_is_looked_at_again() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let provided = app.provide(NUMBER, Arc::new(1)).unwrap();
        let fiber = failing(&app, &Arc::new(2.into()));
        assert!(fiber.ready().await.is_err());
        app.notify(NUMBER);
        assert_eq!(with_causes(&fiber.ready().await.unwrap_err()), "plugin `failing#1` failed: 0 left");
        // Without the need it stays failed, and with it it starts.
        provided.dispose().await;
        app.quiet().await;
        assert_eq!(fiber.state(), State::Failed);
        app.provide(NUMBER, Arc::new(2)).unwrap();
        assert_eq!(fiber.ready().await.unwrap(), State::Active);
    });
}

// spec: cordis-core/C63, cordis-core/C102
#[test]
fn a_failed_plugin_is_tried_again_by_update() {
    both_flavours(async || {
        let app = App::new().unwrap();
        app.provide(NUMBER, Arc::new(1)).unwrap();
        let fiber = failing(&app, &Arc::new(1.into()));
        assert!(fiber.ready().await.is_err());
        fiber.update(Arc::new(AtomicU32::new(0))).await.unwrap();
        assert_eq!(fiber.state(), State::Active);
        assert!(fiber.error().is_none());
    });
}

// spec: cordis-core/C64, cordis-core/C63
#[test]
fn the_restart_of_a_failed_plugin_tries_once_and_gives_the_new_error() {
    both_flavours(async || {
        let app = App::new().unwrap();
        app.provide(NUMBER, Arc::new(1)).unwrap();
        let fiber = failing(&app, &Arc::new(2.into()));
        assert_eq!(with_causes(&fiber.ready().await.unwrap_err()), "plugin `failing#1` failed: 1 left");
        assert_eq!(with_causes(&fiber.restart().await.unwrap_err()), "plugin `failing#1` failed: 0 left");
        assert_eq!(fiber.restart().await.unwrap(), State::Active);
    });
}

// spec: cordis-core/C64
#[test]
fn the_restart_of_an_active_plugin_unloads_and_loads_it() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let plugin = define("p").run(async |ctx: &Context, _: (), log: &Log| {
            log.add("load");
            ctx.effect("undo", log.undo("undo"))?;
            fine()
        });
        let fiber = app.plugin(plugin, log.clone()).unwrap();
        fiber.ready().await.unwrap();
        assert_eq!(fiber.restart().await.unwrap(), State::Active);
        assert_eq!(log.take(), ["load", "undo", "load"]);
        assert_eq!(effects(&fiber.context()), ["undo"]);
    });
}

// spec: cordis-core/C64
#[test]
fn the_restart_of_a_loading_plugin_only_waits_for_the_load() {
    paused(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        app.provide(NUMBER, Arc::new(1)).unwrap();
        let fiber = slow(&app, &log);
        let start = Instant::now();
        sleep(ms(400)).await;
        assert_eq!(fiber.state(), State::Loading);
        assert_eq!(fiber.restart().await.unwrap(), State::Active);
        assert_eq!(start.elapsed(), ms(1000));
        assert_eq!(log.take(), ["load 1 start", "load end"]);
    });
}

// spec: cordis-core/C64, cordis-core/C139
#[test]
fn the_restart_of_a_disposed_plugin_is_an_error() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let fiber = slow(&app, &log);
        fiber.dispose().await;
        let error = fiber.restart().await.unwrap_err();
        assert_eq!(error.to_string(), "plugin `slow#1` is disposed: mount it again to use it");
        assert!(matches!(error, FiberError::Disposed { state: State::Disposed, .. }));
        assert_eq!(Inactive::CODE, "INACTIVE_EFFECT");
    });
}

// spec: cordis-core/C96
#[test]
fn the_error_of_a_failed_plugin_is_kept_after_its_disposal() {
    both_flavours(async || {
        let app = App::new().unwrap();
        app.provide(NUMBER, Arc::new(1)).unwrap();
        let fiber = failing(&app, &Arc::new(9.into()));
        assert!(fiber.ready().await.is_err());
        fiber.dispose().await;
        let error = fiber.ready().await.unwrap_err();
        assert_eq!(with_causes(&error), "plugin `failing#1` failed: 8 left");
        assert_eq!(fiber.error().unwrap().to_string(), "8 left");
        assert_eq!(fiber.state(), State::Disposed);
    });
}

// spec: cordis-core/C86
#[test]
fn a_provider_is_not_active_before_its_body_has_ended_and_its_dependants_wait_for_it() {
    both_flavours(async || {
        let (app, log, go) = (App::new().unwrap(), Log::new(), Arc::new(Semaphore::new(0)));
        let provider =
            define("provider").run(async |ctx: &Context, _: (), (log, go): &(Log, Arc<Semaphore>)| {
                ctx.provide(OTHER, Arc::new(7))?;
                go.acquire().await?.forget();
                log.add("provider up");
                fine()
            });
        let dependant =
            define("dependant").needs(OTHER).run(async |_: &Context, n: Handle<u32>, log: &Log| {
                log.add(format!("dependant up with {}", *n.get()?));
                fine()
            });
        let waiting = app.plugin(dependant, log.clone()).unwrap();
        app.plugin(provider, (log.clone(), go.clone())).unwrap();
        while app.peek(OTHER).is_none() {
            sleep(ms(1)).await;
        }
        assert_eq!(waiting.ready().await.unwrap(), State::Pending);
        go.add_permits(1);
        waiting.until(State::Active).await;
        assert_eq!(log.take(), ["provider up", "dependant up with 7"]);
    });
}

// spec: cordis-core/C61
#[test]
fn until_sees_a_state_that_is_passed_later() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let fiber = slow(&app, &log);
        let seen = Arc::new(AtomicBool::new(false));
        let (waiting, flag) = (fiber.clone(), seen.clone());
        let waits = tokio::spawn(async move {
            waiting.until(State::Disposed).await;
            flag.store(true, SeqCst);
        });
        sleep(ms(10)).await;
        assert!(!seen.load(SeqCst));
        fiber.dispose().await;
        waits.await.unwrap();
        assert!(seen.load(SeqCst));
    });
}
