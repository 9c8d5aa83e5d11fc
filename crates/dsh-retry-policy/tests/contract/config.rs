//! What a configuration may hold.

use dsh_retry_policy::{Config, ConfigError};
use dsh_tools::ToolOutcome;
use serde_json::json;

use crate::fixture::{Fixture, reset};

fn with(change: impl FnOnce(&mut Config)) -> Result<(), ConfigError> {
    let mut config = Config::default();
    change(&mut config);
    config.check()
}

#[test]
fn without_anything_it_is_the_default() {
    let all = json!({
        "maxRetries": 2,
        "baseDelayMs": 200,
        "maxDelayMs": 10_000,
        "jitter": 0.5,
        "codes": ["TOOL_TIMEOUT", "TRANSPORT", "TIMEOUT", "RATE_LIMIT", "SERVER", "WEB_FETCH_TIMEOUT"],
    });
    assert_eq!(serde_json::from_str::<Config>("{}").unwrap(), Config::default());
    assert_eq!(serde_json::from_value::<Config>(all).unwrap(), Config::default());
    assert_eq!(Config::default().check(), Ok(()));
    assert!(serde_json::from_value::<Config>(json!({ "retries": 1 })).is_err());
    assert!(serde_json::from_value::<Config>(json!({ "maxRetries": -1 })).is_err());
}

#[test]
fn the_bounds_themselves_are_fine() {
    assert_eq!(with(|config| config.max_retries = u32::MAX), Ok(()));
    assert_eq!(with(|config| config.base_delay_ms = 1), Ok(()));
    assert_eq!(with(|config| config.max_delay_ms = 2_147_483_647), Ok(()));
    assert_eq!(with(|config| config.max_delay_ms = 200), Ok(()));
    assert_eq!(with(|config| config.jitter = 0.0), Ok(()));
    assert_eq!(with(|config| config.jitter = 1.0), Ok(()));
}

#[test]
fn figures_out_of_their_bounds_are_refused_by_name() {
    let out = |name, ms| Err(ConfigError::DelayOutOfRange { name, ms });
    assert_eq!(with(|config| config.base_delay_ms = 0), out("baseDelayMs", 0));
    assert_eq!(with(|config| config.max_delay_ms = 0), out("maxDelayMs", 0));
    assert_eq!(with(|config| config.max_delay_ms = 2_147_483_648), out("maxDelayMs", 2_147_483_648));
    let above = ConfigError::BaseAboveMax { base_delay_ms: 10_001, max_delay_ms: 10_000 };
    assert_eq!(with(|config| config.base_delay_ms = 10_001), Err(above));
    for jitter in [-0.1, 1.1, f64::INFINITY] {
        assert_eq!(with(|config| config.jitter = jitter), Err(ConfigError::JitterOutOfRange { jitter }));
    }
    assert!(with(|config| config.jitter = f64::NAN).is_err());
    assert_eq!(with(|config| config.codes.clear()), Err(ConfigError::NoCodes));
    assert_eq!(with(|config| config.codes.push(String::new())), Err(ConfigError::EmptyCode));
    let twice = ConfigError::DuplicateCode { code: "SERVER".to_owned() };
    assert_eq!(with(|config| config.codes.push("SERVER".to_owned())), Err(twice));
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_cannot_be_fails_the_plugin_with_its_reason() {
    let fixture = Fixture::bare().await;
    let found = cordis::catalog::find("retry-policy").unwrap();
    let failed = found.mount(&fixture.app, json!({ "jitter": 2 })).unwrap().ready().await.unwrap_err();
    let error = std::error::Error::source(&failed).unwrap().to_string();
    assert_eq!(error, "invalid configuration: retry-policy: `jitter` is 2, but must be from 0 to 1");
}

#[tokio::test(start_paused = true)]
async fn it_is_found_by_its_name_and_configured_with_json() {
    let fixture = Fixture::bare().await;
    let found = cordis::catalog::find("retry-policy").unwrap();
    found.mount(&fixture.app, json!({ "maxRetries": 1, "jitter": 0 })).unwrap().ready().await.unwrap();
    fixture.offer(fixture.flaky(2).idempotent());
    assert_eq!(fixture.call().await, ToolOutcome::failure(reset(2)));
    assert_eq!(fixture.runs_ms(), [0, 200]);
}
