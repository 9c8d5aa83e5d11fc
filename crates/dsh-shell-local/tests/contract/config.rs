//! What a configuration may say.

use cordis::State;
use cordis::testing::TestApp;
use dsh_shell_local::{Config, plugin};
use serde_json::json;

async fn refusal(config: Config) -> String {
    let app = TestApp::new();
    app.plugin(dsh_subprocess_local::plugin(), dsh_subprocess_local::Config::default())
        .unwrap()
        .ready()
        .await
        .unwrap();
    let fiber = app.plugin(plugin(), config).unwrap();
    let error = fiber.ready().await.unwrap_err();
    assert_eq!(fiber.state(), State::Failed);
    app.take_errors();
    format!("{:#}", Chain(&error))
}

struct Chain<'a>(&'a dyn std::error::Error);

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        self.0.source().map_or(Ok(()), |source| write!(f, ": {}", Chain(source)))
    }
}

// spec: fs-shell-sandbox/F95
#[test]
fn an_empty_configuration_has_the_references_limits() {
    let config: Config = serde_json::from_value(json!({})).unwrap();
    assert_eq!(config, Config::default());
    let written = json!({
        "cwd": null, "timeoutMs": 120_000, "maxTimeoutMs": 600_000, "maxOutputBytes": 64_000,
        "maxSpillBytes": 67_108_864, "graceMs": 3_000,
    });
    assert_eq!(serde_json::to_value(config).unwrap(), written);
    assert!(serde_json::from_value::<Config>(json!({ "timeout": 1 })).is_err());
}

// spec: fs-shell-sandbox/F95
#[tokio::test]
async fn every_number_must_be_positive() {
    let defaults = Config::default;
    for (field, config) in [
        ("timeoutMs", Config { timeout_ms: 0, ..defaults() }),
        ("maxTimeoutMs", Config { max_timeout_ms: 0, ..defaults() }),
        ("maxOutputBytes", Config { max_output_bytes: 0, ..defaults() }),
        ("maxSpillBytes", Config { max_spill_bytes: 0, ..defaults() }),
        ("graceMs", Config { grace_ms: 0, ..defaults() }),
    ] {
        let text = refusal(config).await;
        assert!(text.ends_with(&format!("bash-local: {field} must be a positive finite number")), "{text}");
    }
}

// spec: fs-shell-sandbox/F89
#[tokio::test]
async fn the_grace_time_must_be_one_that_a_timer_takes() {
    let text = refusal(Config { grace_ms: 2_147_483_648, ..Config::default() }).await;
    assert!(text.ends_with("bash-local: graceMs must be at most 2147483647, not 2147483648"), "{text}");
}
