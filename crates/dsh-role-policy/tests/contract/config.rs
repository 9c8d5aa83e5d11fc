//! Configurations.

use cordis::testing::TestApp;
use dsh_role_policy::{Config, ConfigError};
use serde_json::{Value, json};

fn checked(config: Value) -> Result<(), ConfigError> {
    serde_json::from_str::<Config>(&config.to_string()).unwrap().check()
}

#[test]
fn what_would_never_allow_anything_is_refused() {
    assert_eq!(checked(json!({})), Ok(()));
    assert_eq!(checked(json!({ "roles": { "a": ["*"], "b": [] }, "agents": { "ada": "b" } })), Ok(()));
    assert_eq!(checked(json!({ "roles": { "": ["*"] } })), Err(ConfigError::NoRoleName));
    assert_eq!(checked(json!({ "roles": { "a": [""] } })), Err(ConfigError::NoToolName { role: "a".into() }));
    assert_eq!(
        checked(json!({ "roles": { "a": ["git_*"] } })),
        Err(ConfigError::Pattern { role: "a".into(), tool: "git_*".into() })
    );
    assert_eq!(
        checked(json!({ "roles": { "a": [] }, "agents": { "ada": "b" } })),
        Err(ConfigError::NoSuchRole { agent: "ada".into(), role: "b".into() })
    );
}

#[test]
fn a_field_that_there_is_not_is_refused() {
    assert!(serde_json::from_str::<Config>(r#"{ "role": {} }"#).is_err());
}

#[tokio::test]
async fn the_plugin_does_not_start_with_a_configuration_that_cannot_be() {
    let app = TestApp::new();
    app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap().ready().await.unwrap();
    let config = serde_json::from_str(r#"{ "roles": { "a": ["git_*"] } }"#).unwrap();
    let error = app.plugin(dsh_role_policy::plugin(), config).unwrap().ready().await.unwrap_err();
    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
    let text = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
    let own =
        "role-policy: role `a` lists `git_*`: names are compared as they are, only `*` alone stands for all";
    assert!(text.contains(own), "{text}");
}

#[test]
fn the_catalogue_has_the_plugin_with_its_need() {
    let plugin = cordis::catalog::find("role-policy").unwrap();
    assert_eq!(plugin.needs().iter().map(|need| need.name.as_str()).collect::<Vec<_>>(), ["tools"]);
}
