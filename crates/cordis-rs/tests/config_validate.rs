//! Configurations: what a plugin's body receives, and what happens to one that its plugin refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_errors;
mod support_services;

use cordis::{
    App, BoxError, Context, FiberError, Handle, Plugin, State, UpdateError, define, keys, testing::TestApp,
};
use std::{borrow::Cow, sync::Arc};
use support_errors::with_causes;
use support_services::{FOO, Log, on_both_flavours, states};

/// A size and where the body says what it got.
#[derive(Clone)]
struct Config {
    size: u32,
    log: Log,
}

async fn apply(ctx: &Context, (): (), config: &Config) -> Result<(), BoxError> {
    config.log.add(format!("loads with {}", config.size));
    let (size, log) = (config.size, config.log.clone());
    ctx.effect("farewell", async move || log.add(format!("unloads with {size}")))?;
    Ok(())
}

/// Refuses 13 and panics at 666.
fn check(config: &Config) -> Result<(), BoxError> {
    config.log.add(format!("checks {}", config.size));
    match config.size {
        13 => Err("size (at size): 13 brings bad luck".into()),
        666 => panic!("the beast"),
        _ => Ok(()),
    }
}

fn checked() -> impl Plugin<Config = Config> {
    define("checked").validate(check).run(apply)
}

/// A plugin in its long form.
struct Long;

impl Plugin for Long {
    type Config = Config;
    type Needs = cordis::Optional<u32>;

    fn name(&self) -> Cow<'static, str> {
        "long".into()
    }

    fn needs(&self) -> Self::Needs {
        FOO.optional()
    }

    fn provides(&self) -> &[&'static str] {
        &["bar"]
    }

    fn validate(&self, config: &Config) -> Result<(), BoxError> {
        check(config)
    }

    async fn apply(
        &self,
        ctx: &Context,
        service: Option<Handle<u32>>,
        config: &Config,
    ) -> Result<(), BoxError> {
        assert!(ctx.provide(FOO, Arc::new(1)).is_err());
        config.log.add(format!("loads with {} and {}", config.size, service.is_some()));
        Ok(())
    }
}

on_both_flavours! {
    // spec: cordis-core/C97
    #[test]
    async fn a_plugin_without_a_check_receives_its_configuration_as_it_is() {
        async fn own(_: &Context, (): (), config: &(Arc<()>, Log)) -> Result<(), BoxError> {
            config.1.add(format!("{:p}", Arc::as_ptr(&config.0)));
            Ok(())
        }
        let app = App::new().unwrap();
        let (it, log) = (Arc::new(()), Log::default());
        let fiber = app.plugin(define("p").run(own), (it.clone(), log.clone())).unwrap();
        fiber.ready().await.unwrap();
        assert_eq!(log.take(), [format!("{:p}", Arc::as_ptr(&it))]);
        assert!(fiber.dispose().await.is_clean());
        assert_eq!(Arc::strong_count(&it), 1, "the configuration goes with the plugin");
    }

    // spec: cordis-core/C97
    #[test]
    async fn a_configuration_is_checked_before_each_activation() {
        let app = App::new().unwrap();
        let log = Log::default();
        let fiber = app.plugin(checked(), Config { size: 1, log: log.clone() }).unwrap();
        fiber.ready().await.unwrap();
        fiber.restart().await.unwrap();
        assert_eq!(log.take(), ["checks 1", "loads with 1", "unloads with 1", "checks 1", "loads with 1"]);
    }

    // spec: cordis-core/C97
    #[test]
    async fn the_long_form_of_a_plugin_is_checked_and_given_its_needs_in_the_same_way() {
        let app = TestApp::new();
        let log = Log::default();
        app.provide(FOO, Arc::new(1)).unwrap();
        let fiber = app.plugin(Long, Config { size: 1, log: log.clone() }).unwrap();
        assert_eq!((fiber.name(), fiber.ready().await.unwrap()), ("long", State::Active));
        let refused = fiber.update(Config { size: 13, log: log.clone() }).await.unwrap_err();
        assert!(matches!(refused, UpdateError::Invalid { .. }), "{refused}");
        assert_eq!(log.take(), ["checks 1", "loads with 1 and true", "checks 13"]);
    }

    // spec: cordis-core/C98
    #[test]
    async fn a_refused_configuration_makes_the_fiber_fail_and_not_the_call_that_mounts_it() {
        let app = TestApp::new();
        let log = Log::default();
        let fiber = app.plugin(checked(), Config { size: 13, log: log.clone() }).unwrap();
        let error = fiber.ready().await.unwrap_err();
        assert_eq!(
            with_causes(&error),
            "plugin `checked#1` failed: invalid configuration: size (at size): 13 brings bad luck"
        );
        assert!(matches!(error, FiberError::Failed { .. }));
        assert_eq!((fiber.state(), log.take()), (State::Failed, vec!["checks 13".to_owned()]));
        let errors: Vec<String> = app.take_errors().iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            ["`body` of `checked#1`: invalid configuration: size (at size): 13 brings bad luck"]
        );
        // The cause is kept after disposal.
        fiber.dispose().await;
        assert!(fiber.ready().await.is_err());
        app.assert_no_errors();
    }

    // spec: cordis-core/C98, design/P4
    #[test]
    async fn a_check_that_panics_at_the_mounting_is_one_failure_of_that_fiber() {
        let app = TestApp::new();
        // One each: plugins that do not depend on each other load at the same time where there is a second thread.
        let (log, other) = (Log::default(), Log::default());
        let bad = app.plugin(checked(), Config { size: 666, log: log.clone() }).unwrap();
        let good = app.plugin(checked(), Config { size: 1, log: other.clone() }).unwrap();
        assert_eq!(states(&app, [&bad, &good]).await, [State::Failed, State::Active]);
        let errors = app.take_errors();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert_eq!((&*errors[0].plugin, errors[0].message.contains("the beast")), ("checked#1", true));
        assert!(with_causes(&bad.ready().await.unwrap_err()).contains("the beast"));
        assert_eq!((log.take(), other.take()), (vec!["checks 666".into()], vec!["checks 1".into(), "loads with 1".into()]));
        bad.update(Config { size: 2, log: log.clone() }).await.unwrap();
        assert_eq!(bad.state(), State::Active);
    }

    // spec: cordis-core/C99, design/P4
    #[test]
    async fn a_check_that_panics_at_an_update_refuses_it_and_leaves_the_plugin_as_it_is() {
        let app = TestApp::new();
        let log = Log::default();
        let fiber = app.plugin(checked(), Config { size: 1, log: log.clone() }).unwrap();
        fiber.ready().await.unwrap();
        let updating = tokio::spawn({
            let (fiber, config) = (fiber.clone(), Config { size: 666, log: log.clone() });
            async move { fiber.update(config).await }
        });
        let refused = updating.await.expect("the panic stays with the plugin").unwrap_err();
        assert!(
            matches!(&refused, UpdateError::Invalid { plugin, .. } if plugin == "checked#1"),
            "{refused}"
        );
        assert!(with_causes(&refused).contains("the beast"), "{refused:?}");
        assert_eq!(fiber.state(), State::Active);
        fiber.restart().await.unwrap();
        assert_eq!(
            log.take(),
            ["checks 1", "loads with 1", "checks 666", "unloads with 1", "checks 1", "loads with 1"]
        );
    }

    // spec: cordis-core/C97, design/P5
    #[test]
    async fn a_check_for_another_type_says_so() {
        let app = TestApp::new();
        let log = Log::default();
        let plugin = define("odd").validate(|_: &u8| Ok(())).run(apply);
        let fiber = app.plugin(plugin, Config { size: 1, log: log.clone() }).unwrap();
        assert_eq!(
            with_causes(&fiber.ready().await.unwrap_err()),
            "plugin `odd#1` failed: invalid configuration: `validate` takes a `u8`, \
             which is not the plugin's Config"
        );
        assert_eq!(log.take(), [""; 0]);
    }

    // spec: design/P3
    #[test]
    async fn a_check_may_use_the_app() {
        let app = TestApp::new();
        let log = Log::default();
        let root = app.root();
        let plugin = define("p").validate(move |config: &Config| {
            drop(root.inspect());
            drop(root.provide(FOO, Arc::new(config.size)));
            root.registry().plugins().iter().for_each(|runtime| drop(runtime.fibers.clone()));
            Ok(())
        });
        let fiber = app.plugin(plugin.run(apply), Config { size: 7, log: log.clone() }).unwrap();
        fiber.ready().await.unwrap();
        fiber.update(Config { size: 8, log: log.clone() }).await.unwrap();
        assert_eq!(app.get(FOO).map(|service| *service.get().unwrap()), Some(7));
        assert_eq!(log.take(), ["loads with 7", "unloads with 7", "loads with 8"]);
        app.assert_no_errors();
    }

    // spec: cordis-core/C50
    #[test]
    async fn what_is_checked_is_what_the_listeners_of_the_activation_made_of_it() {
        let app = TestApp::new();
        let log = Log::default();
        let told = log.clone();
        app.on(keys::CONFIG)
            .with(told)
            .run(async |log, configuring, next| {
                let config = Config { size: 13, log: log.clone() };
                configuring.config = Arc::new(config);
                next.run(configuring).await
            })
            .unwrap();
        let fiber = app.plugin(checked(), Config { size: 1, log: log.clone() }).unwrap();
        assert!(with_causes(&fiber.ready().await.unwrap_err()).contains("bad luck"));
        assert_eq!(log.take(), ["checks 13"]);
    }
}
