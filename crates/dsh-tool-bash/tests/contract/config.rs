//! The plugin's configuration, and its place in the catalogue.

use cordis::State;
use dsh_tool_bash::Config;
use serde_json::json;

use crate::fixture::Fixture;

#[tokio::test]
async fn a_configuration_that_makes_no_sense_is_refused() {
    let fixture = Fixture::new().await;
    let named = Config { shown_as: Some("/home/user/project".into()), ..Config::default() };
    for (config, message) in [
        (Config::new("relative"), "tool-bash: `workspace` must be an absolute path, not `relative`"),
        (named, "tool-bash: `shownAs` is another name for `workspace`, which is missing"),
    ] {
        let fiber = fixture.app.plugin(dsh_tool_bash::plugin(), config).unwrap();
        let _ = fiber.ready().await;
        assert_eq!(fiber.state(), State::Failed);
        let error = fiber.error().unwrap().to_string();
        assert!(error.contains(message), "{error}");
    }
    fixture.app.quiet().await;
    fixture.app.take_errors();
}

// spec: fs-shell-sandbox/F100
#[test]
fn a_configuration_names_its_defaults_and_refuses_unknown_fields() {
    let read = |value| serde_json::from_value::<Config>(value);
    assert_eq!(read(json!({})).unwrap(), Config::default());
    assert_eq!(read(json!({ "workspace": "/w" })).unwrap(), Config::new("/w"));
    assert!(Config::default().enable_run_in_background);
    assert!(!read(json!({ "enableRunInBackground": false })).unwrap().enable_run_in_background);
    // The shell has them now.
    for field in ["timeoutMs", "maxTimeoutMs", "graceMs", "maxOutputBytes"] {
        assert!(read(json!({ field: 1 })).is_err(), "{field}");
    }
}

#[test]
fn the_catalogue_lists_the_plugin() {
    let plugin = cordis::catalog::find("tool-bash").unwrap();
    let needs: Vec<(&str, bool)> =
        plugin.needs().iter().map(|need| (need.name.as_ref(), need.optional)).collect();
    assert_eq!(needs, [("tools", false), ("shell", false), ("shellEnv", true), ("jobs", true)]);
    assert_eq!(plugin.schema().get("required"), None);
}
