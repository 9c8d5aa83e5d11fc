//! The file is read, or is not.

use cordis::{Plugin as _, State};
use dsh_hooks::testing::{hooks, user};
use dsh_hooks_codex::{Config, plugin};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fixture::Fixture;

// spec: timeout-jobs-hooks/J79, timeout-jobs-hooks/J65
#[test]
fn a_configuration_has_the_defaults_of_the_reference() {
    let config: Config = serde_json::from_value(json!({ "configPath": "hooks.json" })).unwrap();
    assert_eq!(config, Config::new("hooks.json"));
    assert_eq!((config.model.as_str(), config.stderr_summary_max_chars), ("", 500));
    assert_eq!((config.default_timeout_ms.get(), config.max_stop_blocks.get()), (600_000, 8));
    let other: Result<Config, _> = serde_json::from_value(json!({ "configPath": "f", "projectDir": "g" }));
    assert!(other.is_err(), "that is the other dialect's");
    assert_eq!(plugin().name(), "hooks-codex");
}

// spec: timeout-jobs-hooks/J82
#[test]
fn a_summary_without_characters_is_refused_by_name() {
    let config = Config { stderr_summary_max_chars: 0, ..Config::new("hooks.json") };
    let error = config.check().unwrap_err().to_string();
    assert_eq!(error, "hooks-codex: stderrSummaryMaxChars must be a positive integer");
}

// spec: timeout-jobs-hooks/J79, timeout-jobs-hooks/J82, timeout-jobs-hooks/J66, timeout-jobs-hooks/J68
#[tokio::test]
async fn a_file_with_anything_wrong_in_it_has_no_hooks() {
    let bad =
        json!({ "PreToolUse": [{ "hooks": [{ "command": "exit 2" }] }, { "matcher": "(bad", "hooks": [] }] });
    for (text, why) in
        [("{", "EOF"), (&bad.to_string(), "invalid codex regex matcher \"(bad\" on event \"PreToolUse\"")]
    {
        let fixture = Fixture::bare().await;
        let fiber = fixture.mount(text, "").await;
        assert_eq!(fiber.state(), State::Active);
        let warnings = fixture.world.warnings();
        let [warning] = warnings.as_slice() else { panic!("one warning: {warnings:?}") };
        assert!(warning.starts_with("hooks-codex: ") && warning.contains(why), "{warning}");
        assert!(!fixture.call(json!({})).await.is_error());
    }
}

#[tokio::test]
async fn without_hooks_that_are_required_the_plugin_does_not_load() {
    for text in ["{", "{}"] {
        let fixture = Fixture::bare().await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hooks.json");
        std::fs::write(&file, text).unwrap();
        let config = Config { required: true, ..Config::new(&file) };
        let fiber = fixture.world.app.plugin(plugin(), config).unwrap();
        let error = format!("{:?}", fiber.ready().await.unwrap_err());
        assert_eq!(fiber.state(), State::Failed);
        assert!(error.contains("hooks-codex") && error.contains("hooks.json"), "{error}");
    }
}

// spec: timeout-jobs-hooks/J79
#[tokio::test]
async fn only_hooks_that_are_waited_for_run_and_others_are_warned_of() {
    let fixture = Fixture::with(json!({
        "PreToolUse": [{ "hooks": [
            { "type": "command", "command": "touch async", "async": true },
            { "type": "prompt", "prompt": "x" },
            { "type": "command", "command": "touch waited", "async": false },
            { "command": "echo '${CLAUDE_PLUGIN_ROOT}' > kept; env | grep -c CLAUDE_PROJECT > variables" },
        ] }],
        "SubagentStart": [{ "hooks": [{ "type": "prompt" }] }],
    }))
    .await;
    let warnings = fixture.world.warnings();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    for (warning, reason) in warnings.iter().zip(["async", "\"prompt\""]) {
        assert!(warning.starts_with("hooks-codex: ") && warning.contains(reason), "{warning}");
        assert!(
            warning.contains("PreToolUse") && warning.contains("only synchronous command hooks"),
            "{warning}"
        );
    }
    assert!(!fixture.call(json!({})).await.is_error());
    assert!(fixture.has("waited") && !fixture.has("async"));
    assert_eq!(fixture.read("kept"), "${CLAUDE_PLUGIN_ROOT}\n", "nothing is replaced in commands");
    assert_eq!(fixture.read("variables"), "0\n");
}

// spec: timeout-jobs-hooks/J79
#[tokio::test]
async fn a_time_limit_has_two_names() {
    for entry in [json!({ "timeoutSec": 0.2 }), json!({ "timeout": 0.2, "timeoutSec": 300 })] {
        let mut entry = entry;
        entry["command"] = json!("sleep 300; touch late");
        let fixture = Fixture::with(json!({ "PreToolUse": [{ "hooks": [entry] }] })).await;
        assert!(!fixture.call(json!({})).await.is_error());
        assert!(!fixture.has("late"));
    }
}

// spec: timeout-jobs-hooks/J79, timeout-jobs-hooks/J55
#[tokio::test]
async fn a_pattern_is_always_searched_for() {
    let denies =
        |pattern: &str| json!({ "PreToolUse": [{ "matcher": pattern, "hooks": [{ "command": "exit 2" }] }] });
    for (pattern, is_denied) in
        [("mark", true), ("ar", true), ("^ar", false), ("Mark", false), ("x|ark$", true)]
    {
        let fixture = Fixture::with(denies(pattern)).await;
        assert_eq!(fixture.call(json!({})).await.is_error(), is_denied, "{pattern}");
    }
}

// spec: timeout-jobs-hooks/J79
#[tokio::test]
async fn patterns_of_prompts_and_of_the_end_of_a_turn_do_not_count() {
    let group = json!([{ "matcher": "(bad", "hooks": [{ "command": "exit 2" }] }]);
    let fixture = Fixture::with(json!({ "UserPromptSubmit": group, "Stop": group })).await;
    let token = CancellationToken::new();
    assert_eq!(fixture.world.step(&fixture.agent, vec![user("go")], &token).await, None);
    fixture.world.stop(&fixture.agent, 1, &token).await;
    assert_eq!(fixture.inbox.take().len(), 1);
}

// spec: timeout-jobs-hooks/J79, timeout-jobs-hooks/J77
#[tokio::test]
async fn the_hooks_go_with_the_plugin() {
    let fixture = Fixture::bare().await;
    let plugin = fixture.mount(&hooks("PreToolUse", &["exit 2"]).to_string(), "").await;
    assert!(fixture.call(json!({})).await.is_error());
    plugin.dispose().await;
    assert!(!fixture.call(json!({})).await.is_error());
}
