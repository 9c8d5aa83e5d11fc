//! Removal: handles, leases, dependants, and values that do something when they are dropped.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_services;

use cordis::{
    App, BoxError, Context, Disposed, Effect, Emit, Handle, Key, State, define,
    testing::{Recorder, TestApp},
};
use serde_json::json;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering::SeqCst},
};
use support_services::{FOO, Log, consumer, on_both_flavours, provider};
use tokio::sync::Semaphore;

const BAR: Key<u32> = Key::new("bar");
const VALUE: Key<Counted> = Key::new("value");
const PING: Emit<u32> = Emit::new("ping");

/// Counts how often it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Does something when it is dropped.
struct OnDrop(Box<dyn Fn() + Send + Sync>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        (self.0)();
    }
}

const ON_DROP: Key<OnDrop> = Key::new("on drop");

fn report(disposed: &Disposed) -> serde_json::Value {
    serde_json::to_value(disposed).unwrap()
}

async fn supply(ctx: &Context, (): (), drops: &Arc<AtomicUsize>) -> Result<(), BoxError> {
    ctx.provide(VALUE, Arc::new(Counted(drops.clone())))?;
    ctx.provide(FOO, Arc::new(1))?;
    Ok(())
}

async fn with_a_value(ctx: &Context) -> (cordis::Fiber, Arc<AtomicUsize>) {
    let drops = Arc::new(AtomicUsize::new(0));
    let fiber = ctx.plugin(define("supplier").run(supply), drops.clone()).unwrap();
    fiber.ready().await.unwrap();
    (fiber, drops)
}

/// A value that was leased is dropped soon after its last lease, not necessarily by the one who held it.
async fn dropped_once(drops: &AtomicUsize) {
    while drops.load(SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(drops.load(SeqCst), 1);
}

on_both_flavours! {
    // spec: design/P1
    #[test]
    async fn dispose_names_the_leases_that_are_still_out_and_the_value_lives_as_long_as_they() {
        let app = App::new().unwrap();
        let (fiber, drops) = with_a_value(&app).await;
        let handle = app.get(VALUE).unwrap();
        let (one, two) = (handle.get().unwrap(), handle.get().unwrap());
        let disposed = fiber.dispose().await;
        assert_eq!(
            report(&disposed),
            json!({ "still_running": [], "leases": [{ "service": "value", "leases": 2 }], "requested": false })
        );
        assert!(!disposed.is_clean());
        assert_eq!(disposed.to_string(), "service `value` is still leased 2 time(s)");

        // The registration is gone all the same.
        assert_eq!(fiber.state(), State::Disposed);
        assert!(app.peek(VALUE).is_none());
        assert_eq!(
            handle.get().map(drop).unwrap_err().to_string(),
            "service `value` is gone: its provider was unloaded; declare it as a need to be reloaded with it"
        );
        assert!(handle.clone().get().is_err());
        app.provide(VALUE, Arc::new(Counted(Arc::default()))).unwrap();
        assert!(!app.get(VALUE).unwrap().is_same(&handle));
        assert!(handle.get().is_err());

        assert_eq!((one.0.load(SeqCst), drops.load(SeqCst)), (0, 0));
        drop(one);
        app.quiet().await;
        assert_eq!(drops.load(SeqCst), 0);
        drop(two);
        dropped_once(&drops).await;
    }

    // spec: design/P1
    #[test]
    async fn a_value_that_nobody_leases_is_dropped_when_dispose_returns() {
        let app = App::new().unwrap();
        let (fiber, drops) = with_a_value(&app).await;
        let handle = app.get(VALUE).unwrap();
        drop(handle.get().unwrap());
        assert_eq!(report(&fiber.dispose().await), json!({ "still_running": [], "leases": [], "requested": false }));
        assert_eq!(drops.load(SeqCst), 1);
        assert_eq!(Arc::strong_count(&drops), 1);
        assert!(handle.get().is_err());
    }

    // spec: design/P1
    #[test]
    async fn leases_are_named_by_whatever_dispose_removes_the_service() {
        enum How {
            Effect,
            Fiber,
            Parent,
            Scope,
            Root,
            Shutdown,
        }
        async fn parent(ctx: &Context, (): (), drops: &Arc<AtomicUsize>) -> Result<(), BoxError> {
            ctx.plugin(define("supplier").run(supply), drops.clone())?.ready().await?;
            Ok(())
        }
        for how in [How::Effect, How::Fiber, How::Parent, How::Scope, How::Root, How::Shutdown] {
            let app = App::new().unwrap();
            let drops = Arc::new(AtomicUsize::new(0));
            let scope = app.scope().unwrap();
            let mount = |ctx: &Context| ctx.plugin(define("supplier").run(supply), drops.clone()).unwrap();
            let effect: Option<Effect> = matches!(how, How::Effect)
                .then(|| app.provide(VALUE, Arc::new(Counted(drops.clone()))).unwrap());
            let fiber = match how {
                How::Effect => app.fiber(),
                How::Fiber | How::Root | How::Shutdown => mount(&app),
                How::Scope => mount(scope.context()),
                How::Parent => app.plugin(define("parent").run(parent), drops.clone()).unwrap(),
            };
            fiber.ready().await.unwrap();
            app.quiet().await;
            let handle = app.get(VALUE).unwrap();
            let lease = handle.get().unwrap();
            let disposed = match how {
                How::Effect => effect.unwrap().dispose().await,
                How::Fiber | How::Parent => fiber.dispose().await,
                How::Scope => scope.close().await,
                How::Root => app.fiber().dispose().await,
                How::Shutdown => app.shutdown().await,
            };
            assert_eq!(
                report(&disposed),
                json!({ "still_running": [], "leases": [{ "service": "value", "leases": 1 }], "requested": false })
            );
            assert_eq!(drops.load(SeqCst), 0);
            drop(lease);
            dropped_once(&drops).await;
        }
    }

    // spec: design/P1, cordis-core/C19, cordis-core/C32
    #[test]
    async fn handles_work_until_the_dependants_are_drained_while_get_gives_none_at_once() {
        struct Shared {
            log: Log,
            unloading: Semaphore,
            go: Semaphore,
        }
        async fn depend(ctx: &Context, service: Handle<u32>, shared: &Arc<Shared>) -> Result<(), BoxError> {
            let (ctx, shared) = (ctx.clone(), shared.clone());
            ctx.clone().effect("farewell", async move || {
                shared.unloading.add_permits(1);
                shared.go.acquire().await.unwrap().forget();
                let found = ctx.get(FOO).is_some();
                shared.log.add(format!("dependant: handle {:?}, get {found}", service.get().ok()));
            })?;
            Ok(())
        }
        async fn own(ctx: &Context, (): (), shared: &Arc<Shared>) -> Result<(), BoxError> {
            let (own, told) = (ctx.clone(), shared.clone());
            ctx.effect("before", async move || {
                told.log.add(format!("provider before: peek {:?}", own.peek(FOO).is_some()));
            })?;
            ctx.provide(FOO, Arc::new(1))?;
            let (own, told) = (ctx.clone(), shared.clone());
            ctx.effect("after", async move || {
                let service = own.peek(FOO).map(|service| *service.get().unwrap());
                told.log.add(format!("provider after: peek {service:?}, get {}", own.get(FOO).is_some()));
            })?;
            Ok(())
        }
        let app = App::new().unwrap();
        let shared =
            Arc::new(Shared { log: Log::default(), unloading: Semaphore::new(0), go: Semaphore::new(0) });
        let provider = app.plugin(define("provider").run(own), shared.clone()).unwrap();
        let dependant = app.plugin(define("dependant").needs(FOO).run(depend), shared.clone()).unwrap();
        dependant.until(State::Active).await;
        let kept = app.get(FOO).unwrap();

        let disposing = tokio::spawn({
            let provider = provider.clone();
            async move { provider.dispose().await }
        });
        shared.unloading.acquire().await.unwrap().forget();
        // Both are on their way out, nothing of the provider is undone yet, and the value is still there.
        assert_eq!((provider.state(), dependant.state()), (State::Unloading, State::Unloading));
        assert!(app.get(FOO).is_none());
        assert_eq!(app.peek(FOO).map(|service| *service.get().unwrap()), Some(1));
        assert_eq!(kept.get().as_deref().ok(), Some(&1));
        assert_eq!(shared.log.take(), [""; 0]);
        assert_eq!(
            app.inspect().fiber.effects[0].fiber.as_ref().unwrap().waiting_for.as_deref(),
            Some("its dependants")
        );

        shared.go.add_permits(1);
        assert!(disposing.await.unwrap().is_clean());
        assert_eq!(
            shared.log.take(),
            [
                "dependant: handle Some(1), get false",
                "provider after: peek Some(1), get false",
                "provider before: peek false",
            ]
        );
        assert!(kept.get().is_err());
        assert_eq!(dependant.state(), State::Pending);
    }

    // spec: cordis-core/C19
    #[test]
    async fn removing_one_service_waits_for_its_dependants_and_keeps_the_rest_of_the_plugin() {
        let app = App::new().unwrap();
        let log = Log::default();
        let effect = app.provide(FOO, Arc::new(1)).unwrap();
        app.provide(BAR, Arc::new(2)).unwrap();
        let needs = consumer(&app, "needs", &log);
        needs.until(State::Active).await;
        effect.dispose().await;
        assert_eq!(needs.state(), State::Pending);
        assert_eq!(log.take(), ["needs loads with 1", "needs unloads with Some(1)"]);
        assert!(app.get(BAR).is_some());
        assert!(!effect.is_live());
        assert!(effect.dispose().await.is_clean());
        // Its name is free.
        app.provide(FOO, Arc::new(3)).unwrap();
        needs.until(State::Active).await;
        effect.dispose().await;
        assert!(app.get(FOO).is_some(), "an old effect removed a new service");
    }

    // spec: cordis-core/C19
    #[test]
    async fn a_dependant_that_fails_to_unload_does_not_keep_the_service() {
        async fn fail(ctx: &Context, _: Handle<u32>, (): &()) -> Result<(), BoxError> {
            ctx.effect("bad", async || Err::<(), BoxError>("no".into()))?;
            ctx.effect("worse", async || assert_eq!("this", "never"))?;
            Ok(())
        }
        let app = TestApp::new();
        let effect = app.provide(FOO, Arc::new(1)).unwrap();
        let needs = app.plugin(define("needs").needs(FOO).run(fail), ()).unwrap();
        needs.until(State::Active).await;
        assert!(effect.dispose().await.is_clean());
        assert_eq!(needs.state(), State::Pending);
        assert!(app.peek(FOO).is_none());
        let errors: Vec<(String, bool)> = app
            .take_errors()
            .into_iter()
            .map(|error| (error.step, error.message.starts_with("panicked: ")))
            .collect();
        assert_eq!(errors, [("worse".to_owned(), true), ("bad".to_owned(), false)]);
    }

    // spec: design/P3, design/P1
    #[test]
    async fn a_value_may_use_the_app_while_it_is_dropped() {
        let app = App::new().unwrap();
        let log = Log::default();
        let pings = Recorder::of(&app, PING, |n| *n).unwrap();
        let needs = consumer(&app, "needs", &log);
        let child = provider(&app.isolate(FOO), "child", 9);
        child.ready().await.unwrap();
        let (ctx, fiber) = (app.root(), child.clone());
        let value = OnDrop(Box::new(move || {
            assert!(ctx.get(ON_DROP).is_none() && ctx.peek(ON_DROP).is_none());
            ctx.provide(FOO, Arc::new(4)).unwrap();
            ctx.on(PING).run(|_| ()).unwrap();
            ctx.emit(PING, &1);
            fiber.cancel();
            drop(ctx.inspect());
        }));
        let effect = app.provide(ON_DROP, Arc::new(value)).unwrap();
        assert!(effect.dispose().await.is_clean());
        child.until(State::Disposed).await;
        needs.until(State::Active).await;
        assert_eq!(pings.take(), [1]);
        assert_eq!(log.take(), ["needs loads with 4"]);
    }

    // spec: design/P4
    #[test]
    async fn a_value_whose_drop_panics_stops_nothing_and_is_reported_with_its_plugin_and_key() {
        async fn apply(ctx: &Context, (): (), log: &Log) -> Result<(), BoxError> {
            let undo = |what: &'static str| {
                let log = log.clone();
                async move || log.add(what)
            };
            ctx.effect("first", undo("first undone"))?;
            ctx.provide(ON_DROP, Arc::new(OnDrop(Box::new(|| panic!("dropped badly")))))?;
            ctx.effect("last", undo("last undone"))?;
            Ok(())
        }
        let app = TestApp::new();
        let log = Log::default();
        let fiber = app.plugin(define("bad").run(apply), log.clone()).unwrap();
        fiber.ready().await.unwrap();
        assert!(fiber.dispose().await.is_clean());
        assert_eq!(fiber.state(), State::Disposed);
        assert_eq!(log.take(), ["last undone", "first undone"]);
        app.provide(ON_DROP, Arc::new(OnDrop(Box::new(|| ())))).unwrap();
        let errors: Vec<String> = app.take_errors().iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            [r#"`ctx.provide("on drop")` of `bad#1`: panicked when it was dropped: dropped badly"#]
        );
    }

    // spec: design/P3
    #[test]
    async fn a_service_that_holds_a_handle_to_itself_and_a_context_is_dropped() {
        struct Own(
            Mutex<Option<(Context, Handle<Own>)>>,
            #[expect(dead_code, reason = "dropped with it")] Counted,
        );
        const OWN: Key<Own> = Key::new("own");
        let app = App::new().unwrap();
        let drops = Arc::new(AtomicUsize::new(0));
        let effect = app.provide(OWN, Arc::new(Own(Mutex::default(), Counted(drops.clone())))).unwrap();
        let handle = app.get(OWN).unwrap();
        *handle.get().unwrap().0.lock().unwrap() = Some((app.root(), handle.clone()));
        assert!(effect.dispose().await.is_clean());
        assert_eq!(drops.load(SeqCst), 1);
    }

    // spec: cordis-core/C21
    #[test]
    async fn a_value_changes_inside_of_itself_without_a_reload_and_is_replaced_by_providing_anew() {
        const CELL: Key<Mutex<u32>> = Key::new("cell");
        async fn apply(_: &Context, cell: Handle<Mutex<u32>>, log: &Log) -> Result<(), BoxError> {
            log.add(format!("loads with {}", *cell.get()?.lock().unwrap()));
            Ok(())
        }
        let app = App::new().unwrap();
        let log = Log::default();
        let effect = app.provide(CELL, Arc::new(Mutex::new(1))).unwrap();
        let fiber = app.plugin(define("p").needs(CELL).run(apply), log.clone()).unwrap();
        fiber.until(State::Active).await;
        *app.get(CELL).unwrap().get().unwrap().lock().unwrap() = 2;
        app.quiet().await;
        assert_eq!(log.take(), ["loads with 1"]);
        effect.dispose().await;
        app.provide(CELL, Arc::new(Mutex::new(3))).unwrap();
        app.quiet().await;
        assert_eq!(log.take(), ["loads with 3"]);
    }

    // spec: design/P1, design/P2
    #[test]
    async fn leases_of_dependants_are_given_back_before_the_value_goes() {
        async fn holds(
            ctx: &Context,
            value: Handle<Counted>,
            loading: &Arc<Semaphore>,
        ) -> Result<(), BoxError> {
            let kept = value.clone();
            ctx.spawn("holder", async move {
                let lease = kept.get().unwrap();
                std::future::pending::<()>().await;
                drop(lease);
            })?;
            let lease = value.get()?;
            loading.add_permits(1);
            if ctx.fiber().name() == "slow" {
                std::future::pending::<()>().await;
            }
            drop(lease);
            Ok(())
        }
        let app = App::new().unwrap();
        let (fiber, drops) = with_a_value(&app).await;
        let loading = Arc::new(Semaphore::new(0));
        let mount =
            |name: &'static str| app.plugin(define(name).needs(VALUE).run(holds), loading.clone()).unwrap();
        let dependants = [mount("slow"), mount("quick")];
        loading.acquire_many(2).await.unwrap().forget();
        dependants[1].until(State::Active).await;
        assert_eq!(dependants[0].state(), State::Loading);
        assert_eq!(report(&fiber.dispose().await), json!({ "still_running": [], "leases": [], "requested": false }));
        assert_eq!(drops.load(SeqCst), 1);
        assert_eq!(dependants.each_ref().map(cordis::Fiber::state), [State::Pending; 2]);
    }

    // spec: cases/L9, design/P3
    #[test]
    async fn a_dependant_that_disposes_its_provider_does_not_wait_for_itself() {
        async fn murder(
            ctx: &Context,
            service: Handle<u32>,
            (log, provider): &(Log, cordis::Fiber),
        ) -> Result<(), BoxError> {
            let told = log.clone();
            ctx.effect("farewell", async move || told.add(format!("undone with {:?}", service.get().ok())))?;
            provider.dispose().await;
            log.add("requested");
            // Whoever unloads the provider, on this thread or on another, ends this load too.
            std::future::pending().await
        }
        let app = TestApp::new();
        let log = Log::default();
        let provider = provider(&app, "provider", 1);
        provider.ready().await.unwrap();
        let plugin = define("dependant").needs(FOO).run(murder);
        let dependant = app.plugin(plugin, (log.clone(), provider.clone())).unwrap();
        provider.until(State::Disposed).await;
        assert_eq!(dependant.ready().await.unwrap(), State::Pending);
        assert_eq!(log.take(), ["requested", "undone with Some(1)"]);
        app.assert_no_errors();
    }
}
