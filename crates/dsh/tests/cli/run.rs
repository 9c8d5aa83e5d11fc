//! `dsh "task"`: an agent does a task.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::fixture::Ran;
use crate::run_fixture::{Task, bash, done};

/// What the model was told in a request, as pairs of role and content.
fn told(request: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let messages = request["messages"].as_array().unwrap();
    messages.iter().map(|message| (text(&message["role"]), text(&message["content"]))).collect()
}

// spec: profile-cli/P46, profile-cli/P47, profile-cli/P48
#[test]
fn the_last_text_is_all_that_is_printed_of_a_task_that_is_done() {
    let task = Task::answered(json!([bash("pwd; echo new > made"), done()]));
    let ran = task.run(&["list", "the files"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "All done.\n", ""));

    let requests = task.server.as_ref().unwrap().requests();
    assert_eq!(requests.len(), 2, "no title is asked for");
    assert_eq!(requests[0].header("authorization"), Some("Bearer test-key"));
    let first = requests[0].json();
    assert_eq!(first["model"], "deepseek-v4-flash");
    let names: Vec<&Value> =
        first["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(names, ["bash", "job_kill", "job_list", "job_output", "read"]);
    let messages = told(&first);
    assert!(messages.contains(&("user".to_owned(), "list the files".to_owned())), "{messages:?}");
    let (_, system) = &messages[0];
    let work = task.work().display().to_string();
    assert!(system.contains(&work) && system.contains("deepseek-v4-flash"), "{system}");
    assert!(!system.contains("{{"), "{system}");

    assert!(task.work().join("made").exists());
    assert_eq!(task.result(), format!("{work}\n"));
    let sessions = task.sessions();
    assert!(sessions[0].starts_with("session-"), "{sessions:?}");
    assert_eq!(requests[0].header("x-deepseek-harness-session-id"), Some(sessions[0].as_str()));
    assert_eq!(task.reason(), json!({ "kind": "completed" }));
    let check = task.run(&["session", "check"]);
    assert_eq!(check.code, Some(0), "{}", check.stdout);
}

// spec: profile-cli/P48
#[test]
fn the_log_of_a_task_has_its_events_in_the_references_order() {
    let task = Task::answered(json!([bash("true"), done()]));
    assert_eq!(task.run(&["go"]).code, Some(0));
    // The title comes by itself, between any two.
    let kinds: Vec<String> = task.kinds().into_iter().filter(|kind| kind != "session/title").collect();
    let expected = [
        "agent/inbox/spliced",
        "turn/start",
        "agent/inbox/spliced",
        "step/start",
        "user/message",
        "user/message",
        "request/header",
        "request/context",
        "assistant/message",
        "tool/call",
        "tool/result",
        "step/end",
        "step/start",
        "assistant/message",
        "step/end",
        "turn/end",
    ];
    assert_eq!(kinds, expected);
    assert!(task.kinds().contains(&"session/title".to_owned()));
}

// spec: profile-cli/P48
#[test]
fn a_failure_is_told_with_its_code_and_the_last_text_is_printed_all_the_same() {
    let refused = || json!({ "status": 400, "body": { "error": { "message": "bad thing" } } });
    for (steps, stdout) in [(json!([refused()]), "\n"), (json!([bash("true"), refused()]), "I run it\n")] {
        let task = Task::answered(steps);
        let ran = task.run(&["go"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), stdout));
        assert_eq!(ran.stderr, "dsh: INVALID_REQUEST: bad thing\n");
        assert_eq!(task.reason()["error"]["code"], "INVALID_REQUEST");
    }
}

// spec: profile-cli/P48
#[test]
fn an_answer_that_is_cut_at_the_limit_of_tokens_is_no_success() {
    let task = Task::answered(json!([{ "text": "half", "finish": "length" }]));
    let ran = task.run(&["go"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(1), "half\n", ""));
    assert_eq!(task.reason(), json!({ "kind": "max-tokens" }));
}

// spec: profile-cli/P48
#[test]
fn an_answer_without_a_text_prints_an_empty_line_and_a_text_keeps_its_own_lines() {
    for (step, stdout) in
        [(json!({ "reasoning": "Hm." }), "\n"), (json!({ "text": "line 1\nline 2\n" }), "line 1\nline 2\n\n")]
    {
        let ran = Task::answered(json!([step])).run(&["go"]);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), stdout, ""));
    }
}

#[test]
fn without_a_key_a_script_answers_with_real_tools_and_says_so() {
    let task = Task::new();
    fs::write(task.work().join("one"), "").unwrap();
    fs::write(task.work().join("two"), "").unwrap();
    let ran = task.run(&["What is in this folder?"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("This folder has 2 files"), "{}", ran.stdout);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("dsh: DEEPSEEK_API_KEY is not set"), "{}", ran.stderr);
    let called = task.events().iter().filter(|event| event["type"] == "tool/call").count();
    assert!(called >= 2);
    // Who asks for it by name knows.
    let ran = task.run(&["run", "--model", "scripted", "x"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_model_that_is_named_is_asked_also_where_there_is_no_key() {
    let task = Task::answered(json!([done()]));
    assert_eq!(task.run(&["run", "--model", "qwen/coder", "go"]).code, Some(0));
    assert_eq!(task.server.as_ref().unwrap().requests()[0].json()["model"], "qwen/coder");

    let ran = Task::new().run(&["run", "--model", "deepseek-v4-pro", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), "\n"));
    assert!(ran.stderr.starts_with("dsh: MISSING_CREDENTIAL: "), "{}", ran.stderr);
}

#[test]
fn a_task_can_come_by_standard_input() {
    let task = Task::answered(json!([done()]));
    let mut child = task.command(&["-"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all("fix é\nall of it\n".as_bytes()).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "All done.\n"));
    let messages = told(&task.server.as_ref().unwrap().requests()[0].json());
    assert!(messages.contains(&("user".to_owned(), "fix é\nall of it".to_owned())), "{messages:?}");
}

#[test]
fn a_task_works_in_the_folder_that_is_named() {
    let task = Task::answered(json!([bash("pwd"), done()]));
    fs::create_dir(task.work().join("sub")).unwrap();
    assert_eq!(task.run(&["run", "--workspace", "sub", "go"]).code, Some(0));
    assert_eq!(task.result(), format!("{}\n", task.work().join("sub").display()));
}

#[test]
fn a_run_has_no_more_steps_than_it_may() {
    let task = Task::answered(json!([bash("true")]));
    let ran = task.run(&["run", "--max-steps", "2", "go"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), "I run it\n"));
    assert_eq!(ran.stderr, "dsh: the task was not done within --max-steps 2\n");
    assert_eq!(task.server.as_ref().unwrap().requests().len(), 2);
    assert_eq!(task.reason(), json!({ "kind": "blocked" }));
}

#[test]
fn a_job_does_not_outlive_the_task() {
    let started = json!({ "text": "", "calls": [{ "name": "bash", "arguments": {
        "command": "echo $$ > pid; exec sleep 600", "description": "d", "run_in_background": true } }] });
    let task = Task::answered(json!([started, bash("until [ -s pid ]; do sleep 0.01; done"), done()]));
    let ran = task.run(&["go"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "All done.\n", ""));
    let pid = fs::read_to_string(task.work().join("pid")).unwrap();
    assert!(!std::path::Path::new("/proc").join(pid.trim()).exists(), "the job goes on: {pid}");
    task.fixture.assert_tidy();
}
