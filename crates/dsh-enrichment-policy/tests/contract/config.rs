//! Configurations.

use dsh_enrichment_policy::{CallerConfig, Config, ConfigError};

#[test]
fn a_caller_is_named_in_full() {
    let with = |id: &str, name: &str, role: &str| {
        let caller = CallerConfig { id: id.into(), name: name.into(), role: role.into() };
        Config { callers: [("ada".to_owned(), caller)].into(), agent_role: None }.check()
    };
    let empty = |field| Err(ConfigError::Empty { agent: "ada".into(), field });
    assert_eq!(with("u1", "Grace", "owner"), Ok(()));
    assert_eq!(with("", "Grace", "owner"), empty("id"));
    assert_eq!(with("u1", "", "owner"), empty("name"));
    assert_eq!(with("u1", "Grace", ""), empty("role"));
    let agents = Config { agent_role: Some(String::new()), ..Config::default() };
    assert_eq!(agents.check(), Err(ConfigError::EmptyAgentRole));
}

#[test]
fn the_configuration_is_read_from_json() {
    let text = r#"{ "callers": { "ada": { "id": "u1", "name": "Grace", "role": "owner" } }, "agentRole": "worker" }"#;
    let caller = CallerConfig { id: "u1".into(), name: "Grace".into(), role: "owner".into() };
    let expected = Config { callers: [("ada".to_owned(), caller)].into(), agent_role: Some("worker".into()) };
    assert_eq!(serde_json::from_str::<Config>(text).unwrap(), expected);
    assert_eq!(serde_json::from_str::<Config>("{}").unwrap(), Config::default());
    for text in [r#"{ "caller": {} }"#, r#"{ "callers": { "ada": { "id": "u1", "name": "Grace" } } }"#] {
        assert!(serde_json::from_str::<Config>(text).is_err(), "{text}");
    }
}

#[tokio::test]
async fn the_catalogue_has_the_plugin_and_it_starts_without_tools() {
    let app = cordis::testing::TestApp::new();
    let plugin = cordis::catalog::find("enrichment-policy").unwrap();
    assert!(plugin.needs().is_empty());
    plugin.mount(&app, serde_json::json!({ "agentRole": "worker" })).unwrap().ready().await.unwrap();
    let refused = plugin.mount(&app, serde_json::json!({ "agentRole": "" })).unwrap();
    assert!(refused.ready().await.is_err());
}
