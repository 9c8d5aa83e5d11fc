//! A project whose settings have hooks.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::fixture::{Fixture, Ran, of_type};

/// A project, and a user who has nothing at home.
pub(crate) struct Project {
    pub(crate) fixture: Fixture,
    arguments: Vec<String>,
    path: Option<String>,
}

impl Project {
    /// Without settings.
    pub(crate) fn bare() -> Self {
        let fixture = Fixture::new();
        for folder in ["home", "project", "project/.claude", "project/.codex", "bin"] {
            fs::create_dir(fixture.path(folder)).unwrap();
        }
        Self { fixture, arguments: Vec::new(), path: None }
    }

    /// With settings for Claude Code.
    pub(crate) fn of(settings: &Value) -> Self {
        let project = Self::bare();
        project.write(".claude/settings.json", &settings.to_string());
        project
    }

    /// With hooks for Codex.
    pub(crate) fn of_codex(settings: &Value) -> Self {
        let project = Self::bare();
        project.write(".codex/hooks.json", &settings.to_string());
        Self { arguments: vec!["--dialect".to_owned(), "codex".to_owned()], ..project }
    }

    /// With hooks of one point for everything, in this order.
    pub(crate) fn with(point: &str, commands: &[&str]) -> Self {
        Self::of(&hooks(point, commands))
    }

    /// With a program of its own before those of the system.
    pub(crate) fn program(mut self, name: &str, script: &str) -> Self {
        let file = self.fixture.path("bin").join(name);
        executable(&file, script);
        let (bin, path) = (self.fixture.path("bin"), std::env::var("PATH").unwrap());
        self.path = Some(format!("{}:{path}", bin.display()));
        self
    }

    /// The project's folder.
    pub(crate) fn folder(&self) -> PathBuf {
        self.fixture.path("project").canonicalize().unwrap()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.file(name), text).unwrap();
    }

    /// Makes a program of the project.
    pub(crate) fn script(&self, name: &str, text: &str) {
        fs::create_dir_all(self.file(name).parent().unwrap()).unwrap();
        executable(&self.file(name), text);
    }

    /// `dsh hooks ARGUMENTS`, in the project's folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.fixture.command();
        command.current_dir(self.folder()).env("HOME", self.fixture.path("home"));
        for name in ["CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_FILE_PATH"] {
            command.env_remove(name);
        }
        command.envs(self.path.iter().map(|path| ("PATH", path)));
        command.arg("hooks").args(arguments).args(&self.arguments);
        command
    }

    pub(crate) fn hooks(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).output().unwrap())
    }

    /// The same with `--json`: the exit code and the lines.
    pub(crate) fn json(&self, arguments: &[&str]) -> (Option<i32>, Vec<Value>) {
        let ran = self.hooks(&[arguments, &["--json"]].concat());
        let lines = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (ran.code, lines)
    }

    /// What `dsh hooks check` finds: the exit code, and each problem as `SEVERITY AT: MESSAGE`.
    pub(crate) fn check(&self, arguments: &[&str]) -> (Option<i32>, Vec<String>) {
        let (code, lines) = self.json(&[&["check"], arguments].concat());
        let told = |line: &&Value| {
            let text = |key: &str| line[key].as_str().unwrap().to_owned();
            format!("{} {}: {}", text("severity"), text("at"), text("message"))
        };
        (code, of_type(&lines, "problem").iter().map(told).collect())
    }

    /// What comes of `dsh hooks run`: the exit code, the hooks, and the outcome.
    pub(crate) fn run(&self, arguments: &[&str]) -> (Option<i32>, Vec<Value>, Value) {
        let (code, lines) = self.json(&[&["run"], arguments].concat());
        let hooks = of_type(&lines, "hook").into_iter().cloned().collect();
        let outcome = of_type(&lines, "outcome").first().map(|line| (*line).clone()).unwrap_or_default();
        (code, hooks, outcome)
    }
}

/// Hooks of one point for everything, in this order.
pub(crate) fn hooks(point: &str, commands: &[&str]) -> Value {
    let entries: Vec<Value> =
        commands.iter().map(|command| json!({ "type": "command", "command": command })).collect();
    json!({ "hooks": { point: [{ "hooks": entries }] } })
}

/// A command that answers this.
pub(crate) fn answers(answer: &Value) -> String {
    format!("cat > /dev/null; printf %s '{answer}'")
}

/// A command whose own part of the answer is this.
pub(crate) fn says(point: &str, mut own: Value) -> String {
    own["hookEventName"] = json!(point);
    answers(&json!({ "hookSpecificOutput": own }))
}

fn executable(file: &Path, script: &str) {
    // Made under another name: no process that is being started elsewhere has it open for writing when it is run.
    let making = file.with_extension("part");
    fs::write(&making, script).unwrap();
    fs::set_permissions(&making, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(making, file).unwrap();
}
