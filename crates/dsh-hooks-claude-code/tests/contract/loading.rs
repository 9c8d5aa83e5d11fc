//! The file is read, or is not.

use std::num::{NonZeroU32, NonZeroU64};

use cordis::{Plugin as _, State};
use dsh_hooks::testing::records;
use dsh_hooks_claude_code::{Config, plugin};
use serde_json::{Value, json};

use crate::fixture::{Fixture, answers, hooks, says};

fn denial() -> String {
    says("PreToolUse", json!({ "permissionDecision": "deny" }))
}

// spec: timeout-jobs-hooks/J65
#[test]
fn a_configuration_has_the_defaults_of_the_reference() {
    let config: Config = serde_json::from_value(json!({ "configPath": "hooks.json" })).unwrap();
    assert_eq!(config, Config::new("hooks.json"));
    assert!(!config.required);
    let figures = (config.default_timeout_ms, config.stderr_summary_max_chars, config.max_stop_blocks);
    assert_eq!(figures, (NonZeroU64::new(600_000).unwrap(), 500, NonZeroU32::new(8).unwrap()));
    let without: Result<Config, _> = serde_json::from_value(json!({}));
    assert!(without.unwrap_err().to_string().contains("configPath"));
    let unknown: Result<Config, _> = serde_json::from_value(json!({ "configPath": "f", "path": "g" }));
    assert!(unknown.is_err());
    assert_eq!(plugin().name(), "hooks-claude-code");
}

/// Why the plugin does not load, with all that led to it.
async fn refused(fixture: &Fixture, config: Config) -> String {
    let fiber = fixture.world.app.plugin(plugin(), config).unwrap();
    let error = fiber.ready().await.unwrap_err();
    assert_eq!(fiber.state(), State::Failed);
    let mut causes = Vec::new();
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(error) = cause {
        causes.push(error.to_string());
        cause = error.source();
    }
    causes.join(": ")
}

// spec: timeout-jobs-hooks/J65
#[tokio::test]
async fn a_summary_without_characters_is_refused() {
    let fixture = Fixture::bare().await;
    let config = Config { stderr_summary_max_chars: 0, ..Config::new(fixture.path("settings.json")) };
    let text = refused(&fixture, config).await;
    assert!(text.contains("hooks-claude-code: stderrSummaryMaxChars must be a positive integer"), "{text}");
}

#[tokio::test]
async fn without_hooks_that_are_required_the_plugin_does_not_load() {
    let bad = hooks("PreToolUse", &["exit 2"]).to_string().replace("PreToolUse", "PreTooluse");
    let pattern = json!({ "PreToolUse": [{ "matcher": "[bad", "hooks": [] }] }).to_string();
    for (text, cause) in [
        (None, "are required and cannot be loaded: "),
        (Some("{"), "are required and cannot be loaded: it is no JSON: EOF"),
        (Some(&*pattern), "are required and cannot be loaded: invalid claude-code regex matcher \"[bad\""),
        (Some(&*bad), "hooks are required and no hook of "),
        (Some("{}"), "hooks are required and no hook of "),
    ] {
        let fixture = Fixture::bare().await;
        let file = fixture.path("settings.json");
        if let Some(text) = text {
            std::fs::write(&file, text).unwrap();
        }
        let config = Config { required: true, ..Config::new(file.clone()) };
        let said = refused(&fixture, config).await;
        assert!(said.contains(cause) && said.contains(&*file.to_string_lossy()), "{text:?}: {said}");
    }
    let fixture = Fixture::bare().await;
    fixture.mount_as(hooks("PreToolUse", &["exit 2"]), |config| Config { required: true, ..config }).await;
    assert!(fixture.call(json!({})).await.is_error());
}

/// The only warning, which names the file, and that no hook runs then.
async fn inert(fixture: &Fixture, text: Option<&str>) -> String {
    let file = fixture.path("settings.json");
    if let Some(text) = text {
        std::fs::write(&file, text).unwrap();
    }
    let fiber = fixture.world.app.plugin(plugin(), Config::new(file.clone())).unwrap();
    fiber.ready().await.unwrap();
    assert_eq!(fiber.state(), State::Active);
    let warnings = fixture.world.warnings();
    let [warning] = warnings.as_slice() else { panic!("one warning: {warnings:?}") };
    assert!(warning.starts_with("hooks-claude-code: "), "{warning}");
    assert!(warning.contains(&*file.to_string_lossy()) && warning.contains("no hooks"), "{warning}");
    assert!(!fixture.call(json!({})).await.is_error());
    warning.clone()
}

// spec: timeout-jobs-hooks/J66, timeout-jobs-hooks/J84
#[tokio::test]
async fn a_file_that_is_not_there_leaves_the_plugin_without_hooks() {
    assert!(inert(&Fixture::bare().await, None).await.contains("No such file"));
}

// spec: timeout-jobs-hooks/J66, timeout-jobs-hooks/J84
#[tokio::test]
async fn a_file_that_is_no_json_leaves_the_plugin_without_hooks() {
    for text in ["", "{\"hooks\": ", "not json", &"[".repeat(100_000)] {
        let _ = inert(&Fixture::bare().await, Some(text)).await;
    }
}

// spec: timeout-jobs-hooks/J66, timeout-jobs-hooks/J84
#[tokio::test]
async fn what_is_no_file_or_too_large_leaves_the_plugin_without_hooks() {
    let fixture = Fixture::bare().await;
    let (pipe, large) = (fixture.path("pipe"), fixture.path("large"));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::fs::File::create(&large).unwrap().set_len((16 << 20) + 1).unwrap();
    let cases = [
        (pipe, "it is no regular file"),
        ("/dev/zero".into(), "it is no regular file"),
        (fixture.folder().to_owned(), "it is no regular file"),
        (large, "it has more than 16777216 bytes"),
    ];
    for (path, why) in cases {
        let told = fixture.world.warnings().len();
        let fiber = fixture.mount_file(Config::new(path)).await;
        assert_eq!(fiber.state(), State::Active);
        let warnings = fixture.world.warnings();
        assert!(warnings.len() == told + 1 && warnings[told].contains(why), "{why}: {warnings:?}");
    }
}

// spec: timeout-jobs-hooks/J67
#[tokio::test]
async fn a_time_limit_is_at_least_a_millisecond() {
    for timeout in ["1e-300", "1e-9", "0.0004"] {
        let hook = format!(r#"{{"PreToolUse":[{{"hooks":[{{"command":"exit 2","timeout":{timeout}}}]}}]}}"#);
        let fixture = Fixture::bare().await;
        fixture.mount_text(&hook, |config| config).await;
        let _ = fixture.call(json!({})).await;
        let (_, result) = records(fixture.agent.session()).remove(1);
        let ended = result["stderrSummary"].as_str().unwrap_or_default();
        assert!(result["exitCode"] == 2 || ended.contains("its time limit of 1 ms"), "{timeout}: {result}");
    }
}

// spec: timeout-jobs-hooks/J66, timeout-jobs-hooks/J68, timeout-jobs-hooks/J84, cases/H5
#[tokio::test]
async fn one_bad_pattern_rejects_the_whole_file() {
    let text = json!({ "PreToolUse": [
        { "hooks": [{ "command": denial() }] },
        { "matcher": "[bad", "hooks": [{ "command": "touch x" }] },
    ] });
    let warning = inert(&Fixture::bare().await, Some(&text.to_string())).await;
    let quoted = "invalid claude-code regex matcher \"[bad\" on event \"PreToolUse\"";
    assert!(warning.contains(quoted), "{warning}");
}

// spec: timeout-jobs-hooks/J67, timeout-jobs-hooks/J68
#[tokio::test]
async fn bad_patterns_where_no_hook_runs_or_no_pattern_counts_are_not_looked_at() {
    let bad = json!([{ "matcher": "[bad", "hooks": [{ "type": "prompt", "command": "touch x" }] }]);
    let never = json!([{ "matcher": "[bad", "hooks": [{ "command": "exit 2" }] }]);
    let fixture = Fixture::with(json!({
        "PreToolUse": [{ "hooks": [{ "command": denial() }] }],
        "Notification": bad, "PreCompact": bad, "UserPromptSubmit": never, "Stop": never,
    }))
    .await;
    assert_eq!(fixture.world.warnings(), Vec::<String>::new());
    assert_eq!(fixture.call(json!({})).await.text(), "Error: blocked by PreToolUse hook");
    assert_eq!(fixture.step(vec![crate::fixture::user("go")]).await, None, "the pattern is dropped");
    assert_eq!(fixture.stop(1).await.len(), 1, "the pattern is dropped");
}

// spec: timeout-jobs-hooks/J67
#[tokio::test]
async fn the_events_may_stand_alone_or_below_hooks() {
    for text in
        [hooks("PreToolUse", &["exit 2"]), json!({ "hooks": hooks("PreToolUse", &["exit 2"]), "model": "m" })]
    {
        let fixture = Fixture::bare().await;
        fixture.mount_text(&text.to_string(), |config| config).await;
        assert!(fixture.call(json!({})).await.is_error(), "{text}");
    }
}

// spec: timeout-jobs-hooks/J67
#[tokio::test]
async fn what_has_another_form_is_left_out_without_a_word() {
    let texts = ["[]", "null", "7", r#"{"hooks": []}"#, r#"{"hooks": null}"#];
    for text in texts {
        let fixture = Fixture::bare().await;
        fixture.mount_text(text, |config| config).await;
        assert_eq!(fixture.world.warnings(), Vec::<String>::new(), "{text}");
        assert!(!fixture.call(json!({})).await.is_error());
    }
    let fixture = Fixture::with(json!({
        "PreToolUse": [
            { "hooks": [{ "type": "command" }, { "type": "command", "command": 7 }, "str", null,
                { "command": "touch notype" }] },
            { "matcher": 5, "hooks": [{ "type": "command", "command": "touch matcher5" }] },
            { "hooks": "x" }, null, "g", {},
        ],
        "Stop": { "a": 1 }, "PostToolUse": "no",
    }))
    .await;
    assert_eq!(fixture.world.warnings(), Vec::<String>::new());
    assert!(!fixture.call(json!({})).await.is_error());
    assert!(fixture.has("notype") && fixture.has("matcher5"));
}

// spec: timeout-jobs-hooks/J67
#[tokio::test]
async fn hooks_of_other_types_are_left_out_with_a_warning() {
    let fixture = Fixture::with(json!({ "PreToolUse": [{ "hooks": [
        { "type": "prompt", "prompt": "x" },
        { "type": "http", "url": "u", "command": "touch http" },
        { "type": "command", "command": "touch command", "timeout": 60 },
    ] }] }))
    .await;
    let warnings = fixture.world.warnings();
    assert_eq!(warnings.len(), 2);
    for (warning, kind) in warnings.iter().zip(["prompt", "http"]) {
        let names = |part: &str| warning.contains(part);
        assert!(warning.starts_with("hooks-claude-code: "), "{warning}");
        assert!(
            names(&format!("\"{kind}\"")) && names("PreToolUse") && names("only command hooks run"),
            "{warning}"
        );
    }
    assert!(!fixture.call(json!({})).await.is_error());
    assert!(fixture.has("command") && !fixture.has("http"));
}

#[tokio::test]
async fn a_program_with_arguments_runs_as_it_is_and_nothing_that_it_reads_is_run() {
    let fixture = Fixture::bare().await;
    std::fs::write(fixture.path("a guard.sh"), "printf '%s|' \"$@\" > given; cat > read; exit 2").unwrap();
    let args = json!(["./a guard.sh", "", "it's", "$HOME", "$(touch ran)", "${CLAUDE_PROJECT_DIR}/x"]);
    let exec = json!({ "type": "command", "command": "bash", "args": args });
    fixture.mount(json!({ "PreToolUse": [{ "hooks": [exec] }] })).await;
    let input = json!({ "command": "x\ntouch pwned\n", "b": "$(touch pwned)" });
    assert!(fixture.call(input.clone()).await.is_error());
    let folder = fixture.folder().display();
    assert_eq!(fixture.read("given"), format!("|it's|$HOME|$(touch ran)|{folder}/x|"));
    assert_eq!(fixture.told("read")[0]["tool_input"], input);
    assert!(!fixture.has("pwned") && !fixture.has("ran"));
    assert_eq!(fixture.world.warnings(), Vec::<String>::new());
}

#[tokio::test]
async fn a_hook_whose_arguments_are_no_texts_is_left_out_with_a_warning() {
    for args in [json!("./guard.sh"), json!([7]), json!({})] {
        let fixture = Fixture::with(json!({ "PreToolUse": [{ "hooks": [
            { "command": "touch", "args": args },
            { "command": "touch", "args": ["waited"] },
            { "command": "touch plain", "args": null },
        ] }] }))
        .await;
        let warnings = fixture.world.warnings();
        let [warning] = &*warnings else { panic!("one warning: {warnings:?}") };
        let expected = "hooks-claude-code: a hook on PreToolUse is left out: its `args` are no list of texts";
        assert_eq!(warning, expected, "{args}");
        assert!(!fixture.call(json!({})).await.is_error());
        assert!(fixture.has("waited") && fixture.has("plain"), "{args}");
    }
}

// spec: timeout-jobs-hooks/J69
#[tokio::test]
async fn names_of_folders_are_replaced_wherever_they_stand_if_they_are_known() {
    let command = "echo '${CLAUDE_PLUGIN_ROOT}|${CLAUDE_PLUGIN_ROOT}|${CLAUDE_PROJECT_DIR}' > replaced";
    let replaced = async |more: fn(Config) -> Config| {
        let fixture = Fixture::bare().await;
        fixture.mount_as(hooks("PreToolUse", &[command]), more).await;
        assert!(!fixture.call(json!({})).await.is_error());
        fixture.read("replaced")
    };
    let both = replaced(|config| Config {
        plugin_root: Some("/root".to_owned()),
        project_dir: Some("/project".to_owned()),
        ..config
    });
    assert_eq!(both.await, "/root|/root|/project\n");
    let none = replaced(|config| config).await;
    assert_eq!(none, "${CLAUDE_PLUGIN_ROOT}|${CLAUDE_PLUGIN_ROOT}|${CLAUDE_PROJECT_DIR}\n");
}

// spec: timeout-jobs-hooks/J69
#[tokio::test]
async fn the_name_of_a_folder_is_never_code() {
    for folder in [
        "/a $(touch pwned) b",
        "/a`touch pwned`",
        "/a\"; touch pwned; \"",
        "/a'; touch pwned; '",
        "${CLAUDE_PROJECT_DIR}",
    ] {
        for quote in ["\"", "'"] {
            let fixture = Fixture::bare().await;
            let command = format!("printf %s {quote}${{CLAUDE_PLUGIN_ROOT}}{quote} > named");
            let more = |config| Config {
                plugin_root: Some(folder.to_owned()),
                project_dir: Some("/project".to_owned()),
                ..config
            };
            fixture.mount_as(hooks("PreToolUse", &[&command]), more).await;
            assert!(!fixture.call(json!({})).await.is_error());
            assert_eq!((fixture.read("named").as_str(), fixture.has("pwned")), (folder, false), "{command}");
        }
    }
}

// spec: timeout-jobs-hooks/J66
#[tokio::test]
async fn the_file_is_read_once() {
    let fixture = Fixture::of("PreToolUse", &["exit 2"]).await;
    std::fs::write(fixture.path("settings.json"), "{}").unwrap();
    assert!(fixture.call(json!({})).await.is_error());
}

// spec: timeout-jobs-hooks/J65
#[tokio::test]
async fn two_files_are_two_plugins() {
    let fixture = Fixture::bare().await;
    fixture.mount(hooks("PreToolUse", &[&answers(&json!({}))])).await;
    fixture.mount(hooks("PreToolUse", &["echo no >&2; exit 2"])).await;
    assert_eq!(fixture.call(json!({})).await.text(), "Error: no");
}

// spec: cases/H5
#[tokio::test]
async fn patterns_match_as_the_table_says() {
    let tools = ["Edit", "MultiEdit", "Write", "mcp__gh__a"];
    let table: [(Option<&str>, [bool; 4]); 7] = [
        (None, [true; 4]),
        (Some(""), [true; 4]),
        (Some("*"), [true; 4]),
        (Some("Edit"), [true, false, false, false]),
        (Some("Edit|Write"), [true, false, true, false]),
        (Some("mcp__gh__.*"), [false, false, false, true]),
        (Some("^(?!Bash)"), [true; 4]),
    ];
    for (pattern, matches) in table {
        let fixture = Fixture::bare().await;
        let group = json!({ "matcher": pattern, "hooks": [{ "command": "exit 2" }] });
        fixture.mount(json!({ "PreToolUse": [group] })).await;
        for (tool, matches) in tools.into_iter().zip(matches) {
            fixture.offer(tool);
            let outcome = fixture.world.execute(fixture.request(tool, Value::Null)).await;
            assert_eq!(outcome.is_error(), matches, "{pattern:?} against {tool}");
        }
    }
}
