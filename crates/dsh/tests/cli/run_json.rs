//! `dsh run --json`: a run for programs.

use std::fs::File;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::fixture::{Ran, of_type};
use crate::run_fixture::{Task, bash, done};

fn lines(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_event_of_the_log_is_a_line_between_the_session_and_the_result() {
    let task = Task::answered(json!([bash("printf '\\033[2J'"), done()]));
    let ran = task.run(&["run", "--json", "go"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(!ran.stdout.contains('\x1b'), "{}", ran.stdout);
    let lines = lines(&ran.stdout);
    let id = &task.sessions()[0];
    let session = json!({ "type": "session", "session": id, "resumed": false, "cwd": task.work(),
        "provider": "deepseek-official", "model": "deepseek-v4-flash" });
    assert_eq!(lines.first(), Some(&session));
    let events: Vec<Value> = of_type(&lines, "event").iter().map(|line| line["event"].clone()).collect();
    assert_eq!(events, task.events());
    assert!(events.iter().any(|event| event["type"] == "assistant/chunk"));
    let mut result = lines.last().unwrap().clone();
    assert!(result["durationMs"].take().is_u64());
    let expected = json!({ "type": "result", "session": id, "exitCode": 0, "reason": { "kind": "completed" },
        "error": null, "text": "All done.", "steps": 2, "toolCalls": 1, "durationMs": null,
        "usage": { "inputTokens": 100, "outputTokens": 24, "cacheReadTokens": 0 } });
    assert_eq!(result, expected);
    assert_eq!(lines.len(), events.len() + 2);
}

#[test]
fn the_result_tells_of_a_failure() {
    let task = Task::answered(json!([{ "status": 401, "body": { "error": { "message": "no" } } }]));
    let ran = task.run(&["run", "--json", "go"]);
    assert_eq!(ran.code, Some(1));
    let result = lines(&ran.stdout).pop().unwrap();
    assert_eq!((&result["exitCode"], &result["text"]), (&1.into(), &"".into()));
    assert_eq!(result["error"]["code"], "AUTH");
    let message = result["error"]["message"].as_str().unwrap();
    assert_eq!(ran.stderr, format!("dsh: AUTH: {message}\n"));
}

#[test]
fn a_run_whose_output_nobody_reads_is_ended() {
    let task = Task::answered(json!([bash("sleep 600"), done()]));
    let mut child = task.command(&["run", "--json", "go"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(1), "dsh: nobody reads the output any more: the task was cancelled\n")
    );
    // Where that is noticed before the task is begun, there is nothing to store.
    if !task.sessions().is_empty() {
        assert_eq!(task.reason(), json!({ "kind": "aborted", "reason": { "kind": "disposed" } }));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_cannot_be_written_is_told() {
    let task = Task::answered(json!([done()]));
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = task.command(&["go"]).stdout(full).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("cannot write the output"), "{stderr}");
    assert_eq!(task.reason(), json!({ "kind": "completed" }));
}
