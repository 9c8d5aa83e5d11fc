//! The configuration's words and bounds.

use cordis::testing::TestApp;
use dsh_tools::{Config, ConfigError, Mode};
use serde_json::json;

// spec: tools/T8, tools/T9
#[test]
fn nothing_said_means_native_and_ten_calls_at_once() {
    let config: Config = serde_json::from_value(json!({})).unwrap();
    assert_eq!(config, Config::default());
    assert_eq!((config.mode, config.max_parallel_sub_calls), (Mode::Native, 10));
    for (word, mode) in [("native", Mode::Native), ("code", Mode::Code), ("both", Mode::Both)] {
        let config: Config = serde_json::from_value(json!({ "mode": word })).unwrap();
        assert_eq!((config.mode, mode.to_string().as_str()), (mode, word));
    }
    assert!(serde_json::from_value::<Config>(json!({ "mode": "sometimes" })).is_err());
}

// spec: tools/T9
#[tokio::test]
async fn a_figure_out_of_its_bounds_is_refused_before_the_plugin_starts() {
    for wrong in [json!(-1), json!(1.5), json!("1"), json!(null)] {
        let config = json!({ "maxParallelSubCalls": wrong });
        assert!(serde_json::from_value::<Config>(config.clone()).is_err(), "{config}");
    }
    let none: Config = serde_json::from_value(json!({ "maxParallelSubCalls": 0 })).unwrap();
    assert_eq!(none.check(), Err(ConfigError::NoSubCalls));
    assert_eq!(ConfigError::NoSubCalls.to_string(), "maxParallelSubCalls must be a positive integer");
    let app = TestApp::new();
    let fiber = app.plugin(dsh_tools::plugin(), none).unwrap();
    let error = fiber.ready().await.unwrap_err();
    let causes = std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
    let told: Vec<String> = causes.map(|cause| cause.to_string()).collect();
    assert!(
        told.iter().any(|cause| cause.ends_with("maxParallelSubCalls must be a positive integer")),
        "{told:?}"
    );
    assert!(app.get(dsh_tools::TOOLS).is_none());
}
