//! The sample hooks do what they say.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::hooks::Project;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// What comes of a call with the sample settings, in a project that has copies of them.
fn sampled(point: &str, tool: &str, input: &Value) -> (Option<i32>, Value) {
    let project = copied();
    let (code, hooks, outcome) = project.run(&[point, "--tool", tool, "--input", &input.to_string()]);
    assert_eq!(hooks.len(), 1, "{point} of {tool}: {outcome}");
    assert_eq!(hooks[0]["ended"], Value::Null, "{hooks:?}");
    (code, outcome)
}

fn copied() -> Project {
    let project = Project::bare();
    let samples = repository().join("examples/hooks");
    project.write(".claude/settings.json", &fs::read_to_string(samples.join("settings.json")).unwrap());
    for name in ["no-rm-rf.sh", "ask-outside.py", "remind-of-tests.sh"] {
        project.script(&format!("examples/hooks/{name}"), &fs::read_to_string(samples.join(name)).unwrap());
    }
    project
}

#[test]
fn nothing_is_wrong_with_the_sample_settings() {
    let settings = repository().join("examples/hooks/settings.json").display().to_string();
    let project = Project::bare();
    let folder = repository().display().to_string();
    let tools = ["--tool", "write", "--tool", "edit", "--workspace", &folder];
    assert_eq!(project.check(&[&[&*settings], &tools[..]].concat()), (Some(0), Vec::new()));
}

#[test]
fn a_command_that_deletes_folders_without_asking_is_denied() {
    for command in [
        "rm -rf build",
        "cd x && rm -fr \"a b\"",
        "sudo rm -v -Rrf /",
        "rm -r -f x",
        "rm -f -r x",
        "cd x\nrm -rf build",
        "\trm -rf x",
        "rm build -rf",
        "rm --recursive --force x",
        "rm -r build --force",
        "rm \\\n  -rf x",
        "/bin/rm -rf x",
        "sh -c 'rm -rf x'",
        "(rm -rf x)",
        // A pattern is no parser.
        "echo \"rm -rf x\"",
    ] {
        let (code, outcome) = sampled("PreToolUse", "bash", &json!({ "command": command }));
        assert_eq!((code, &outcome["decision"]), (Some(1), &json!("deny")), "{command}");
        assert!(outcome["reason"].as_str().unwrap().starts_with("rm -rf is not for agents"), "{command}");
    }
    for command in [
        "ls",
        "rm file",
        "rm -r build",
        "rm -f a; ls -r",
        "rm -f a\nls -r",
        "rm --force r",
        "farm -rf x",
        "echo rm; echo -rf",
        "",
    ] {
        let (code, outcome) = sampled("PreToolUse", "bash", &json!({ "command": command }));
        assert_eq!((code, &outcome["decision"]), (Some(0), &json!("allow")), "{command}");
    }
}

/// What a sample hook that finds only these programs does with this input: its exit code, and what it prints as errors.
fn alone(programs: &[&str], input: &str) -> (Option<i32>, String) {
    let bin = tempfile::tempdir().unwrap();
    for program in programs.iter().chain(&["cat", "sed", "tr", "grep"]) {
        // What is found by this name may be a script that looks for the program.
        let which = match *program {
            "python3" => Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output(),
            other => Command::new("sh").args(["-c", "command -v \"$0\"", other]).output(),
        };
        let found = String::from_utf8(which.unwrap().stdout).unwrap();
        std::os::unix::fs::symlink(found.trim_end(), bin.path().join(program)).unwrap();
    }
    let mut command = Command::new("/bin/sh");
    command.arg(repository().join("examples/hooks/no-rm-rf.sh")).env("PATH", bin.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let ran = child.wait_with_output().unwrap();
    (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
}

#[test]
fn a_command_that_cannot_be_read_is_denied() {
    let input = |command: Value| json!({ "tool_input": { "command": command } }).to_string();
    let (code, said) = alone(&[], &input(json!("ls")));
    assert!(code == Some(2) && said.contains("needs jq or python3"), "{code:?} {said}");
    assert_eq!(alone(&["python3"], &input(json!("ls"))), (Some(0), String::new()));
    assert_eq!(alone(&["python3"], &input(json!("cd x\nrm -rf build"))).0, Some(2));
    for unread in ["", "{", "[]", "{}", &input(json!(7)), &input(json!(null))] {
        let (code, said) = alone(&["python3"], unread);
        assert!(code == Some(2) && said.contains("cannot read the command"), "{unread}: {code:?} {said}");
    }
}

#[test]
fn somebody_is_asked_before_a_file_outside_of_the_project_is_written() {
    let python = Command::new("python3").arg("--version").output();
    assert!(
        python.is_ok_and(|ran| ran.status.success()),
        "this test needs python3, which a sample hook is written for"
    );
    for (path, decision) in
        [("/etc/passwd", "ask"), ("../x", "ask"), ("src/a.rs", "allow"), ("a/../b", "allow")]
    {
        let (code, outcome) = sampled("PreToolUse", "write", &json!({ "file_path": path }));
        assert_eq!(
            (code, &outcome["decision"]),
            (Some(i32::from(decision == "ask")), &json!(decision)),
            "{path}"
        );
        assert!(
            decision == "allow" || outcome["reason"].as_str().unwrap().contains(" is outside of "),
            "{outcome}"
        );
    }
}

#[test]
fn the_model_is_told_of_the_tests_of_a_source_file() {
    let (code, outcome) = sampled("PostToolUse", "edit", &json!({ "file_path": "src/a.rs" }));
    let told = json!(["A source file was changed: run `cargo test` before you say that you are done."]);
    assert_eq!((code, &outcome["contexts"]), (Some(0), &told));
    let (code, outcome) = sampled("PostToolUse", "edit", &json!({ "file_path": "notes.md" }));
    assert_eq!((code, &outcome["contexts"]), (Some(0), &json!([])));
}
