//! On a terminal the program asks.

#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::pty::{Winsize, openpty};
use unicode_width::UnicodeWidthStr;

use crate::fixture::{Fixture, Log};

/// The question's end.
const QUESTION: &str = "[y/N] ";

/// A terminal on which `dsh` is run.
pub(crate) struct Terminal<'a> {
    pub(crate) columns: u16,
    /// What somebody types once asked.
    pub(crate) typed: &'a str,
    /// How the question ends.
    pub(crate) question: &'a str,
    /// Where standard output goes, if not to the terminal.
    pub(crate) stdout: Option<File>,
    pub(crate) no_color: Option<&'a str>,
    /// What the terminal says it is.
    pub(crate) term: &'a str,
    /// What a model says that is asked without a key, if not what is built in.
    pub(crate) snapshot: Option<&'a Path>,
}

impl Default for Terminal<'_> {
    fn default() -> Self {
        Self {
            columns: 100,
            typed: "",
            question: QUESTION,
            stdout: None,
            no_color: None,
            term: "xterm",
            snapshot: None,
        }
    }
}

impl Terminal<'_> {
    /// Gives the exit code and what was shown.
    pub(crate) fn run(self, fixture: &Fixture, arguments: &[&str]) -> (Option<i32>, String) {
        let size = Winsize { ws_row: 24, ws_col: self.columns, ws_xpixel: 0, ws_ypixel: 0 };
        let terminal = openpty(Some(&size), None).unwrap();
        let end = || Stdio::from(terminal.slave.try_clone().unwrap());
        // Makes the terminal the one that `/dev/tty` means, and where Ctrl-C comes from.
        let mut command = Command::new("setsid");
        command.arg("-c").arg(env!("CARGO_BIN_EXE_dsh")).args(arguments);
        command.env("TMPDIR", fixture.path("tmp")).env("TERM", self.term).env_remove("NO_COLOR");
        crate::fixture::at_home(&mut command, fixture);
        command.envs(self.snapshot.map(|file| ("DSH_SNAPSHOT_FILE", file)));
        if let Some(value) = self.no_color {
            command.env("NO_COLOR", value);
        }
        command.stdin(end()).stdout(self.stdout.map_or_else(end, Stdio::from)).stderr(end());
        let mut child = command.spawn().unwrap();
        drop(command);
        drop(terminal.slave);
        let mut screen = File::from(terminal.master);
        let mut to_type = self.typed.as_bytes();
        let mut shown = Vec::new();
        let mut buffer = [0; 4_096];
        // The terminal is gone when the last process that has it is.
        while let Ok(read @ 1..) = screen.read(&mut buffer) {
            shown.extend_from_slice(&buffer[..read]);
            if String::from_utf8_lossy(&shown).contains(self.question) {
                screen.write_all(std::mem::take(&mut to_type)).unwrap();
            }
        }
        // A terminal sends the signal of Ctrl-C first and echoes the key then: anywhere in what the program writes because of it.
        let shown = String::from_utf8(shown).unwrap().replace("^C", "");
        (child.wait().unwrap().code(), shown)
    }
}

/// Runs `dsh replay log.jsonl` on a terminal on which somebody answers the question.
fn answered(fixture: &Fixture, answer: &str) -> (Option<i32>, String) {
    let log = fixture.log().display().to_string();
    Terminal { typed: answer, ..Terminal::default() }.run(fixture, &["replay", &log])
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

#[test]
fn ctrl_c_at_the_question_runs_nothing() {
    let fixture = marked();
    let (code, shown) = answered(&fixture, "\x03");
    assert_eq!(code, Some(130), "{shown}");
    assert!(shown.contains("\ndsh: interrupted, nothing was run"), "on a line of its own: {shown}");
    assert!(!fixture.path("ran").exists());
    fixture.assert_tidy();
}

#[test]
fn ctrl_c_after_the_question_ends_the_command() {
    let command = "trap '' TERM; kill -INT $PPID; for i in $(seq 200); do sleep 0.05; done";
    let fixture = Fixture::with(&Log::new().bash(command));
    let (code, shown) = answered(&fixture, "y\n");
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("aborted: 1"), "{shown}");
    assert!(shown.contains("\ndsh: stopping"), "on a line of its own: {shown}");
    fixture.assert_tidy();
}

#[test]
fn the_list_is_shown_where_the_question_is() {
    for options in [&[][..], &["--json"]] {
        let fixture = marked();
        let stdout = File::create(fixture.path("out")).unwrap();
        let log = fixture.log().display().to_string();
        let terminal = Terminal { typed: "n\n", stdout: Some(stdout), ..Terminal::default() };
        let (code, shown) = terminal.run(&fixture, &[&["replay"], options, &[&log]].concat());
        assert_eq!(code, Some(1), "{shown}");
        let (list, _) = shown.split_once(QUESTION).unwrap();
        assert!(list.contains("  1  ") && list.contains("touch "), "{options:?}: {shown}");
        let kept = fs::read_to_string(fixture.path("out")).unwrap();
        assert!(kept.contains("touch ") && !kept.contains('\x1b'), "{kept}");
        if options == ["--json"] {
            assert_eq!(kept.lines().count(), 1, "{kept}");
        }
    }
}

#[test]
fn the_list_is_shown_once_on_one_terminal() {
    let (_, shown) = answered(&marked(), "n\n");
    assert_eq!(shown.matches("touch ").count(), 1, "{shown}");
}

/// The lines that tell of calls, without colours.
fn timeline(shown: &str) -> Vec<String> {
    let (_, timeline) = shown.split_once("turn 1").unwrap();
    let (timeline, _) = timeline.split_once("summary").unwrap();
    let mut plain = String::new();
    let mut parts = timeline.split("\x1b[");
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        plain.push_str(part.split_once('m').unwrap().1);
    }
    plain.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

#[test]
fn columns_follow_the_width_of_the_terminal() {
    let log = Log::new()
        .bash("echo 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 >/dev/null")
        .result("(no output)")
        .bash("true")
        .result("(no output)")
        .bash(": \x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b")
        .result("(no output)")
        .bash("echo 漢字 e\u{301}")
        .result(&format!("{}\n", "漢".repeat(200)));
    let fixture = Fixture::with(&log);
    let path = fixture.log().display().to_string();
    for columns in [60, 80, 160] {
        let terminal = Terminal { columns, typed: "y\n", ..Terminal::default() };
        let (code, shown) = terminal.run(&fixture, &["replay", "--diff", &path]);
        assert_eq!(code, Some(0), "{shown}");
        let lines = timeline(&shown);
        for line in &lines {
            assert!(line.width() <= usize::from(columns), "{columns}: {} {line}", line.width());
            let cut = line.split("\\u{").skip(1).find(|rest| !rest.contains('}'));
            assert_eq!(cut, None, "an escape was cut: {line}");
        }
        let verdict = |line: &String| {
            let (before, _) = line.split_once("  same ").or_else(|| line.split_once("  different "))?;
            Some(before.width())
        };
        let verdicts: Vec<usize> = lines.iter().filter_map(verdict).collect();
        assert_eq!(verdicts, [verdicts[0]; 4], "one column: {lines:#?}");
        let whole = lines[0].contains(">/dev/null");
        assert_eq!(whole, columns == 160, "{}", lines[0]);
    }
}

#[test]
fn a_line_for_the_user_is_written_at_once() {
    let fixture = Fixture::new();
    // Of what is written here each piece stays a piece.
    let (ours, its) = UnixDatagram::pair().unwrap();
    let mut command = fixture.command();
    command.args(["replay", "/does/not/exist"]).stderr(Stdio::from(OwnedFd::from(its)));
    assert_eq!(command.status().unwrap().code(), Some(2));
    ours.set_nonblocking(true).unwrap();
    let mut piece = [0; 4_096];
    let size = ours.recv(&mut piece).unwrap();
    let line = String::from_utf8_lossy(&piece[..size]);
    assert!(line.starts_with("dsh: error: ") && line.ends_with('\n'), "{line:?}");
}
