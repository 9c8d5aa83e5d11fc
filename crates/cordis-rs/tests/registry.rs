//! Mounting plugins: identities, numbers, names, observers of creation and disposal, and what the registry shows.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

mod support_errors;
mod support_lifecycle;

use cordis::{
    App, BoxError, Context, Emit, Fiber, Handle, Key, MountError, Plugin, PluginId, State, define, keys,
};
use std::sync::{Arc, Mutex};
use support_errors::with_causes;
use support_lifecycle::{Log, both_flavours, counts, effects, errors, fine, ms, paused, statuses};
use tokio::{sync::Notify, time::sleep};

const PING: Emit<()> = Emit::new("ping");
const NUMBER: Key<u32> = Key::new("number");

async fn idle(_: &Context, _: (), _: &u32) -> Result<(), BoxError> {
    fine()
}

/// Always the same plugin.
fn counter() -> impl Plugin<Config = u32> {
    define("counter").run(idle)
}

/// Logs `load N`, listens, and logs `undo N`.
async fn noisy(ctx: &Context, _: (), (n, log): &(u32, Log)) -> Result<(), BoxError> {
    log.add(format!("load {n}"));
    ctx.on(PING).with((*n, log.clone())).run(|(n, log), ()| log.add(format!("ping {n}")))?;
    let (n, log) = (*n, log.clone());
    ctx.effect("undo", async move || log.add(format!("undo {n}")))?;
    fine()
}

// spec: cordis-core/C83
#[test]
fn mounting_needs_a_context_that_is_active() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let fiber = app.plugin(counter(), 1).unwrap();
        let ctx = fiber.context();
        fiber.dispose().await;
        let error = ctx.plugin(counter(), 2).unwrap_err();
        assert!(matches!(error, MountError::Inactive(_)));
        assert_eq!(app.registry().len(), 0);
    });
}

// spec: cordis-core/C84, cordis-core/C85
#[test]
fn fibers_of_one_plugin_have_numbers_configurations_and_states_of_their_own() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let plugin = || define("noisy").run(noisy);
        let one = app.plugin(plugin(), (1, log.clone())).unwrap();
        let two = app.plugin(plugin(), (2, log.clone())).unwrap();
        one.ready().await.unwrap();
        two.ready().await.unwrap();
        assert_eq!((one.uid(), two.uid()), (1, 2));
        let mut loaded = log.take();
        loaded.sort();
        assert_eq!(loaded, ["load 1", "load 2"]);
        let runtimes = app.registry().plugins();
        assert_eq!(runtimes.len(), 1);
        assert_eq!(runtimes[0].fibers, [one.clone(), two.clone()]);
        assert_eq!(runtimes[0].plugin, PluginId::of(&plugin()));
        one.dispose().await;
        assert_eq!((one.state(), two.state()), (State::Disposed, State::Active));
        app.emit(PING, &());
        assert_eq!(log.take(), ["undo 1", "ping 2"]);
        // Numbers are never used again.
        let three = app.plugin(plugin(), (3, log.clone())).unwrap();
        assert_eq!(three.uid(), 3);
    });
}

// spec: cordis-core/C84
#[test]
fn another_body_or_another_name_is_another_plugin() {
    both_flavours(async || {
        let app = App::new().unwrap();
        app.plugin(define("a").run(idle), 1).unwrap();
        app.plugin(define("b").run(idle), 1).unwrap();
        app.plugin(define("a").run(async |_: &Context, _: (), _: &u32| fine()), 1).unwrap();
        app.plugin(define("a").run(idle), 2).unwrap();
        let shown: Vec<(String, usize)> =
            app.registry().plugins().iter().map(|r| (r.plugin.name().to_owned(), r.fibers.len())).collect();
        assert_eq!(shown, [("a".to_owned(), 2), ("b".to_owned(), 1), ("a".to_owned(), 1)]);
    });
}

// spec: cordis-core/C93
#[test]
fn the_registry_shows_what_is_mounted_nested_plugins_included() {
    both_flavours(async || {
        let app = App::new().unwrap();
        assert!(app.registry().is_empty());
        let inner = async |ctx: &Context, _: (), _: &()| {
            ctx.plugin(define("innermost").run(idle), 1)?;
            fine()
        };
        let outer = define("outer").run_boxed(move |ctx: &Context, (), (): &()| {
            let mounted = ctx.plugin(define("inner").run(inner), ());
            Box::pin(async move { mounted.map(drop).map_err(Into::into) })
        });
        let id = PluginId::of(&outer);
        let fiber = app.plugin(outer, ()).unwrap();
        app.quiet().await;
        let names = |app: &App| -> Vec<String> {
            app.registry().plugins().iter().map(|runtime| runtime.plugin.name().to_owned()).collect()
        };
        assert_eq!(names(&app), ["outer", "inner", "innermost"]);
        assert_eq!(app.registry().len(), 3);
        assert_eq!(app.registry().find(&id).unwrap().fibers, std::slice::from_ref(&fiber));
        assert!(app.registry().get(&counter()).is_none());
        fiber.dispose().await;
        assert_eq!(app.registry().len(), 0);
        assert_eq!(fiber.dispose().await, cordis::Disposed::default());
        assert!(app.registry().is_empty());
    });
}

// spec: cordis-core/C91
#[test]
fn removing_a_plugin_requests_the_disposal_of_all_its_fibers_and_gives_them() {
    both_flavours(async || {
        let app = App::new().unwrap();
        assert!(app.registry().remove(&PluginId::of(&counter())).is_none());
        let (one, two) = (app.plugin(counter(), 1).unwrap(), app.plugin(counter(), 2).unwrap());
        let other = app.plugin(define("other").run(idle), 3).unwrap();
        let removed = app.registry().remove(&PluginId::of(&counter())).unwrap();
        assert_eq!(removed.fibers, [one.clone(), two.clone()]);
        app.quiet().await;
        assert_eq!(
            (one.state(), two.state(), other.state()),
            (State::Disposed, State::Disposed, State::Active)
        );
        assert!(app.registry().get(&counter()).is_none());
    });
}

// spec: cordis-core/C92
#[test]
fn a_plugin_without_a_name_takes_that_of_its_parent() {
    both_flavours(async || {
        let app = App::new().unwrap();
        let nameless = app.plugin(define("").run(idle), 1).unwrap();
        assert_eq!((nameless.name(), app.fiber().name()), ("root", "root"));
        let named = app.plugin(define("named").run(idle), 1).unwrap();
        let below = named.context().plugin(define("").run(idle), 1).unwrap();
        assert_eq!((below.name(), below.uid()), ("named", 3));
        assert_eq!(format!("{:?}", below.context()), "Context <named>");
    });
}

// spec: cordis-core/C87
#[test]
fn an_observer_sees_a_new_fiber_pending_with_its_number_and_in_its_parents_list() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let told = statuses(&app);
        app.on(keys::FIBER_CREATED)
            .with((app.root(), log.clone()))
            .run(|(root, log), fiber: &Fiber| {
                let listed = effects(root).contains(&"ctx.plugin()".to_owned());
                let known = root.registry().len();
                log.add(format!(
                    "{}#{} {} listed {listed} known {known}",
                    fiber.name(),
                    fiber.uid(),
                    fiber.state()
                ));
                Ok(())
            })
            .unwrap();
        let fiber = app.plugin(counter(), 1).unwrap();
        // Told within the call that mounts.
        assert_eq!(log.take(), ["counter#1 pending listed true known 1"]);
        fiber.ready().await.unwrap();
        assert_eq!(told.take(), ["counter pending>loading", "counter loading>active"]);
    });
}

// spec: cordis-core/C87, cordis-core/C45
#[test]
fn a_need_that_an_observer_adds_counts_from_the_first_start_on() {
    both_flavours(async || {
        let app = App::new().unwrap();
        app.on(keys::FIBER_CREATED)
            .run(|fiber: &Fiber| {
                assert!(fiber.also_needs(NUMBER));
                Ok(())
            })
            .unwrap();
        let fiber = app.plugin(counter(), 1).unwrap();
        assert_eq!(fiber.ready().await.unwrap(), State::Pending);
        assert!(!fiber.also_needs(Key::<u32>::new("too late")));
        app.provide(NUMBER, Arc::new(1)).unwrap();
        assert_eq!(fiber.ready().await.unwrap(), State::Active);
    });
}

// spec: cordis-core/C88
#[test]
fn an_observer_that_refuses_a_fiber_has_it_rolled_back_with_what_was_attached_to_it() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        app.on(keys::FIBER_CREATED)
            .with(log.clone())
            .run(|log, fiber: &Fiber| {
                fiber.context().effect("attached", log.slow_undo("attached", ms(5)))?;
                Ok(())
            })
            .unwrap();
        app.on(keys::FIBER_CREATED).run(|_| Err("not today".into())).unwrap();
        let before = counts(&app.inspect().fiber);
        let error = app.plugin(define("noisy").run(noisy), (1, log.clone())).unwrap_err();
        assert_eq!(with_causes(&error), "`noisy#1` was refused by an observer of its creation: not today");
        assert!(matches!(error, MountError::Refused { .. }));
        app.quiet().await;
        assert_eq!(log.take(), ["attached start", "attached end"]);
        assert_eq!(app.registry().len(), 0);
        assert_eq!(counts(&app.inspect().fiber), before);
    });
}

// spec: cordis-core/C88, design/P4
#[test]
fn an_observer_that_panics_refuses_the_fiber() {
    both_flavours(async || {
        let app = App::new().unwrap();
        app.on(keys::FIBER_CREATED).run(|_| panic!("observer down")).unwrap();
        let error = app.plugin(counter(), 1).unwrap_err();
        assert!(with_causes(&error).contains("observer down"), "{error:?}");
        app.quiet().await;
        assert_eq!(app.registry().len(), 0);
    });
}

// spec: cordis-core/C89, cordis-core/C90
#[test]
fn a_disposal_is_told_while_the_state_is_the_old_one_and_the_registry_still_has_the_plugin() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        app.on(keys::FIBER_DISPOSING)
            .with(log.clone())
            .run(|log, fiber: &Fiber| {
                let known = fiber.context().registry().len();
                log.add(format!("{} {} known {known}", fiber.name(), fiber.state()));
            })
            .unwrap();
        let active = app.plugin(counter(), 1).unwrap();
        active.ready().await.unwrap();
        active.dispose().await;
        assert_eq!(log.take(), ["counter active known 1"]);
        let waiting = define("waiting").needs(NUMBER).run(async |_: &Context, _: Handle<u32>, _: &()| fine());
        let waiting = app.plugin(waiting, ()).unwrap();
        waiting.ready().await.unwrap();
        waiting.dispose().await;
        // Once for each fiber: a second disposal tells nobody.
        waiting.dispose().await;
        assert_eq!(log.take(), ["waiting pending known 1"]);
        assert_eq!(app.registry().len(), 0);
    });
}

// spec: cordis-core/C89, design/P4
#[test]
fn an_observer_of_disposals_that_fails_is_reported_and_stops_nothing() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let failures = errors(&app);
        app.on(keys::FIBER_DISPOSING).run(|_| panic!("observer down")).unwrap();
        let peer = log.clone();
        app.on(keys::FIBER_DISPOSING).run(move |_| peer.add("peer")).unwrap();
        let fiber = app.plugin(define("noisy").run(noisy), (1, log.clone())).unwrap();
        fiber.ready().await.unwrap();
        fiber.dispose().await;
        assert_eq!(log.take(), ["load 1", "peer", "undo 1"]);
        assert_eq!(failures.take(), ["root ctx.on(\"internal/plugin-disposing\"): panicked: observer down"]);
    });
}

// spec: cordis-core/C89, design/P1
#[test]
fn a_disposal_ends_after_the_clean_up_of_all_children() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let children: Arc<Mutex<Vec<Fiber>>> = Arc::default();
        let grandchild = async |ctx: &Context, _: (), log: &Log| {
            ctx.effect("grandchild", log.slow_undo("grandchild", ms(10)))?;
            fine()
        };
        let child = define("child").run_boxed({
            let children = children.clone();
            move |ctx: &Context, (), log: &Log| {
                let (ctx, log, children) = (ctx.clone(), log.clone(), children.clone());
                Box::pin(async move {
                    ctx.effect("child", log.undo("child"))?;
                    let fiber = ctx.plugin(define("grandchild").run(grandchild), log)?;
                    children.lock().unwrap().push(fiber);
                    fine()
                })
            }
        });
        let child = Mutex::new(Some(child));
        let parent = define("parent").run_boxed(move |ctx: &Context, (), log: &Log| {
            let ctx = ctx.clone();
            let (log, child) = (log.clone(), child.lock().unwrap().take());
            Box::pin(async move {
                ctx.effect("parent", log.undo("parent"))?;
                ctx.plugin(child.expect("it loads once"), log)?;
                fine()
            })
        });
        let parent = app.plugin(parent, log.clone()).unwrap();
        app.quiet().await;
        assert_eq!(app.registry().len(), 3);
        parent.dispose().await;
        assert_eq!(log.take(), ["grandchild start", "grandchild end", "child", "parent"]);
        assert_eq!(children.lock().unwrap()[0].state(), State::Disposed);
        assert_eq!(counts(&app.inspect().fiber), (1, 0));
    });
}

// spec: cordis-core/C94
#[test]
fn a_body_that_is_disposed_runs_on_to_its_next_await_where_it_ends_and_what_it_tries_is_refused() {
    paused(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let go = Arc::new(Notify::new());
        let body = async |ctx: &Context, _: (), (log, go): &(Log, Arc<Notify>)| {
            let _held = log.on_drop("body dropped");
            ctx.effect("early", log.undo("early"))?;
            go.notified().await;
            // The disposal of its own fiber from inside of it does not wait, and what is tried from then on is refused.
            ctx.fiber().dispose().await;
            log.add(format!("{}", ctx.effect("late", async || ()).is_err()));
            log.add(format!("{}", ctx.on(PING).run(|()| ()).is_err()));
            let child = ctx.plugin(define("child").run(idle), 1);
            log.add(format!("{}", child.is_err()));
            sleep(ms(1)).await;
            log.add("not reached");
            fine()
        };
        let fiber = app.plugin(define("p").run(body), (log.clone(), go.clone())).unwrap();
        fiber.until(State::Loading).await;
        go.notify_one();
        fiber.dispose().await;
        assert_eq!(fiber.state(), State::Disposed);
        // Disposed from outside before it was woken: the body ends at its await.
        assert_eq!(log.take(), ["body dropped", "early"]);

        // This one was passed on by the body that did not come to see it.
        go.notified().await;
        let fiber = app.plugin(define("p").run(body), (log.clone(), go.clone())).unwrap();
        fiber.until(State::Loading).await;
        go.notify_one();
        app.quiet().await;
        assert_eq!(fiber.state(), State::Disposed);
        assert_eq!(log.take(), ["true", "true", "true", "body dropped", "early"]);
        assert_eq!(counts(&app.inspect().fiber), (1, 0));
    });
}

// spec: cordis-core/C95
#[test]
fn a_parent_that_is_disposed_while_its_child_is_announced_waits_for_what_is_attached_to_the_child() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let parent = app.plugin(define("parent").run(async |_: &Context, _: (), _: &()| fine()), ()).unwrap();
        parent.ready().await.unwrap();
        let told = statuses(&app);
        app.on(keys::FIBER_CREATED)
            .with((parent.clone(), log.clone()))
            .run(|(parent, log), fiber: &Fiber| {
                fiber.context().effect("attached", log.slow_undo("attached", ms(10)))?;
                parent.cancel();
                Ok(())
            })
            .unwrap();
        let child = parent.context().plugin(define("noisy").run(noisy), (1, log.clone()));
        let child = child.unwrap();
        parent.dispose().await;
        assert_eq!((parent.state(), child.state()), (State::Disposed, State::Disposed));
        assert_eq!(log.take(), ["attached start", "attached end"]);
        assert_eq!(
            told.take(),
            [
                "parent active>unloading",
                "noisy pending>unloading",
                "noisy unloading>disposed",
                "parent unloading>disposed"
            ]
        );
    });
}

// spec: cordis-core/C95, cordis-core/C87
#[test]
fn a_child_whose_parent_unloads_when_it_was_announced_never_runs_its_body() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let parent = app.plugin(define("parent").run(async |_: &Context, _: (), _: &()| fine()), ()).unwrap();
        parent.ready().await.unwrap();
        app.on(keys::FIBER_CREATED)
            .with((parent.clone(), log.clone()))
            .run(|(parent, log), _| {
                // Newer than the child, so the parent's teardown comes to the child later.
                parent.context().effect("slow", log.slow_undo("slow", ms(20)))?;
                parent.cancel();
                Ok(())
            })
            .unwrap();
        let child = parent.context().plugin(define("noisy").run(noisy), (1, log.clone())).unwrap();
        parent.dispose().await;
        assert_eq!(log.take(), ["slow start", "slow end"]);
        assert_eq!((parent.state(), child.state()), (State::Disposed, State::Disposed));
    });
}
