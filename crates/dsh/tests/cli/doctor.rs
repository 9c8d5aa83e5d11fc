//! `dsh doctor`: what is set up, what is missing, and how to mend it.

use std::fs;

use serde_json::{Value, json};

use crate::run_fixture::{Task, done};

/// The checks by name, and the last line.
fn looked(task: &Task, environment: &[(&str, &str)], options: &[&str]) -> (Option<i32>, Vec<Value>, String) {
    let mut command = task.command(&[&["doctor", "--json"], options].concat());
    command.envs(environment.iter().copied());
    let ran = crate::fixture::Ran::from(command.output().unwrap());
    assert_eq!(ran.stderr, "");
    let lines = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (ran.code, lines, ran.stdout)
}

fn verdict(lines: &[Value], name: &str) -> String {
    let check = lines.iter().find(|line| line["name"] == name).unwrap_or_else(|| panic!("{name}: {lines:?}"));
    check["verdict"].as_str().unwrap().to_owned()
}

#[test]
fn without_a_key_a_task_would_run_and_it_says_what_is_missing() {
    let task = Task::new();
    let (code, lines, _) = looked(&task, &[], &[]);
    assert_eq!(code, Some(0));
    for (name, expected) in [
        ("dsh", "ok"),
        ("folder", "ok"),
        ("home", "ok"),
        ("sessions", "ok"),
        ("key", "missing"),
        ("server", "ok"),
        ("model", "ok"),
        ("shell", "ok"),
    ] {
        assert_eq!(verdict(&lines, name), expected, "{name}");
    }
    assert_eq!(lines.last().unwrap(), &json!({ "type": "summary", "fails": 0, "wouldRun": true }));
    assert!(!task.fixture.path("home").exists(), "who only looks makes nothing");
    let text = task.run(&["doctor"]).stdout;
    assert!(text.contains("export DEEPSEEK_API_KEY="), "{text}");
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn a_key_is_never_shown() {
    let task = Task::new();
    for (key, expected) in [("sk-hunter2", "ok"), ("sk hunter2", "fail"), ("  ", "fail"), ("", "missing")] {
        let (code, lines, stdout) = looked(&task, &[("DEEPSEEK_API_KEY", key)], &[]);
        assert_eq!(verdict(&lines, "key"), expected, "{key:?}");
        assert_eq!(code, Some(i32::from(expected == "fail")), "{key:?}");
        assert!(!stdout.contains("hunter"), "{stdout}");
    }
}

#[test]
fn what_keeps_tasks_from_running_fails() {
    let task = Task::new();
    fs::write(task.work().join("file"), "").unwrap();
    let file = task.work().join("file").display().to_string();
    for (environment, options, name) in [
        (&[("DSH_HOME", file.as_str())][..], &[][..], "sessions"),
        (&[("DEEPSEEK_BASE_URL", "localhost:80")], &[], "server"),
        (&[("DEEPSEEK_BASE_URL", "http://u:hunter2@localhost/v1")], &[], "server"),
        (&[("PATH", "/nowhere")], &[], "shell"),
        (&[], &["--hooks", "file"], "hooks"),
    ] {
        let (code, lines, stdout) = looked(&task, environment, options);
        assert_eq!(code, Some(1), "{name}: {stdout}");
        assert_eq!(verdict(&lines, name), "fail", "{name}");
        assert!(!stdout.contains("hunter2"), "{stdout}");
        assert_eq!(lines.last().unwrap()["fails"], 1, "{stdout}");
    }
}

#[test]
fn it_asks_the_model_only_if_it_is_told_to() {
    let task = Task::answered(json!([{ "for": "any", "text": "yes" }]));
    let (code, lines, _) = looked(&task, &[], &[]);
    assert_eq!((code, lines.iter().any(|line| line["name"] == "answer")), (Some(0), false));
    assert_eq!(task.server.as_ref().unwrap().requests().len(), 0);
    let (code, lines, _) = looked(&task, &[], &["--online"]);
    assert_eq!((code, verdict(&lines, "answer").as_str()), (Some(0), "ok"));
    assert_eq!(task.server.as_ref().unwrap().requests().len(), 1);

    let task =
        Task::answered(json!([{ "for": "any", "status": 401, "body": { "error": { "message": "no" } } }]));
    let (code, lines, stdout) = looked(&task, &[], &["--online"]);
    assert_eq!((code, verdict(&lines, "answer").as_str()), (Some(1), "fail"));
    assert!(stdout.contains("AUTH: no"), "{stdout}");
    let (code, lines, _) = looked(&Task::new(), &[], &["--online"]);
    assert_eq!((code, verdict(&lines, "answer").as_str()), (Some(0), "missing"));
}

#[test]
fn it_counts_what_is_there() {
    let task = Task::answered(json!([done()]));
    assert_eq!(task.run(&["go"]).code, Some(0));
    let file = task.work().join("settings.json");
    fs::write(&file, r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}"#).unwrap();
    let (code, _, stdout) = looked(&task, &[], &["--hooks", "settings.json"]);
    assert_eq!(code, Some(0), "{stdout}");
    assert!(stdout.contains("1 stored") && stdout.contains("1 of claude-code in"), "{stdout}");
}
