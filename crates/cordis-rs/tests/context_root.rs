//! The root, what contexts are, and what is left of a context whose plugin is gone.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_services;

use cordis::{
    App, BoxError, Context, Emit, Inactive, Intercept, Key, ListenError, MountError, ProvideError, State,
    define, keys, testing::Recorder,
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use support_services::{FOO, Log, consumer, on_both_flavours, provider, states};

const PING: Emit<u32> = Emit::new("ping");
const BAR: Key<u32> = Key::new("bar");

fn add(sum: &AtomicUsize, n: usize) {
    sum.fetch_add(n, SeqCst);
}

/// Hands its context out.
async fn hand_out(ctx: &Context, (): (), out: &Arc<Mutex<Option<Context>>>) -> Result<(), BoxError> {
    *out.lock().unwrap() = Some(ctx.clone());
    Ok(())
}

async fn context_of_a_plugin(app: &App) -> (cordis::Fiber, Context) {
    let out: Arc<Mutex<Option<Context>>> = Arc::default();
    let fiber = app.plugin(define("giver").run(hand_out), out.clone()).unwrap();
    assert_eq!(fiber.ready().await.unwrap(), State::Active);
    let ctx = out.lock().unwrap().take().unwrap();
    (fiber, ctx)
}

on_both_flavours! {
    // spec: cordis-core/C1, cordis-core/C3
    #[test]
    async fn a_new_app_is_an_active_root_without_a_plugin_and_with_nothing_registered() {
        let app = App::new().unwrap();
        let root = app.fiber();
        assert_eq!((root.uid(), root.name(), root.state()), (0, "root", State::Active));
        assert_eq!(app.inspect().to_string(), "root active\n");
        assert!(app.registry().is_empty());
        assert_eq!(app.root().fiber(), root);
        assert_eq!(app.root().root().fiber(), root);
        // The root waits for nothing and its effects count at once.
        let effect = app.provide(FOO, Arc::new(1)).unwrap();
        assert_eq!(app.get(FOO).map(|service| *service.get().unwrap()), Some(1));
        assert!(effect.is_live());
        let (fiber, ctx) = context_of_a_plugin(&app).await;
        assert_eq!(fiber.uid(), 1);
        assert_eq!(ctx.root().fiber(), root);
    }

    // spec: cordis-core/C2
    #[test]
    async fn emptying_the_root_takes_all_registrations_and_nothing_of_the_host() {
        let app = App::new().unwrap();
        let log = Log::default();
        let pings = Recorder::of(&app, PING, |n| *n).unwrap();
        app.provide(FOO, Arc::new(1)).unwrap();
        let gone = consumer(&app, "gone", &log);
        assert_eq!(gone.ready().await.unwrap(), State::Active);

        assert!(app.fiber().dispose().await.is_clean());
        assert_eq!(app.inspect().to_string(), "root active\n");
        assert_eq!(gone.state(), State::Disposed);
        app.emit(PING, &1);
        assert_eq!(pings.take(), [0; 0]);
        assert!(app.get(FOO).is_none());

        // Fibers, services, events and the host's own events work as on the first day.
        let changes = Recorder::status(&app).unwrap();
        let pings = Recorder::of(&app, PING, |n| *n).unwrap();
        let here = consumer(&app, "here", &log);
        app.provide(FOO, Arc::new(2)).unwrap();
        assert_eq!(states(&app, [&here]).await, [State::Active]);
        app.emit(PING, &2);
        assert_eq!(pings.take(), [2]);
        let told = |from, to| ("here".to_owned(), from, to);
        assert_eq!(
            changes.take(),
            [told(State::Pending, State::Loading), told(State::Loading, State::Active)]
        );
        assert_eq!(log.take(), ["gone loads with 1", "gone unloads with Some(1)", "here loads with 2"]);
    }

    // spec: cordis-core/C5
    #[test]
    async fn a_context_is_shown_by_the_name_of_its_plugin() {
        let app = App::new().unwrap();
        let (_fiber, ctx) = context_of_a_plugin(&app).await;
        assert_eq!(format!("{ctx:?}"), "Context <giver>");
        assert_eq!(format!("{:?}", ctx.isolate(FOO)), "Context <giver>");
        assert_eq!(format!("{:?}", app.root()), "Context <root>");
        // A plugin without a name goes by that of its parent.
        let unnamed = ctx.plugin(define("").run(async |_: &Context, (): (), (): &()| Ok(())), ()).unwrap();
        assert_eq!(format!("{:?}", unnamed.context()), "Context <giver>");
    }

    // spec: cordis-core/C6
    #[test]
    async fn a_registration_belongs_to_the_context_that_it_is_made_through() {
        let app = App::new().unwrap();
        let (fiber, ctx) = context_of_a_plugin(&app).await;
        let heard = Arc::new(AtomicUsize::new(0));
        let (own, roots) = (heard.clone(), heard.clone());
        ctx.on(PING).run(move |_| add(&own, 1)).unwrap();
        ctx.root().on(PING).run(move |_| add(&roots, 10)).unwrap();
        ctx.provide(FOO, Arc::new(1)).unwrap();
        ctx.root().provide(BAR, Arc::new(2)).unwrap();
        let child = provider(&ctx.isolate(FOO), "child", 3);
        assert_eq!(child.ready().await.unwrap(), State::Active);
        app.emit(PING, &0);
        assert_eq!(heard.swap(0, SeqCst), 11);

        assert!(fiber.dispose().await.is_clean());
        app.emit(PING, &0);
        assert_eq!(heard.load(SeqCst), 10);
        assert!(app.get(FOO).is_none());
        assert!(app.get(BAR).is_some());
        assert_eq!(child.state(), State::Disposed);
    }

    // spec: cordis-core/C7
    #[test]
    async fn a_derived_context_keeps_the_fiber_and_leaves_its_parent_as_it_was() {
        const LIMIT: Intercept<u32> = Intercept::new("limit");
        let app = App::new().unwrap();
        let (fiber, ctx) = context_of_a_plugin(&app).await;
        app.provide(FOO, Arc::new(1)).unwrap();
        let derived = ctx.isolate(FOO).intercept(LIMIT, 5);
        assert_eq!(derived.fiber(), fiber);
        assert!(derived.get(FOO).is_none());
        assert_eq!(derived.intercepts(LIMIT), [Arc::new(5)]);
        assert_eq!(ctx.get(FOO).map(|service| *service.get().unwrap()), Some(1));
        assert_eq!(ctx.intercepts(LIMIT), []);
        derived.provide(FOO, Arc::new(2)).unwrap();
        assert_eq!(ctx.get(FOO).map(|service| *service.get().unwrap()), Some(1));
        assert_eq!(derived.get(FOO).map(|service| *service.get().unwrap()), Some(2));
    }

    // spec: cases/L6, design/P1
    #[test]
    async fn a_dead_context_answers_with_errors_and_finds_nothing() {
        let app = App::new().unwrap();
        let (fiber, ctx) = context_of_a_plugin(&app).await;
        app.provide(FOO, Arc::new(1)).unwrap();
        let derived = ctx.isolate(BAR);
        derived.provide(BAR, Arc::new(2)).unwrap();
        assert!(fiber.dispose().await.is_clean());
        for dead in [&ctx, &derived, &ctx.intercept(Intercept::new("x"), 1), &fiber.context()] {
            assert!(dead.get(FOO).is_none());
            assert!(dead.peek(FOO).is_none());
            assert!(dead.get(BAR).is_none());
            assert_eq!(
                dead.provide(BAR, Arc::new(3)).unwrap_err().to_string(),
                "cannot provide a service on inactive context `giver#1`: its plugin is being unloaded; \
                 use a context that is still active"
            );
            assert!(matches!(dead.on(PING).run(|_| ()), Err(ListenError::Inactive(_))));
            let plugin = define("late").run(async |_: &Context, (): (), (): &()| Ok(()));
            assert!(matches!(dead.plugin(plugin, ()), Err(MountError::Inactive(_))));
            assert!(dead.effect("late", async || ()).is_err());
            assert!(dead.spawn("late", async {}).is_err());
            assert!(dead.scope().is_err());
            assert!(dead.interval(Duration::from_millis(1), || ()).is_err());
            assert!(dead.sleep(Duration::from_millis(1)).await.is_err());
            dead.notify(FOO);
            dead.emit(PING, &1);
            assert_eq!(dead.inspect().fiber.state, State::Disposed);
        }
        // What is alive is not touched by any of it.
        assert_eq!(app.get(FOO).map(|service| *service.get().unwrap()), Some(1));
        assert_eq!(app.inspect().to_string(), "root active\n  ctx.provide(\"foo\")\n");
    }

    // spec: design/P1
    #[test]
    async fn nothing_can_be_provided_through_a_context_that_unloads() {
        let app = App::new().unwrap();
        let (fiber, ctx) = context_of_a_plugin(&app).await;
        app.provide(BAR, Arc::new(7)).unwrap();
        let log = Log::default();
        let (late, told) = (ctx.clone(), log.clone());
        ctx.effect("late", async move || {
            tokio::task::yield_now().await;
            let refused = late.provide(FOO, Arc::new(1)).unwrap_err();
            assert!(
                matches!(&refused, ProvideError::Inactive(Inactive { action: "provide a service", .. })),
                "{refused}"
            );
            told.add(format!("refused, bar is {:?}", late.get(BAR).map(|bar| *bar.get().unwrap())));
        })
        .unwrap();
        assert!(fiber.dispose().await.is_clean());
        assert_eq!(log.take(), ["refused, bar is Some(7)"]);
        assert!(app.get(FOO).is_none());
    }

    // spec: design/P1
    #[test]
    async fn contexts_that_outlive_their_app_are_dead() {
        let app = App::new().unwrap();
        let (fiber, ctx) = context_of_a_plugin(&app).await;
        app.provide(FOO, Arc::new(1)).unwrap();
        let root = app.root();
        let handle = root.get(FOO).unwrap();
        assert!(app.shutdown().await.is_clean());
        assert_eq!((fiber.state(), root.fiber().state()), (State::Disposed, State::Disposed));
        for dead in [&ctx, &root] {
            assert!(dead.get(FOO).is_none());
            assert!(dead.provide(FOO, Arc::new(2)).is_err());
        }
        assert!(handle.get().is_err());
        assert!(root.on(keys::STATUS).run(|_| ()).is_err());
    }
}

// spec: cases/L6
#[tokio::test(start_paused = true)]
async fn an_interval_of_a_plugin_unloaded_between_two_ticks_ticks_no_more() {
    let app = App::new().unwrap();
    let (fiber, ctx) = context_of_a_plugin(&app).await;
    let ticks = Arc::new(AtomicUsize::new(0));
    let counted = ticks.clone();
    ctx.interval(Duration::from_millis(10), move || add(&counted, 1)).unwrap();
    tokio::time::sleep(Duration::from_millis(35)).await;
    assert_eq!(ticks.load(SeqCst), 3);
    assert!(fiber.dispose().await.is_clean());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(ticks.load(SeqCst), 3);
    assert_eq!(Arc::strong_count(&ticks), 1);
    assert!(ctx.get(FOO).is_none());
}
