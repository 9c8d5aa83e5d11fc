//! `dsh run --resume`: a task goes on with a stored session.

use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::Ran;
use crate::run_fixture::{Task, bash, done};

fn told(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap();
    messages.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_model_knows_what_was_said_before() {
    let task = Task::answered(json!([{ "text": "One." }, { "text": "Two." }, { "text": "Three." }]));
    assert_eq!(task.run(&["run", "--model", "m-1", "first"]).stdout, "One.\n");
    let id = task.sessions().remove(0);
    // Another session, so that a beginning has to tell.
    let ran = task.run(&["run", "--resume", &id[..20], "second"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "Two.\n", ""));
    assert_eq!(task.run(&["run", "--resume", "last", "third"]).stdout, "Three.\n");
    assert_eq!(task.sessions(), [id]);
    let requests = task.server.as_ref().unwrap().requests();
    let said = told(&requests[2].json());
    for text in ["first", "One.", "second", "Two.", "third"] {
        assert!(said.iter().any(|said| said == text), "{text}: {said:?}");
    }
    assert_eq!(requests[2].json()["model"], "m-1", "a session keeps its model");
    assert_eq!(task.run(&["session", "check"]).code, Some(0));
}

#[test]
fn the_last_session_is_that_of_the_folder() {
    let task = Task::answered(json!([done()]));
    fs::create_dir(task.fixture.path("other")).unwrap();
    assert_eq!(task.run(&["here"]).code, Some(0));
    let here = task.sessions().remove(0);
    let other = task.fixture.path("other").display().to_string();
    assert_eq!(task.run(&["run", "--workspace", &other, "there"]).code, Some(0));
    let ran = task.run(&["run", "--json", "--resume", "last", "again"]);
    let session: Value = serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
    assert_eq!((&session["session"], &session["resumed"]), (&here.into(), &true.into()));
    assert_eq!(task.sessions().len(), 2);
}

#[test]
fn a_session_works_in_its_own_folder() {
    let task = Task::answered(json!([done(), bash("pwd"), done()]));
    assert_eq!(task.run(&["here"]).code, Some(0));
    let id = task.sessions().remove(0);
    fs::create_dir(task.fixture.path("other")).unwrap();
    let other = task.fixture.path("other").display().to_string();
    let ran = task.run(&["run", "--resume", &id, "--workspace", &other, "again"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("not in the folder of --workspace"), "{}", ran.stderr);
    assert_eq!(task.result(), format!("{}\n", task.work().display()));

    fs::rename(task.work(), task.fixture.path("moved")).unwrap();
    fs::create_dir(task.fixture.path("elsewhere")).unwrap();
    let mut command = task.fixture.command();
    crate::fixture::at_home(&mut command, &task.fixture);
    let output =
        command.current_dir(task.fixture.path("elsewhere")).args(["run", "--resume", &id, "x"]).output();
    let stderr = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(stderr.contains("works in") && stderr.contains(&id), "{stderr}");
}

#[test]
fn a_session_that_another_process_has_is_not_touched() {
    let task = Task::answered(json!([bash("touch begun; sleep 600"), done()]));
    let mut working = Killed(task.command(&["go"]).spawn().unwrap());
    while !task.work().join("begun").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let id = task.sessions().remove(0);
    let ran = task.run(&["run", "--resume", &id, "me too"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("is busy"), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "what had begun ends in order: {}", ran.stderr);
    assert!(working.0.try_wait().unwrap().is_none(), "the other one goes on");
}

/// A child that is killed at the end.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_closes_a_log_that_was_cut_off_is_told_too() {
    let task = Task::answered(json!([bash("touch begun; sleep 600"), done()]));
    let working = Killed(task.command(&["go"]).spawn().unwrap());
    while !task.work().join("begun").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(working);
    let before = task.events().len() as u64;
    let ran = task.run(&["run", "--json", "--resume", "last", "go on"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lines = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let told: Vec<u64> = lines.filter_map(|line| line["event"]["seq"].as_u64()).collect();
    // Others, such as the title, may come when the text is there already.
    let all: Vec<u64> = (before..task.events().len() as u64).collect();
    assert_eq!(told, all);
}

#[test]
fn a_session_whose_writer_was_killed_goes_on() {
    let task = Task::answered(json!([bash("touch begun; sleep 600"), done()]));
    let working = Killed(task.command(&["go"]).spawn().unwrap());
    while !task.work().join("begun").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(working);
    let ran = task.run(&["run", "--resume", "last", "go on"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "All done.\n"), "{}", ran.stderr);
    let ends: Vec<Value> = task
        .events()
        .into_iter()
        .filter(|event| event["type"] == "turn/end")
        .map(|event| event["data"]["reason"]["kind"].clone())
        .collect();
    assert_eq!(ends, ["interrupted", "completed"]);
    assert_eq!(task.run(&["session", "check"]).code, Some(0));
}

#[test]
fn a_failure_that_names_a_path_sends_no_command_to_the_terminal() {
    let task = Task::answered(json!([done()]));
    let home = task.fixture.path("h\x1b[31m");
    let run =
        |arguments: &[&str]| Ran::from(task.command(arguments).env("DSH_HOME", &home).output().unwrap());
    assert_eq!(run(&["go"]).code, Some(0));
    let inner = |folder: PathBuf| fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let session = inner(inner(home.join("sessions")));
    fs::remove_file(session.join("session.lock")).unwrap();
    fs::create_dir(session.join("session.lock")).unwrap();
    let ran = run(&["run", "--resume", "last", "go on"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("h\\u{1b}[31m/sessions") && !ran.stderr.contains('\x1b'), "{:?}", ran.stderr);
}
