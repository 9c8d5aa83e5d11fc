//! What a scope costs others: nothing while it is there, and nothing once it is closed.

#![cfg(feature = "testing")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use cordis::{
    BoxError, Context, Emit, Key, Layer, Layers, NamedEntries, ScopeKey, State, define,
    keys::DISPATCH,
    testing::{Recorder, TestApp},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

const PING: Emit<u32> = Emit::new("ping");
const NUMBER: Key<u32> = Key::new("number");

struct Names(NamedEntries<u32>);

impl Layer for Names {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn names() -> Layers<Names> {
    Layers::new(|_| Names(NamedEntries::new()), |_| Ok(()))
}

/// Tasks alive on the runtime of the test, its own body not counted.
async fn tasks() -> usize {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

// spec: design/P6
#[tokio::test]
async fn a_closed_scope_leaves_no_fiber_effect_listener_or_layer() {
    let app = TestApp::new();
    let layers = names();
    let parent = ScopeKey::new();
    let (fibers, effects) = (app.fibers(), app.effects(&app));
    for _ in 0..200 {
        let scope = app.scope_under(&parent).unwrap();
        scope.context().on(PING).run(|_| ()).unwrap();
        scope.context().on(PING).global().once().run(|_| ()).unwrap();
        layers.effect(scope.context(), "names", |names| names.0.insert("a", 1)).unwrap();
        scope.context().scope().map(drop).unwrap();
        assert!(layers.peek(scope.key()).is_some());
        scope.close().await;
        assert!(layers.peek(scope.key()).is_none());
        assert_eq!(scope.context().listeners(PING), 0);
    }
    app.quiet().await;
    assert_eq!((app.fibers(), app.effects(&app)), (fibers, effects));
    assert_eq!(app.listeners(PING), 0);
    app.assert_no_errors();
}

// spec: design/P6
#[tokio::test]
async fn a_thousand_other_scopes_are_not_visited_by_a_dispatch() {
    let app = TestApp::new();
    let dispatched = Recorder::of(&app, DISPATCH, |d| d.event).unwrap();
    let (mine, others) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let count = |ctx: &Context, of: &Arc<AtomicUsize>| {
        let of = of.clone();
        ctx.on(PING)
            .run(move |_| {
                of.fetch_add(1, SeqCst);
            })
            .unwrap();
    };
    let scope = app.scope().unwrap();
    let scopes: Vec<_> = (0..1_000).map(|_| app.scope().unwrap()).collect();
    for other in &scopes {
        count(other.context(), &others);
    }
    count(scope.context(), &mine);
    assert_eq!((app.listeners(PING), scope.context().listeners(PING)), (0, 1));
    for n in 0..10 {
        app.at(scope.key()).emit(PING, &n);
        app.emit(PING, &n);
    }
    assert_eq!((mine.load(SeqCst), others.load(SeqCst)), (10, 0));
    assert_eq!(dispatched.take(), ["ping"; 20]);
}

// spec: design/P6
#[tokio::test]
async fn an_idle_plugin_owns_no_task() {
    async fn idle(ctx: &Context, _: (), _: &()) -> Result<(), BoxError> {
        ctx.on(PING).run(|_| ())?;
        ctx.provide(NUMBER, Arc::new(1))?;
        ctx.effect("nothing", async || ())?;
        // Kept by the plugin's own effect; a dropped scope would be closed.
        let scope = ctx.scope()?;
        scope.context().on(PING).run(|_| ())?;
        ctx.effect("scope", async move || drop(scope.close().await))?;
        Ok(())
    }
    let app = TestApp::new();
    assert_eq!(tasks().await, 0);
    let fibers: Vec<_> =
        (0..50).map(|_| app.isolate(NUMBER).plugin(define("idle").run(idle), ()).unwrap()).collect();
    app.quiet().await;
    assert!(fibers.iter().all(|fiber| fiber.state() == State::Active));
    let ticks = app.ticks(Duration::from_secs(1)).unwrap();
    let throttle = app.throttle(Duration::from_secs(1), |_: u32| ());
    let debounce = app.debounce(Duration::from_secs(1), |_: u32| ());
    assert_eq!(tasks().await, 0);
    let task = app.spawn("busy", std::future::pending()).unwrap();
    assert_eq!(tasks().await, 1);
    task.dispose().await;
    for fiber in fibers {
        fiber.dispose().await;
    }
    assert_eq!(tasks().await, 0);
    app.assert_no_errors();
    drop((ticks, throttle, debounce));
}

// spec: design/P6
#[tokio::test(start_paused = true)]
async fn a_timer_owns_its_task_only_while_it_waits() {
    let app = TestApp::new();
    let throttle = app.throttle(Duration::from_secs(1), |_: u32| ());
    let debounce = app.debounce(Duration::from_secs(1), |_: u32| ());
    for n in 0..100 {
        throttle.call(n);
        debounce.call(n);
    }
    assert_eq!(tasks().await, 2);
    let labels = app.inspect().fiber.effects.clone().into_iter().map(|effect| effect.label);
    assert_eq!(labels.skip(1).collect::<Vec<_>>(), ["ctx.throttle()", "ctx.debounce()"]);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(tasks().await, 0);
    assert_eq!(app.effects(&app), 1);
}
