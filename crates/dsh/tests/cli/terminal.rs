//! On a terminal the program asks.

#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use nix::pty::openpty;

use crate::fixture::{Fixture, Log};

/// Runs `dsh replay log.jsonl` on a terminal on which somebody types `answer`; gives the exit code and what was shown.
fn answered(fixture: &Fixture, answer: &str) -> (Option<i32>, String) {
    let terminal = openpty(None, None).unwrap();
    let end = || Stdio::from(terminal.slave.try_clone().unwrap());
    // Makes the terminal the one that `/dev/tty` means.
    let mut command = Command::new("setsid");
    command
        .arg("-c")
        .arg(env!("CARGO_BIN_EXE_dsh"))
        .env("TMPDIR", fixture.path("tmp"))
        .env_remove("NO_COLOR");
    command.arg("replay").arg(fixture.log()).stdin(end()).stdout(end()).stderr(end()).env("TERM", "xterm");
    let mut child = command.spawn().unwrap();
    drop(command);
    drop(terminal.slave);
    let mut screen = File::from(terminal.master);
    screen.write_all(answer.as_bytes()).unwrap();
    let mut shown = Vec::new();
    let mut buffer = [0; 4_096];
    // The terminal is gone when the last process that has it is.
    while let Ok(read @ 1..) = screen.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..read]);
    }
    (child.wait().unwrap().code(), String::from_utf8(shown).unwrap())
}

fn marked() -> Fixture {
    let fixture = Fixture::new();
    let log = Log::new().bash(&format!("touch {}", fixture.path("ran").display())).result("(no output)");
    fs::write(fixture.log(), log.text()).unwrap();
    fixture
}

#[test]
fn a_yes_runs_the_calls_in_colour() {
    for answer in ["y\n", "YES\n"] {
        let fixture = marked();
        let (code, shown) = answered(&fixture, answer);
        assert_eq!(code, Some(0), "{shown}");
        assert!(shown.contains("[y/N]"), "{shown}");
        assert!(shown.contains("\x1b[32msame"), "{shown}");
        assert!(fixture.path("ran").exists());
        fixture.assert_tidy();
    }
}

#[test]
fn anything_else_declines() {
    for answer in ["n\n", "\n", "yesterday\n", "\x04"] {
        let fixture = marked();
        let (code, shown) = answered(&fixture, answer);
        assert_eq!(code, Some(1), "{shown}");
        assert!(shown.contains("declined"), "{shown}");
        if answer == "\x04" {
            assert!(shown.contains("\ndsh: declined"), "on a line of its own: {shown}");
        }
        assert!(!fixture.path("ran").exists());
        fixture.assert_tidy();
    }
}

#[test]
fn a_log_without_calls_asks_nothing() {
    let (code, shown) = answered(&Fixture::with(&Log::new()), "");
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains("[y/N]"), "{shown}");
}

#[test]
fn a_command_cannot_reach_the_terminal() {
    let log = Log::new().bash("(echo gotcha > /dev/tty) 2>/dev/null || echo none").result("none\n");
    let (code, shown) = answered(&Fixture::with(&log), "y\n");
    assert_eq!(code, Some(0));
    assert!(shown.contains("same result as logged: 1"), "{shown}");
    assert!(!shown.lines().any(|line| line.trim() == "gotcha"), "{shown}");
}
