//! Logs to replay, and a way to run the program on them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with a log in it, and another one for the program's temporary files.
pub(crate) struct Fixture {
    folder: TempDir,
}

/// What the program did.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tmp")).unwrap();
        Self { folder }
    }

    pub(crate) fn with(log: &Log) -> Self {
        Self::with_text(log.text())
    }

    pub(crate) fn with_text(text: impl AsRef<[u8]>) -> Self {
        let fixture = Self::new();
        fs::write(fixture.log(), text).unwrap();
        fixture
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path("log.jsonl")
    }

    /// The program, with no terminal.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dsh"));
        command.env("TMPDIR", self.path("tmp")).env_remove("NO_COLOR");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command().args(arguments).output().unwrap())
    }

    /// `dsh replay OPTIONS - < log.jsonl`, through a pipe.
    pub(crate) fn replay_piped(&self, options: &[&str]) -> Ran {
        let mut command = self.command();
        command.arg("replay").args(options).arg("-").stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A program that refuses its command line reads nothing.
        let _ = stdin.write_all(&fs::read(self.log()).unwrap());
        drop(stdin);
        Ran::from(child.wait_with_output().unwrap())
    }

    /// `dsh replay OPTIONS log.jsonl`
    pub(crate) fn replay(&self, options: &[&str]) -> Ran {
        let log = self.log().display().to_string();
        self.run(&[&["replay"], options, &[&log]].concat())
    }

    /// The lines of `dsh replay --yes --json OPTIONS log.jsonl`.
    pub(crate) fn replay_json(&self, options: &[&str]) -> Vec<Value> {
        let ran = self.replay(&[&["--yes", "--json"], options].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Nothing that the program made is left.
    #[track_caller]
    pub(crate) fn assert_tidy(&self) {
        let left: Vec<PathBuf> = entries(&self.path("tmp"));
        assert_eq!(left, Vec::<PathBuf>::new());
    }
}

/// Has the program find nothing of the user's: no key, no server, and a home of its own.
pub(crate) fn at_home(command: &mut Command, fixture: &Fixture) {
    command.env("DSH_HOME", fixture.path("home"));
    for variable in ["DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL", "DSH_SNAPSHOT_FILE", "DSH_SNAPSHOT_OVERRIDE"] {
        command.env_remove(variable);
    }
}

/// What is in a folder.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

/// The objects of one type.
pub(crate) fn of_type<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == kind).collect()
}

/// A log in the making: one turn, whose calls follow one another.
pub(crate) struct Log {
    lines: Vec<Value>,
    seq: u64,
    calls: usize,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self::in_folder(Path::new("/home/user/project"))
    }

    /// A log of a session that worked in this folder.
    pub(crate) fn in_folder(cwd: &Path) -> Self {
        let header = json!({ "type": "session", "version": 0, "id": "s-1", "createdAt": 1, "cwd": cwd, "delegationDepth": 0 });
        Self { lines: vec![header], seq: 0, calls: 0 }.event("turn/start", json!({ "turn": 1 }), json!({}))
    }

    pub(crate) fn event(mut self, kind: &str, data: Value, more: Value) -> Self {
        let mut event = json!({ "type": kind, "seq": self.seq, "time": 1, "data": data });
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.lines.push(event);
        self.seq += 1;
        self
    }

    /// A call without a result.
    pub(crate) fn call(mut self, name: &str, arguments: &str) -> Self {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        let data = json!({ "turn": 1, "step": 1, "callId": id, "name": name, "arguments": arguments });
        self.event("tool/call", data, json!({}))
    }

    pub(crate) fn bash(self, command: &str) -> Self {
        let arguments = json!({ "command": command, "description": "test" }).to_string();
        self.call("bash", &arguments)
    }

    pub(crate) fn read(self, path: &str) -> Self {
        self.call("read", &json!({ "file_path": path }).to_string())
    }

    /// The result of the last call.
    pub(crate) fn result(self, text: &str) -> Self {
        let id = format!("call-{}", self.calls);
        let block = json!({ "type": "tool-result", "toolCallId": id, "content": [{ "type": "text", "text": text }], "isError": false });
        let message = json!({ "id": format!("m-{id}"), "role": "user", "source": { "kind": "tool", "callId": id }, "content": [block] });
        let data = json!({ "turn": 1, "step": 1, "message": message });
        self.event("tool/result", data, json!({ "surfaceOp": "append" }))
    }

    pub(crate) fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}
