//! The tool as agents meet it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

#[path = "../src/process/tests/witness.rs"]
mod witness;

use std::fs;
use std::path::Path;
use std::time::Duration;

use cordis::{App, Fiber, State};
use dsh_tool_bash::Config;
use dsh_tools::{CallRequest, OUTPUT, TOOLS, ToolOutcome, ToolOutput};
use dsh_tools_invariants::testing::Watched;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use witness::{ANSWERS, Witness, bounded, stop_clock};

struct Fixture {
    app: App,
    plugin: Fiber,
    folder: TempDir,
    _watched: Watched,
}

impl Fixture {
    async fn new() -> Self {
        Self::with(|config| config).await
    }

    async fn with(change: impl FnOnce(Config) -> Config) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let app = App::new().unwrap();
        app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap().ready().await.unwrap();
        let _watched = dsh_tools_invariants::testing::watch(&app).await;
        let config = change(Config { grace_ms: 500, ..Config::new(folder.path()) });
        let plugin = app.plugin(dsh_tool_bash::plugin(), config).unwrap();
        plugin.ready().await.unwrap();
        Self { app, plugin, folder, _watched }
    }

    async fn call(&self, arguments: Value) -> ToolOutcome {
        self.call_until(arguments, CancellationToken::new()).await
    }

    async fn call_until(&self, arguments: Value, cancellation: CancellationToken) -> ToolOutcome {
        let request = CallRequest::new("call-1", "bash", arguments.to_string()).cancellation(&cancellation);
        self.app.get(TOOLS).unwrap().get().unwrap().execute(&self.app, request).await
    }

    async fn run(&self, command: &str) -> ToolOutcome {
        self.call(json!({ "command": command, "description": "test" })).await
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

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
    assert_eq!(fixture.run("cat a; echo \"<$x>\"; ls").await.text(), "1\n<>\na\nb\n");
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
        assert_eq!(outcome.text(), format!("Error: {message}"));
    }
    let background = json!({ "command": "touch ran", "description": "x", "run_in_background": true });
    assert!(fixture.call(background).await.text().contains("run_in_background"));
    assert!(!fixture.path().join("ran").exists());
}

// spec: cases/P4
#[tokio::test(start_paused = true)]
async fn at_the_time_limit_of_the_call_the_output_stays() {
    let fixture = Fixture::new().await;
    let _clock = stop_clock();
    let (send, mut printed) = mpsc::unbounded_channel();
    let told = move |_: &ToolOutput| {
        let _ = send.send(());
    };
    fixture.app.on(OUTPUT).run(told).unwrap();
    let call =
        json!({ "command": "echo CRITICAL-PROGRESS; sleep 300", "description": "x", "timeoutMs": 1000 });
    let limit = async {
        printed.recv().await.unwrap();
        tokio::time::advance(Duration::from_millis(1000)).await;
    };
    let (outcome, ()) = tokio::join!(fixture.call(call), limit);
    let expected = "CRITICAL-PROGRESS\n[timed out after 1000ms]\n[killed by signal: SIGTERM]";
    assert_eq!(outcome, ToolOutcome::success(expected));
}

#[tokio::test]
async fn no_call_can_run_longer_than_the_configuration_allows() {
    let fixture = Fixture::with(|config| Config { max_timeout_ms: 300, ..config }).await;
    for timeout in [json!(60_000), json!(1e300), Value::Null] {
        let mut call = json!({ "command": "sleep 300", "description": "x" });
        if !timeout.is_null() {
            call["timeoutMs"] = timeout;
        }
        assert!(fixture.call(call).await.text().contains("[timed out after 300ms]"));
    }
}

// spec: cases/P5
#[tokio::test]
async fn long_output_loses_its_middle_and_says_how_much() {
    let fixture = Fixture::with(|config| Config { max_output_bytes: 20, ..config }).await;
    let outcome = fixture.run("seq 1 100").await;
    let expected = "1\n2\n3\n4\n5\n[output truncated: 272 bytes dropped here; full output: (unavailable)]\n98\n99\n100\n";
    assert_eq!(outcome.text(), expected);
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
        assert_eq!(outcome.text(), "here\n", "{workdir}");
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
        assert!(outcome.is_error() && outcome.text().contains(workdir), "{}", outcome.text());
    }
    assert!(!fixture.path().join("ran").exists());
}

#[tokio::test]
async fn a_cancelled_call_ends_its_command_and_keeps_the_output() {
    let fixture = Fixture::new().await;
    let cancellation = CancellationToken::new();
    let mut witness = Witness::new(fixture.path());
    let call = json!({ "command": format!("echo part; ({ANSWERS}) & wait"), "description": "x" });
    let cancel = async {
        assert!(witness.is_answered().await);
        cancellation.cancel();
    };
    let (outcome, ()) = tokio::join!(fixture.call_until(call, cancellation.clone()), cancel);
    assert_eq!(
        (outcome.text().as_str(), outcome.code()),
        ("part\nError: tool call aborted", Some("ABORTED"))
    );
    witness.is_alone().await;
}

#[tokio::test]
async fn what_a_command_prints_is_told_while_it_runs() {
    let fixture = Fixture::new().await;
    let (send, mut pieces) = mpsc::unbounded_channel();
    let told = move |output: &ToolOutput| send.send(output.text().to_owned()).unwrap();
    fixture.app.on(OUTPUT).run(told).unwrap();
    // The command goes on only because its first line was heard.
    let answer = async {
        let mut heard = String::new();
        while !heard.contains("é\n") {
            heard.push_str(&pieces.recv().await.unwrap());
        }
        fs::write(fixture.path().join("go"), "").unwrap();
        heard
    };
    let command =
        "printf '\\303'; sleep 0.05; printf '\\251\\n'; until [ -e go ]; do sleep 0.01; done; echo more >&2";
    let both = async { tokio::join!(fixture.run(command), answer) };
    let (outcome, heard) = bounded(both).await;
    assert_eq!(outcome, ToolOutcome::success("é\n[stderr]\nmore\n"));
    assert_eq!((heard.as_str(), pieces.recv().await.unwrap().as_str()), ("é\n", "more\n"));
}

#[tokio::test]
async fn a_cancelled_call_gives_what_was_printed_once_with_its_streams_apart() {
    let fixture = Fixture::new().await;
    let cancellation = CancellationToken::new();
    let cancel = cancellation.clone();
    fixture
        .app
        .on(OUTPUT)
        .run(move |output: &ToolOutput| {
            if output.text().contains("err") {
                cancel.cancel();
            }
        })
        .unwrap();
    let call = json!({ "command": "echo out; sleep 0.05; echo err >&2; sleep 300", "description": "x" });
    let outcome = fixture.call_until(call, cancellation).await;
    assert_eq!(
        (outcome.text().as_str(), outcome.code()),
        ("out\n[stderr]\nerr\nError: tool call aborted", Some("ABORTED"))
    );
}

#[tokio::test]
async fn the_model_is_told_its_parameters_and_the_pipeline_how_it_runs() {
    let fixture = Fixture::new().await;
    let tools = fixture.app.get(TOOLS).unwrap();
    let tool = tools.get().unwrap().get("bash", None).unwrap();
    let expected = json!({
        "type": "object",
        "properties": {
            "command": { "description": "The command line for bash.", "type": "string" },
            "description": { "description": "What it does, in a few words for the user.", "type": "string" },
            "timeoutMs": { "description": "How many milliseconds it may run.", "type": "number" },
            "workdir": {
                "description": "The folder to run it in: the workspace, or one in it.",
                "type": "string"
            },
            "run_in_background": { "description": "Not available yet.", "type": "boolean" },
        },
        "required": ["command", "description"],
    });
    assert_eq!(serde_json::to_value(&tool.schema().parameters).unwrap(), expected);
    let call = json!({ "command": "ls", "description": "x" });
    assert_eq!(
        (tool.is_parallel(&call), tool.is_idempotent(), tool.is_blocking(), tool.timeout()),
        (false, false, false, None)
    );
}

#[tokio::test]
async fn unloading_the_plugin_ends_the_command_that_runs() {
    let fixture = Fixture::new().await;
    let mut witness = Witness::new(fixture.path());
    let command = format!("({ANSWERS}) & wait");
    let unload = async {
        assert!(witness.is_answered().await);
        assert!(fixture.plugin.dispose().await.is_clean());
    };
    let (outcome, ()) = tokio::join!(fixture.run(&command), unload);
    assert_eq!(outcome.code(), Some("ABORTED"));
    witness.is_alone().await;
    assert_eq!(fixture.run("true").await.code(), Some("UNKNOWN_TOOL"));
}

// spec: cases/P2
#[tokio::test]
async fn what_a_command_leaves_running_lives_until_the_plugin_is_unloaded() {
    let fixture = Fixture::new().await;
    let mut witness = Witness::new(fixture.path());
    for command in [&format!("({ANSWERS}) >/dev/null 2>&1 & echo hi"), "sleep 300 & echo hi"] {
        assert_eq!(bounded(fixture.run(command)).await.text(), "hi\n", "{command}");
    }
    assert!(witness.is_answered().await);
    fixture.plugin.dispose().await;
    witness.is_alone().await;
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
