//! Realms: which providers and consumers of one service meet.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_services;

use cordis::{App, BoxError, Context, Key, ProvideError, Realm, State, define};
use std::sync::Arc;
use support_services::{FOO, Log, consumer, on_both_flavours, provider, states};

const BAR: Key<u32> = Key::new("bar");

const P: State = State::Pending;
const A: State = State::Active;

fn value(ctx: &Context, key: Key<u32>) -> Option<u32> {
    ctx.get(key).map(|handle| *handle.get().unwrap())
}

on_both_flavours! {
    // spec: cordis-core/C9
    #[test]
    async fn each_isolation_is_a_realm_of_its_own_unless_one_is_given() {
        let app = App::new().unwrap();
        app.provide(FOO, Arc::new(0)).unwrap();
        app.provide(BAR, Arc::new(9)).unwrap();
        let realm = Realm::new();
        let own = [app.isolate(FOO), app.isolate(FOO)];
        let shared = [app.isolate_with(FOO, &realm), app.isolate_with(FOO, &realm.clone())];
        own[0].provide(FOO, Arc::new(1)).unwrap();
        own[1].provide(FOO, Arc::new(2)).unwrap();
        shared[0].provide(FOO, Arc::new(3)).unwrap();
        let refused = shared[1].provide(FOO, Arc::new(4)).unwrap_err();
        assert!(matches!(refused, ProvideError::Taken { service: "foo", .. }), "{refused}");

        let seen =
            [&app, &own[0], &own[1], &shared[0], &shared[1]].map(|ctx| (value(ctx, FOO), value(ctx, BAR)));
        assert_eq!(seen, [0, 1, 2, 3, 3].map(|service| (Some(service), Some(9))));
        assert_ne!(realm, Realm::new());
        assert_eq!(realm, realm.clone());
    }

    // spec: cordis-core/C9
    #[test]
    async fn one_realm_holds_services_of_different_names_and_the_nearest_isolation_counts() {
        let app = App::new().unwrap();
        let realm = Realm::new();
        let both = app.isolate_with(FOO, &realm).isolate_with(BAR, &realm);
        both.provide(FOO, Arc::new(1)).unwrap();
        both.provide(BAR, Arc::new(2)).unwrap();
        assert_eq!((value(&both, FOO), value(&both, BAR)), (Some(1), Some(2)));
        assert_eq!((value(&app, FOO), value(&app, BAR)), (None, None));
        assert_eq!(value(&app.isolate_with(BAR, &realm), BAR), Some(2));
        let again = both.isolate(FOO);
        assert_eq!((value(&again, FOO), value(&again, BAR)), (None, Some(2)));
        assert_eq!(value(&again.isolate_with(FOO, &realm), FOO), Some(1));
    }

    // spec: cordis-core/C10
    #[test]
    async fn what_derives_from_an_isolated_context_and_the_plugins_below_it_are_isolated_too() {
        async fn outer(ctx: &Context, (): (), log: &Log) -> Result<(), BoxError> {
            consumer(ctx, "inner", log);
            Ok(())
        }
        let app = App::new().unwrap();
        let log = Log::default();
        app.provide(FOO, Arc::new(0)).unwrap();
        let isolated = app.isolate(FOO);
        isolated.plugin(define("outer").run(outer), log.clone()).unwrap();
        app.quiet().await;
        assert_eq!(log.take(), [""; 0]);
        isolated.isolate(BAR).provide(FOO, Arc::new(1)).unwrap();
        app.quiet().await;
        assert_eq!(log.take(), ["inner loads with 1"]);
    }

    // spec: cordis-core/C11
    #[test]
    async fn a_consumer_starts_with_the_provider_of_its_own_realm_only() {
        let app = App::new().unwrap();
        let log = Log::default();
        let (ctx1, ctx2) = (app.isolate(FOO), app.isolate(FOO));
        let fibers = [consumer(&app, "c0", &log), consumer(&ctx1, "c1", &log), consumer(&ctx2, "c2", &log)];
        let all = fibers.each_ref();
        assert_eq!(states(&app, all).await, [P, P, P]);

        let at_root = app.provide(FOO, Arc::new(10)).unwrap();
        assert_eq!(states(&app, all).await, [A, P, P]);
        let at_ctx1 = ctx1.provide(FOO, Arc::new(11)).unwrap();
        assert_eq!(states(&app, all).await, [A, A, P]);
        at_root.dispose().await;
        assert_eq!(states(&app, all).await, [P, A, P]);
        let at_ctx2 = ctx2.provide(FOO, Arc::new(12)).unwrap();
        assert_eq!(states(&app, all).await, [P, A, A]);
        at_ctx1.dispose().await;
        assert_eq!(states(&app, all).await, [P, P, A]);
        let _again = app.provide(FOO, Arc::new(13)).unwrap();
        assert_eq!(states(&app, all).await, [A, P, A]);
        at_ctx2.dispose().await;
        assert_eq!(states(&app, all).await, [A, P, P]);
        assert_eq!(
            log.take(),
            [
                "c0 loads with 10",
                "c1 loads with 11",
                "c0 unloads with Some(10)",
                "c2 loads with 12",
                "c1 unloads with Some(11)",
                "c0 loads with 13",
                "c2 unloads with Some(12)",
            ]
        );
    }

    // spec: cordis-core/C12
    #[test]
    async fn a_shared_realm_starts_and_stops_all_its_consumers_with_one_provider() {
        let app = App::new().unwrap();
        let log = Log::default();
        let realm = Realm::new();
        let (ctx1, ctx2) = (app.isolate_with(FOO, &realm), app.isolate_with(FOO, &realm));
        let fibers = [consumer(&app, "c0", &log), consumer(&ctx1, "c1", &log), consumer(&ctx2, "c2", &log)];
        let all = fibers.each_ref();
        assert_eq!(states(&app, all).await, [P, P, P]);

        let at_ctx1 = ctx1.provide(FOO, Arc::new(1)).unwrap();
        assert_eq!(states(&app, all).await, [P, A, A]);
        at_ctx1.dispose().await;
        assert_eq!(states(&app, all).await, [P, P, P]);
        let at_root = app.provide(FOO, Arc::new(2)).unwrap();
        assert_eq!(states(&app, all).await, [A, P, P]);
        let at_ctx2 = ctx2.provide(FOO, Arc::new(3)).unwrap();
        assert_eq!(states(&app, all).await, [A, A, A]);
        let loads = log.take();
        at_ctx2.dispose().await;
        assert_eq!(states(&app, all).await, [A, P, P]);
        at_root.dispose().await;
        assert_eq!(states(&app, all).await, [P, P, P]);
        assert_eq!(loads.iter().filter(|line| line.starts_with("c0")).count(), 1, "{loads:?}");
    }

    // spec: cordis-core/C22
    #[test]
    async fn several_plugins_provide_one_name_in_different_realms() {
        let app = App::new().unwrap();
        let isolated = app.isolate(FOO);
        let (outside, inside) = (provider(&app, "outside", 1), provider(&isolated, "inside", 2));
        assert_eq!(states(&app, [&outside, &inside]).await, [A, A]);
        assert_eq!((value(&app, FOO), value(&isolated, FOO)), (Some(1), Some(2)));
        outside.dispose().await;
        assert_eq!((value(&app, FOO), value(&isolated, FOO)), (None, Some(2)));
    }

    // spec: cordis-core/C31
    #[test]
    async fn an_isolated_view_inside_of_a_plugin_sees_its_own_realm_only() {
        async fn apply(ctx: &Context, (): (), log: &Log) -> Result<(), BoxError> {
            let isolated = ctx.isolate(FOO);
            log.add(format!("{:?} {:?}", value(ctx, FOO), value(&isolated, FOO)));
            isolated.provide(FOO, Arc::new(2))?;
            let own = |ctx: &Context| ctx.peek(FOO).map(|service| *service.get().unwrap());
            log.add(format!("{:?} {:?}", own(ctx), own(&isolated)));
            Ok(())
        }
        let app = App::new().unwrap();
        let log = Log::default();
        app.provide(FOO, Arc::new(1)).unwrap();
        let fiber = app.plugin(define("p").run(apply), log.clone()).unwrap();
        assert_eq!(fiber.ready().await.unwrap(), A);
        assert_eq!(log.take(), ["Some(1) None", "Some(1) Some(2)"]);
    }
}

// spec: cordis-core/C11
#[tokio::test(start_paused = true)]
async fn a_name_may_have_another_type_in_a_realm_of_its_own() {
    const TEXT: Key<str> = Key::new("foo");
    let app = App::new().unwrap();
    app.provide(FOO, Arc::new(1)).unwrap();
    let isolated = app.isolate(FOO);
    isolated.provide(TEXT, "one".into()).unwrap();
    assert_eq!(isolated.get(TEXT).map(|text| text.get().unwrap().to_owned()).as_deref(), Some("one"));
    assert!(isolated.get(FOO).is_none());
    let refused = isolated.provide(FOO, Arc::new(2)).unwrap_err();
    assert!(matches!(refused, ProvideError::KeyConflict { service: "foo" }), "{refused}");
    assert_eq!(value(&app, FOO), Some(1));
}
