//! The states of a fiber: when each is taken, in which order, and who is told.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

mod support_errors;
mod support_lifecycle;

use cordis::{App, Context, Emit, Fiber, Handle, Key, State, define};
use std::sync::Arc;
use support_errors::with_causes;
use support_lifecycle::{Log, both_flavours, errors, fine, ms, paused, statuses};
use tokio::time::sleep;

const NUMBER: Key<u32> = Key::new("number");
const PING: Emit<()> = Emit::new("ping");

/// A plugin that needs the number and logs `load N` and `undo`.
fn dependant(app: &Context, log: &Log) -> Fiber {
    let plugin = define("dependant").needs(NUMBER).run(async |ctx: &Context, n: Handle<u32>, log: &Log| {
        log.add(format!("load {}", *n.get()?));
        ctx.effect("undo", log.undo("undo"))?;
        fine()
    });
    app.plugin(plugin, log.clone()).unwrap()
}

// spec: cordis-core/C58, cordis-core/C57, cordis-core/C47
#[test]
fn each_change_of_state_of_one_life_is_told_once_and_in_order() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let told = statuses(&app);
        let fiber = app.plugin(define("p").run(async |_: &Context, _: (), _: &()| fine()), ()).unwrap();
        assert_eq!(fiber.ready().await.unwrap(), State::Active);
        fiber.dispose().await;
        assert_eq!(fiber.state(), State::Disposed);
        assert_eq!(
            told.take(),
            ["p pending>loading", "p loading>active", "p active>unloading", "p unloading>disposed"]
        );
    });
}

// spec: cordis-core/C58, cordis-core/C53, cordis-core/C54
#[test]
fn a_restart_passes_unloading_and_loading_and_not_pending() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let fiber = app.plugin(define("p").run(async |_: &Context, _: (), _: &()| fine()), ()).unwrap();
        fiber.ready().await.unwrap();
        let told = statuses(&app);
        assert_eq!(fiber.restart().await.unwrap(), State::Active);
        assert_eq!(told.take(), ["p active>unloading", "p unloading>loading", "p loading>active"]);
    });
}

// spec: cordis-core/C58, cordis-core/C60
#[test]
fn the_loss_of_a_need_ends_in_pending_after_the_unload() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let provided = app.provide(NUMBER, Arc::new(1)).unwrap();
        let fiber = dependant(&app, &log);
        fiber.ready().await.unwrap();
        let told = statuses(&app);
        provided.dispose().await;
        assert_eq!(fiber.ready().await.unwrap(), State::Pending);
        assert_eq!(told.take(), ["dependant active>unloading", "dependant unloading>pending"]);
        assert_eq!(log.take(), ["load 1", "undo"]);
    });
}

// spec: cordis-core/C58, cordis-core/C52, cordis-core/C57
#[test]
fn a_failing_body_passes_unloading_and_ends_failed_with_its_effects_undone() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let (told, failures) = (statuses(&app), errors(&app));
        let body = async |ctx: &Context, _: (), log: &Log| {
            ctx.on(PING).run(|_| ())?;
            ctx.effect("undo", log.undo("undo"))?;
            Err("no luck".into())
        };
        let fiber = app.plugin(define("p").run(body), log.clone()).unwrap();
        let error = fiber.ready().await.unwrap_err();
        assert_eq!(with_causes(&error), "plugin `p#1` failed: no luck");
        assert_eq!(fiber.state(), State::Failed);
        assert_eq!(fiber.error().unwrap().to_string(), "no luck");
        assert_eq!(told.take(), ["p pending>loading", "p loading>unloading", "p unloading>failed"]);
        assert_eq!(log.take(), ["undo"]);
        assert_eq!(app.listeners(PING), 0);
        assert_eq!(failures.take(), ["p#1 body: no luck"]);
    });
}

// spec: cordis-core/C58
#[test]
fn a_fiber_that_never_ran_passes_unloading_only_when_it_has_effects() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let told = statuses(&app);
        let fiber = dependant(&app, &log);
        assert_eq!(fiber.ready().await.unwrap(), State::Pending);
        fiber.dispose().await;
        assert_eq!(told.take(), ["dependant pending>disposed"]);

        let fiber = dependant(&app, &log);
        fiber.context().effect("attached", log.undo("attached")).unwrap();
        fiber.dispose().await;
        assert_eq!(told.take(), ["dependant pending>unloading", "dependant unloading>disposed"]);
        assert_eq!(log.take(), ["attached"]);
    });
}

// spec: cordis-core/C48
#[test]
fn the_body_does_not_run_inside_of_the_call_that_mounts_it() {
    paused(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let body = async |_: &Context, _: (), log: &Log| {
            log.add("body");
            fine()
        };
        let fiber = app.plugin(define("p").run(body), log.clone()).unwrap();
        log.add("mounted");
        assert_eq!(fiber.state(), State::Pending);
        fiber.ready().await.unwrap();
        assert_eq!(log.take(), ["mounted", "body"]);
    });
}

// spec: cordis-core/C48
#[test]
fn a_body_keeps_the_service_that_was_there_when_its_load_began() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let provided = app.provide(NUMBER, Arc::new(1)).unwrap();
        let fiber = dependant(&app, &log);
        fiber.ready().await.unwrap();
        provided.dispose().await;
        app.provide(NUMBER, Arc::new(2)).unwrap();
        fiber.until(State::Active).await;
        fiber.dispose().await;
        assert_eq!(log.take(), ["load 1", "undo", "load 2", "undo"]);
    });
}

// spec: cordis-core/C49
#[test]
fn a_fiber_that_is_disposed_at_once_never_runs_its_body() {
    paused(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let told = statuses(&app);
        let body = async |_: &Context, _: (), log: &Log| {
            log.add("body");
            fine()
        };
        let fiber = app.plugin(define("p").run(body), log.clone()).unwrap();
        fiber.cancel();
        app.quiet().await;
        assert_eq!(log.take(), Vec::<String>::new());
        assert_eq!(told.take(), ["p pending>disposed"]);
    });
}

// spec: cordis-core/C46
#[test]
fn no_needs_count_as_met_and_a_missing_one_keeps_the_plugin_pending() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let free = app.plugin(define("free").run(async |_: &Context, _: (), _: &()| fine()), ()).unwrap();
        let waiting = dependant(&app, &log);
        assert_eq!(free.ready().await.unwrap(), State::Active);
        assert_eq!(waiting.ready().await.unwrap(), State::Pending);
        assert_eq!(log.take(), Vec::<String>::new());
    });
}

// spec: cordis-core/C46
#[test]
fn the_replacement_of_a_provider_by_another_reloads_the_dependant() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let provider = async |ctx: &Context, _: (), n: &u32| {
            ctx.provide(NUMBER, Arc::new(*n))?;
            fine()
        };
        let first = app.plugin(define("first").run(provider), 1).unwrap();
        let fiber = dependant(&app, &log);
        fiber.until(State::Active).await;
        first.dispose().await;
        app.plugin(define("second").run(provider), 2).unwrap();
        app.quiet().await;
        assert_eq!(fiber.state(), State::Active);
        assert_eq!(log.take(), ["load 1", "undo", "load 2"]);
    });
}

// spec: cordis-core/C46
#[test]
fn a_service_that_its_own_provider_provides_again_is_another_act_and_reloads_the_dependant() {
    paused(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let first = app.provide(NUMBER, Arc::new(1)).unwrap();
        let fiber = dependant(&app, &log);
        fiber.ready().await.unwrap();
        first.dispose().await;
        app.provide(NUMBER, Arc::new(1)).unwrap();
        app.quiet().await;
        assert_eq!(fiber.state(), State::Active);
        assert_eq!(log.take(), ["load 1", "undo", "load 1"]);
    });
}

// spec: cordis-core/C47
#[test]
fn a_notice_that_changes_nothing_restarts_nothing() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        app.provide(NUMBER, Arc::new(1)).unwrap();
        let fiber = dependant(&app, &log);
        fiber.ready().await.unwrap();
        let told = statuses(&app);
        app.notify(NUMBER);
        app.quiet().await;
        assert_eq!(fiber.state(), State::Active);
        assert_eq!(told.take(), Vec::<String>::new());
        assert_eq!(log.take(), ["load 1"]);
    });
}

// spec: cordis-core/C47, cordis-core/C53
#[test]
fn what_changes_while_a_teardown_runs_is_looked_at_when_it_is_over() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let provided = app.provide(NUMBER, Arc::new(1)).unwrap();
        let slow = define("slow").needs(NUMBER).run(async |ctx: &Context, n: Handle<u32>, log: &Log| {
            log.add(format!("load {}", *n.get()?));
            ctx.effect("undo", log.slow_undo("undo", ms(30)))?;
            fine()
        });
        let fiber = app.plugin(slow, log.clone()).unwrap();
        fiber.ready().await.unwrap();
        let told = statuses(&app);
        let gone = tokio::spawn(async move { provided.dispose().await });
        log.until_len(2).await;
        // Held up by the dependant's teardown; it is offered again right after.
        gone.await.unwrap();
        app.provide(NUMBER, Arc::new(2)).unwrap();
        fiber.until(State::Active).await;
        assert_eq!(fiber.ready().await.unwrap(), State::Active);
        assert_eq!(log.take(), ["load 1", "undo start", "undo end", "load 2"]);
        let told = told.take();
        assert_eq!(told.first().unwrap(), "slow active>unloading");
        assert_eq!(told.last().unwrap(), "slow loading>active");
    });
}

// spec: cordis-core/C51
#[test]
fn a_load_that_ends_well_clears_the_error_of_the_one_before() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let body = async |_: &Context, _: (), left: &std::sync::atomic::AtomicU32| {
            use std::sync::atomic::Ordering::SeqCst;
            if left.fetch_sub(1, SeqCst) > 0 { Err("not yet".into()) } else { fine() }
        };
        let fiber = app.plugin(define("p").run(body), 1.into()).unwrap();
        assert_eq!(with_causes(&fiber.ready().await.unwrap_err()), "plugin `p#1` failed: not yet");
        assert_eq!(fiber.restart().await.unwrap(), State::Active);
        assert!(fiber.error().is_none());
    });
}

// spec: cordis-core/C57
#[test]
fn disposed_beats_failed_which_beats_active() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let body = async |_: &Context, _: (), _: &()| {
            sleep(ms(5)).await;
            Err("late".into())
        };
        let fiber = app.plugin(define("p").run(body), ()).unwrap();
        assert!(fiber.ready().await.is_err());
        assert_eq!(fiber.state(), State::Failed);
        fiber.dispose().await;
        assert_eq!(fiber.state(), State::Disposed);
        assert_eq!(
            [State::Pending, State::Loading, State::Active, State::Failed, State::Disposed, State::Unloading]
                .map(|state| state as u8),
            [0, 1, 2, 3, 4, 5]
        );
    });
}
