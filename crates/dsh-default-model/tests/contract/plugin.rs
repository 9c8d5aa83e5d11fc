//! The plugin: its service, its configuration, and how long what is saved is kept.

use cordis::testing::TestApp;
use dsh_default_model::{Config, DEFAULT_MODEL, Selection};
use serde_json::json;

use crate::fixture::{flash, pro};

fn current(app: &TestApp) -> Selection {
    app.get(DEFAULT_MODEL).unwrap().get().unwrap().current_selection()
}

fn text(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

// spec: agent-loop/S32
#[tokio::test]
async fn what_is_saved_outlives_another_configuration_and_ends_with_the_plugin() {
    let app = TestApp::new();
    let fiber = app.plugin(dsh_default_model::plugin(), Config::default()).unwrap();
    fiber.ready().await.unwrap();
    assert_eq!(current(&app), flash());
    let other = Config { provider: "acme".to_owned(), model: "m".to_owned() };
    fiber.update(other.clone()).await.unwrap();
    assert_eq!(current(&app), Selection::new("acme", "m"));
    app.get(DEFAULT_MODEL).unwrap().get().unwrap().save_selection(pro());
    fiber.update(Config::default()).await.unwrap();
    assert_eq!(current(&app), pro());
    fiber.dispose().await;
    assert!(app.get(DEFAULT_MODEL).is_none());
    app.plugin(dsh_default_model::plugin(), other).unwrap().ready().await.unwrap();
    assert_eq!(current(&app), Selection::new("acme", "m"));
}

#[tokio::test]
async fn a_configuration_that_names_no_provider_or_no_model_is_refused() {
    let app = TestApp::new();
    for (given, field) in [(json!({ "provider": "" }), "provider"), (json!({ "model": "" }), "model")] {
        let plugin = cordis::catalog::find("agent-default-model").unwrap();
        let error = plugin.mount(&app, given).unwrap().ready().await.unwrap_err();
        assert!(
            text(&error).contains(&format!("agent-default-model: `{field}` is empty")),
            "{}",
            text(&error)
        );
    }
}

// spec: agent-loop/S32
#[test]
fn the_defaults_are_those_of_the_reference() {
    assert_eq!(serde_json::from_str::<Config>("{}").unwrap(), Config::default());
    assert_eq!(
        serde_json::to_value(Config::default()).unwrap(),
        json!({ "provider": "deepseek-official", "model": "deepseek-v4-flash" })
    );
    assert!(serde_json::from_str::<Config>(r#"{ "modell": "m" }"#).is_err());
}

#[test]
fn the_catalogue_has_the_plugin_and_its_service_under_the_names_of_the_reference() {
    let plugin = cordis::catalog::find("agent-default-model").unwrap();
    assert_eq!(plugin.provides(), ["agentDefaultModel"]);
    assert!(plugin.needs().is_empty());
}
