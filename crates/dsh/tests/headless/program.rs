//! Our own runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use dsh_testkit::{MockServer, Script};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::log;
use crate::recording::{Ended, Recording, Run, here};
use crate::request::Asked;

/// A home and a workspace of its own.
pub(crate) struct Program {
    folder: TempDir,
}

impl Program {
    pub(crate) fn new() -> Self {
        let program = Self { folder: tempfile::tempdir().unwrap() };
        copy(&here("workspace"), &program.workspace());
        program
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The program, in the workspace, with a model server.
    pub(crate) fn command(&self, server: &MockServer) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dsh"));
        command.current_dir(self.workspace()).env("LC_ALL", "C");
        command.env("HOME", self.folder.path()).env("DSH_HOME", self.home());
        command.env("DEEPSEEK_BASE_URL", server.base_url()).env("DEEPSEEK_API_KEY", "mock-key");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// `dsh run ARGUMENTS` on a script.
    pub(crate) fn run(&self, script: &Path, arguments: &[&str]) -> Ran {
        let server = serve(script);
        let output = self.command(&server).arg("run").args(arguments).output().unwrap();
        self.ran(&server, output)
    }

    /// `dsh run go`, which gets a signal when a command of the script has begun.
    pub(crate) fn run_until(&self, script: &Path, signal: Signal) -> Ran {
        let server = serve(script);
        let mut child = self.command(&server).args(["run", "go"]).spawn().unwrap();
        while !self.workspace().join("begun").exists() {
            assert_eq!(child.try_wait().unwrap(), None, "the program ended before the command began");
            thread::sleep(Duration::from_millis(10));
        }
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        self.ran(&server, child.wait_with_output().unwrap())
    }

    fn ran(&self, server: &MockServer, output: Output) -> Ran {
        let process = Ended {
            exit: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        let requests: Vec<Asked> = server.requests().into_iter().map(Asked::from).collect();
        let (log, url, workspace) = (self.log(), server.base_url(), self.workspace().display().to_string());
        let run = Run {
            process: Some(process),
            requests: &requests,
            log: &log,
            server: &url,
            workspace: &workspace,
        };
        Ran { recording: Recording::of(run), requests, log }
    }

    /// The only log of the home.
    pub(crate) fn log(&self) -> Vec<Value> {
        let logs = log::below(&self.home().join("sessions"));
        assert_eq!(logs.len(), 1, "{logs:?}");
        log::read(&logs[0])
    }
}

/// What one run left.
pub(crate) struct Ran {
    pub(crate) recording: Recording,
    pub(crate) requests: Vec<Asked>,
    pub(crate) log: Vec<Value>,
}

fn serve(script: &Path) -> MockServer {
    MockServer::start(Script::read(script).unwrap()).unwrap()
}

/// The script of a recording.
pub(crate) fn script(name: &str) -> PathBuf {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dsh-testkit/scripts");
    let own = here("scripts").join(format!("{name}.json"));
    if own.exists() { own } else { shared.join(format!("{name}.json")) }
}

/// Copies a folder.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
