//! What is left of commands when the program ends, in whatever way.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::fixture::{Fixture, Log};

/// How long what was started may be there after the program: with room for a machine that has much to do.
const SOON: Duration = Duration::from_secs(5);
/// How long a start may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A pipe that commands hold as long as they live.
struct Witness {
    pipe: PathBuf,
    heard: Receiver<u8>,
}

impl Witness {
    fn new(folder: &Path, name: &str) -> Self {
        let pipe = folder.join(name);
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (said, heard) = mpsc::channel();
        let read = pipe.clone();
        std::thread::spawn(move || {
            let mut read = File::open(read).unwrap();
            let mut byte = [0];
            while let Ok(1) = read.read(&mut byte) {
                let _ = said.send(byte[0]);
            }
        });
        Self { pipe, heard }
    }

    /// A command that holds the pipe with three processes, one of which is in a session of its own.
    fn command(&self) -> String {
        let pipe = self.pipe.display();
        format!("exec 9>{pipe}; setsid sleep 300 & sleep 300 & printf x >&9; wait")
    }

    #[track_caller]
    fn waits_for_start(&self) {
        self.heard.recv_timeout(PATIENCE).unwrap();
    }

    /// Nobody holds the pipe any more.
    #[track_caller]
    fn is_alone(&self) {
        assert_eq!(self.heard.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected));
    }
}

fn arguments(command: &str, background: bool) -> Value {
    json!({ "command": command, "description": "test", "run_in_background": background })
}

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
}

const SIGNALS: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGKILL];

#[test]
fn nothing_of_a_call_is_left_when_the_program_is_ended() {
    for signal in SIGNALS {
        let fixture = Fixture::new();
        let witness = Witness::new(&fixture.path("tmp"), "alive");
        let call = arguments(&witness.command(), false).to_string();
        let mut child = fixture.command().args(["tools", "call", "bash", &call]).spawn().unwrap();
        witness.waits_for_start();
        send(&child, signal);
        assert!(!child.wait().unwrap().success(), "{signal}");
        witness.is_alone();
    }
}

#[test]
fn nothing_of_a_background_job_is_left_when_the_program_is_ended() {
    for signal in SIGNALS {
        let fixture = Fixture::new();
        let [job, call] = ["job", "call"].map(|name| Witness::new(&fixture.path("tmp"), name));
        let log = Log::new()
            .call("bash", &arguments(&job.command(), true).to_string())
            .result("started background job bash-1")
            .call("bash", &arguments(&call.command(), false).to_string());
        std::fs::write(fixture.log(), log.text()).unwrap();
        let child = fixture.command().args(["replay", "--yes"]).arg(fixture.log()).spawn().unwrap();
        job.waits_for_start();
        call.waits_for_start();
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(!output.status.success(), "{signal}: {stdout}");
        // A killed program sums nothing up.
        let summed = stdout.contains("same result as logged: 1") && stdout.contains("aborted: 1");
        assert!(summed || signal == Signal::SIGKILL, "{signal}: {stdout}");
        job.is_alone();
        call.is_alone();
    }
}

#[test]
fn a_job_of_a_call_ends_with_the_program() {
    let fixture = Fixture::new();
    let witness = Witness::new(&fixture.path("tmp"), "alive");
    let call = arguments(&witness.command(), true).to_string();
    let ran = fixture.run(&["tools", "call", "bash", &call]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("started background job bash-1"), "{}", ran.stdout);
    // The program waits for nothing, so the job may have ended before it took the pipe; then nobody ever does.
    if witness.heard.recv_timeout(SOON).is_ok() {
        witness.is_alone();
    }
}
