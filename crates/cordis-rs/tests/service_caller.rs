//! Services that act for their caller: ordinary types that are provided by their plugin and given contexts.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_services;

use cordis::{App, BoxError, Context, Effect, Emit, Handle, Inactive, Key, State, define};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::SeqCst},
};
use support_services::{Log, on_both_flavours, states};
use tokio::sync::Semaphore;

const COUNTER: Key<AtomicU32> = Key::new("counter");
const METER: Key<Meter> = Key::new("meter");
const PING: Emit<u32> = Emit::new("ping");

/// Uses a service that its provider needs, for callers that do not.
struct Meter {
    counter: Handle<AtomicU32>,
}

impl Meter {
    /// Counts one up for as long as the caller lives.
    fn count(&self, caller: &Context) -> Result<Effect, BoxError> {
        self.counter.get()?.fetch_add(1, SeqCst);
        let counter = self.counter.clone();
        let undo = async move || {
            if let Ok(counter) = counter.get() {
                counter.fetch_sub(1, SeqCst);
            }
        };
        Ok(caller.effect("meter.count", undo)?)
    }
}

async fn meter(ctx: &Context, counter: Handle<AtomicU32>, (): &()) -> Result<(), BoxError> {
    ctx.provide(METER, Arc::new(Meter { counter }))?;
    Ok(())
}

async fn caller(ctx: &Context, meter: Handle<Meter>, (): &()) -> Result<(), BoxError> {
    meter.get()?.count(ctx)?;
    Ok(())
}

/// A service whose constructor provides it, and that is ready only some time later.
struct Registry {
    log: Log,
}

impl Registry {
    const KEY: Key<Registry> = Key::new("registry");

    fn new(ctx: &Context, log: &Log) -> Result<Arc<Registry>, BoxError> {
        let registry = Arc::new(Registry { log: log.clone() });
        ctx.provide(Registry::KEY, registry.clone())?;
        Ok(registry)
    }

    async fn init(&self, go: &Semaphore) -> Result<(), BoxError> {
        self.log.add("begins");
        go.acquire().await?.forget();
        self.log.add("is ready");
        Ok(())
    }
}

async fn registry(ctx: &Context, (): (), (log, go): &(Log, Arc<Semaphore>)) -> Result<(), BoxError> {
    Registry::new(ctx, log)?.init(go).await
}

async fn uses(_: &Context, registry: Handle<Registry>, (): &()) -> Result<(), BoxError> {
    registry.get()?.log.add("is used");
    Ok(())
}

on_both_flavours! {
    // spec: cordis-core/C119
    #[test]
    async fn what_a_service_does_for_a_caller_is_the_callers_and_is_undone_with_it() {
        let app = App::new().unwrap();
        let counter = Arc::new(AtomicU32::new(0));
        app.provide(COUNTER, counter.clone()).unwrap();
        let meter = app.plugin(define("meter").needs(COUNTER).run(meter), ()).unwrap();
        let callers = [(); 2].map(|()| app.plugin(define("caller").needs(METER).run(caller), ()).unwrap());
        assert_eq!(states(&app, callers.each_ref()).await, [State::Active; 2]);
        assert_eq!(counter.load(SeqCst), 2);
        app.get(METER).unwrap().get().unwrap().count(&app).unwrap();
        assert_eq!(counter.load(SeqCst), 3);
        let labels = |ctx: &Context| {
            let tree = ctx.inspect();
            tree.fiber.effects.iter().map(|effect| effect.label.clone()).collect::<Vec<_>>()
        };
        assert_eq!(labels(&callers[0].context()), ["meter.count"]);
        assert_eq!(labels(&meter.context()), [r#"ctx.provide("meter")"#]);

        callers[0].dispose().await;
        assert_eq!(counter.load(SeqCst), 2);
        // The provider takes its dependants along; what it counted for the root stays.
        meter.dispose().await;
        assert_eq!(states(&app, [&callers[0], &callers[1]]).await, [State::Disposed, State::Pending]);
        assert_eq!(counter.load(SeqCst), 1);
    }

    // spec: cordis-core/C119
    #[test]
    async fn a_service_called_with_a_dead_context_registers_nothing() {
        let app = App::new().unwrap();
        let counter = Arc::new(AtomicU32::new(0));
        app.provide(COUNTER, counter.clone()).unwrap();
        app.plugin(define("meter").needs(COUNTER).run(meter), ()).unwrap();
        let caller = app.plugin(define("caller").needs(METER).run(caller), ()).unwrap();
        caller.until(State::Active).await;
        let dead = caller.context();
        caller.dispose().await;
        let handle = app.get(METER).unwrap();
        let refused = handle.get().unwrap().count(&dead).unwrap_err();
        assert_eq!(refused.downcast_ref::<Inactive>().map(|inactive| &*inactive.plugin), Some("caller#2"));
        assert_eq!(app.inspect().fiber.effects.len(), 2);
    }

    // spec: cordis-core/C117, cordis-core/C118
    #[test]
    async fn a_service_exists_from_its_construction_counts_when_its_plugin_is_active_and_goes_with_it() {
        let app = App::new().unwrap();
        let (log, go) = (Log::default(), Arc::new(Semaphore::new(0)));
        let user = app.plugin(define("user").needs(Registry::KEY).run(uses), ()).unwrap();
        let fiber = app.plugin(define("registry").run(registry), (log.clone(), go.clone())).unwrap();
        fiber.until(State::Loading).await;
        while app.peek(Registry::KEY).is_none() {
            tokio::task::yield_now().await;
        }
        assert!(app.get(Registry::KEY).is_none());
        assert_eq!(user.state(), State::Pending);
        go.add_permits(1);
        user.until(State::Active).await;
        assert_eq!(fiber.state(), State::Active);
        assert_eq!(log.take(), ["begins", "is ready", "is used"]);
        fiber.dispose().await;
        assert!(app.peek(Registry::KEY).is_none());
        assert_eq!(user.state(), State::Pending);
    }

    // spec: cordis-core/C117
    #[test]
    async fn a_service_whose_construction_fails_half_way_was_never_there() {
        async fn fails(ctx: &Context, (): (), log: &Log) -> Result<(), BoxError> {
            let registry = Registry::new(ctx, log)?;
            registry.log.add("begins");
            Err("cannot".into())
        }
        let app = App::new().unwrap();
        let log = Log::default();
        let user = app.plugin(define("user").needs(Registry::KEY).run(uses), ()).unwrap();
        let fiber = app.plugin(define("registry").run(fails), log.clone()).unwrap();
        assert_eq!(states(&app, [&fiber, &user]).await, [State::Failed, State::Pending]);
        assert!(app.peek(Registry::KEY).is_none());
        assert_eq!(log.take(), ["begins"]);
        app.provide(Registry::KEY, Arc::new(Registry { log: log.clone() })).unwrap();
        assert_eq!(states(&app, [&user]).await, [State::Active]);
    }

    // spec: design/P1
    #[test]
    async fn a_listener_that_keeps_a_handle_finds_the_service_gone_and_says_so() {
        let app = App::new().unwrap();
        let log = Log::default();
        let effect = app.provide(COUNTER, Arc::new(AtomicU32::new(5))).unwrap();
        app.on(PING)
            .with((app.get(COUNTER).unwrap(), log.clone()))
            .run(|(counter, log), _| {
                log.add(
                    counter.get().map_or_else(|gone| gone.service.to_owned(), |n| n.load(SeqCst).to_string()),
                );
            })
            .unwrap();
        app.emit(PING, &0);
        effect.dispose().await;
        app.emit(PING, &0);
        assert_eq!(log.take(), ["5", "counter"]);
    }
}
