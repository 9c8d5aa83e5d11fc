//! The tool as agents meet it.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cordis::{App, State};
use dsh_tool_fs::Config;
use dsh_tools::{CallRequest, TOOLS, ToolOutcome};
use dsh_tools_invariants::testing::Watched;
use serde_json::{Value, json};
use tempfile::TempDir;

struct Fixture {
    app: App,
    folder: TempDir,
    _watched: Watched,
}

impl Fixture {
    async fn new() -> Self {
        Self::with(|config| config).await
    }

    /// The workspace is a folder in the temporary one, so that there is an outside.
    async fn with(change: impl FnOnce(Config) -> Config) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("workspace");
        fs::create_dir(&workspace).unwrap();
        let app = App::new().unwrap();
        app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap().ready().await.unwrap();
        let _watched = dsh_tools_invariants::testing::watch(&app).await;
        let config = Config { shown_as: Some("/home/user/project".into()), ..Config::new(workspace) };
        app.plugin(dsh_tool_fs::plugin(), change(config)).unwrap().ready().await.unwrap();
        Self { app, folder, _watched }
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.folder.path().join("workspace").join(name), content).unwrap();
    }

    async fn call(&self, arguments: Value) -> ToolOutcome {
        let request = CallRequest::new("call-1", "read", arguments.to_string());
        self.app.get(TOOLS).unwrap().get().unwrap().execute(&self.app, request).await
    }

    async fn read(&self, path: &str) -> ToolOutcome {
        self.call(json!({ "file_path": path })).await
    }
}

fn page(name: &str, body: &str) -> String {
    format!("<path>/home/user/project/{name}</path>\n<type>file</type>\n<content>\n{body}\n</content>")
}

#[tokio::test]
async fn the_lines_of_a_file_are_numbered() {
    let fixture = Fixture::new().await;
    fixture.write("a.txt", "alpha\r\nbeta\n\ngamma");
    let expected = page("a.txt", "1: alpha\n2: beta\n3: \n4: gamma\n\n(end of file, lines in total: 4)");
    for path in ["a.txt", "./x/../a.txt", "/home/user/project/a.txt"] {
        assert_eq!(fixture.read(path).await, ToolOutcome::success(expected.as_str()));
    }
    fixture.write("empty", "");
    assert_eq!(fixture.read("empty").await.text(), page("empty", "(end of file, lines in total: 0)"));
}

#[tokio::test]
async fn a_part_says_where_to_go_on() {
    let fixture = Fixture::new().await;
    fixture.write("a.txt", "alpha\nbeta\ngamma\ndelta\n");
    let part = fixture.call(json!({ "file_path": "a.txt", "offset": 2, "limit": 2 })).await;
    let expected = page("a.txt", "2: beta\n3: gamma\n\n(lines 2-3 of 4 are shown, go on with offset=4)");
    assert_eq!(part.text(), expected);
    let rest = fixture.call(json!({ "file_path": "a.txt", "offset": 4, "limit": 2 })).await;
    assert_eq!(rest.text(), page("a.txt", "4: delta\n\n(end of file, lines in total: 4)"));
}

#[tokio::test]
async fn long_lines_and_long_files_are_cut() {
    let fixture =
        Fixture::with(|config| Config { read_max_line_length: 4, read_max_bytes: 50, ..config }).await;
    fixture.write("a.txt", "abcdefgh\nb\n");
    let expected = "1: abcd... (line truncated to 4 chars)\n2: b\n\n(end of file, lines in total: 2)";
    assert_eq!(fixture.read("a.txt").await.text(), page("a.txt", expected));
    fixture.write("b.txt", "abc\n".repeat(100));
    let outcome = fixture.read("b.txt").await;
    assert!(outcome.text().contains("\n12: abc\n\n(capped: lines 1-12 are shown, go on with offset=13)"));
}

#[tokio::test]
async fn what_is_no_text_file_is_refused() {
    let fixture = Fixture::new().await;
    fixture.write("binary", b"a\0b");
    fixture.write("latin1", b"caf\xe9\n");
    fs::create_dir(fixture.folder.path().join("workspace/folder")).unwrap();
    let _socket =
        std::os::unix::net::UnixListener::bind(fixture.folder.path().join("workspace/socket")).unwrap();
    for (path, reason, code) in [
        ("missing", "not found", "FS_NOT_FOUND"),
        ("binary/x", "not found", "FS_NOT_FOUND"),
        ("binary", "binary file", "FS_NOT_TEXT"),
        ("latin1", "invalid UTF-8 text", "FS_NOT_TEXT"),
        ("folder", "not a regular file", "FS_NOT_REGULAR_FILE"),
        ("socket", "not a regular file", "FS_NOT_REGULAR_FILE"),
    ] {
        let outcome = fixture.read(path).await;
        assert_eq!(outcome.text(), format!("Error: cannot read \"/home/user/project/{path}\": {reason}"));
        assert_eq!(outcome.code(), Some(code));
    }
}

#[tokio::test]
async fn no_path_leads_out_of_the_workspace() {
    let fixture = Fixture::new().await;
    let outside = fixture.folder.path().join("secret");
    fs::write(&outside, "secret").unwrap();
    let workspace = fixture.folder.path().join("workspace");
    symlink(&outside, workspace.join("link")).unwrap();
    symlink("..", workspace.join("up")).unwrap();
    fixture.write("inside", "fine\n");
    symlink("inside", workspace.join("alias")).unwrap();
    let absolute = outside.display().to_string();
    for path in ["../secret", "a/../../secret", &absolute, "/etc/passwd", "link", "up/secret"] {
        let outcome = fixture.read(path).await;
        assert_eq!(outcome.code(), Some("FS_SANDBOX_DENIED"), "{path}: {}", outcome.text());
        assert!(!outcome.text().contains("1: "), "{}", outcome.text());
    }
    assert!(fixture.read("alias").await.text().contains("1: fine"));
}

/// Puts a link out, a pipe and a file in one place, one after another, until told to stop.
fn swap(folder: &Path, stop: &AtomicBool) {
    let workspace = folder.join("workspace");
    let (spare, place) = (workspace.join("spare"), workspace.join("x"));
    while !stop.load(Ordering::Relaxed) {
        symlink(folder.join("secret"), &spare).unwrap();
        fs::rename(&spare, &place).unwrap();
        for kept in ["pipe", "inside"] {
            fs::hard_link(workspace.join(kept), &spare).unwrap();
            fs::rename(&spare, &place).unwrap();
        }
    }
}

#[tokio::test]
async fn no_race_leads_out_of_the_workspace_or_blocks() {
    let fixture = Fixture::new().await;
    let folder = fixture.folder.path().to_owned();
    fs::write(folder.join("secret"), "secret").unwrap();
    fixture.write("inside", "fine");
    assert!(Command::new("mkfifo").arg(folder.join("workspace/pipe")).status().unwrap().success());
    let stop = Arc::new(AtomicBool::new(false));
    let swapping = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || swap(&folder, &stop)
    });
    let mut found = Vec::new();
    for _ in 0..5_000 {
        let reading = tokio::time::timeout(Duration::from_secs(10), fixture.read("x"));
        let Ok(outcome) = reading.await else {
            // The runtime would wait for the thread that waits.
            eprintln!("a read blocked");
            std::process::exit(1);
        };
        found.push(outcome.text());
    }
    stop.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    assert!(found.iter().any(|content| content.contains("1: fine")));
    assert!(!found.iter().any(|content| content.contains("1: secret")));
}

#[tokio::test]
async fn a_file_without_an_end_is_read_up_to_a_bound() {
    let fixture = Fixture::new().await;
    fixture.write("a.txt", "alpha\nbeta\n".repeat(1_000));
    let file =
        fs::OpenOptions::new().write(true).open(fixture.folder.path().join("workspace/a.txt")).unwrap();
    file.set_len(1 << 40).unwrap();
    let outcome = fixture.call(json!({ "file_path": "a.txt", "limit": 1 })).await;
    let expected = "1: alpha\n\n(lines 1-1 of at least 2000 are shown, go on with offset=2)";
    assert_eq!(outcome.text(), page("a.txt", expected));
    let outcome = fixture.call(json!({ "file_path": "a.txt", "offset": 2000, "limit": 1 })).await;
    let expected = "2000: beta\n\n(end of the first 64 MiB, no more is read, lines in total: at least 2000)";
    assert_eq!(outcome.text(), page("a.txt", expected));
    let outcome = fixture.call(json!({ "file_path": "a.txt", "offset": 3000 })).await;
    assert!(outcome.text().contains("beyond the first 64 MiB"), "{}", outcome.text());
}

#[tokio::test]
async fn what_is_wrong_with_a_call_is_said() {
    let fixture = Fixture::new().await;
    fixture.write("a.txt", "alpha\n");
    for (arguments, message) in [
        (json!({}), "invalid arguments: missing required property \"file_path\""),
        (json!({ "file_path": "" }), "file_path must be a non-empty string"),
        (json!({ "file_path": "a.txt", "offset": 0 }), "offset must be a positive integer"),
        (json!({ "file_path": "a.txt", "offset": 1.5 }), "offset must be a positive integer"),
        (json!({ "file_path": "a.txt", "limit": -1 }), "limit must be a positive integer"),
        (json!({ "file_path": "a.txt", "limit": 2001 }), "limit must not be above 2000"),
        (
            json!({ "file_path": "a.txt", "offset": 9 }),
            "offset 9 is beyond the end of \"/home/user/project/a.txt\", which has 1 lines",
        ),
    ] {
        assert_eq!(fixture.call(arguments).await.text(), format!("Error: {message}"));
    }
}

#[tokio::test]
async fn the_model_is_told_its_parameters_and_the_limit_and_the_pipeline_how_it_runs() {
    let fixture = Fixture::with(|config| Config { read_limit: 7, ..config }).await;
    let tools = fixture.app.get(TOOLS).unwrap();
    let tool = tools.get().unwrap().get("read", None).unwrap();
    let expected = json!({
        "type": "object",
        "properties": {
            "file_path": { "description": "The file, which lies in the workspace.", "type": "string" },
            "offset": { "description": "The first line to give, counted from 1.", "type": "number" },
            "limit": { "description": "How many lines to give.", "type": "number" },
        },
        "required": ["file_path"],
    });
    assert_eq!(serde_json::to_value(&tool.schema().parameters).unwrap(), expected);
    assert!(tool.schema().description.contains("at most 7"), "{}", tool.schema().description);
    let call = json!({ "file_path": "a.txt" });
    assert_eq!((tool.is_parallel(&call), tool.is_idempotent(), tool.is_blocking()), (true, true, true));
    let refused = fixture.call(json!({ "file_path": "a.txt", "limit": 8 })).await;
    assert_eq!(refused.text(), "Error: limit must not be above 7");
}

#[tokio::test]
async fn a_configuration_that_makes_no_sense_is_refused() {
    let app = App::new().unwrap();
    app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap().ready().await.unwrap();
    for (config, field) in [
        (Config::new("relative"), "tool-fs: `workspace` must be an absolute path, not `relative`"),
        (Config { read_limit: 0, ..Config::new("/w") }, "readLimit"),
        (Config { read_max_bytes: 0, ..Config::new("/w") }, "readMaxBytes"),
    ] {
        let fiber = app.plugin(dsh_tool_fs::plugin(), config).unwrap();
        let _ = fiber.ready().await;
        assert_eq!(fiber.state(), State::Failed);
        let error = fiber.error().unwrap().to_string();
        assert!(error.contains(field), "{error}");
    }
    assert_eq!(
        serde_json::from_value::<Config>(json!({ "workspace": "/w" })).unwrap(),
        Config::new(Path::new("/w"))
    );
}
