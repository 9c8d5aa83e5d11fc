//! Configurations.

use cordis::testing::TestApp;
use dsh_step_limit_policy::Config;
use serde_json::json;

use crate::fixture::config;

#[test]
fn a_limit_is_a_whole_number_of_at_least_one_and_has_to_be_given() {
    assert_eq!(serde_json::from_value::<Config>(json!({ "maxSteps": 1 })).unwrap(), config(1));
    assert_eq!(serde_json::to_value(config(50)).unwrap(), json!({ "maxSteps": 50 }));
    for wrong in [json!({}), json!({ "maxSteps": 0 }), json!({ "maxSteps": -1 }), json!({ "maxSteps": 1.5 })]
    {
        assert!(serde_json::from_value::<Config>(wrong.clone()).is_err(), "{wrong}");
    }
    assert!(serde_json::from_value::<Config>(json!({ "maxSteps": 1, "steps": 1 })).is_err());
}

#[tokio::test]
async fn the_catalogue_says_which_field_is_missing() {
    let app = TestApp::new();
    let plugin = cordis::catalog::find("step-limit-policy").unwrap();
    assert!(plugin.needs().is_empty());
    let error = plugin.mount(&app, json!({})).unwrap_err();
    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
    let text = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
    assert!(text.contains("maxSteps"), "{text}");
}
