//! The root, what failures come to, and an app without its runtime.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

mod support_lifecycle;

use cordis::{App, BoxError, Context, Disposed, Emit, Key, NoRuntime, State, define, keys};
use std::{panic::panic_any, sync::Arc};
use support_lifecycle::{Log, both_flavours, counts, effects, errors, fine, ms, secs, statuses, unblocked};
use tokio::{runtime::Builder, time::sleep};

const PING: Emit<()> = Emit::new("ping");
const NUMBER: Key<u32> = Key::new("number");

async fn listens(ctx: &Context, _: (), log: &Log) -> Result<(), BoxError> {
    ctx.on(PING).with(log.clone()).run(|log, ()| log.add("ping"))?;
    ctx.effect("undo", log.undo("undo"))?;
    fine()
}

// spec: cordis-core/C136, cordis-core/C137
#[test]
fn the_disposal_of_the_root_undoes_everything_and_leaves_it_active_and_usable() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let fiber = app.plugin(define("p").run(listens), log.clone()).unwrap();
        fiber.ready().await.unwrap();
        assert_eq!(effects(&app), ["ctx.plugin()"]);
        app.provide(NUMBER, Arc::new(1)).unwrap();
        app.on(PING).run(|()| ()).unwrap();
        let root = app.fiber();
        assert_eq!(root.dispose().await, Disposed::default());
        assert_eq!(
            (root.uid(), root.state(), root.ready().await.unwrap()),
            (0, State::Active, State::Active)
        );
        assert_eq!(fiber.state(), State::Disposed);
        assert_eq!(log.take(), ["undo"]);
        assert_eq!(effects(&app), Vec::<String>::new());
        assert!(app.get(NUMBER).is_none());
        assert_eq!(app.listeners(PING), 0);
        // A repeat has nothing to do.
        assert_eq!(root.dispose().await, Disposed::default());
        assert_eq!(log.take(), Vec::<String>::new());
        let again = app.plugin(define("p").run(listens), log.clone()).unwrap();
        assert_eq!(again.ready().await.unwrap(), State::Active);
        app.emit(PING, &());
        assert_eq!(log.take(), ["ping"]);
        assert_eq!(again.uid(), 2);
    });
}

// spec: cordis-core/C138, design/P4
#[test]
fn a_panic_with_a_value_that_is_no_text_reaches_who_waits_as_an_error() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let bodies: [fn() -> (); 3] = [|| panic_any(5u32), || panic!("text"), || panic!("{}", "formatted")];
        let mut seen = Vec::new();
        for body in bodies {
            let plugin = define("p").run(async |_: &Context, _: (), body: &fn() -> ()| {
                body();
                fine()
            });
            let fiber = app.plugin(plugin, body).unwrap();
            assert!(fiber.ready().await.is_err());
            seen.push(fiber.error().unwrap().to_string());
        }
        assert_eq!(
            seen,
            ["panicked: panicked with a value that is no text", "panicked: text", "panicked: formatted"]
        );
    });
}

// spec: cordis-core/C140, design/P4
#[test]
fn failures_of_an_unload_are_reported_once_each_and_do_not_reach_the_one_who_disposes() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let failures = errors(&app);
        let plugin = define("p").run(async |ctx: &Context, _: (), _: &()| {
            ctx.effect("bad", async || Err::<(), _>("dispose error"))?;
            fine()
        });
        let fiber = app.plugin(plugin, ()).unwrap();
        fiber.ready().await.unwrap();
        assert_eq!(fiber.dispose().await, Disposed::default());
        assert_eq!(fiber.state(), State::Disposed);
        assert!(fiber.ready().await.is_ok());
        assert_eq!(failures.take(), ["p#1 bad: dispose error"]);
        let failing = define("failing").run(async |_: &Context, _: (), _: &()| Err("plugin error".into()));
        let failing = app.plugin(failing, ()).unwrap();
        assert!(failing.ready().await.is_err());
        assert!(failing.ready().await.is_err());
        assert_eq!(failures.take(), ["failing#2 body: plugin error"]);
    });
}

// spec: cordis-core/C141, design/P4
#[test]
fn the_failure_of_one_fiber_leaves_the_other_of_the_same_plugin_alone() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let body = async |ctx: &Context, _: (), (fails, log): &(bool, Log)| {
            ctx.on(PING)
                .with((*fails, log.clone()))
                .run(|(fails, log), ()| log.add(format!("ping {fails}")))?;
            if *fails { Err("asked to".into()) } else { fine() }
        };
        let bad = app.plugin(define("p").run(body), (true, log.clone())).unwrap();
        let good = app.plugin(define("p").run(body), (false, log.clone())).unwrap();
        assert!(bad.ready().await.is_err());
        good.ready().await.unwrap();
        assert_eq!((bad.state(), good.state()), (State::Failed, State::Active));
        app.emit(PING, &());
        assert_eq!(log.take(), ["ping false"]);
    });
}

// spec: cordis-core/C139
#[test]
fn an_app_needs_a_runtime_with_timers() {
    assert_eq!(App::new().err(), Some(NoRuntime::Outside));
    let without = Builder::new_current_thread().build().unwrap();
    assert_eq!(without.block_on(async { App::new().err() }), Some(NoRuntime::NoTimers));
    let with = Builder::new_current_thread().enable_time().build().unwrap();
    assert!(with.block_on(async { App::new().is_ok() }));
    // Entered is enough.
    let _entered = with.enter();
    assert!(App::new().is_ok());
}

#[test]
fn after_the_shutdown_every_context_is_inactive_and_nothing_is_left() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let told = statuses(&app);
        let fiber = app.plugin(define("p").run(listens), log.clone()).unwrap();
        fiber.ready().await.unwrap();
        let kept = (fiber.context(), app.root());
        told.take();
        assert_eq!(app.shutdown().await, Disposed::default());
        assert_eq!(log.take(), ["undo"]);
        // The observer is the older registration and goes after the plugin.
        assert_eq!(told.take(), ["root active>unloading", "p active>unloading", "p unloading>disposed"]);
        for ctx in [kept.0, kept.1] {
            assert_eq!(ctx.fiber().state(), State::Disposed);
            assert!(ctx.on(PING).run(|()| ()).is_err());
            assert!(ctx.effect("e", async || ()).is_err());
            assert!(ctx.provide(NUMBER, Arc::new(1)).is_err());
            assert!(ctx.get(NUMBER).is_none());
            assert_eq!(counts(&ctx.inspect().fiber), (1, 0));
        }
        assert_eq!(app.shutdown().await, Disposed::default());
    });
}

#[test]
fn a_fiber_that_outlives_its_app_ends_disposed() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let plugin = define("p").run(async |ctx: &Context, _: (), log: &Log| {
            ctx.effect("slow", log.slow_undo("slow", ms(10)))?;
            fine()
        });
        let fiber = app.plugin(plugin, log.clone()).unwrap();
        fiber.ready().await.unwrap();
        drop(app);
        fiber.until(State::Disposed).await;
        assert_eq!(fiber.dispose().await, Disposed::default());
        assert_eq!(fiber.ready().await.unwrap(), State::Disposed);
        assert!(fiber.restart().await.is_err());
        assert!(fiber.update(log.clone()).await.is_err());
        assert_eq!(log.take(), ["slow start", "slow end"]);
        assert!(fiber.context().on(keys::STATUS).run(|_| ()).is_err());
    });
}

/// A runtime of either flavour that ends while `make` has left things under way.
fn outlive_the_runtime(make: impl AsyncFn(&App, &Log)) -> Vec<(App, Log)> {
    let multi = Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    let current = Builder::new_current_thread().enable_time().build().unwrap();
    [multi, current]
        .into_iter()
        .map(|runtime| {
            let made = runtime.block_on(async {
                let (app, log) = (App::new().unwrap(), Log::new());
                make(&app, &log).await;
                (app, log)
            });
            runtime.shutdown_timeout(secs(5));
            made
        })
        .collect()
}

#[test]
fn a_runtime_that_ends_while_bodies_disposers_and_tasks_are_pending_drops_them_without_a_panic() {
    unblocked(|| {
        let left = outlive_the_runtime(async |app, log| {
            let body = async |_: &Context, _: (), log: &Log| {
                let _held = log.on_drop("body");
                std::future::pending::<()>().await;
                fine()
            };
            app.plugin(define("loading").run(body), log.clone()).unwrap();
            let held = log.on_drop("task");
            app.spawn("task", async move {
                let _held = held;
                std::future::pending::<()>().await;
            })
            .unwrap();
            let held = log.on_drop("disposer");
            let effect = app
                .effect("stuck", async move || {
                    let _held = held;
                    std::future::pending::<()>().await;
                })
                .unwrap();
            effect.cancel();
            app.interval(ms(1), || ()).unwrap();
            sleep(ms(5)).await;
        });
        for (app, log) in left {
            let mut dropped = log.take();
            dropped.sort();
            assert_eq!(dropped, ["body", "disposer", "task"]);
            // The app answers still, and going away it does not panic either.
            app.emit(PING, &());
            app.on(PING).run(|()| ()).unwrap();
            assert!(app.inspect().to_string().starts_with("root active"));
            drop(app);
        }
    });
}

#[test]
fn what_is_disposed_after_the_runtime_has_ended_ends_too() {
    let left = outlive_the_runtime(async |app, log| {
        let fiber = app.plugin(define("p").run(listens), log.clone()).unwrap();
        fiber.ready().await.unwrap();
    });
    for (app, log) in left {
        let later = Builder::new_current_thread().enable_time().build().unwrap();
        let left = later.block_on(async { tokio::time::timeout(secs(60), app.shutdown()).await });
        assert_eq!(left.unwrap(), Disposed::default());
        assert_eq!(log.take(), ["undo"]);
    }
}
