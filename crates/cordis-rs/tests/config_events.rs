//! The host's events around configurations: listeners that change, refuse and watch them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_errors;
mod support_services;

use cordis::{
    App, BoxError, Context, Fiber, Plugin, State, UpdateError, define, keys,
    testing::{Recorder, TestApp},
};
use std::sync::Arc;
use support_errors::with_causes;
use support_services::{FOO, Log, on_both_flavours, states};

/// A number and where everybody says what happened.
#[derive(Clone)]
struct Config(u32, Log);

async fn apply(ctx: &Context, (): (), config: &Config) -> Result<(), BoxError> {
    config.1.add(format!("loads with {}", config.0));
    let Config(n, log) = config.clone();
    ctx.effect("farewell", async move || log.add(format!("unloads with {n}")))?;
    Ok(())
}

fn plugin() -> impl Plugin<Config = Config> {
    let check = |config: &Config| if config.0 == 13 { Err("bad luck".into()) } else { Ok(()) };
    define("p").validate(check).run(apply)
}

async fn active(app: &App, log: &Log) -> Fiber {
    let fiber = app.plugin(plugin(), Config(1, log.clone())).unwrap();
    assert_eq!(fiber.ready().await.unwrap(), State::Active);
    assert_eq!(log.take(), ["loads with 1"]);
    fiber
}

fn number(config: &Arc<dyn std::any::Any + Send + Sync>) -> u32 {
    config.downcast_ref::<Config>().unwrap().0
}

/// A listener that says its name before and after the rest.
fn around(ctx: &Context, log: &Log, name: &'static str, global: bool, prepend: bool) {
    let mut on = ctx.on(keys::UPDATE);
    if global {
        on = on.global();
    }
    if prepend {
        on = on.prepend();
    }
    on.with((log.clone(), name))
        .run(async |(log, name), updating, next| {
            log.add(format!("{name} before {}", number(&updating.config)));
            let result = next.run(updating).await;
            log.add(format!("{name} after"));
            result
        })
        .unwrap();
}

on_both_flavours! {
    // spec: cordis-core/C50
    #[test]
    async fn a_listener_gives_an_activation_another_configuration_and_the_given_one_stays_what_it_is() {
        let app = App::new().unwrap();
        let log = Log::default();
        let effect = app
            .on(keys::CONFIG)
            .run(async |configuring, next| {
                let Config(n, log) = configuring.config.downcast_ref::<Config>().unwrap().clone();
                log.add(format!("{} is {} with {n}", configuring.fiber.name(), configuring.fiber.state()));
                configuring.config = Arc::new(Config(n + 100, log));
                next.run(configuring).await
            })
            .unwrap();
        let fiber = app.plugin(plugin(), Config(1, log.clone())).unwrap();
        fiber.ready().await.unwrap();
        fiber.restart().await.unwrap();
        let told = "p is loading with 1";
        assert_eq!(log.take(), [told, "loads with 101", "unloads with 101", told, "loads with 101"]);
        effect.dispose().await;
        fiber.restart().await.unwrap();
        assert_eq!(log.take(), ["unloads with 101", "loads with 1"]);
    }

    // spec: cordis-core/C50
    #[test]
    async fn a_listener_that_gives_another_type_fails_the_fiber_with_a_message() {
        let app = TestApp::new();
        let log = Log::default();
        let effect = app
            .on(keys::CONFIG)
            .run(async |configuring, next| {
                configuring.config = Arc::new("text");
                next.run(configuring).await
            })
            .unwrap();
        let fiber = app.plugin(plugin(), Config(1, log.clone())).unwrap();
        assert_eq!(
            with_causes(&fiber.ready().await.unwrap_err()),
            "plugin `p#1` failed: a listener of `internal/config` gave something else than a \
             `config_events::Config`"
        );
        assert_eq!((fiber.state(), log.take(), app.take_errors().len()), (State::Failed, vec![], 1));
        // The given configuration is not lost.
        effect.dispose().await;
        assert_eq!(fiber.restart().await.unwrap(), State::Active);
        assert_eq!(log.take(), ["loads with 1"]);
    }

    // spec: cordis-core/C50, design/P4
    #[test]
    async fn a_listener_of_the_activation_that_fails_or_panics_fails_that_fiber_only() {
        let app = TestApp::new();
        let log = Log::default();
        app.on(keys::CONFIG)
            .run(async |configuring, next| match configuring.fiber.name() {
                "errs" => Err("refused".into()),
                "panics" => panic!("listener broke"),
                _ => next.run(configuring).await,
            })
            .unwrap();
        let mount = |name: &'static str| app.plugin(define(name).run(apply), Config(1, log.clone())).unwrap();
        let fibers = [mount("errs"), mount("panics"), mount("fine")];
        assert_eq!(states(&app, fibers.each_ref()).await, [State::Failed, State::Failed, State::Active]);
        assert_eq!(log.take(), ["loads with 1"]);
        assert_eq!(fibers[0].error().unwrap().to_string(), "refused");
        assert!(fibers[1].error().unwrap().to_string().contains("listener broke"));
        assert_eq!(app.take_errors().len(), 2);
    }

    // spec: cordis-core/C99
    #[test]
    async fn listeners_of_updates_wrap_the_change_and_see_the_new_configuration() {
        let app = App::new().unwrap();
        let log = Log::default();
        let fiber = active(&app, &log).await;
        around(&app, &log, "global", true, false);
        fiber.update(Config(2, log.clone())).await.unwrap();
        assert_eq!(states(&app, [&fiber]).await, [State::Active]);
        // The reload may begin before the listeners have returned, on another thread.
        let wraps: Vec<_> = log.take().into_iter().filter(|line| line.starts_with("global")).collect();
        assert_eq!(wraps, ["global before 2", "global after"]);
        // Only an active plugin's updates are told.
        app.provide(FOO, Arc::new(1)).unwrap();
        let waits = define("waits").needs(cordis::Key::<u32>::new("absent"));
        let waits = waits.run(async |_: &Context, _: cordis::Handle<u32>, _: &Config| Ok(()));
        let waits = app.plugin(waits, Config(1, log.clone())).unwrap();
        waits.ready().await.unwrap();
        log.take();
        waits.update(Config(2, log.clone())).await.unwrap();
        assert_eq!(log.take(), [""; 0]);
        // Nor is one that the plugin's own check has refused.
        assert!(matches!(fiber.update(Config(13, log.clone())).await, Err(UpdateError::Invalid { .. })));
        assert_eq!(log.take(), [""; 0]);
    }

    // spec: cordis-core/C100
    #[test]
    async fn a_listener_that_does_not_go_on_keeps_the_plugin_running_with_what_it_has() {
        let app = TestApp::new();
        let log = Log::default();
        let fiber = active(&app, &log).await;
        let changes = Recorder::status(&app).unwrap();
        let veto = app.on(keys::UPDATE).global().run(async |_, _| Ok(())).unwrap();
        fiber.update(Config(2, log.clone())).await.unwrap();
        assert_eq!((fiber.state(), log.take(), changes.take()), (State::Active, vec![], vec![]));
        // What was vetoed does not come back with the next activation.
        fiber.restart().await.unwrap();
        assert_eq!(log.take(), ["unloads with 1", "loads with 1"]);
        veto.dispose().await;
        fiber.update(Config(3, log.clone())).await.unwrap();
        assert_eq!(log.take(), ["unloads with 1", "loads with 3"]);
        app.assert_no_errors();
    }

    // spec: cordis-core/C100, design/P4
    #[test]
    async fn a_listener_that_fails_or_panics_refuses_the_update() {
        let app = TestApp::new();
        let log = Log::default();
        let fiber = active(&app, &log).await;
        app.on(keys::UPDATE)
            .global()
            .run(async |updating, next| match number(&updating.config) {
                2 => Err("not two".into()),
                3 => panic!("three"),
                _ => next.run(updating).await,
            })
            .unwrap();
        let refused = fiber.update(Config(2, log.clone())).await.unwrap_err();
        assert_eq!(with_causes(&refused), "the update of `p#1` was refused: not two");
        let refused = fiber.update(Config(3, log.clone())).await.unwrap_err();
        assert!(matches!(refused, UpdateError::Refused { .. }));
        assert_eq!(
            with_causes(&refused),
            "the update of `p#1` was refused: a listener of `internal/update` of plugin `root` \
             panicked: three"
        );
        assert_eq!((fiber.state(), log.take()), (State::Active, vec![]));
        fiber.update(Config(4, log.clone())).await.unwrap();
        assert_eq!(log.take(), ["unloads with 1", "loads with 4"]);
    }

    // spec: cordis-core/C101
    #[test]
    async fn a_listener_of_updates_hears_its_own_fiber_unless_it_is_global() {
        let app = App::new().unwrap();
        let log = Log::default();
        let (one, other) = (active(&app, &log).await, active(&app, &log).await);
        around(&one.context(), &log, "own", false, false);
        around(&one.context(), &log, "all", true, false);
        around(&app, &log, "root's own", false, false);
        let told = |lines: Vec<String>| {
            lines.into_iter().filter(|line| line.contains(" before ")).collect::<Vec<_>>()
        };
        other.update(Config(2, log.clone())).await.unwrap();
        assert_eq!(told(log.take()), ["all before 2"]);
        one.update(Config(3, log.clone())).await.unwrap();
        assert_eq!(states(&app, [&one, &other]).await, [State::Active; 2]);
        assert_eq!(told(log.take()), ["own before 3", "all before 3"]);
        // They were the plugin's, which has been reloaded.
        one.update(Config(4, log.clone())).await.unwrap();
        other.update(Config(5, log.clone())).await.unwrap();
        assert_eq!(told(log.take()), [""; 0]);
    }

    // spec: cordis-core/C101
    #[test]
    async fn a_plugins_hooks_belong_to_one_activation_and_may_go_first() {
        async fn hooked(ctx: &Context, (): (), config: &Config) -> Result<(), BoxError> {
            around(ctx, &config.1, "second", false, false);
            around(ctx, &config.1, "first", false, true);
            Ok(())
        }
        let app = App::new().unwrap();
        let log = Log::default();
        let fiber = app.plugin(define("p").run(hooked), Config(1, log.clone())).unwrap();
        fiber.ready().await.unwrap();
        fiber.restart().await.unwrap();
        fiber.restart().await.unwrap();
        for n in 2..4 {
            fiber.update(Config(n, log.clone())).await.unwrap();
            let wrapped = [format!("first before {n}"), format!("second before {n}")];
            let unwrapped = ["second after", "first after"].map(str::to_owned);
            assert_eq!(log.take(), [wrapped, unwrapped].concat());
        }
    }

    // spec: cordis-core/C101
    #[test]
    async fn global_and_own_listeners_run_in_one_order_of_registration_with_prepended_ones_first() {
        let app = App::new().unwrap();
        let log = Log::default();
        around(&app, &log, "early global", true, false);
        let fiber = active(&app, &log).await;
        around(&fiber.context(), &log, "own", false, false);
        around(&app, &log, "late global", true, false);
        around(&fiber.context(), &log, "own first", false, true);
        around(&app, &log, "first of all", true, true);
        fiber.update(Config(2, log.clone())).await.unwrap();
        let before: Vec<_> = log.take().into_iter().filter(|line| line.contains(" before ")).collect();
        assert_eq!(
            before,
            ["first of all", "own first", "early global", "own", "late global"]
                .map(|name| format!("{name} before 2"))
        );
    }

    // spec: cordis-core/C99
    #[test]
    async fn a_listener_may_give_an_update_another_configuration_of_the_same_type_only() {
        let app = TestApp::new();
        let log = Log::default();
        let fiber = active(&app, &log).await;
        app.on(keys::UPDATE)
            .global()
            .with(log.clone())
            .run(async |log, updating, next| {
                let n = number(&updating.config);
                updating.config =
                    if n == 7 { Arc::new("text") } else { Arc::new(Config(n + 10, log.clone())) };
                next.run(updating).await
            })
            .unwrap();
        fiber.update(Config(2, log.clone())).await.unwrap();
        assert_eq!(states(&app, [&fiber]).await, [State::Active]);
        assert_eq!(log.take(), ["unloads with 1", "loads with 12"]);
        let refused = fiber.update(Config(7, log.clone())).await.expect_err("a text is no configuration");
        let whole = with_causes(&refused);
        assert!(whole.contains("config_events::Config"), "{whole}");
        assert_eq!((states(&app, [&fiber]).await, log.take()), ([State::Active], vec![]));
    }

    // spec: cordis-core/C99, design/P3
    #[test]
    async fn a_listener_of_updates_may_update_the_same_plugin() {
        let app = TestApp::new();
        let log = Log::default();
        let fiber = active(&app, &log).await;
        app.on(keys::UPDATE)
            .global()
            .with(log.clone())
            .run(async |log, updating, next| {
                let n = number(&updating.config);
                if n < 4 {
                    // Instead of this one.
                    let fiber = updating.fiber.clone();
                    fiber.update(Config(n + 1, log.clone())).await?;
                    return Ok(());
                }
                next.run(updating).await
            })
            .unwrap();
        fiber.update(Config(2, log.clone())).await.unwrap();
        assert_eq!(states(&app, [&fiber]).await, [State::Active]);
        assert_eq!(log.take(), ["unloads with 1", "loads with 4"]);
        app.assert_no_errors();
    }

    // spec: cordis-core/C99, design/P3
    #[test]
    async fn a_listener_of_updates_may_dispose_the_plugin_before_it_goes_on() {
        let app = TestApp::new();
        let log = Log::default();
        let fiber = active(&app, &log).await;
        app.on(keys::UPDATE)
            .global()
            .run(async |updating, next| {
                updating.fiber.dispose().await;
                next.run(updating).await
            })
            .unwrap();
        let refused = fiber.update(Config(2, log.clone())).await.unwrap_err();
        let whole = with_causes(&refused);
        assert!(whole.contains("disposed"), "{whole}");
        assert_eq!((fiber.state(), log.take()), (State::Disposed, vec!["unloads with 1".to_owned()]));
    }

    // spec: cordis-core/C101
    #[test]
    async fn the_hooks_of_a_plugin_on_its_own_updates_are_heard_through_every_context_of_it() {
        let app = App::new().unwrap();
        let log = Log::default();
        let fiber = active(&app, &log).await;
        let ctx = fiber.context();
        around(&ctx.isolate(FOO), &log, "isolated", false, false);
        let scope = ctx.scope().unwrap();
        around(scope.context(), &log, "a child's", false, false);
        fiber.update(Config(2, log.clone())).await.unwrap();
        let before: Vec<_> = log.take().into_iter().filter(|line| line.contains(" before ")).collect();
        // A scope is a fiber of its own.
        assert_eq!(before, ["isolated before 2"]);
    }
}
