//! Configurations.

use cordis::testing::TestApp;
use dsh_repeat_policy::Config;

fn error_of(config: Config) -> String {
    config.check().unwrap_err().to_string()
}

fn thresholds(thresholds: &[u64]) -> Config {
    Config { thresholds: thresholds.to_vec(), ..Config::default() }
}

fn unreadable(text: &str) -> String {
    serde_json::from_str::<Config>(text).unwrap_err().to_string()
}

// spec: timeout-jobs-hooks/J11
#[test]
fn the_defaults_are_those_of_the_reference() {
    let default = Config {
        thresholds: vec![3, 5, 8],
        include: Vec::new(),
        exclude: Vec::new(),
        arguments_preview_chars: 500,
    };
    assert_eq!(Config::default(), default);
    assert_eq!(serde_json::from_str::<Config>("{}").unwrap(), default);
    assert_eq!(default.check(), Ok(()));
}

// spec: timeout-jobs-hooks/J11
#[test]
fn figures_out_of_their_bounds_are_refused_with_their_value() {
    assert_eq!(error_of(thresholds(&[])), "repeat-tool-reminder: `thresholds` must not be empty");
    assert_eq!(
        error_of(thresholds(&[3, 1])),
        "repeat-tool-reminder: `thresholds` has 1, but each must be an integer of at least 2"
    );
    assert_eq!(
        error_of(thresholds(&[3, 5, 3])),
        "repeat-tool-reminder: `thresholds` must not contain duplicates"
    );
    assert_eq!(
        error_of(Config { arguments_preview_chars: 0, ..Config::default() }),
        "repeat-tool-reminder: `argumentsPreviewChars` is 0, but must be an integer of at least 1"
    );
}

// spec: timeout-jobs-hooks/J11
#[test]
fn numbers_that_are_no_integers_are_refused_with_their_value() {
    for value in ["2.5", "-3", "1e400"] {
        let error = unreadable(&format!(r#"{{ "thresholds": [3, {value}] }}"#));
        let own = "repeat-tool-reminder: `thresholds` has ";
        assert!(
            error.starts_with(own) && error.contains("but each must be an integer of at least 2"),
            "{error}"
        );
        let error = unreadable(&format!(r#"{{ "argumentsPreviewChars": {value} }}"#));
        let own = "repeat-tool-reminder: `argumentsPreviewChars` is ";
        assert!(error.starts_with(own) && error.contains("but must be an integer of at least 1"), "{error}");
    }
    let error = unreadable(r#"{ "thresholds": [2.5] }"#);
    assert!(error.contains("has 2.5,"), "{error}");
    let config: Config =
        serde_json::from_str(r#"{ "thresholds": [4.0, 2e1], "argumentsPreviewChars": 1e2 }"#).unwrap();
    assert_eq!((config.thresholds, config.arguments_preview_chars), (vec![4, 20], 100));
    assert!(serde_json::from_str::<Config>(r#"{ "treshold": [3] }"#).is_err());
}

// spec: timeout-jobs-hooks/J11
#[tokio::test]
async fn the_plugin_does_not_start_with_a_configuration_that_cannot_be() {
    let app = TestApp::new();
    app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap().ready().await.unwrap();
    let error = app.plugin(dsh_repeat_policy::plugin(), thresholds(&[])).unwrap().ready().await.unwrap_err();
    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
    let text = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
    assert!(text.contains("repeat-tool-reminder: `thresholds` must not be empty"), "{text}");
}

// spec: timeout-jobs-hooks/J11
#[tokio::test]
async fn the_catalogue_refuses_a_configuration_with_the_same_words() {
    let app = TestApp::new();
    let plugin = cordis::catalog::find("repeat-tool-reminder").unwrap();
    let error = plugin.mount(&app, serde_json::json!({ "thresholds": [2.5] })).unwrap_err();
    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
    let text = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
    assert!(text.contains("repeat-tool-reminder: `thresholds` has 2.5, but each must be"), "{text}");
}

#[test]
fn the_catalogue_has_the_plugin_under_the_name_of_the_reference() {
    let plugin = cordis::catalog::find("repeat-tool-reminder").unwrap();
    assert_eq!(plugin.needs().iter().map(|need| need.name.as_str()).collect::<Vec<_>>(), ["tools"]);
}
