//! Runs of `dsh` that are killed or interrupted at any moment, and resumed: what was acknowledged is there, the next request is one
//! that a provider takes, the log is in order, and no command runs on.
//!
//! The short form runs with the other tests; `cargo test -p dsh --test crash -- --ignored` ends 200 runs in each way.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use dsh_testkit::{MockServer, Script};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

/// Three steps with a command each, one of them with two, then a text that repeats.
const SCRIPT: &str = r#"{ "steps": [
    { "text": "I look.", "calls": [{ "id": "a", "name": "bash", "arguments": { "command": "sleep 0.06; echo one", "description": "one" } }] },
    { "reasoning": "Both.", "calls": [
        { "id": "b", "name": "bash", "arguments": { "command": "sleep 0.05; echo two", "description": "two" } },
        { "id": "c", "name": "bash", "arguments": { "command": "sleep 0.05; echo three", "description": "three" } }
    ] },
    { "text": "All done." }
] }"#;

/// When a run is ended.
#[derive(Clone, Copy, Debug)]
struct Moment {
    number: u32,
    /// Once the model was asked so often ..
    requests: usize,
    /// .. and so much later.
    then: Duration,
}

struct World {
    server: MockServer,
    home: TempDir,
    workspace: TempDir,
    /// In the environment of everything that is started from here.
    mark: String,
}

impl World {
    fn new(number: u32, signal: Signal) -> Self {
        let server = MockServer::start(Script::parse(SCRIPT).unwrap()).unwrap();
        let (home, workspace) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let mark = format!("DSH_CRASH_TEST={}-{signal}-{number}", std::process::id());
        Self { server, home, workspace, mark }
    }

    fn dsh(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dsh"));
        let (name, value) = self.mark.split_once('=').unwrap();
        command
            .args(args)
            .current_dir(self.workspace.path())
            .env("DSH_HOME", self.home.path())
            .env("DEEPSEEK_BASE_URL", self.server.base_url())
            .env("DEEPSEEK_API_KEY", "mock-key")
            .env(name, value)
            .stdin(Stdio::null());
        command
    }

    fn said(&self, args: &[&str]) -> Output {
        self.dsh(args).output().unwrap()
    }

    /// The sessions that are stored.
    fn sessions(&self) -> Vec<String> {
        let list = self.said(&["session", "ls", "--json"]);
        let sessions: Value = serde_json::from_slice(&list.stdout).unwrap_or_default();
        let sessions = sessions.as_array().cloned().unwrap_or_default();
        sessions.iter().filter_map(|session| Some(session["id"].as_str()?.to_owned())).collect()
    }

    /// What was started from here and still runs.
    fn survivors(&self) -> Vec<String> {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let of_ours = |folder: &Path| {
            let environment = std::fs::read(folder.join("environ")).ok()?;
            let marked = environment.split(|byte| *byte == 0).any(|entry| entry == self.mark.as_bytes());
            // What has ended and was not waited for yet has no command any more.
            let command = std::fs::read(folder.join("cmdline")).ok().filter(|it| marked && !it.is_empty())?;
            Some(String::from_utf8_lossy(&command).replace('\0', " "))
        };
        processes.filter_map(|entry| of_ours(&entry.path())).collect()
    }
}

/// Ends a run by a signal after a while, resumes it, and looks at everything. Whether there was something to resume.
fn ended_at(moment: Moment, signal: Signal) -> bool {
    let world = World::new(moment.number, signal);
    let what = format!("{signal} at {moment:?}");
    let mut run = world.dsh(&["run", "do it"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let asked = || world.server.requests().len() >= moment.requests;
    while !asked() && run.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(moment.then);
    kill(Pid::from_raw(run.id().try_into().unwrap()), signal).unwrap();
    let code = run.wait().unwrap().code();
    if signal == Signal::SIGINT {
        // It was done, or it ends in order; or it was not even listening yet.
        assert!(matches!(code, Some(0 | 130) | None), "{what}: {code:?}");
        let open = world.said(&["session", "check"]);
        assert!(open.status.success(), "{what}: {}", String::from_utf8_lossy(&open.stdout));
    }
    let begun = Instant::now();
    while !world.survivors().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(10), "{what}: {:?} run on", world.survivors());
        std::thread::sleep(Duration::from_millis(5));
    }
    let sessions = world.sessions();
    let [session] = &sessions[..] else {
        assert_eq!(sessions, Vec::<String>::new(), "{what}");
        return false;
    };
    let resumed = world.said(&["run", "--resume", session, "go on"]);
    let (out, err) = (String::from_utf8_lossy(&resumed.stdout), String::from_utf8_lossy(&resumed.stderr));
    assert!(resumed.status.success(), "{what}: {err}");
    assert_eq!(out, "All done.\n", "{what}: {err}");
    for request in world.server.requests() {
        valid(&request.json(), &what);
    }
    let checked = world.said(&["session", "check"]);
    let complaint = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.status.success(), "{what}: {complaint}");
    assert_eq!(world.survivors(), Vec::<String>::new(), "{what}");
    true
}

/// Each call has exactly one result, right behind the calls and in their order.
fn valid(request: &Value, what: &str) {
    let messages = request["messages"].as_array().unwrap();
    let mut place = 0;
    while place < messages.len() {
        let message = &messages[place];
        place += 1;
        let ids = |message: &Value| -> Vec<String> {
            let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
            calls.iter().map(|call| call["id"].as_str().unwrap().to_owned()).collect()
        };
        let results: Vec<String> = messages[place..]
            .iter()
            .map_while(|message| message["tool_call_id"].as_str().map(str::to_owned))
            .collect();
        match message["role"].as_str() {
            Some("assistant") => {
                assert_eq!(ids(message), results, "{what}: {messages:#?}");
                place += results.len();
            }
            Some("tool") => panic!("{what}: a result without its call: {messages:#?}"),
            _ => {}
        }
    }
}

/// Moments all over a run, the same ones every time.
fn moments(count: u32) -> impl Iterator<Item = Moment> {
    let mut state: u32 = 0x2545_f491;
    (0..count).map(move |number| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let requests = number as usize % 4;
        // Before the first request the program starts, which takes longer than a command here.
        let longest = if requests == 0 { 300 } else { 90 };
        Moment { number, requests, then: Duration::from_millis(u64::from(state % longest)) }
    })
}

/// Ends runs at all their moments. After its first command a session is there, whatever happens.
fn end_all(count: u32, signal: Signal) {
    let mut resumed = 0;
    for moment in moments(count) {
        let was_there = ended_at(moment, signal);
        assert!(was_there || moment.requests < 2, "no session after {moment:?}");
        resumed += u32::from(was_there);
    }
    println!("{count} runs were ended by {signal}, {resumed} of them after their session was there");
}

// spec: cases/G3, cases/S5, design/P8, agent-loop/S27
#[test]
fn a_run_that_is_killed_is_resumed() {
    end_all(8, Signal::SIGKILL);
}

// spec: agent-loop/S74, agent-loop/S82, design/P1
#[test]
fn a_run_that_is_interrupted_is_closed_and_resumed() {
    end_all(8, Signal::SIGINT);
}

#[test]
#[ignore = "400 runs that are ended: some minutes"]
fn two_hundred_runs_that_are_ended_in_each_way_are_resumed() {
    end_all(200, Signal::SIGKILL);
    end_all(200, Signal::SIGINT);
}
