//! Disposing effects: once, awaited by everybody, newest first, refused to whom they are too late for.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

mod support_lifecycle;

use cordis::{App, Context, Disposed, Emit, Inactive, State, define, keys};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, Ordering::SeqCst},
};
use support_lifecycle::{Log, both_flavours, effects, errors, fine, ms, paused};
use tokio::{sync::Notify, time::Instant};

const PING: Emit<()> = Emit::new("ping");

// spec: cordis-core/C69, cordis-core/C80
#[test]
fn the_disposer_runs_once_and_who_comes_while_it_runs_waits_for_the_same_end() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let effect = app.effect("slow", log.slow_undo("slow", ms(30))).unwrap();
        let first = effect.clone();
        let first = tokio::spawn(async move { first.dispose().await });
        while log.len() == 0 {
            tokio::task::yield_now().await;
        }
        // In the list until its clean-up is over.
        assert_eq!(effects(&app), ["slow"]);
        assert!(!effect.is_live());
        effect.dispose().await;
        assert_eq!(log.take(), ["slow start", "slow end"]);
        first.await.unwrap();
        assert_eq!(effects(&app), Vec::<String>::new());
        assert_eq!(effect.dispose().await, Disposed::default());
        assert_eq!(log.take(), Vec::<String>::new());
    });
}

// spec: cordis-core/C80
#[test]
fn an_unload_joins_a_clean_up_that_somebody_else_has_started() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let fiber = app.plugin(define("p").run(async |_: &Context, _: (), _: &()| fine()), ()).unwrap();
        fiber.ready().await.unwrap();
        let effect = fiber.context().effect("slow", log.slow_undo("slow", ms(30))).unwrap();
        effect.cancel();
        while log.len() == 0 {
            tokio::task::yield_now().await;
        }
        fiber.dispose().await;
        assert_eq!(log.take(), ["slow start", "slow end"]);
    });
}

// spec: cordis-core/C80
#[test]
fn an_outer_effect_joins_the_clean_up_of_a_part_that_somebody_else_has_started() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let part = Mutex::new(None);
        let outer = app
            .effect_with("outer", async |e| {
                e.effect("older", log.undo("older"))?;
                *part.lock().unwrap() = Some(e.effect("slow", log.slow_undo("slow", ms(30)))?);
                fine()
            })
            .await
            .unwrap();
        part.lock().unwrap().take().unwrap().cancel();
        while log.len() == 0 {
            tokio::task::yield_now().await;
        }
        outer.dispose().await;
        assert_eq!(log.take(), ["slow start", "slow end", "older"]);
    });
}

// spec: cordis-core/C81
#[test]
fn a_disposer_that_does_not_wait_has_run_when_the_request_returns() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let effect = app.effect("quick", log.undo("quick")).unwrap();
        let listener = app.on(PING).run(|()| ()).unwrap();
        let service = app.provide(cordis::Key::<u32>::new("n"), Arc::new(1)).unwrap();
        effect.cancel();
        listener.cancel();
        service.cancel();
        assert_eq!(log.take(), ["quick"]);
        assert_eq!((effects(&app), app.listeners(PING)), (Vec::new(), 0));
        assert!(app.get(cordis::Key::<u32>::new("n")).is_none());
    });
}

#[test]
fn a_cancel_followed_by_a_dispose_is_one_disposal_that_is_waited_for() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let effect = app.effect("slow", log.slow_undo("slow", ms(10))).unwrap();
        effect.cancel();
        effect.cancel();
        assert_eq!(effect.dispose().await, Disposed::default());
        assert_eq!(log.take(), ["slow start", "slow end"]);

        let plugin = define("p").run(async |ctx: &Context, _: (), log: &Log| {
            ctx.effect("slow", log.slow_undo("fiber", ms(10)))?;
            fine()
        });
        let fiber = app.plugin(plugin, log.clone()).unwrap();
        fiber.ready().await.unwrap();
        fiber.cancel();
        fiber.cancel();
        assert_eq!(fiber.dispose().await, Disposed::default());
        assert_eq!(
            (fiber.state(), log.take()),
            (State::Disposed, vec!["fiber start".into(), "fiber end".into()])
        );
    });
}

// spec: cordis-core/C54, cordis-core/C55, design/P2
#[test]
fn an_unload_undoes_newest_first_and_a_slow_disposer_holds_up_the_older_ones() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let failures = errors(&app);
        let plugin = define("p").run(async |ctx: &Context, _: (), log: &Log| {
            ctx.effect("d1", log.undo("d1"))?;
            ctx.effect("broken", async || Err::<(), _>("no"))?;
            ctx.effect("d2", log.slow_undo("d2", ms(20)))?;
            ctx.effect("d3", log.undo("d3"))?;
            fine()
        });
        let fiber = app.plugin(plugin, log.clone()).unwrap();
        fiber.ready().await.unwrap();
        assert_eq!(fiber.dispose().await, Disposed::default());
        assert_eq!(log.take(), ["d3", "d2 start", "d2 end", "d1"]);
        assert_eq!(failures.take(), ["p#1 broken: no"]);
    });
}

// spec: cordis-core/C65, cordis-core/C82, cordis-core/C114, cordis-core/C139
#[test]
fn nothing_can_be_registered_on_a_fiber_that_unloads_or_is_gone() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let plugin = define("p").run(async |ctx: &Context, _: (), log: &Log| {
            let (late, log) = (ctx.clone(), log.clone());
            ctx.effect("tries", async move || {
                log.add(late.effect("more", async || ()).unwrap_err().to_string());
                log.add(late.on(PING).run(|()| ()).unwrap_err().to_string());
                let child = define("child").run(async |_: &Context, _: (), _: &()| fine());
                log.add(late.plugin(child, ()).unwrap_err().to_string());
                log.add(late.spawn("task", async {}).unwrap_err().to_string());
                log.add(late.effect_with("group", async |_| fine()).await.unwrap_err().to_string());
            })?;
            fine()
        });
        let fiber = app.plugin(plugin, log.clone()).unwrap();
        fiber.ready().await.unwrap();
        let ctx = fiber.context();
        let expected =
            ["create an effect", "register a listener", "mount a plugin", "spawn a task", "create an effect"]
                .map(|action| {
                    format!(
                        "cannot {action} on inactive context `p#1`: its plugin is being unloaded; \
                 use a context that is still active"
                    )
                });
        fiber.dispose().await;
        assert_eq!(log.take(), expected);
        assert_eq!(ctx.effect("more", async || ()).unwrap_err().to_string(), expected[0]);
        assert_eq!(ctx.on(PING).run(|()| ()).unwrap_err().to_string(), expected[1]);
        assert_eq!(Inactive::CODE, "INACTIVE_EFFECT");
        assert_eq!(app.listeners(PING), 0);
    });
}

// spec: cordis-core/C65
#[test]
fn effects_are_taken_while_a_fiber_is_pending_and_while_it_loads() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let waiting = define("waiting")
            .needs(cordis::Key::<u32>::new("none"))
            .run(async |_: &Context, _: cordis::Handle<u32>, _: &()| fine());
        let waiting = app.plugin(waiting, ()).unwrap();
        assert_eq!(waiting.ready().await.unwrap(), State::Pending);
        waiting.context().effect("pending", log.undo("pending")).unwrap();

        let go = Arc::new(Notify::new());
        let loading = define("loading").run(async |_: &Context, _: (), go: &Arc<Notify>| {
            go.notified().await;
            fine()
        });
        let loading = app.plugin(loading, go.clone()).unwrap();
        loading.until(State::Loading).await;
        loading.context().effect("loading", log.undo("loading")).unwrap();
        go.notify_one();
        assert_eq!(loading.ready().await.unwrap(), State::Active);
        assert_eq!(log.take(), Vec::<String>::new());
        waiting.dispose().await;
        loading.dispose().await;
        assert_eq!(log.take(), ["pending", "loading"]);
    });
}

// spec: cordis-core/C82
#[test]
fn a_disposer_that_registers_during_a_restart_is_refused_and_the_fiber_comes_back_without_a_leak() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let plugin = define("p").run(async |ctx: &Context, _: (), log: &Log| {
            let (late, log) = (ctx.clone(), log.clone());
            ctx.effect("tries", async move || {
                let refused =
                    late.on(PING).run(|()| ()).is_err() && late.effect("leak", async || ()).is_err();
                log.add(format!("refused: {refused}"));
            })?;
            fine()
        });
        let fiber = app.plugin(plugin, log.clone()).unwrap();
        fiber.ready().await.unwrap();
        assert_eq!(fiber.restart().await.unwrap(), State::Active);
        assert_eq!(log.take(), ["refused: true"]);
        assert_eq!((effects(&fiber.context()), app.listeners(PING)), (vec!["tries".to_owned()], 0));
    });
}

// spec: cordis-core/C72, cordis-core/C71
#[test]
fn registrations_have_the_labels_of_the_reference() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let ctx = &*app;
        ctx.on(PING).run(|()| ()).unwrap();
        ctx.provide(cordis::Key::<u32>::new("n"), Arc::new(1)).unwrap();
        ctx.plugin(define("p").run(async |_: &Context, _: (), _: &()| fine()), ()).unwrap();
        ctx.timeout(ms(60_000), || ()).unwrap();
        ctx.interval(ms(60_000), || ()).unwrap();
        let throttle = ctx.throttle(ms(60_000), |()| ());
        throttle.call(());
        let debounce = ctx.debounce(ms(60_000), |()| ());
        debounce.call(());
        ctx.effect("mine", async || ()).unwrap();
        ctx.spawn("task", std::future::pending()).unwrap();
        assert_eq!(
            effects(ctx),
            [
                "ctx.on(\"ping\")",
                "ctx.provide(\"n\")",
                "ctx.plugin()",
                "ctx.timeout()",
                "ctx.interval()",
                "ctx.throttle()",
                "ctx.debounce()",
                "mine",
                "task"
            ]
        );
    });
}

// spec: cases/L3, design/P1
#[test]
fn what_a_listener_creates_when_it_is_called_goes_with_its_plugin() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let plugin = define("p").run(async |ctx: &Context, _: (), log: &Log| {
            let state = (ctx.clone(), log.clone());
            ctx.on(PING).with(state).run(|(ctx, log), ()| {
                ctx.effect("made by the listener", log.undo("undone")).unwrap();
                ctx.on(keys::STATUS).run(|_| ()).unwrap();
            })?;
            fine()
        });
        let fiber = app.plugin(plugin, log.clone()).unwrap();
        fiber.ready().await.unwrap();
        app.emit(PING, &());
        app.emit(PING, &());
        assert_eq!(app.listeners(keys::STATUS), 2);
        fiber.dispose().await;
        assert_eq!(log.take(), ["undone", "undone"]);
        assert_eq!((app.listeners(PING), app.listeners(keys::STATUS)), (0, 0));
    });
}

#[test]
fn a_listener_that_is_called_while_its_plugin_unloads_is_refused_its_effects() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let plugin = define("p").run(async |ctx: &Context, _: (), log: &Log| {
            let state = (ctx.clone(), log.clone());
            ctx.on(PING).with(state).run(|(ctx, log), ()| {
                log.add(format!("refused: {}", ctx.effect("late", async || ()).is_err()));
            })?;
            // Undone first, so the listener is still there.
            let (dispatcher, log) = (ctx.root(), log.clone());
            ctx.effect("emits", async move || {
                dispatcher.emit(PING, &());
                log.add("emitted");
            })?;
            fine()
        });
        let fiber = app.plugin(plugin, log.clone()).unwrap();
        fiber.ready().await.unwrap();
        fiber.dispose().await;
        assert_eq!(log.take(), ["refused: true", "emitted"]);
    });
}

// spec: design/P1
#[test]
fn a_disposer_past_its_limit_is_dropped_named_and_reported_and_the_rest_goes_on() {
    paused(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let failures = errors(&app);
        let plugin = define("p").run(async |ctx: &Context, _: (), log: &Log| {
            ctx.effect("older", log.undo("older"))?;
            let held = log.on_drop("captures dropped");
            ctx.effect("stuck", async move || {
                let _held = held;
                std::future::pending::<()>().await;
            })?;
            ctx.effect("patient", log.slow_undo("patient", ms(15_000)))?.with_limit(ms(20_000));
            fine()
        });
        let fiber = app.plugin(plugin, log.clone()).unwrap();
        fiber.ready().await.unwrap();
        let start = Instant::now();
        let left = fiber.dispose().await;
        assert_eq!(start.elapsed(), ms(25_000));
        assert_eq!(left.to_string(), "`stuck` of `p#1` is still running");
        assert_eq!((left.still_running.len(), left.leases.len()), (1, 0));
        assert_eq!(log.take(), ["patient start", "patient end", "captures dropped", "older"]);
        assert_eq!(
            failures.take(),
            ["p#1 stuck: its disposer did not end within its limit; it is dropped at its next await"]
        );
        assert_eq!(fiber.state(), State::Disposed);
    });
}

// spec: design/P1
#[test]
fn a_disposer_past_a_limit_of_its_own_is_named_by_everybody_who_waited() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let calls = Arc::new(AtomicU32::new(0));
        let count = calls.clone();
        let effect = app
            .effect("stuck", async move || {
                count.fetch_add(1, SeqCst);
                std::future::pending::<()>().await;
            })
            .unwrap()
            .with_limit(ms(1_000));
        // Both wait before the limit is over: on one task, since another may be late.
        let (one, two) = tokio::join!(effect.dispose(), effect.dispose());
        assert_eq!(one.to_string(), "`stuck` of `root` is still running");
        assert_eq!((two, calls.load(SeqCst)), (one, 1));
    });
}
