//! Needs: what is declared is what arrives.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_services;

use cordis::{App, BoxError, Context, Fiber, Handle, Key, State, define, keys};
use std::sync::Arc;
use support_services::{FOO, Log, on_both_flavours, states};
use tokio::sync::Semaphore;

const BAR: Key<u32> = Key::new("bar");
const K1: Key<u8> = Key::new("k1");
const K2: Key<u16> = Key::new("k2");
const K3: Key<u32> = Key::new("k3");
const K4: Key<u64> = Key::new("k4");
const K5: Key<str> = Key::new("k5");
const K6: Key<dyn Fn() -> u32 + Send + Sync> = Key::new("k6");
const K7: Key<i8> = Key::new("k7");
const K8: Key<i16> = Key::new("k8");
const P: State = State::Pending;
const A: State = State::Active;

type Eight = (
    Handle<u8>,
    Option<Handle<u16>>,
    Handle<u32>,
    Option<Handle<u64>>,
    Handle<str>,
    Handle<dyn Fn() -> u32 + Send + Sync>,
    Handle<i8>,
    Option<Handle<i16>>,
);

async fn eight(_: &Context, needs: Eight, log: &Log) -> Result<(), BoxError> {
    let (k1, k2, k3, k4, k5, k6, k7, k8) = needs;
    let (k2, k4) =
        (k2.map(|k| k.get().map(|v| *v)).transpose()?, k4.map(|k| k.get().map(|v| *v)).transpose()?);
    let k8 = k8.map(|k| k.get().map(|v| *v)).transpose()?;
    log.add(format!(
        "{} {k2:?} {} {k4:?} {} {} {} {k8:?}",
        *k1.get()?,
        *k3.get()?,
        &*k5.get()?,
        k6.get()?(),
        *k7.get()?
    ));
    Ok(())
}

async fn two(_: &Context, (service, bar): (Handle<u32>, Handle<u32>), log: &Log) -> Result<(), BoxError> {
    log.add(format!("loads with {} and {}, same {}", *service.get()?, *bar.get()?, service.is_same(&bar)));
    Ok(())
}

on_both_flavours! {
    // spec: cordis-core/C42
    #[test]
    async fn up_to_eight_needs_arrive_in_the_order_and_with_the_types_of_their_declaration() {
        let app = App::new().unwrap();
        let log = Log::default();
        let needs = (K1, K2.optional(), K3, K4.optional(), K5, K6, K7, K8.optional());
        let fiber = app.plugin(define("eight").needs(needs).run(eight), log.clone()).unwrap();
        let declared = app.inspect().fiber.effects[0].fiber.clone().unwrap();
        let declared: Vec<_> =
            declared.needs.iter().map(|need| (need.service.as_str(), need.optional)).collect();
        let expected: Vec<_> = ["k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8"]
            .into_iter()
            .zip([false, true, false, true, false, false, false, true])
            .collect();
        assert_eq!(declared, expected);

        app.provide(K7, Arc::new(7)).unwrap();
        app.provide(K6, Arc::new(|| 6)).unwrap();
        app.provide(K5, "five".into()).unwrap();
        app.provide(K4, Arc::new(4)).unwrap();
        app.provide(K1, Arc::new(1)).unwrap();
        assert_eq!(states(&app, [&fiber]).await, [P]);
        app.provide(K3, Arc::new(3)).unwrap();
        assert_eq!(states(&app, [&fiber]).await, [A]);
        app.provide(K2, Arc::new(2)).unwrap();
        assert_eq!(states(&app, [&fiber]).await, [A]);
        assert_eq!(log.take(), ["1 None 3 Some(4) five 6 7 None", "1 Some(2) 3 Some(4) five 6 7 None"]);
    }

    // spec: cordis-core/C42
    #[test]
    async fn no_need_one_need_and_a_tuple_of_one_arrive_as_declared() {
        async fn bare(_: &Context, service: Handle<u32>, log: &Log) -> Result<(), BoxError> {
            log.add(format!("bare {}", *service.get()?));
            Ok(())
        }
        async fn tuple(_: &Context, (service,): (Handle<u32>,), log: &Log) -> Result<(), BoxError> {
            log.add(format!("tuple {}", *service.get()?));
            Ok(())
        }
        async fn none(_: &Context, (): (), log: &Log) -> Result<(), BoxError> {
            log.add("none");
            Ok(())
        }
        let app = App::new().unwrap();
        let log = Log::default();
        app.provide(FOO, Arc::new(1)).unwrap();
        app.plugin(define("a").needs(FOO).run(bare), log.clone()).unwrap();
        app.plugin(define("b").needs((FOO,)).run(tuple), log.clone()).unwrap();
        app.plugin(define("c").needs(()).run(none), log.clone()).unwrap();
        app.plugin(define("d").run(none), log.clone()).unwrap();
        app.quiet().await;
        let mut lines = log.take();
        lines.sort();
        assert_eq!(lines, ["bare 1", "none", "none", "tuple 1"]);
    }

    // spec: cordis-core/C42
    #[test]
    async fn a_need_declared_twice_is_one_need_that_arrives_twice() {
        async fn both(
            _: &Context,
            (service, again): (Handle<u32>, Option<Handle<u32>>),
            log: &Log,
        ) -> Result<(), BoxError> {
            log.add(format!("optional too {}", again.is_some_and(|again| again.is_same(&service))));
            Ok(())
        }
        let app = App::new().unwrap();
        let log = Log::default();
        let fiber = app.plugin(define("twice").needs((FOO, FOO)).run(two), log.clone()).unwrap();
        let other = app.plugin(define("twice").needs((FOO, FOO.optional())).run(both), log.clone()).unwrap();
        for value in [1, 2] {
            let effect = app.provide(FOO, Arc::new(value)).unwrap();
            assert_eq!(states(&app, [&fiber, &other]).await, [A, A]);
            let mut lines = log.take();
            lines.sort();
            assert_eq!(
                lines,
                [format!("loads with {value} and {value}, same true"), "optional too true".to_owned()]
            );
            assert!(effect.dispose().await.is_clean());
            assert_eq!(states(&app, [&fiber, &other]).await, [P, P]);
        }
        assert!(fiber.dispose().await.is_clean());
        app.provide(FOO, Arc::new(3)).unwrap();
        assert_eq!(states(&app, [&fiber, &other]).await, [State::Disposed, A]);
        assert_eq!(log.take(), ["optional too true"]);
    }

    // spec: cordis-core/C27
    #[test]
    async fn a_provider_that_needs_its_own_service_waits_for_itself() {
        async fn apply(ctx: &Context, _: Handle<u32>, log: &Log) -> Result<(), BoxError> {
            log.add("loads");
            ctx.provide(FOO, Arc::new(1))?;
            Ok(())
        }
        let app = App::new().unwrap();
        let log = Log::default();
        let fiber = app.plugin(define("own").needs(FOO).provides(FOO).run(apply), log.clone()).unwrap();
        assert_eq!(fiber.ready().await.unwrap(), P);
        assert_eq!(log.take(), [""; 0]);
        let unmet: Vec<String> = app.check().iter().map(ToString::to_string).collect();
        assert_eq!(unmet, ["`own#1` waits for service `foo`: it would provide it itself and so waits for itself; another plugin has to provide it"]);
        assert!(fiber.dispose().await.is_clean());
    }

    // spec: cordis-core/C27, design/P5
    #[test]
    async fn plugins_that_need_each_other_wait_and_the_app_says_for_what() {
        async fn apply(ctx: &Context, _: Handle<u32>, provides: &Key<u32>) -> Result<(), BoxError> {
            ctx.provide(*provides, Arc::new(1))?;
            Ok(())
        }
        let app = App::new().unwrap();
        let one = app.plugin(define("one").needs(FOO).run(apply), BAR).unwrap();
        let other = app.plugin(define("other").needs(BAR).run(apply), FOO).unwrap();
        assert_eq!(states(&app, [&one, &other]).await, [P, P]);
        let unmet: Vec<_> = app.check().into_iter().map(|unmet| (unmet.plugin, unmet.service)).collect();
        assert_eq!(unmet, [("one#1".to_owned(), "foo".to_owned()), ("other#2".to_owned(), "bar".to_owned())]);
        // Somebody else breaks the circle.
        let effect = app.isolate(BAR).provide(FOO, Arc::new(2)).unwrap();
        assert_eq!(states(&app, [&one, &other]).await, [A, State::Failed]);
        effect.dispose().await;
        assert_eq!(states(&app, [&one, &other]).await[0], P);
    }

    // spec: design/P1
    #[test]
    async fn a_plugin_that_provides_for_itself_what_it_may_lack_comes_to_rest() {
        // What it provides through the root is an optional need of it, and arrives during its own load.
        async fn apply(ctx: &Context, bar: Option<Handle<u32>>, log: &Log) -> Result<(), BoxError> {
            log.add(format!("loads with {}", bar.is_some()));
            if bar.is_none() && ctx.peek(FOO).is_none() {
                ctx.root().provide(FOO, Arc::new(1))?;
            }
            Ok(())
        }
        let app = App::new().unwrap();
        let log = Log::default();
        let fiber = app.plugin(define("own").needs(FOO.optional()).run(apply), log.clone()).unwrap();
        assert_eq!(states(&app, [&fiber]).await, [A]);
        assert_eq!(log.take(), ["loads with false", "loads with true"]);
    }

    // spec: cordis-core/C33
    #[test]
    async fn all_needs_must_be_there_at_once() {
        let app = App::new().unwrap();
        let log = Log::default();
        let fiber = app.plugin(define("two").needs((FOO, BAR)).run(two), log.clone()).unwrap();
        let service = app.provide(FOO, Arc::new(1)).unwrap();
        assert_eq!(states(&app, [&fiber]).await, [P]);
        service.dispose().await;
        app.provide(BAR, Arc::new(2)).unwrap();
        assert_eq!(states(&app, [&fiber]).await, [P]);
        // The absence in between was of no interest: only what is there now counts.
        app.provide(FOO, Arc::new(3)).unwrap();
        assert_eq!(states(&app, [&fiber]).await, [A]);
        assert_eq!(log.take(), ["loads with 3 and 2, same false"]);
        let needs: Vec<String> = app
            .inspect()
            .to_string()
            .lines()
            .filter(|line| line.contains("two#1"))
            .map(|line| line.trim().to_owned())
            .collect();
        assert_eq!(needs, ["two#1 active, needs foo of root, needs bar of root"]);
    }

    // spec: cordis-core/C44
    #[test]
    async fn a_part_of_a_plugin_that_needs_more_than_the_rest_is_a_plugin_of_its_own() {
        async fn outer(ctx: &Context, (): (), log: &Log) -> Result<(), BoxError> {
            ctx.plugin(
                define("part").needs(FOO).run(async |_: &Context, service: Handle<u32>, log: &Log| {
                    log.add(format!("part loads with {}", *service.get()?));
                    Ok(())
                }),
                log.clone(),
            )?;
            log.add("outer loads");
            Ok(())
        }
        let app = App::new().unwrap();
        let log = Log::default();
        let make = || define("outer").run(outer);
        let fibers: [Fiber; 2] = [(); 2].map(|()| app.plugin(make(), log.clone()).unwrap());
        assert_eq!(states(&app, fibers.each_ref()).await, [A, A]);
        assert_eq!(log.take(), ["outer loads", "outer loads"]);
        app.provide(FOO, Arc::new(1)).unwrap();
        app.quiet().await;
        assert_eq!(log.take(), ["part loads with 1", "part loads with 1"]);
        let registry = app.registry();
        let mounted: Vec<_> = registry
            .plugins()
            .iter()
            .map(|runtime| (runtime.plugin.name().to_owned(), runtime.fibers.len()))
            .collect();
        assert_eq!(mounted, [("outer".to_owned(), 2), ("part".to_owned(), 2)]);
        fibers[0].dispose().await;
        assert_eq!(registry.plugins().iter().map(|runtime| runtime.fibers.len()).collect::<Vec<_>>(), [1, 1]);
    }

    // spec: cordis-core/C45
    #[test]
    async fn an_observer_of_a_plugins_creation_may_add_needs_that_count_from_the_start() {
        async fn apply(_: &Context, (): (), log: &Log) -> Result<(), BoxError> {
            log.add("loads");
            Ok(())
        }
        let app = App::new().unwrap();
        let log = Log::default();
        let told = log.clone();
        app.on(keys::FIBER_CREATED)
            .run(move |fiber| {
                if fiber.name() == "p" {
                    told.add(format!(
                        "{:?} {} {}",
                        fiber.state(),
                        fiber.also_needs(FOO),
                        fiber.also_needs(Key::<i8>::new("foo"))
                    ));
                }
                Ok(())
            })
            .unwrap();
        let fiber = app.plugin(define("p").run(apply), log.clone()).unwrap();
        assert_eq!(states(&app, [&fiber]).await, [P]);
        assert!(!fiber.also_needs(BAR), "too late");
        assert_eq!(log.take(), ["Pending true false"]);
        let effect = app.provide(FOO, Arc::new(1)).unwrap();
        assert_eq!(states(&app, [&fiber]).await, [A]);
        effect.dispose().await;
        assert_eq!(states(&app, [&fiber]).await, [P]);
        assert_eq!(log.take(), ["loads"]);
        assert!(!app.root().fiber().also_needs(BAR));
    }

    // spec: cordis-core/C31
    #[test]
    async fn a_plugin_below_another_finds_what_its_ancestors_the_root_and_its_siblings_provide() {
        async fn inner(ctx: &Context, (): (), log: &Log) -> Result<(), BoxError> {
            let found = [FOO, BAR, K3].map(|key| ctx.get(key).map(|handle| *handle.get().unwrap()));
            log.add(format!("{found:?}"));
            Ok(())
        }
        async fn outer(ctx: &Context, (): (), (log, go): &(Log, Arc<Semaphore>)) -> Result<(), BoxError> {
            ctx.provide(FOO, Arc::new(1))?;
            let (ctx, log, go) = (ctx.clone(), log.clone(), go.clone());
            ctx.clone().spawn("later", async move {
                go.acquire().await.unwrap().forget();
                ctx.plugin(define("inner").run(inner), log.clone()).unwrap();
            })?;
            Ok(())
        }
        let app = App::new().unwrap();
        let (log, go) = (Log::default(), Arc::new(Semaphore::new(0)));
        app.provide(BAR, Arc::new(2)).unwrap();
        let outer = app.plugin(define("outer").run(outer), (log.clone(), go.clone())).unwrap();
        let sibling = app
            .plugin(
                define("sibling").run(async |ctx: &Context, (): (), (): &()| {
                    ctx.provide(K3, Arc::new(3))?;
                    Ok(())
                }),
                (),
            )
            .unwrap();
        assert_eq!(states(&app, [&outer, &sibling]).await, [A, A]);
        go.add_permits(1);
        let mut lines = Vec::new();
        while lines.is_empty() {
            tokio::task::yield_now().await;
            lines = log.take();
        }
        assert_eq!(lines, ["[Some(1), Some(2), Some(3)]"]);
    }
}
