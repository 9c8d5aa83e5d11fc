//! Tasks that cannot be begun: nothing is run, and no session is left.

use std::fs::{self, File};

use serde_json::json;

use crate::fixture::Ran;
use crate::run_fixture::{Task, done};

// spec: profile-cli/P46
#[test]
fn an_empty_task_is_a_wrong_command_line() {
    let task = Task::answered(json!([done()]));
    for arguments in [&[""][..], &["run", " \t"], &["run"], &["-"], &["--", " "], &["run", "--json", ""]] {
        let ran = task.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(ran.stderr.contains("task") || ran.stderr.contains("TASK"), "{arguments:?}: {}", ran.stderr);
    }
    assert_eq!(task.server.as_ref().unwrap().requests().len(), 0);
    assert_eq!(task.sessions(), Vec::<String>::new());
}

#[test]
fn a_task_without_an_end_is_refused() {
    let task = Task::answered(json!([done()]));
    let mut command = task.command(&["-"]);
    let ran = Ran::from(command.stdin(File::open("/dev/zero").unwrap()).output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("longer than 16 MiB"), "{}", ran.stderr);
    assert_eq!(task.sessions(), Vec::<String>::new());
}

#[test]
fn a_wrong_option_is_refused_with_what_to_do() {
    let task = Task::answered(json!([done()]));
    fs::write(task.work().join("hooks.json"), "{\"hooks\": 5").unwrap();
    for (options, told) in [
        (&["--workspace", "missing"][..], "missing"),
        (&["--workspace", "hooks.json"], "not a folder"),
        (&["--hooks", "none.json"], "none.json"),
        (&["--hooks", "hooks.json"], "dsh hooks check"),
        (&["--resume", "session-x"], "there is no session `session-x`"),
        (&["--resume", "last"], "dsh session ls"),
        (&["--resume", ""], "--resume"),
        (&["--model", ""], "deepseek-v4-flash"),
        (&["--model", "scripted/x"], "scripted"),
        (&["--max-steps", "0"], "'--max-steps <N>': give a whole number, at least 1"),
        (&["--approve", "maybe"], "always"),
        (&["--nonsense"], "--nonsense"),
    ] {
        let ran = task.run(&[&["run"], options, &["go"]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{options:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(told), "{options:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    }
    assert_eq!(task.server.as_ref().unwrap().requests().len(), 0);
    assert_eq!(task.sessions(), Vec::<String>::new());
}

#[test]
fn a_home_that_cannot_keep_sessions_is_refused() {
    let task = Task::answered(json!([done()]));
    fs::write(task.fixture.path("home"), "a file").unwrap();
    let ran = task.run(&["go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("set DSH_HOME to a folder"), "{}", ran.stderr);
    assert_eq!(task.server.as_ref().unwrap().requests().len(), 0);
}

#[test]
fn a_word_that_is_nearly_a_command_is_no_task() {
    let task = Task::answered(json!([done()]));
    let ran = task.run(&["rpelay", "x"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("did you mean `replay`") && ran.stderr.contains("dsh -- "), "{}", ran.stderr);
    assert_eq!(task.run(&["--", "rpelay"]).code, Some(0));
    assert_eq!(task.server.as_ref().unwrap().requests().len(), 1);
}
