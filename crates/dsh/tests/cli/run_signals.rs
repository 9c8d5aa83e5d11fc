//! Signals during a task: its log is closed, and nothing that it started is left.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::fixture::Ran;
use crate::run_fixture::{Task, bash, done};

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
}

/// Runs a task until its command has made the file `pid`.
fn begun(task: &Task, arguments: &[&str]) -> Child {
    let child = task.command(arguments).spawn().unwrap();
    while fs::read_to_string(task.work().join("pid")).unwrap_or_default().trim().is_empty() {
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

/// Whether the command of the task is there.
fn is_running(task: &Task) -> bool {
    let pid = fs::read_to_string(task.work().join("pid")).unwrap();
    Path::new("/proc").join(pid.trim()).exists()
}

const COMMAND: &str = "echo $$ > pid; exec sleep 600";

// spec: profile-cli/P37
#[test]
fn a_signal_ends_the_command_closes_the_log_and_has_its_own_exit_code() {
    for (signal, code, cause) in
        [(Signal::SIGINT, 130, "user"), (Signal::SIGTERM, 0, "disposed"), (Signal::SIGHUP, 129, "disposed")]
    {
        let task = Task::answered(json!([bash(COMMAND), done()]));
        let child = begun(&task, &["go"]);
        send(&child, signal);
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), "I run it\n"), "{signal}");
        assert_eq!(ran.stderr, "", "nobody sits there");
        assert!(!is_running(&task), "{signal}");
        assert_eq!(task.reason(), json!({ "kind": "aborted", "reason": { "kind": cause } }));
        assert_eq!(task.result(), "Error: tool call aborted");
        assert_eq!(task.kinds().iter().rev().take(2).collect::<Vec<_>>(), ["turn/end", "step/end"]);
        assert_eq!(task.server.as_ref().unwrap().requests().len(), 1);
        task.fixture.assert_tidy();
    }
}

// spec: profile-cli/P37
#[test]
fn a_signal_ends_an_answer_and_what_was_said_is_kept() {
    let stalled = json!([{ "text": "half of it", "cut": { "at": 330, "how": "stall" } }]);
    let task = Task::answered(stalled);
    let child = task.command(&["run", "--json", "go"]).stdout(Stdio::piped()).spawn().unwrap();
    let server = task.server.as_ref().unwrap();
    assert_eq!(server.wait_for(1, Duration::from_secs(60)).len(), 1);
    send(&child, Signal::SIGINT);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    let result: Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    let told = (&result["type"], &result["exitCode"], &result["reason"]["kind"]);
    assert_eq!(told, (&"result".into(), &130.into(), &"aborted".into()));
    assert_eq!(task.reason(), json!({ "kind": "aborted", "reason": { "kind": "user" } }));
}

// spec: profile-cli/P38
#[test]
fn a_second_signal_waits_for_nothing() {
    let task = Task::answered(json!([
        bash("trap '' TERM; echo $$ > pid; for i in $(seq 2000); do sleep 0.05; done"),
        done()
    ]));
    let child = begun(&task, &["go"]);
    send(&child, Signal::SIGTERM);
    // Two signals that nobody has looked at yet are one.
    std::thread::sleep(Duration::from_millis(300));
    let start = Instant::now();
    send(&child, Signal::SIGINT);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130));
    assert!(start.elapsed() < Duration::from_millis(2_500), "{:?}", start.elapsed());
    let gone = Instant::now();
    while is_running(&task) && gone.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!is_running(&task));
}

#[test]
fn a_reader_that_does_not_read_keeps_no_signal_from_being_heard() {
    let long = "x".repeat(1 << 20);
    let task = Task::answered(json!([{ "text": long }]));
    let mut child = task.command(&["go"]).stdout(Stdio::piped()).spawn().unwrap();
    while task.sessions().is_empty() || task.reason().is_null() {
        std::thread::sleep(Duration::from_millis(20));
    }
    send(&child, Signal::SIGINT);
    let start = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if start.elapsed() > Duration::from_secs(60) => {
                child.kill().unwrap();
                panic!("the process did not end");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    assert_eq!(status.code(), Some(130));
    assert_eq!(task.reason(), json!({ "kind": "completed" }));
}

// spec: profile-cli/P37
#[test]
fn a_hook_that_does_not_want_to_end_is_ended_and_its_end_is_in_the_log() {
    let task = Task::answered(json!([done()]));
    let command = "trap '' TERM; echo $$ > pid; for i in $(seq 2000); do sleep 0.05; done";
    let hooks = json!({ "hooks": { "UserPromptSubmit": [{ "hooks": [{ "type": "command", "command": command }] }] } });
    let file = task.fixture.path("settings.json");
    fs::write(&file, hooks.to_string()).unwrap();
    let child = begun(&task, &["run", "--hooks", &file.display().to_string(), "go"]);
    send(&child, Signal::SIGTERM);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!is_running(&task));
    assert_eq!(task.kinds().iter().rev().take(2).collect::<Vec<_>>(), ["turn/end", "hook/result"]);
    assert_eq!(task.server.as_ref().unwrap().requests().len(), 0);
}

/// Whether it ends by itself, and with which code.
fn ended(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    panic!("the process did not end");
}

// spec: profile-cli/P37
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_that_takes_nothing_keeps_no_task_from_going_on_and_no_signal_from_being_heard() {
    let task = Task::answered(json!([bash("true")]));
    let terminal = nix::pty::openpty(None, None).unwrap();
    let stderr = Stdio::from(terminal.slave);
    let mut child = task.command(&["go"]).stdout(Stdio::null()).stderr(stderr).spawn().unwrap();
    // So much is shown of these that it cannot be kept for a reader.
    let requests = task.server.as_ref().unwrap().wait_for(100, Duration::from_secs(120));
    assert!(requests.len() >= 100, "{}", requests.len());
    send(&child, Signal::SIGTERM);
    assert_eq!(ended(&mut child), Some(0));
    assert_eq!(task.reason(), json!({ "kind": "aborted", "reason": { "kind": "disposed" } }));
    drop(terminal.master);
}
