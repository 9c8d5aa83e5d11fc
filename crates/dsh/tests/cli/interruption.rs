//! Ctrl-C and requests to end.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::fixture::{Fixture, Log};

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
}

/// Waits until somebody has made a file.
fn wait_for(path: &std::path::Path) {
    while !path.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_interruption_ends_the_command_and_tidies_up() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let fixture = Fixture::new();
        let beat = fixture.path("beat");
        let command = format!("while :; do echo x >> {}; sleep 0.01; done", beat.display());
        std::fs::write(fixture.log(), Log::new().bash(&command).result("x").bash("echo never").text())
            .unwrap();
        let mut command = fixture.command();
        let child = command.args(["replay", "--yes"]).arg(fixture.log()).spawn().unwrap();
        let size = || std::fs::metadata(&beat).map_or(0, |file| file.len());
        while size() == 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        let (stdout, stderr) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("interrupted"), "{stderr}");
        assert!(stdout.contains("1 call not made"), "{stdout}");
        assert!(stdout.contains("aborted: 1") && stdout.contains("different: 0"), "{stdout}");
        let before = size();
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(size(), before);
        fixture.assert_tidy();
    }
}

#[test]
fn the_json_form_tells_of_an_interruption() {
    let fixture = Fixture::new();
    let mark = fixture.path("ran");
    let command = format!("touch {}; sleep 60", mark.display());
    std::fs::write(fixture.log(), Log::new().bash(&command).result("x").text()).unwrap();
    let child = fixture.command().args(["replay", "--yes", "--json"]).arg(fixture.log()).spawn().unwrap();
    wait_for(&mark);
    send(&child, Signal::SIGINT);
    let stdout = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let lines: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[1]["verdict"], "aborted");
    let summary = &lines[2];
    assert_eq!(
        (&summary["aborted"], &summary["different"], &summary["errors"]),
        (&1.into(), &0.into(), &0.into())
    );
    assert_eq!(summary["interrupted"], true);
    let whole = Fixture::with(&Log::new().bash("true")).replay_json(&[]);
    assert_eq!(whole[2]["interrupted"], false);
}

#[test]
fn an_interruption_ends_a_replay_whose_output_nobody_reads() {
    let fixture = Fixture::new();
    let mark = fixture.path("ran");
    let log = Log::new().bash(&format!("touch {}", mark.display()));
    let log = (0..200).fold(log, |log, _| log.bash("head -c 20000 /dev/zero | tr '\\0' a"));
    std::fs::write(fixture.log(), log.text()).unwrap();
    let mut command = fixture.command();
    let mut child = command.args(["replay", "--yes", "--json"]).arg(fixture.log()).spawn().unwrap();
    wait_for(&mark);
    // Long enough for the pipe to be full.
    std::thread::sleep(Duration::from_millis(500));
    let start = Instant::now();
    send(&child, Signal::SIGINT);
    std::thread::sleep(Duration::from_millis(200));
    send(&child, Signal::SIGINT);
    let code = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status.code(),
            None if start.elapsed() > Duration::from_secs(120) => {
                child.kill().unwrap();
                panic!("the process did not end");
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    assert_eq!(code, Some(1));
    fixture.assert_tidy();
}

#[test]
fn a_second_interruption_does_not_wait_for_a_command_that_will_not_end() {
    let fixture = Fixture::new();
    let beat = fixture.path("beat");
    let command = format!("trap '' TERM; while :; do echo x >> {}; sleep 0.01; done", beat.display());
    std::fs::write(fixture.log(), Log::new().bash(&command).text()).unwrap();
    let mut child = fixture.command().args(["replay", "--yes"]).arg(fixture.log()).spawn().unwrap();
    wait_for(&beat);
    send(&child, Signal::SIGINT);
    // Two signals that nobody has looked at yet are one: the first has been heard when the user is told to wait.
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut stderr = String::new();
    said.read_line(&mut stderr).unwrap();
    assert!(stderr.starts_with("dsh: stopping what is still running…"), "{stderr}");
    send(&child, Signal::SIGINT);
    said.read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(stderr.contains("interrupted; not everything would end"), "{stderr}");
    let size = || std::fs::metadata(&beat).unwrap().len();
    let before = size();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(size(), before);
    fixture.assert_tidy();
}

/// From then on a command and what it starts go on when they are told to end.
const STUBBORN: &str = "trap '' TERM";
/// Goes on for a while, though not for ever.
const GOES_ON: &str = "for i in $(seq 200); do sleep 0.05; done";

#[test]
fn who_waits_for_a_command_to_end_is_told() {
    let fixture = Fixture::new();
    let mark = fixture.path("ran");
    let command = format!("{STUBBORN}; touch {}; {GOES_ON}", mark.display());
    std::fs::write(fixture.log(), Log::new().bash(&command).text()).unwrap();
    let child = fixture.command().args(["replay", "--yes"]).arg(fixture.log()).spawn().unwrap();
    wait_for(&mark);
    send(&child, Signal::SIGINT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    let stopping = "dsh: stopping what is still running… (Ctrl-C again: do not wait for it)\n";
    assert!(stderr.starts_with(stopping), "{stderr}");
    fixture.assert_tidy();
}

#[test]
fn who_waits_for_what_commands_left_running_is_told() {
    let fixture = Fixture::with(
        &Log::new().bash(&format!("{STUBBORN}; ({GOES_ON}) >/dev/null 2>&1 & echo hi")).result("hi\n"),
    );
    let ran = fixture.replay(&["--yes"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains("same result as logged: 1"), "{}", ran.stdout);
    assert!(ran.stderr.starts_with("dsh: stopping what is still running…"), "{}", ran.stderr);
}
