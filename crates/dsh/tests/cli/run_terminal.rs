//! A task on a terminal: what goes on is shown, and questions are asked.

#![cfg(target_os = "linux")]

use std::fs::{self, File};

use serde_json::json;

use crate::run_fixture::Task;
use crate::terminal::Terminal;

/// The script that answers without a key, in place of the one that is built in.
fn script(task: &Task, command: &str) {
    let steps = json!({ "steps": [
        { "text": "I run it", "calls": [{ "name": "bash", "arguments": { "command": command, "description": "d" } }] },
        { "text": "All done." },
    ] });
    fs::write(task.fixture.path("script.json"), steps.to_string()).unwrap();
}

/// What is shown, without what moves the cursor.
fn plain(shown: &str) -> String {
    let mut plain = String::new();
    let mut parts = shown.split("\x1b[");
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let end = part.find(|char: char| char.is_ascii_alphabetic()).map_or(part.len(), |end| end + 1);
        plain.push_str(&part[end..]);
    }
    plain
}

fn on_terminal(task: &Task, terminal: Terminal<'_>, arguments: &[&str]) -> (Option<i32>, String) {
    let work = task.work().display().to_string();
    let (code, shown) = terminal.run(&task.fixture, &[arguments, &["--workspace", &work]].concat());
    (code, plain(&shown))
}

#[test]
fn steps_and_tool_calls_are_shown_and_the_text_comes_last() {
    let task = Task::new();
    let (code, shown) = on_terminal(&task, Terminal::default(), &["run", "What is here?"]);
    assert_eq!(code, Some(0), "{shown}");
    for part in ["step 1", "bash", "ls -la", "lines", "step 3", "3 steps, 2 tool calls, "] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let (before, text) = shown.split_once("This folder has 0 files").unwrap();
    assert!(before.contains("3 steps"), "{shown}");
    assert_eq!(text.lines().count(), 2, "nothing follows the text: {text}");
}

#[test]
fn where_standard_output_goes_elsewhere_the_text_goes_there_alone() {
    let task = Task::new();
    let stdout = Some(File::create(task.fixture.path("out")).unwrap());
    let (code, shown) =
        on_terminal(&task, Terminal { stdout, ..Terminal::default() }, &["run", "--color", "always", "hi"]);
    assert_eq!(code, Some(0), "{shown}");
    let out = fs::read_to_string(task.fixture.path("out")).unwrap();
    assert!(out.starts_with("This folder has 0 files") && !out.contains('\x1b'), "{out}");
    assert!(shown.contains("step 1") && !shown.contains("This folder has 0 files"), "{shown}");
}

#[test]
fn a_command_that_fails_is_not_shown_as_one_that_did_not() {
    let task = Task::new();
    script(&task, "echo no; exit 3");
    let file = task.fixture.path("script.json");
    let terminal = Terminal { snapshot: Some(&file), ..Terminal::default() };
    let (code, shown) = on_terminal(&task, terminal, &["run", "go"]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("exit code: 3") && !shown.contains("2 lines"), "{shown}");
}

#[test]
fn a_call_is_made_if_somebody_says_yes_and_not_if_no() {
    for (typed, made) in [("y\n", true), ("n\n", false)] {
        let task = Task::new();
        script(&task, "touch made");
        let file = task.fixture.path("script.json");
        let terminal = Terminal { typed, question: "[y/n] ", snapshot: Some(&file), ..Terminal::default() };
        let (code, shown) = on_terminal(&task, terminal, &["run", "--approve", "always", "go"]);
        assert_eq!(code, Some(0), "{shown}");
        assert_eq!(task.work().join("made").exists(), made, "{shown}");
        assert!(shown.contains("All done."), "{shown}");
    }
}

#[test]
fn who_interrupts_a_task_is_told_how_to_go_on() {
    let task = Task::new();
    script(&task, "sleep 600");
    let file = task.fixture.path("script.json");
    let terminal =
        Terminal { typed: "\x03", question: "bash: sleep", snapshot: Some(&file), ..Terminal::default() };
    let (code, shown) = on_terminal(&task, terminal, &["run", "go"]);
    assert_eq!(code, Some(130), "{shown}");
    let id = &task.sessions()[0];
    assert!(shown.contains(&format!("dsh run --resume {id}")), "{shown}");
    assert_eq!(task.reason()["kind"], "aborted");
}

#[test]
fn ctrl_c_at_a_question_ends_the_task() {
    let task = Task::new();
    script(&task, "touch made");
    let file = task.fixture.path("script.json");
    let terminal =
        Terminal { typed: "\x03", question: "[y/n] ", snapshot: Some(&file), ..Terminal::default() };
    let start = std::time::Instant::now();
    let (code, shown) = on_terminal(&task, terminal, &["run", "--approve", "always", "go"]);
    assert_eq!(code, Some(130), "{shown}");
    assert!(start.elapsed() < std::time::Duration::from_secs(60));
    assert!(!task.work().join("made").exists());
    assert_eq!(task.reason()["kind"], "aborted");
}

#[test]
fn a_task_that_fails_is_told_below_its_text() {
    let task = Task::new();
    let (code, shown) = on_terminal(&task, Terminal::default(), &["run", "--model", "deepseek-v4-pro", "go"]);
    assert_eq!(code, Some(1), "{shown}");
    let (_, told) = shown.split_once("dsh: MISSING_CREDENTIAL: ").unwrap();
    assert!(told.contains("the session is kept; to go on: dsh run --resume session-"), "{told}");
}

#[test]
fn a_terminal_that_takes_no_line_back_gets_whole_lines_only() {
    let task = Task::new();
    let terminal = Terminal { term: "dumb", ..Terminal::default() };
    let work = task.work().display().to_string();
    let (code, shown) = terminal.run(&task.fixture, &["run", "hi", "--workspace", &work]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains('\x1b') && shown.contains("step 1  "), "{shown}");
    assert!(shown.lines().all(|line| !line.contains("waiting for the model")), "{shown}");
}

#[test]
fn nothing_that_a_model_says_is_a_command_to_the_terminal() {
    for to_file in [false, true] {
        let task = Task::new();
        let text = "one\n\x1b]0;title\x07two \u{9b}2J\tthree\r\nfour\u{202e}";
        let steps = json!({ "steps": [{ "text": text }] });
        fs::write(task.fixture.path("script.json"), steps.to_string()).unwrap();
        let file = task.fixture.path("script.json");
        let stdout = to_file.then(|| File::create(task.fixture.path("out")).unwrap());
        let terminal = Terminal { snapshot: Some(&file), stdout, ..Terminal::default() };
        let work = task.work().display().to_string();
        let (code, shown) = terminal.run(&task.fixture, &["run", "go", "--workspace", &work]);
        assert_eq!(code, Some(0), "{shown}");
        assert!(!shown.contains("\x1b]") && !shown.contains(['\x07', '\u{9b}', '\u{202e}']), "{shown:?}");
        if to_file {
            assert_eq!(fs::read_to_string(task.fixture.path("out")).unwrap(), format!("{text}\n"));
        } else {
            let lines = "one\r\n\\u{1b}]0;title\\u{7}two \\u{9b}2J\tthree\r\nfour\\u{202e}\r\n";
            assert!(shown.ends_with(lines), "{shown:?}");
        }
    }
}
