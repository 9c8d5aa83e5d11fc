//! The catalogue: plugins that are found by their name and configured with JSON.

#![cfg(feature = "catalog")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support_errors;
mod support_services;

use cordis::{
    App, MountError, State, UpdateError,
    catalog::{self, DynPlugin},
    testing::TestApp,
};
use serde_json::{Value, json};
use std::sync::Arc;
use support_errors::with_causes;
use support_services::{FOO, states};

/// A plugin crate in small.
mod greeter {
    use cordis::{BoxError, Context, Handle, Key, Plugin, define};
    use schemars::JsonSchema;
    use serde::Deserialize;
    use std::sync::Arc;

    use crate::support_services::FOO;

    pub(crate) const GREETING: Key<String> = Key::new("greeting");
    pub(crate) const LANGUAGE: Key<str> = Key::new("language");

    /// Whom to greet, and how often.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub(crate) struct Config {
        /// The name.
        pub(crate) name: String,
        #[serde(default)]
        pub(crate) times: u8,
    }

    pub(crate) fn plugin() -> impl Plugin<Config = Config> {
        let check = |config: &Config| match &*config.name {
            "nobody" => Err("nobody to greet".into()),
            "panic" => panic!("no such name"),
            _ => Ok(()),
        };
        define("greeter").needs((FOO, LANGUAGE.optional())).provides(GREETING).validate(check).run(apply)
    }

    async fn apply(
        ctx: &Context,
        (service, language): (Handle<u32>, Option<Handle<str>>),
        config: &Config,
    ) -> Result<(), BoxError> {
        let language = language.is_some();
        let greeting = format!("{} {} {} {language}", config.name, config.times, *service.get()?);
        ctx.provide(GREETING, Arc::new(greeting))?;
        Ok(())
    }

    cordis::catalog!(plugin);
}

mod idle {
    use cordis::{BoxError, Context, Plugin, define};

    pub(crate) fn plugin() -> impl Plugin<Config = ()> {
        define("idle").run(apply)
    }

    async fn apply(_: &Context, (): (), (): &()) -> Result<(), BoxError> {
        Ok(())
    }

    cordis::catalog!(plugin);
}

mod also {
    cordis::catalog!(super::idle_too);
}

fn idle_too() -> impl cordis::Plugin<Config = Vec<u8>> {
    cordis::define("a third one").run(async |_: &cordis::Context, (): (), _: &Vec<u8>| Ok(()))
}

fn greeter() -> DynPlugin {
    catalog::find("greeter").unwrap()
}

fn greeting(app: &App) -> Option<String> {
    app.get(greeter::GREETING).map(|greeting| greeting.get().unwrap().clone())
}

// spec: cordis-core/C42
#[test]
fn the_catalogue_lists_the_linked_plugins_by_name_with_what_they_need_and_provide() {
    let names: Vec<String> = catalog::all().unwrap().iter().map(|plugin| plugin.name().to_owned()).collect();
    assert_eq!(names, ["a third one", "greeter", "idle"]);
    let unknown = catalog::find("greet").unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "no plugin is called `greet`: name its crate in the program, so that it is linked"
    );
    let greeter = greeter();
    assert_eq!(
        serde_json::to_value(greeter.needs()).unwrap(),
        json!([{ "name": "foo", "optional": false }, { "name": "language", "optional": true }])
    );
    assert_eq!(greeter.provides(), ["greeting"]);
    let idle = catalog::find("idle").unwrap();
    assert_eq!((idle.needs(), idle.provides()), (&[][..], &[][..]));
    assert_eq!(format!("{idle:?}"), r#"DynPlugin("idle")"#);
}

#[test]
fn the_schema_of_a_plugin_describes_its_configuration() {
    let schema = greeter().schema().clone();
    assert_eq!(schema["title"], "Config");
    assert_eq!(schema["description"], "Whom to greet, and how often.");
    assert_eq!(schema["required"], json!(["name"]));
    assert_eq!(schema["additionalProperties"], json!(false));
    assert_eq!(schema["properties"]["name"], json!({ "description": "The name.", "type": "string" }));
    assert_eq!(schema["properties"]["times"]["maximum"], json!(255));
}

#[tokio::test(start_paused = true)]
async fn a_plugin_of_the_catalogue_is_mounted_like_any_other() {
    let app = TestApp::new();
    let fiber = greeter().mount(&app, json!({ "name": "you" })).unwrap();
    assert_eq!((fiber.name(), fiber.ready().await.unwrap()), ("greeter", State::Pending));
    app.provide(FOO, Arc::new(5)).unwrap();
    assert_eq!(states(&app, [&fiber]).await, [State::Active]);
    assert_eq!(greeting(&app).as_deref(), Some("you 0 5 false"));
    app.provide(greeter::LANGUAGE, "en".into()).unwrap();
    assert_eq!(states(&app, [&fiber]).await, [State::Active]);
    assert_eq!(greeting(&app).as_deref(), Some("you 0 5 true"));

    // It is the same plugin as the one in code, with the same type of configuration.
    fiber.update(greeter::Config { name: "me".into(), times: 2 }).await.unwrap();
    assert_eq!(greeting(&app).as_deref(), Some("me 2 5 true"));
    assert!(matches!(fiber.update(json!({})).await, Err(UpdateError::Type { .. })));
    let typed = app.isolate(greeter::GREETING);
    let typed = typed.plugin(greeter::plugin(), greeter::Config { name: "us".into(), times: 1 }).unwrap();
    typed.ready().await.unwrap();
    assert_eq!(app.registry().get(&greeter::plugin()).unwrap().fibers, [fiber.clone(), typed]);
    app.assert_no_errors();
    assert!(fiber.dispose().await.is_clean());
    assert!(greeting(&app).is_none());
}

// spec: cordis-core/C98
#[tokio::test(start_paused = true)]
async fn json_that_does_not_fit_is_refused_with_the_plugins_name_and_the_cause() {
    let app = TestApp::new();
    let bad = [
        (json!({}), "missing field `name`"),
        (json!({ "name": 5 }), "expected a string"),
        (json!({ "name": "x", "times": 256 }), "invalid"),
        (json!({ "name": "x", "times": -1 }), "invalid"),
        (json!({ "name": "x", "tmies": 1 }), "unknown field `tmies`, expected `name` or `times`"),
        (json!([]), "expected struct Config"),
        (json!("x"), "expected struct Config"),
        (Value::Null, "expected struct Config"),
    ];
    for (config, cause) in bad {
        let refused = greeter().mount(&app, config.clone()).unwrap_err();
        assert!(matches!(&refused, MountError::Config { plugin, .. } if plugin == "greeter"), "{refused}");
        let text = with_causes(&refused);
        assert!(text.starts_with("the configuration of `greeter` is invalid: "), "{text}");
        assert!(text.contains(cause), "{config}: {text}");
    }
    assert!(app.registry().is_empty());
    assert_eq!(app.inspect().fiber.effects.len(), 1);
    app.assert_no_errors();
    catalog::find("idle").unwrap().mount(&app, Value::Null).unwrap().ready().await.unwrap();
    assert!(catalog::find("idle").unwrap().mount(&app, json!({})).is_err());
}

// spec: cordis-core/C98
#[tokio::test(start_paused = true)]
async fn a_configuration_of_the_right_shape_that_its_plugin_refuses_fails_as_one_given_in_code() {
    let app = TestApp::new();
    app.provide(FOO, Arc::new(5)).unwrap();
    let fiber = greeter().mount(&app, json!({ "name": "nobody" })).expect("the call itself does not fail");
    assert_eq!(
        with_causes(&fiber.ready().await.unwrap_err()),
        "plugin `greeter#1` failed: invalid configuration: nobody to greet"
    );
    assert_eq!(app.take_errors().len(), 1);
    let fiber = greeter().mount(&app, json!({ "name": "panic" })).expect("the call itself does not fail");
    assert!(with_causes(&fiber.ready().await.unwrap_err()).contains("no such name"));
    assert_eq!(fiber.state(), State::Failed);
}

#[tokio::test(start_paused = true)]
async fn a_plugin_of_the_catalogue_is_not_mounted_below_a_dead_context() {
    let app = App::new().unwrap();
    let idle = catalog::find("idle").unwrap();
    let fiber = idle.mount(&app, Value::Null).unwrap();
    fiber.ready().await.unwrap();
    let ctx = fiber.context();
    fiber.dispose().await;
    assert!(matches!(idle.mount(&ctx, Value::Null), Err(MountError::Inactive(_))));
    assert!(matches!(greeter().mount(&ctx, json!({ "name": "you" })), Err(MountError::Inactive(_))));
}

#[tokio::test(start_paused = true)]
async fn one_entry_of_the_catalogue_is_mounted_as_often_as_one_likes() {
    let app = App::new().unwrap();
    let greeter = greeter();
    app.provide(FOO, Arc::new(1)).unwrap();
    let realms = [app.isolate(greeter::GREETING), app.isolate(greeter::GREETING)];
    let fibers = realms.each_ref().map(|ctx| greeter.clone().mount(ctx, json!({ "name": "a" })).unwrap());
    assert_eq!(states(&app, fibers.each_ref()).await, [State::Active; 2]);
    let runtimes = app.registry().plugins();
    assert_eq!(runtimes.len(), 1);
    assert_eq!(runtimes[0].fibers, fibers);
    fibers[0].dispose().await;
    assert!(realms[0].get(greeter::GREETING).is_none());
    assert!(realms[1].get(greeter::GREETING).is_some());
}
