//! Reloads: a need that comes, goes or is met by another act of providing.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_services;

use cordis::{App, BoxError, Context, Handle, Key, State, define, keys, testing::Recorder};
use std::sync::Arc;
use support_services::{FOO, Log, consumer, on_both_flavours, provider, states};
use tokio::sync::Semaphore;

const P: State = State::Pending;
const A: State = State::Active;

async fn maybe(ctx: &Context, service: Option<Handle<u32>>, log: &Log) -> Result<(), BoxError> {
    let service = service.map(|service| service.get().map(|service| *service)).transpose()?;
    log.add(format!("loads with {service:?}"));
    let log = log.clone();
    ctx.effect("farewell", async move || log.add("unloads"))?;
    Ok(())
}

on_both_flavours! {
    // spec: cordis-core/C33
    #[test]
    async fn an_optional_need_that_comes_or_goes_reloads_an_active_plugin() {
        let app = App::new().unwrap();
        let log = Log::default();
        let fiber = app.plugin(define("p").needs(FOO.optional()).run(maybe), log.clone()).unwrap();
        assert_eq!(states(&app, [&fiber]).await, [A]);
        assert_eq!(log.take(), ["loads with None"]);
        assert!(app.check().is_empty());
        let effect = app.provide(FOO, Arc::new(1)).unwrap();
        assert_eq!(states(&app, [&fiber]).await, [A]);
        assert_eq!(log.take(), ["unloads", "loads with Some(1)"]);
        effect.dispose().await;
        assert_eq!(states(&app, [&fiber]).await, [A]);
        assert_eq!(log.take(), ["unloads", "loads with None"]);
    }

    // spec: cordis-core/C33
    #[test]
    async fn an_optional_need_that_arrives_during_a_load_reloads_the_plugin_after_it() {
        async fn slow(
            _: &Context,
            service: Option<Handle<u32>>,
            (log, go): &(Log, Arc<Semaphore>),
        ) -> Result<(), BoxError> {
            log.add(format!("begins with {}", service.is_some()));
            go.acquire().await?.forget();
            log.add(format!("ends with {}", service.is_some()));
            Ok(())
        }
        let app = App::new().unwrap();
        let (log, go) = (Log::default(), Arc::new(Semaphore::new(0)));
        let changes = Recorder::of(&app, keys::STATUS, |change| change.to).unwrap();
        let fiber =
            app.plugin(define("p").needs(FOO.optional()).run(slow), (log.clone(), go.clone())).unwrap();
        fiber.until(State::Loading).await;
        let effect = app.provide(FOO, Arc::new(1)).unwrap();
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        assert_eq!(fiber.state(), State::Loading);
        go.add_permits(2);
        fiber.until(A).await;
        app.quiet().await;
        assert_eq!(
            log.take(),
            ["begins with false", "ends with false", "begins with true", "ends with true"]
        );
        let settled = [State::Loading, State::Unloading, State::Loading, A];
        assert_eq!(changes.take(), settled);
        // It came and went again during one load: nothing has changed for the plugin.
        effect.dispose().await;
        fiber.until(State::Loading).await;
        let brief = app.provide(FOO, Arc::new(2)).unwrap();
        brief.dispose().await;
        go.add_permits(1);
        fiber.until(A).await;
        app.quiet().await;
        assert_eq!(log.take(), ["begins with false", "ends with false"]);
    }

    // spec: cordis-core/C22, design/P2
    #[test]
    async fn a_swapped_provider_reloads_its_dependants_although_the_name_never_looked_missing_to_them() {
        let app = App::new().unwrap();
        let log = Log::default();
        let first = app.provide(FOO, Arc::new(1)).unwrap();
        let needs = consumer(&app, "needs", &log);
        needs.until(A).await;
        let changes = Recorder::status(&app).unwrap();
        // Provided anew in the same turn in which the first one is gone.
        let old = app.get(FOO).unwrap();
        first.dispose().await;
        app.provide(FOO, Arc::new(1)).unwrap();
        let new = app.get(FOO).unwrap();
        assert!(!old.is_same(&new) && new.is_same(&new.clone()));
        assert_eq!(states(&app, [&needs]).await, [A]);
        // The value is equal; the act of providing is another one.
        assert_eq!(log.take(), ["needs loads with 1", "needs unloads with Some(1)", "needs loads with 1"]);
        let states: Vec<State> = changes.take().into_iter().map(|(_, _, to)| to).collect();
        assert_eq!(states.first(), Some(&State::Unloading));
        assert_eq!(states.last(), Some(&A));
    }

    // spec: design/P2
    #[test]
    async fn a_provider_swapped_while_its_dependant_unloads_for_another_reason_is_noticed() {
        struct Gate {
            log: Log,
            unloading: Semaphore,
            go: Semaphore,
        }
        async fn slow(ctx: &Context, service: Handle<u32>, gate: &Arc<Gate>) -> Result<(), BoxError> {
            gate.log.add(format!("loads with {}", *service.get()?));
            let gate = gate.clone();
            ctx.effect("slow", async move || {
                gate.unloading.add_permits(1);
                gate.go.acquire().await.unwrap().forget();
                gate.log.add(format!("unloads with {:?}", service.get().ok()));
            })?;
            Ok(())
        }
        let app = App::new().unwrap();
        let gate =
            Arc::new(Gate { log: Log::default(), unloading: Semaphore::new(0), go: Semaphore::new(0) });
        let provider = provider(&app, "provider", 1);
        let fiber = app.plugin(define("slow").needs(FOO).run(slow), gate.clone()).unwrap();
        fiber.until(A).await;
        let restarting = tokio::spawn({
            let fiber = fiber.clone();
            async move { fiber.restart().await }
        });
        gate.unloading.acquire().await.unwrap().forget();
        // The dependant is unloading already; its provider is restarted with another value meanwhile.
        let updating = tokio::spawn({
            let provider = provider.clone();
            async move { provider.update(2u32).await }
        });
        provider.until(State::Unloading).await;
        gate.go.add_permits(1);
        restarting.await.unwrap().unwrap();
        updating.await.unwrap().unwrap();
        fiber.until(A).await;
        app.quiet().await;
        assert_eq!(gate.log.take(), ["loads with 1", "unloads with Some(1)", "loads with 2"]);
        gate.go.add_permits(1);
    }

    // spec: cordis-core/C23, design/P2
    #[test]
    async fn a_restarted_provider_takes_its_dependants_along_before_its_own_effects_are_undone() {
        async fn own(ctx: &Context, (): (), log: &Log) -> Result<(), BoxError> {
            ctx.provide(FOO, Arc::new(1))?;
            let log = log.clone();
            ctx.effect("own", async move || log.add("provider's effect undone"))?;
            Ok(())
        }
        let app = App::new().unwrap();
        let log = Log::default();
        let needs = [consumer(&app, "early", &log), consumer(&app, "late", &log)];
        let provider = app.plugin(define("provider").run(own), log.clone()).unwrap();
        assert_eq!(states(&app, needs.each_ref()).await, [A, A]);
        log.take();
        let changes = Recorder::status(&app).unwrap();
        provider.restart().await.unwrap();
        assert_eq!(states(&app, needs.each_ref()).await, [A, A]);
        let mut lines = log.take();
        lines[..2].sort();
        lines[3..].sort();
        assert_eq!(
            lines,
            [
                "early unloads with Some(1)",
                "late unloads with Some(1)",
                "provider's effect undone",
                "early loads with 1",
                "late loads with 1",
            ]
        );
        let of_provider: Vec<_> =
            changes.take().into_iter().filter(|(name, ..)| name == "provider").map(|(_, _, to)| to).collect();
        assert_eq!(of_provider, [State::Unloading, State::Loading, A]);
    }

    // spec: cordis-core/C23, design/P1
    #[test]
    async fn a_child_that_needs_its_parents_service_starts_after_the_parent_and_ends_before_it() {
        async fn parent(ctx: &Context, (): (), log: &Log) -> Result<(), BoxError> {
            ctx.provide(FOO, Arc::new(1))?;
            let child = consumer(ctx, "child", log);
            log.add(format!("parent sees {:?}", child.ready().await?));
            let log = log.clone();
            ctx.effect("farewell", async move || log.add("parent unloads"))?;
            Ok(())
        }
        let app = App::new().unwrap();
        let log = Log::default();
        let fiber = app.plugin(define("parent").run(parent), log.clone()).unwrap();
        assert_eq!(states(&app, [&fiber]).await, [A]);
        let life =
            ["parent sees Pending", "child loads with 1", "child unloads with Some(1)", "parent unloads"];
        assert_eq!(log.take(), life[..2]);
        fiber.restart().await.unwrap();
        app.quiet().await;
        assert_eq!(log.take(), [&life[2..], &life[..2]].concat());
        assert!(fiber.dispose().await.is_clean());
        assert_eq!(log.take(), life[2..]);
        assert!(app.registry().is_empty());
    }

    // spec: design/P2
    #[test]
    async fn a_chain_of_providers_comes_and_goes_in_order() {
        type Link = (Key<u32>, Log, &'static str);
        async fn link(ctx: &Context, _: Handle<u32>, (key, log, name): &Link) -> Result<(), BoxError> {
            ctx.provide(*key, Arc::new(0))?;
            log.add(format!("{name} loads"));
            let (log, name) = (log.clone(), *name);
            ctx.effect("farewell", async move || {
                tokio::task::yield_now().await;
                log.add(format!("{name} unloads"));
            })?;
            Ok(())
        }
        let app = App::new().unwrap();
        let log = Log::default();
        let keys: [Key<u32>; 4] = ["k0", "k1", "k2", "k3"].map(Key::new);
        let names = ["one", "two", "three"];
        let mount = |i: usize| {
            app.plugin(define(names[i]).needs(keys[i]).run(link), (keys[i + 1], log.clone(), names[i]))
        };
        // Mounted the wrong way round.
        let fibers = [2, 1, 0].map(|i| mount(i).unwrap());
        for _ in 0..3 {
            let effect = app.provide(keys[0], Arc::new(0)).unwrap();
            assert_eq!(states(&app, fibers.each_ref()).await, [A; 3]);
            assert_eq!(log.take(), names.map(|name| format!("{name} loads")));
            assert!(effect.dispose().await.is_clean());
            assert_eq!(log.take(), ["three unloads", "two unloads", "one unloads"]);
            assert_eq!(states(&app, fibers.each_ref()).await, [P; 3]);
        }
    }
}

// spec: design/P2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dependants_never_run_with_a_provider_that_is_gone_however_often_it_is_swapped() {
    async fn apply(_: &Context, service: Handle<u32>, log: &Log) -> Result<(), BoxError> {
        log.add(format!("{}", *service.get()?));
        tokio::task::yield_now().await;
        service.get()?;
        Ok(())
    }
    let app = App::new().unwrap();
    let log = Log::default();
    let plugin = || define("needs").needs(FOO).run(apply);
    let fibers = [(); 3].map(|()| app.plugin(plugin(), log.clone()).unwrap());
    for value in 0..300 {
        let effect = app.provide(FOO, Arc::new(value)).unwrap();
        if value % 3 == 0 {
            assert_eq!(states(&app, fibers.each_ref()).await, [A; 3]);
            assert!(log.take().ends_with(&[value.to_string(), value.to_string(), value.to_string()]));
        }
        assert!(effect.dispose().await.is_clean());
        assert!(fibers.iter().all(|fiber| fiber.error().is_none()));
    }
    assert_eq!(states(&app, fibers.each_ref()).await, [P; 3]);
}
