//! Disposing from inside of what the disposal waits for: it returns, and it happens.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

mod support_lifecycle;

use cordis::{
    App, BoxError, Context, Disposed, Effect, Emit, Fiber, Handle, Key, Parallel, Serial, State, Waterfall,
    define,
};
use std::sync::{Arc, Mutex};
use support_lifecycle::{Log, both_flavours, counts, fine, ms, paused, secs};
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

const PING: Emit<()> = Emit::new("ping");
const ASK: Serial<(), u32> = Serial::new("ask");
const ALL: Parallel<()> = Parallel::new("all");
const AROUND: Waterfall<u32, u32> = Waterfall::new("around");
const NUMBER: Key<u32> = Key::new("number");

/// Where a test keeps what it disposes from inside.
type Slot<T> = Arc<Mutex<Option<T>>>;

struct Base;

impl Base {
    async fn body(&self, n: &mut u32) -> u32 {
        *n
    }
}

/// Mounts `body`, tells it of its fiber by its context, and waits until it is gone.
async fn ends(app: &App, fiber: &Fiber) {
    fiber.dispose().await;
    assert_eq!((fiber.state(), counts(&app.inspect().fiber)), (State::Disposed, (1, 0)));
}

// spec: cases/L9, design/P3
#[test]
fn an_async_listener_disposes_its_own_plugin_and_runs_on() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let body = async |ctx: &Context, _: (), log: &Log| {
            let state = || (ctx.fiber(), log.clone());
            ctx.on(ASK).with(state()).run(async |(fiber, log), ()| {
                fiber.dispose().await;
                sleep(ms(5)).await;
                log.add("asked");
                Ok(Some(1))
            })?;
            ctx.on(ALL).with(state()).run(async |(fiber, log), ()| {
                fiber.dispose().await;
                sleep(ms(5)).await;
                log.add("told");
                Ok(())
            })?;
            ctx.on(AROUND).with(state()).run(async |(fiber, log), n, next| {
                fiber.dispose().await;
                let n = next.run(n).await;
                log.add("wrapped");
                n + 1
            })?;
            fine()
        };
        let mount = async || {
            let fiber = app.plugin(define("p").run(body), log.clone()).unwrap();
            fiber.ready().await.unwrap();
            fiber
        };
        let fiber = mount().await;
        assert_eq!(app.serial(ASK, &()).await.unwrap(), Some(1));
        ends(&app, &fiber).await;
        let fiber = mount().await;
        app.parallel(ALL, &()).await.unwrap();
        ends(&app, &fiber).await;
        let fiber = mount().await;
        assert_eq!(app.waterfall(AROUND, &mut 1, &Base, Base::body).await.unwrap(), 2);
        ends(&app, &fiber).await;
        assert_eq!(log.take(), ["asked", "told", "wrapped"]);
    });
}

// spec: cases/L9, design/P3
#[test]
fn a_task_that_disposes_its_own_plugin_is_told_at_once_and_ends_at_its_next_await() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let body = async |ctx: &Context, _: (), log: &Log| {
            let (fiber, log) = (ctx.fiber(), log.clone());
            ctx.spawn("task", async move {
                let _held = log.on_drop("task dropped");
                assert!(fiber.dispose().await.requested);
                log.add("returned");
                sleep(ms(60_000)).await;
            })?;
            fine()
        };
        let fiber = app.plugin(define("p").run(body), log.clone()).unwrap();
        fiber.until(State::Disposed).await;
        assert_eq!(log.take(), ["returned", "task dropped"]);
        ends(&app, &fiber).await;
    });
}

// spec: cases/L9, design/P3
#[test]
fn a_disposer_that_disposes_its_own_plugin_and_its_own_effect_does_not_wait_for_itself() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let body = async |ctx: &Context, _: (), log: &Log| {
            let own: Slot<Effect> = Slot::default();
            let (fiber, log, itself) = (ctx.fiber(), log.clone(), own.clone());
            let effect = ctx.effect("suicidal", async move || {
                sleep(ms(1)).await;
                fiber.dispose().await;
                log.add("plugin asked");
                let itself = itself.lock().unwrap().take().expect("put there at once");
                itself.dispose().await;
                log.add("effect asked");
            })?;
            *own.lock().unwrap() = Some(effect);
            fine()
        };
        let fiber = app.plugin(define("p").run(body), log.clone()).unwrap();
        fiber.ready().await.unwrap();
        assert_eq!(fiber.dispose().await, Disposed::default());
        assert_eq!(log.take(), ["plugin asked", "effect asked"]);
        ends(&app, &fiber).await;
    });
}

// spec: cases/L9, design/P3
#[test]
fn a_childs_disposer_disposes_its_parent_and_the_root() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let body = async |ctx: &Context, _: (), log: &Log| {
            let child = async |ctx: &Context, _: (), (parent, log): &(Fiber, Log)| {
                let (parent, root, log) = (parent.clone(), ctx.root().fiber(), log.clone());
                ctx.effect("upwards", async move || {
                    sleep(ms(1)).await;
                    parent.dispose().await;
                    root.dispose().await;
                    log.add("returned");
                })?;
                fine()
            };
            let child = ctx.plugin(define("child").run(child), (ctx.fiber(), log.clone()))?;
            child.ready().await?;
            fine()
        };
        let fiber = app.plugin(define("parent").run(body), log.clone()).unwrap();
        fiber.ready().await.unwrap();
        let child = app.registry().plugins()[1].fibers[0].clone();
        assert_eq!(child.dispose().await, Disposed::default());
        ends(&app, &fiber).await;
        assert_eq!(log.take(), ["returned"]);
        assert_eq!(app.fiber().ready().await.unwrap(), State::Active);
    });
}

// spec: cases/L9, design/P3
#[test]
fn a_dependant_disposes_its_provider_and_the_service_from_body_listener_and_disposer() {
    both_flavours(async || {
        for place in ["body", "listener", "disposer", "task"] {
            let (app, log) = (App::new().unwrap(), Log::new());
            let service: Slot<Effect> = Slot::default();
            let provider = async |ctx: &Context, _: (), service: &Slot<Effect>| {
                *service.lock().unwrap() = Some(ctx.provide(NUMBER, Arc::new(1))?);
                fine()
            };
            let provider = app.plugin(define("provider").run(provider), service.clone()).unwrap();
            provider.ready().await.unwrap();
            type State5 = (&'static str, Fiber, Slot<Effect>, Log);
            async fn kill((_, provider, service, log): &State5) {
                let service = service.lock().unwrap().clone().expect("the provider is up");
                assert!(service.dispose().await.requested);
                assert!(provider.dispose().await.requested);
                log.add("returned");
            }
            let body = async |ctx: &Context, _: Handle<u32>, state: &State5| {
                match state.0 {
                    "body" => kill(state).await,
                    "listener" => drop(ctx.on(ALL).with(state.clone()).run(async |state, ()| {
                        kill(state).await;
                        Ok(())
                    })?),
                    "disposer" => {
                        let state = state.clone();
                        ctx.effect("kills", async move || kill(&state).await)?;
                    }
                    _ => {
                        let state = state.clone();
                        ctx.spawn("kills", async move { kill(&state).await })?;
                    }
                }
                fine()
            };
            let state = (place, provider.clone(), service, log.clone());
            let dependant = app.plugin(define("dependant").needs(NUMBER).run(body), state).unwrap();
            dependant.ready().await.unwrap();
            match place {
                "listener" => app.parallel(ALL, &()).await.unwrap(),
                "disposer" => drop(dependant.dispose().await),
                _ => {}
            }
            provider.until(State::Disposed).await;
            app.quiet().await;
            let end = if place == "disposer" { State::Disposed } else { State::Pending };
            assert_eq!((place, dependant.state()), (place, end));
            assert_eq!(log.take(), ["returned"]);
        }
    });
}

// spec: design/P3
#[test]
fn a_provider_can_dispose_its_dependants_while_it_unloads_and_while_it_runs() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let dependant: Slot<Fiber> = Slot::default();
        let body = async |ctx: &Context, _: (), (dependant, log): &(Slot<Fiber>, Log)| {
            ctx.provide(NUMBER, Arc::new(1))?;
            let (dependant, log) = (dependant.clone(), log.clone());
            ctx.effect("downwards", async move || {
                let dependant = dependant.lock().unwrap().clone().expect("mounted");
                assert_eq!(dependant.dispose().await, Disposed::default());
                log.add(format!("dependant {}", dependant.state()));
            })?;
            fine()
        };
        let provider = app.plugin(define("provider").run(body), (dependant.clone(), log.clone())).unwrap();
        let needs = async |ctx: &Context, _: Handle<u32>, log: &Log| {
            ctx.effect("slow", log.slow_undo("slow", ms(5)))?;
            fine()
        };
        let fiber = app.plugin(define("dependant").needs(NUMBER).run(needs), log.clone()).unwrap();
        *dependant.lock().unwrap() = Some(fiber.clone());
        fiber.until(State::Active).await;
        assert_eq!(provider.dispose().await, Disposed::default());
        assert_eq!(log.take(), ["slow start", "slow end", "dependant disposed"]);
        assert_eq!(app.registry().len(), 0);
    });
}

// spec: design/P1, design/P3
#[test]
fn a_wait_that_nobody_can_see_is_ended_by_the_limit_and_named() {
    paused(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let body = async |ctx: &Context, _: (), log: &Log| {
            ctx.on(ALL).with((ctx.fiber(), log.clone())).run(async |(fiber, log), ()| {
                let fiber = fiber.clone();
                let left = tokio::spawn(async move { fiber.dispose().await }).await?;
                log.add(left.to_string());
                Ok(())
            })?;
            fine()
        };
        let fiber = app.plugin(define("p").run(body), log.clone()).unwrap();
        fiber.ready().await.unwrap();
        let start = Instant::now();
        app.parallel(ALL, &()).await.unwrap();
        assert_eq!(start.elapsed(), secs(10));
        assert_eq!(log.take(), ["`ctx.on(\"all\")` of `p#1` is still running"]);
        assert_eq!(fiber.state(), State::Disposed);
    });
}

// spec: design/P1, design/P3
#[test]
fn two_running_listeners_that_dispose_each_others_plugins_both_end() {
    paused(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        type Config = (Slot<Fiber>, Arc<Notify>, Arc<Notify>, Log);
        let body = async |ctx: &Context, _: (), config: &Config| {
            ctx.on(ALL).with(config.clone()).run(async |(other, here, there, log), ()| {
                there.notify_one();
                here.notified().await;
                let other = other.lock().unwrap().clone().expect("both are mounted");
                log.add(other.dispose().await.to_string());
                Ok(())
            })?;
            fine()
        };
        let (a, b) = (Slot::<Fiber>::default(), Slot::<Fiber>::default());
        let (one, two) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let first = (b.clone(), one.clone(), two.clone(), log.clone());
        let first = app.plugin(define("first").run(body), first).unwrap();
        let second = app.plugin(define("second").run(body), (a.clone(), two, one, log.clone())).unwrap();
        (*a.lock().unwrap(), *b.lock().unwrap()) = (Some(first.clone()), Some(second.clone()));
        first.ready().await.unwrap();
        second.ready().await.unwrap();
        let start = Instant::now();
        app.parallel(ALL, &()).await.unwrap();
        assert!(start.elapsed() <= secs(10), "{:?}", start.elapsed());
        app.quiet().await;
        assert_eq!(
            (first.state(), second.state(), app.listeners(ALL)),
            (State::Disposed, State::Disposed, 0)
        );
        // Who was given up is named to the one who waited for it.
        assert!(log.take().iter().any(|left| left.contains("ctx.on(\"all\")")));
    });
}

// spec: cases/L3, design/P1
#[test]
fn a_running_listener_of_a_plugin_that_unloads_is_waited_for_and_refused_its_effects() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let go = Arc::new(Notify::new());
        let body = async |ctx: &Context, _: (), (log, go): &(Log, Arc<Notify>)| {
            let state = (ctx.clone(), log.clone(), go.clone());
            ctx.on(ALL).with(state).run(async |(ctx, log, go), ()| {
                log.add("listener in");
                go.notified().await;
                log.add(format!("refused: {}", ctx.effect("late", async || ()).is_err()));
                sleep(ms(5)).await;
                log.add("listener out");
                Ok(())
            })?;
            ctx.on(PING).run(|()| ())?;
            fine()
        };
        let fiber = app.plugin(define("p").run(body), (log.clone(), go.clone())).unwrap();
        fiber.ready().await.unwrap();
        let root = app.root();
        let dispatch = tokio::spawn(async move { root.parallel(ALL, &()).await });
        while log.len() == 0 {
            sleep(ms(1)).await;
        }
        fiber.cancel();
        fiber.until(State::Unloading).await;
        go.notify_one();
        assert_eq!(fiber.dispose().await, Disposed::default());
        log.add("disposed");
        assert_eq!(log.take(), ["listener in", "refused: true", "listener out", "disposed"]);
        dispatch.await.unwrap().unwrap();
        assert_eq!(counts(&app.inspect().fiber), (1, 0));
    });
}

#[test]
fn a_status_observer_that_disposes_mounts_and_provides_does_not_block() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        async fn idle(_: &Context, _: (), _: &()) -> Result<(), BoxError> {
            fine()
        }
        let observer = app
            .on(cordis::keys::STATUS)
            .with((app.root(), log.clone()))
            .run(|(root, log), change| {
                if change.fiber.name() != "watched" || change.to != State::Active {
                    return;
                }
                change.fiber.cancel();
                let child = root.plugin(define("born of it").run(idle), ()).unwrap();
                root.provide(NUMBER, Arc::new(1)).unwrap().cancel();
                log.add(format!("{} fibers seen", counts(&root.inspect().fiber).0));
                child.cancel();
            })
            .unwrap();
        let fiber = app.plugin(define("watched").run(idle), ()).unwrap();
        fiber.until(State::Disposed).await;
        observer.dispose().await;
        while counts(&app.inspect().fiber) != (1, 0) {
            sleep(ms(1)).await;
        }
        assert_eq!(log.take(), ["3 fibers seen"]);
    });
}
