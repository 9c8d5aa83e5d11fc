//! The tool as agents meet it.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use cordis::{App, Fiber, State};
use dsh_tool_bash::Config;
use dsh_tools::{CallRequest, TOOLS, ToolOutcome};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

struct Fixture {
    app: App,
    plugin: Fiber,
    folder: TempDir,
}

impl Fixture {
    async fn new() -> Self {
        Self::with(|config| config).await
    }

    async fn with(change: impl FnOnce(Config) -> Config) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let app = App::new().unwrap();
        app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap().ready().await.unwrap();
        let config = change(Config { grace_ms: 500, ..Config::new(folder.path()) });
        let plugin = app.plugin(dsh_tool_bash::plugin(), config).unwrap();
        plugin.ready().await.unwrap();
        Self { app, plugin, folder }
    }

    async fn call(&self, arguments: Value) -> ToolOutcome {
        self.call_until(arguments, CancellationToken::new()).await
    }

    async fn call_until(&self, arguments: Value, cancellation: CancellationToken) -> ToolOutcome {
        let request = CallRequest {
            id: "call-1".to_owned(),
            name: "bash".to_owned(),
            arguments: arguments.to_string(),
            scope: None,
            cancellation,
        };
        self.app.get(TOOLS).unwrap().get().unwrap().execute(&self.app, request).await
    }

    async fn run(&self, command: &str) -> ToolOutcome {
        self.call(json!({ "command": command, "description": "test" })).await
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Whether something still writes the file `beat`; waits for its first line.
async fn is_beating(folder: &Path) -> bool {
    let size = || fs::metadata(folder.join("beat")).map_or(0, |file| file.len());
    while size() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let before = size();
    tokio::time::sleep(Duration::from_millis(300)).await;
    size() > before
}

const BEAT: &str = "while :; do echo x >> beat; sleep 0.01; done";

#[tokio::test]
async fn the_model_reads_what_the_command_prints_and_how_it_ends() {
    let fixture = Fixture::new().await;
    for (command, text) in [
        ("echo hello", "hello\n"),
        ("true", "(no output)"),
        ("printf out; echo err >&2; exit 3", "out\n[stderr]\nerr\n[exit code: 3]"),
        ("kill -9 $$", "(no output)\n[killed by signal: SIGKILL]"),
    ] {
        assert_eq!(fixture.run(command).await, ToolOutcome::success(text));
    }
}

#[tokio::test]
async fn commands_start_in_the_workspace_and_share_nothing_but_its_files() {
    let fixture = Fixture::new().await;
    fixture.run("echo 1 > a; x=1; mkdir b; cd b").await;
    assert_eq!(fixture.run("cat a; echo \"<$x>\"; ls").await.content, "1\n<>\na\nb\n");
    assert!(fixture.path().join("a").exists());
}

#[tokio::test]
async fn what_is_wrong_with_a_call_is_said() {
    let fixture = Fixture::new().await;
    for (arguments, message) in [
        (
            json!({}),
            "invalid arguments: missing required property \"command\"; missing required property \"description\"",
        ),
        (json!({ "command": 1, "description": "x" }), "invalid arguments: \"command\" must be a string"),
        (json!({ "command": "", "description": "x" }), "invalid command: expected a non-empty string"),
        (json!({ "command": "ls", "description": "" }), "invalid description: expected a non-empty string"),
        (
            json!({ "command": "ls", "description": "x", "timeoutMs": -1 }),
            "invalid timeoutMs: expected a positive number, got -1",
        ),
    ] {
        let outcome = fixture.call(arguments).await;
        assert_eq!(outcome.content, format!("Error: {message}"));
    }
    let background = json!({ "command": "touch ran", "description": "x", "run_in_background": true });
    assert!(fixture.call(background).await.content.contains("run_in_background"));
    assert!(!fixture.path().join("ran").exists());
}

// spec: cases/P4
#[tokio::test]
async fn at_the_time_limit_of_the_call_the_output_stays() {
    let fixture = Fixture::new().await;
    let call =
        json!({ "command": "echo CRITICAL-PROGRESS; sleep 30", "description": "x", "timeoutMs": 1000 });
    let expected = "CRITICAL-PROGRESS\n[timed out after 1000ms]\n[killed by signal: SIGTERM]";
    assert_eq!(fixture.call(call).await, ToolOutcome::success(expected));
}

#[tokio::test]
async fn no_call_can_run_longer_than_the_configuration_allows() {
    let fixture = Fixture::with(|config| Config { max_timeout_ms: 300, ..config }).await;
    for timeout in [json!(60_000), json!(1e300), Value::Null] {
        let mut call = json!({ "command": "sleep 30", "description": "x" });
        if !timeout.is_null() {
            call["timeoutMs"] = timeout;
        }
        assert!(fixture.call(call).await.content.contains("[timed out after 300ms]"));
    }
}

// spec: cases/P5
#[tokio::test]
async fn long_output_loses_its_middle_and_says_how_much() {
    let fixture = Fixture::with(|config| Config { max_output_bytes: 20, ..config }).await;
    let outcome = fixture.run("seq 1 100").await;
    let expected = "1\n2\n3\n4\n5\n[output truncated: 272 bytes dropped here; full output: (unavailable)]\n98\n99\n100\n";
    assert_eq!(outcome.content, expected);
}

#[tokio::test]
async fn a_workdir_lies_in_the_workspace_under_either_name() {
    let fixture =
        Fixture::with(|config| Config { shown_as: Some("/home/user/project".into()), ..config }).await;
    fs::create_dir(fixture.path().join("sub")).unwrap();
    fs::write(fixture.path().join("sub/here"), "").unwrap();
    let real = fixture.path().join("sub").display().to_string();
    for workdir in ["sub", "./sub/../sub", "/home/user/project/sub", &real] {
        let outcome = fixture.call(json!({ "command": "ls", "description": "x", "workdir": workdir })).await;
        assert_eq!(outcome.content, "here\n", "{workdir}");
    }
}

#[tokio::test]
async fn a_workdir_outside_the_workspace_is_refused() {
    let fixture = Fixture::new().await;
    std::os::unix::fs::symlink("/", fixture.path().join("link")).unwrap();
    fs::write(fixture.path().join("file"), "").unwrap();
    for workdir in ["..", "/", "/home/user/project", "link", "link/tmp", "missing", "file"] {
        let call = json!({ "command": "touch ran", "description": "x", "workdir": workdir });
        let outcome = fixture.call(call).await;
        assert!(outcome.is_error() && outcome.content.contains(workdir), "{}", outcome.content);
    }
    assert!(!fixture.path().join("ran").exists());
}

#[tokio::test]
async fn a_cancelled_call_ends_its_command_and_keeps_the_output() {
    let fixture = Fixture::new().await;
    let cancellation = CancellationToken::new();
    let call = json!({ "command": format!("echo part; ({BEAT}) & wait"), "description": "x" });
    let cancel = async {
        is_beating(fixture.path()).await;
        cancellation.cancel();
    };
    let (outcome, ()) = tokio::join!(fixture.call_until(call, cancellation.clone()), cancel);
    assert_eq!(
        (outcome.content.as_str(), outcome.code()),
        ("part\nError: tool call aborted", Some("ABORTED"))
    );
    assert!(!is_beating(fixture.path()).await);
}

#[tokio::test]
async fn unloading_the_plugin_ends_the_command_that_runs() {
    let fixture = Fixture::new().await;
    let command = format!("({BEAT}) & wait");
    let unload = async {
        is_beating(fixture.path()).await;
        assert!(fixture.plugin.dispose().await.is_clean());
    };
    let (outcome, ()) = tokio::join!(fixture.run(&command), unload);
    assert_eq!(outcome.code(), Some("ABORTED"));
    assert!(!is_beating(fixture.path()).await);
    assert_eq!(fixture.run("true").await.code(), Some("UNKNOWN_TOOL"));
}

// spec: cases/P2
#[tokio::test]
async fn what_a_command_leaves_running_lives_until_the_plugin_is_unloaded() {
    let fixture = Fixture::new().await;
    let start = Instant::now();
    assert_eq!(fixture.run(&format!("({BEAT}) >/dev/null 2>&1 & echo hi")).await.content, "hi\n");
    assert_eq!(fixture.run("sleep 300 & echo hi").await.content, "hi\n");
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    assert!(is_beating(fixture.path()).await);
    fixture.plugin.dispose().await;
    assert!(!is_beating(fixture.path()).await);
}

#[tokio::test]
async fn a_configuration_that_makes_no_sense_is_refused() {
    let app = App::new().unwrap();
    app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap().ready().await.unwrap();
    let zero = |change: fn(&mut Config)| {
        let mut config = Config::new("/");
        change(&mut config);
        config
    };
    for (config, field) in [
        (Config::new("relative"), "tool-bash: `workspace` must be an absolute path, not `relative`"),
        (zero(|config| config.timeout_ms = 0), "timeoutMs"),
        (zero(|config| config.max_timeout_ms = 0), "maxTimeoutMs"),
        (zero(|config| config.grace_ms = u64::MAX), "graceMs"),
    ] {
        let fiber = app.plugin(dsh_tool_bash::plugin(), config).unwrap();
        let _ = fiber.ready().await;
        assert_eq!(fiber.state(), State::Failed);
        let error = fiber.error().unwrap().to_string();
        assert!(error.contains(field), "{error}");
    }
}

#[test]
fn a_configuration_names_its_defaults_and_refuses_unknown_fields() {
    let config: Config = serde_json::from_value(json!({ "workspace": "/w" })).unwrap();
    assert_eq!(config, Config::new("/w"));
    assert!(serde_json::from_value::<Config>(json!({ "workspace": "/w", "timeout": 1 })).is_err());
}

#[test]
fn the_catalogue_lists_the_plugin() {
    let plugin = cordis::catalog::find("tool-bash").unwrap();
    assert_eq!(plugin.needs()[0].name, "tools");
    assert_eq!(plugin.schema()["required"], json!(["workspace"]));
}
