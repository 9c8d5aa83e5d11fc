//! Configurations.

use dsh_tool_jobs::{CompletionDelivery, Config, ConfigError};
use serde_json::json;

fn unreadable(config: serde_json::Value) -> String {
    serde_json::from_value::<Config>(config).unwrap_err().to_string()
}

// spec: timeout-jobs-hooks/J39
#[test]
fn the_defaults_are_those_of_the_reference() {
    let default = Config {
        wait_timeout_ms: 30_000,
        max_wait_timeout_ms: 600_000,
        completion_delivery: CompletionDelivery::Wakeup,
        max_consecutive_wakes: 3,
    };
    assert_eq!(Config::default(), default);
    assert_eq!(serde_json::from_str::<Config>("{}").unwrap(), default);
    let quiet: Config = serde_json::from_value(json!({ "completionDelivery": "quiet" })).unwrap();
    assert_eq!(quiet, Config { completion_delivery: CompletionDelivery::Quiet, ..default });
    assert_eq!(default.check(), Ok(()));
}

// spec: timeout-jobs-hooks/J39
#[test]
fn a_wait_that_is_longer_than_the_longest_is_refused() {
    let config = Config { wait_timeout_ms: 11, max_wait_timeout_ms: 10, ..Config::default() };
    let error = config.check().unwrap_err();
    assert_eq!(error, ConfigError::Wait { default: 11, max: 10 });
    assert_eq!(error.to_string(), "tool-jobs: waitTimeoutMs (11) exceeds maxWaitTimeoutMs (10)");
    let equal = Config { wait_timeout_ms: 10, max_wait_timeout_ms: 10, ..Config::default() };
    assert_eq!(equal.check(), Ok(()));
}

// spec: timeout-jobs-hooks/J39
#[test]
fn numbers_that_are_none_of_their_keys_are_refused_with_key_and_value() {
    let wakes = |value: serde_json::Value| unreadable(json!({ "maxConsecutiveWakes": value }));
    let wrong = "but must be a whole number of at least 0";
    assert_eq!(wakes(json!(2.5)), format!("tool-jobs: `maxConsecutiveWakes` is 2.5, {wrong}"));
    assert_eq!(wakes(json!(-1)), format!("tool-jobs: `maxConsecutiveWakes` is -1, {wrong}"));
    let zero = "is 0, but must be a whole number of at least 1";
    assert_eq!(unreadable(json!({ "waitTimeoutMs": 0 })), format!("tool-jobs: `waitTimeoutMs` {zero}"));
    assert_eq!(unreadable(json!({ "maxWaitTimeoutMs": 0 })), format!("tool-jobs: `maxWaitTimeoutMs` {zero}"));
    let in_code = Config { wait_timeout_ms: 0, ..Config::default() };
    assert_eq!(in_code.check().unwrap_err().to_string(), format!("tool-jobs: `waitTimeoutMs` {zero}"));

    let whole: Config =
        serde_json::from_value(json!({ "maxConsecutiveWakes": 0.0, "waitTimeoutMs": 2e1 })).unwrap();
    assert_eq!((whole.max_consecutive_wakes, whole.wait_timeout_ms), (0, 20));
    assert!(serde_json::from_value::<Config>(json!({ "maxWakes": 1 })).is_err());
}

// spec: timeout-jobs-hooks/J39
#[test]
fn the_catalogue_has_the_plugin_with_what_it_needs() {
    let plugin = cordis::catalog::find("tool-jobs").unwrap();
    assert_eq!(plugin.needs().iter().map(|need| need.name.as_str()).collect::<Vec<_>>(), ["tools", "jobs"]);
}
