//! Providing: who may, who wins, who is told, and when a service counts.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_errors;
mod support_services;

use cordis::{
    App, BoxError, Context, Fiber, Handle, Key, MountError, ProvideError, State, define, keys,
    testing::Recorder,
};
use std::{
    sync::{Arc, Barrier},
    thread,
};
use support_errors::with_causes;
use support_services::{FOO, Log, consumer, on_both_flavours, provider, states};
use tokio::sync::Semaphore;

const BAR: Key<u32> = Key::new("bar");
/// `foo` as somebody else imagines it.
const WRONG: Key<String> = Key::new("foo");

fn value(ctx: &Context, key: Key<u32>) -> Option<u32> {
    ctx.get(key).map(|handle| *handle.get().unwrap())
}

/// Provides, then waits to be let go.
async fn slow(ctx: &Context, (): (), (log, go): &(Log, Arc<Semaphore>)) -> Result<(), BoxError> {
    ctx.provide(FOO, Arc::new(1))?;
    log.add(format!("get {:?}", value(ctx, FOO)));
    log.add(format!("peek {:?}", ctx.peek(FOO).map(|service| *service.get().unwrap())));
    drop(go.acquire().await?);
    Ok(())
}

on_both_flavours! {
    // spec: cordis-core/C17
    #[test]
    async fn a_service_is_an_effect_of_the_plugin_that_provides_it_and_a_second_owner_is_refused_by_name() {
        let app = App::new().unwrap();
        let first = provider(&app, "first", 1);
        first.ready().await.unwrap();
        assert_eq!(first.context().inspect().fiber.effects[0].label, r#"ctx.provide("foo")"#);
        assert_eq!(first.context().inspect().fiber.provides, ["foo"]);

        let second = provider(&app, "second", 2);
        let error = second.ready().await.unwrap_err();
        assert_eq!(
            with_causes(&error),
            "plugin `second#2` failed: service `foo` is already provided by `first#1`: \
             `second#2` can provide it in a context isolated for it"
        );
        let cause = second.error().unwrap();
        assert!(matches!(
            cause.downcast_ref::<ProvideError>(),
            Some(ProvideError::Taken { service: "foo", owner, plugin })
                if owner == "first#1" && plugin == "second#2"
        ));
        assert_eq!(second.state(), State::Failed);
        assert_eq!(value(&app, FOO), Some(1));
        assert_eq!(app.provide(FOO, Arc::new(3)).unwrap_err().to_string().matches("`first#1`").count(), 1);
    }

    // spec: cordis-core/C17
    #[test]
    async fn a_plugin_provides_a_service_once() {
        let app = App::new().unwrap();
        let effect = app.provide(FOO, Arc::new(1)).unwrap();
        let refused = app.provide(FOO, Arc::new(2)).unwrap_err();
        assert!(matches!(refused, ProvideError::Taken { owner, .. } if owner == "root"));
        assert_eq!(value(&app, FOO), Some(1));
        assert!(effect.is_live());
    }

    // spec: cordis-core/C17, cordis-core/C23
    #[test]
    async fn an_active_plugin_tells_its_dependants_at_once_and_a_loading_one_when_it_is_active() {
        let app = App::new().unwrap();
        let (log, go) = (Log::default(), Arc::new(Semaphore::new(0)));
        let needs = consumer(&app, "needs", &log);
        let slow = app.plugin(define("slow").run(slow), (log.clone(), go.clone())).unwrap();
        slow.until(State::Loading).await;
        let mut lines = Vec::new();
        while lines.len() < 2 {
            lines.extend(log.take());
            tokio::task::yield_now().await;
        }
        needs.ready().await.unwrap();
        assert_eq!((needs.state(), slow.state()), (State::Pending, State::Loading));
        assert_eq!(value(&app, FOO), None);
        assert_eq!(app.peek(FOO).map(|service| *service.get().unwrap()), Some(1));
        let unmet: Vec<String> = app.check().iter().map(ToString::to_string).collect();
        assert_eq!(unmet, ["`needs#1` waits for service `foo`: its provider `slow#2` is loading"]);

        go.add_permits(1);
        slow.until(State::Active).await;
        needs.until(State::Active).await;
        assert_eq!(log.take(), ["needs loads with 1"]);
        assert_eq!(value(&app, FOO), Some(1));

        // Now that it is active, what it provides counts at once.
        let bar = slow.context().provide(BAR, Arc::new(2)).unwrap();
        assert_eq!(value(&app, BAR), Some(2));
        bar.dispose().await;
        assert_eq!(value(&app, BAR), None);
    }

    // spec: cordis-core/C20
    #[test]
    async fn get_finds_what_is_active_and_peek_what_is_there() {
        let app = App::new().unwrap();
        let (log, go) = (Log::default(), Arc::new(Semaphore::new(0)));
        assert!(app.get(Key::<u32>::new("nobody knows it")).is_none());
        assert!(app.peek(Key::<u32>::new("nobody knows it")).is_none());
        let slow = app.plugin(define("slow").run(slow), (log.clone(), go.clone())).unwrap();
        slow.until(State::Loading).await;
        let mut lines = Vec::new();
        while lines.len() < 2 {
            lines.extend(log.take());
            tokio::task::yield_now().await;
        }
        assert_eq!(lines, ["get None", "peek Some(1)"]);
        assert!(app.get(WRONG).is_none());
        assert!(app.peek(WRONG).is_none());
        assert_eq!(value(&app, FOO), None);
        go.add_permits(1);
        slow.ready().await.unwrap();
        // No need has to be declared for it.
        assert_eq!(value(&app, FOO), Some(1));
        assert!(app.get(WRONG).is_none());
    }

    // spec: cordis-core/C22
    #[test]
    async fn one_plugin_provides_several_services_and_another_takes_over_a_name_that_is_free_again() {
        async fn two(ctx: &Context, (): (), (): &()) -> Result<(), BoxError> {
            ctx.provide(FOO, Arc::new(1))?;
            ctx.provide(BAR, Arc::new(2))?;
            Ok(())
        }
        let app = App::new().unwrap();
        let log = Log::default();
        let needs = consumer(&app, "needs", &log);
        let both = app.plugin(define("two").run(two), ()).unwrap();
        assert_eq!(states(&app, [&both, &needs]).await, [State::Active, State::Active]);
        assert_eq!((value(&app, FOO), value(&app, BAR)), (Some(1), Some(2)));
        both.dispose().await;
        let next = provider(&app, "next", 3);
        assert_eq!(states(&app, [&next, &needs]).await, [State::Active, State::Active]);
        assert_eq!((value(&app, FOO), value(&app, BAR)), (Some(3), None));
        assert_eq!(log.take(), ["needs loads with 1", "needs unloads with Some(1)", "needs loads with 3"]);
    }

    // spec: cordis-core/C25
    #[test]
    async fn each_change_of_a_service_is_told_when_it_counts_when_it_is_about_to_go_and_when_it_is_gone() {
        let app = App::new().unwrap();
        let told = Recorder::of(&app, keys::SERVICE, |change| {
            (change.service, change.present, change.available, change.provider.clone())
        })
        .unwrap();
        let provider = provider(&app, "provider", 1);
        provider.ready().await.unwrap();
        let by = |present, available, who: &str| ("foo", present, available, who.to_owned());
        assert_eq!(told.take(), [by(true, true, "provider#1")]);
        provider.dispose().await;
        assert_eq!(told.take(), [by(true, false, "provider#1"), by(false, false, "provider#1")]);
        let effect = app.provide(FOO, Arc::new(2)).unwrap();
        assert_eq!(told.take(), [by(true, true, "root")]);
        effect.dispose().await;
        assert_eq!(told.take(), [by(true, false, "root"), by(false, false, "root")]);
    }

    // spec: design/P5
    #[test]
    async fn a_key_of_the_same_name_with_another_type_is_refused_and_finds_nothing() {
        let app = App::new().unwrap();
        app.provide(FOO, Arc::new(1)).unwrap();
        assert_eq!(
            app.provide(WRONG, Arc::new("one".into())).unwrap_err().to_string(),
            "service key `foo` is in use with another type: \
             import its constant instead of declaring a second one"
        );
        let needs = define("needs").needs(WRONG).run(async |_: &Context, _: Handle<String>, (): &()| Ok(()));
        let refused = app.plugin(needs, ()).unwrap_err();
        assert!(
            matches!(&refused, MountError::KeyConflict { service: "foo", plugin } if plugin == "needs"),
            "{refused}"
        );
        assert!(refused.to_string().contains("import its constant"), "{refused}");
        app.notify(WRONG);
        assert_eq!(value(&app, FOO), Some(1));
        assert_eq!(app.inspect().to_string(), "root active\n  ctx.provide(\"foo\")\n");
    }

    // spec: design/P5
    #[test]
    async fn a_plugin_that_declares_what_it_provides_may_provide_nothing_else() {
        async fn apply(ctx: &Context, (): (), log: &Log) -> Result<(), BoxError> {
            ctx.provide(FOO, Arc::new(1))?;
            log.add("foo");
            ctx.provide(BAR, Arc::new(2))?;
            log.add("bar");
            Ok(())
        }
        let app = App::new().unwrap();
        let log = Log::default();
        let fiber = app.plugin(define("p").provides(FOO).run(apply), log.clone()).unwrap();
        assert_eq!(
            with_causes(&fiber.ready().await.unwrap_err()),
            "plugin `p#1` failed: `p#1` did not declare that it provides `bar`: \
             add `.provides(..)` to its definition"
        );
        assert_eq!(log.take(), ["foo"]);
        assert_eq!((value(&app, FOO), value(&app, BAR)), (None, None));
        let both = define("p").provides(FOO).provides(BAR).run(apply);
        assert_eq!(app.plugin(both, log.clone()).unwrap().ready().await.unwrap(), State::Active);
        assert_eq!((value(&app, FOO), value(&app, BAR)), (Some(1), Some(2)));
    }

    // spec: design/P3
    #[test]
    async fn observers_of_a_service_may_provide_and_withdraw_others() {
        let app = App::new().unwrap();
        let log = Log::default();
        let needs = consumer(&app, "needs", &log);
        let bar = app.provide(BAR, Arc::new(1)).unwrap();
        app.on(keys::SERVICE)
            .with((app.root(), bar))
            .run(|(ctx, bar), change| {
                if change.service == "bar" && !change.present {
                    ctx.provide(FOO, Arc::new(5)).unwrap();
                } else if change.service == "trigger" {
                    bar.cancel();
                }
            })
            .unwrap();
        app.provide(Key::<u32>::new("trigger"), Arc::new(0)).unwrap();
        assert_eq!(value(&app, BAR), None);
        assert_eq!(states(&app, [&needs]).await, [State::Active]);
        assert_eq!(log.take(), ["needs loads with 5"]);
    }
}

// spec: cordis-core/C24
#[tokio::test(start_paused = true)]
async fn a_change_reaches_only_plugins_that_need_the_service_in_that_realm_in_the_order_of_mounting() {
    let app = App::new().unwrap();
    let log = Log::default();
    let isolated = app.isolate(FOO);
    let names = ["a", "b", "c"];
    let here = names.map(|name| consumer(&app, name, &log));
    let there = consumer(&isolated, "there", &log);
    let other = app.plugin(
        define("other").needs(BAR).run(async |_: &Context, _: Handle<u32>, log: &Log| {
            log.add("other loads");
            Ok(())
        }),
        log.clone(),
    );
    app.quiet().await;
    app.provide(FOO, Arc::new(1)).unwrap();
    app.quiet().await;
    assert_eq!(log.take(), names.map(|name| format!("{name} loads with 1")));
    assert_eq!(here.each_ref().map(Fiber::state), [State::Active; 3]);
    assert_eq!((there.state(), other.unwrap().state()), (State::Pending, State::Pending));
}

// spec: cordis-core/C17, design/P5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_ten_providers_that_race_on_two_threads_exactly_one_wins_and_the_others_name_it() {
    for round in 0..200 {
        let app = App::new().unwrap();
        let start = Barrier::new(2);
        let mount = |half: u32| {
            start.wait();
            (0..5).map(|i| provider(&app, "racer", half * 5 + i)).collect::<Vec<_>>()
        };
        let runtime = tokio::runtime::Handle::current();
        let fibers: Vec<Fiber> = thread::scope(|scope| {
            let other = scope.spawn(|| {
                let _entered = runtime.enter();
                mount(1)
            });
            let mut fibers = mount(0);
            fibers.extend(other.join().unwrap());
            fibers
        });
        support_services::within(app.quiet()).await;
        let (won, lost): (Vec<_>, Vec<_>) = fibers.iter().partition(|fiber| fiber.state() == State::Active);
        assert_eq!((won.len(), lost.len()), (1, 9), "round {round}: {}", app.inspect());
        let winner = format!("racer#{}", won[0].uid());
        for fiber in lost {
            assert_eq!(fiber.state(), State::Failed);
            let error = fiber.error().unwrap();
            assert!(matches!(
                error.downcast_ref::<ProvideError>(),
                Some(ProvideError::Taken { owner, plugin, .. })
                    if *owner == winner && *plugin == format!("racer#{}", fiber.uid())
            ));
        }
        assert!(app.get(FOO).is_some());
        assert!(app.shutdown().await.is_clean());
    }
}

// spec: design/P3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn providing_and_removing_on_two_threads_leaves_one_provider_or_none() {
    let app = App::new().unwrap();
    let log = Log::default();
    let needs = consumer(&app, "needs", &log);
    let runtime = tokio::runtime::Handle::current();
    let provided = |mine: u32| {
        let _entered = runtime.enter();
        let mut won = 0;
        for _ in 0..2_000 {
            match app.provide(FOO, Arc::new(mine)) {
                Ok(effect) => {
                    won += 1;
                    let there = app.get(FOO).map(|service| *service.get().unwrap());
                    assert_eq!(there, Some(mine), "what was just provided is not there");
                    runtime.block_on(effect.dispose());
                }
                Err(ProvideError::Taken { owner, .. }) => assert_eq!(owner, "root"),
                Err(other) => panic!("{other}"),
            }
        }
        won
    };
    let won = thread::scope(|scope| {
        let threads = [1, 2].map(|mine| scope.spawn(move || (provided)(mine)));
        threads.map(|thread| thread.join().unwrap())
    });
    assert!(won.iter().sum::<u32>() > 0, "{won:?}");
    assert_eq!(states(&app, [&needs]).await, [State::Pending]);
    let lines = log.take();
    for pair in lines.chunks(2) {
        let [load, unload] = pair else { panic!("{pair:?}") };
        let value = load.strip_prefix("needs loads with ").unwrap();
        assert_eq!(*unload, format!("needs unloads with Some({value})"));
    }
}
