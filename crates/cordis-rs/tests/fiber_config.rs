//! The configuration of one activation: taken from what was given, each time anew.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends there")]

mod support_errors;
mod support_lifecycle;

use cordis::{App, Context, State, define, keys};
use std::sync::Arc;
use support_errors::with_causes;
use support_lifecycle::{Log, both_flavours, errors, fine, statuses};

type Config = (u32, Log);

async fn body(_: &Context, _: (), (n, log): &Config) -> Result<(), cordis::BoxError> {
    log.add(format!("body {n}"));
    fine()
}

// spec: cordis-core/C50
#[test]
fn each_activation_asks_for_the_configuration_from_what_was_given_and_then_checks_it() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        app.on(keys::CONFIG)
            .with(log.clone())
            .run(async |log, configuring, next| {
                let (n, rest) = configuring.config.downcast_ref::<Config>().expect("its own type");
                log.add(format!("given {n} while {}", configuring.fiber.state()));
                configuring.config = Arc::new((n + 100, rest.clone()));
                next.run(configuring).await
            })
            .unwrap();
        let plugin = define("p").validate(|(n, log): &Config| {
            log.add(format!("checked {n}"));
            Ok(())
        });
        let fiber = app.plugin(plugin.run(body), (1, log.clone())).unwrap();
        fiber.ready().await.unwrap();
        assert_eq!(log.take(), ["given 1 while loading", "checked 101", "body 101"]);
        fiber.restart().await.unwrap();
        assert_eq!(log.take(), ["given 1 while loading", "checked 101", "body 101"]);
    });
}

// spec: cordis-core/C50, cordis-core/C52
#[test]
fn a_configuration_that_is_refused_at_the_activation_fails_the_fiber_and_its_body_does_not_run() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let (failures, told) = (errors(&app), statuses(&app));
        let plugin =
            define("p").validate(|(n, _): &Config| if *n == 0 { Err("0 is too few".into()) } else { Ok(()) });
        let fiber = app.plugin(plugin.run(body), (0, log.clone())).unwrap();
        let error = fiber.ready().await.unwrap_err();
        assert_eq!(with_causes(&error), "plugin `p#1` failed: invalid configuration: 0 is too few");
        assert_eq!((fiber.state(), log.take()), (State::Failed, Vec::new()));
        assert_eq!(failures.take(), ["p#1 body: invalid configuration: 0 is too few"]);
        assert_eq!(told.take(), ["p pending>loading", "p loading>unloading", "p unloading>failed"]);
    });
}

// spec: cordis-core/C50, cordis-core/C52, design/P4
#[test]
fn a_listener_of_the_configuration_that_fails_or_panics_fails_the_fiber() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let refusing = app.on(keys::CONFIG).run(async |_, _| Err("not on my watch".into())).unwrap();
        let fiber = app.plugin(define("p").run(body), (1, log.clone())).unwrap();
        assert_eq!(with_causes(&fiber.ready().await.unwrap_err()), "plugin `p#1` failed: not on my watch");
        refusing.dispose().await;
        let panicking = app.on(keys::CONFIG).run(async |_, _| panic!("listener down")).unwrap();
        let error = with_causes(&fiber.restart().await.unwrap_err());
        assert!(error.contains("listener down"), "{error}");
        panicking.dispose().await;
        assert_eq!(fiber.restart().await.unwrap(), State::Active);
        assert_eq!(log.take(), ["body 1"]);
    });
}

// spec: design/P4
#[test]
fn a_check_of_the_configuration_that_panics_fails_the_fiber_only() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let plugin = define("p").validate(|_: &Config| panic!("check down"));
        let fiber = app.plugin(plugin.run(body), (1, log.clone())).unwrap();
        assert_eq!(
            with_causes(&fiber.ready().await.unwrap_err()),
            "plugin `p#1` failed: panicked: check down"
        );
        let other = app.plugin(define("other").run(body), (2, log.clone())).unwrap();
        assert_eq!(other.ready().await.unwrap(), State::Active);
        assert_eq!(log.take(), ["body 2"]);
    });
}

// spec: cases/L2
#[test]
fn a_body_that_updates_its_own_fiber_and_ends_without_an_await_is_run_again_with_the_new_configuration() {
    both_flavours(async || {
        let (app, log) = (App::new().unwrap(), Log::new());
        let told = statuses(&app);
        let body = async |ctx: &Context, _: (), (n, log): &Config| {
            log.add(format!("body {n}"));
            ctx.effect("undo", log.undo("undo"))?;
            if *n == 1 {
                ctx.fiber().update((2u32, log.clone())).await?;
                log.add("updated");
            }
            fine()
        };
        let fiber = app.plugin(define("p").run(body), (1, log.clone())).unwrap();
        assert_eq!(fiber.ready().await.unwrap(), State::Active);
        assert_eq!(log.take(), ["body 1", "updated", "undo", "body 2"]);
        assert_eq!(
            told.take(),
            ["p pending>loading", "p loading>unloading", "p unloading>loading", "p loading>active"]
        );
    });
}
