//! Who is asked about the calls of a task, and hooks.

use std::fs;

use serde_json::json;

use crate::run_fixture::{Task, bash, done};

/// A hook that has every call of bash asked for.
fn asking(task: &Task) -> String {
    let answer = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"look at it"}}"#;
    hook(task, &format!("echo '{answer}'"))
}

fn hook(task: &Task, command: &str) -> String {
    let hooks = json!({ "hooks": { "PreToolUse": [{ "matcher": "bash", "hooks": [{ "type": "command", "command": command }] }] } });
    let file = task.fixture.path("settings.json");
    fs::write(&file, hooks.to_string()).unwrap();
    file.display().to_string()
}

#[test]
fn a_hook_that_says_no_is_obeyed() {
    let task = Task::answered(json!([bash("touch made"), done()]));
    let file = hook(&task, "echo 'not today' >&2; exit 2");
    let ran = task.run(&["run", "--hooks", &file, "go"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(task.result(), "Error: not today");
    assert!(!task.work().join("made").exists());
    assert!(task.kinds().contains(&"hook/result".to_owned()));
}

#[test]
fn a_hook_that_would_never_run_for_its_tool_is_told_of() {
    let task = Task::answered(json!([done()]));
    let file = hook(&task, "exit 2");
    let settings = fs::read_to_string(&file).unwrap().replace("\"bash\"", "\"Bash\"");
    fs::write(&file, settings).unwrap();
    let ran = task.run(&["run", "--hooks", &file, "go"]);
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.stderr.contains("`Bash` matches no tool here") && ran.stderr.contains("`bash`"),
        "{}",
        ran.stderr
    );
    let ran = task.run(&["doctor", "--hooks", &file]);
    assert!(ran.stdout.contains("missing  hooks") && ran.stdout.contains("write `bash`"), "{}", ran.stdout);
}

#[test]
fn the_hooks_of_codex_are_those_in_its_folder() {
    let task = Task::answered(json!([bash("true"), done()]));
    let file = hook(&task, "true");
    let folder = task.fixture.path(".codex");
    fs::create_dir(&folder).unwrap();
    fs::rename(&file, folder.join("hooks.json")).unwrap();
    let file = folder.join("hooks.json").display().to_string();
    assert_eq!(task.run(&["run", "--hooks", &file, "go"]).code, Some(0));
    let events = task.events();
    let hook = events.iter().find(|event| event["type"] == "hook/invoked").unwrap();
    assert_eq!(hook["data"]["dialect"], "codex");
}

#[test]
fn without_a_terminal_a_call_that_needs_approval_is_refused() {
    for (approve, hooks, told) in [
        (None, true, "nobody is there to give it"),
        (Some("ask"), true, "nobody is there to give it"),
        (Some("never"), true, "the user rejected tool \"bash\""),
        (Some("always"), false, "nobody is there to give it"),
    ] {
        let task = Task::answered(json!([bash("touch made"), done()]));
        let file = asking(&task);
        let mut arguments = vec!["run", "go"];
        arguments.extend(approve.iter().flat_map(|approve| ["--approve", approve]));
        if hooks {
            arguments.extend(["--hooks", &file]);
        }
        // A terminal of whoever runs the tests is none of the program's.
        let mut command = std::process::Command::new("setsid");
        let program = task.command(&arguments);
        command.arg("-w").arg(program.get_program()).args(program.get_args()).current_dir(task.work());
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ran = crate::fixture::Ran::from(command.output().unwrap());
        assert_eq!(ran.code, Some(0), "{approve:?}: {}", ran.stderr);
        let result = task.result();
        assert!(result.contains(told), "{approve:?}: {result}");
        assert!(!task.work().join("made").exists());
    }
}

#[test]
fn never_lets_everything_run_that_nobody_wants_approved() {
    for approve in ["never", "ask"] {
        let task = Task::answered(json!([bash("touch made"), done()]));
        assert_eq!(task.run(&["run", "--approve", approve, "go"]).code, Some(0));
        assert!(task.work().join("made").exists());
    }
}
