//! Hooks really run, through the bridge, and what comes of it is told.

use std::io::Write as _;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::fixture::{Ran, of_type};
use crate::hooks::{Project, answers, hooks, says};

/// A call of `bash` with these arguments.
const CALL: [&str; 5] = ["PreToolUse", "--tool", "bash", "--input", "{\"command\":\"ls\"}"];

/// The call's outcome with these hooks.
fn call(commands: &[&str]) -> (Option<i32>, Vec<Value>, Value) {
    Project::with("PreToolUse", commands).run(&CALL)
}

fn pre(own: Value) -> String {
    says("PreToolUse", own)
}

// spec: timeout-jobs-hooks/J58, timeout-jobs-hooks/J73
#[test]
fn a_hook_is_told_with_everything_that_it_answered() {
    let (code, hooks, outcome) = call(&["cat > read; echo '  not this ' >&2; echo no JSON; exit 2"]);
    let [hook] = &*hooks else { panic!("{hooks:?}") };
    assert_eq!((code, &hook["exitCode"], &hook["decision"]), (Some(1), &json!(2), &json!("block")));
    assert_eq!((&hook["reason"], &hook["stderr"]), (&json!("not this"), &json!("  not this \n")));
    assert_eq!((&hook["hook"], &hook["handlerId"]), (&json!(1), &json!("claude-code:PreToolUse:1")));
    assert!(hook["durationMs"].as_f64().is_some_and(|ms| ms > 0.0), "{hook}");
    let expected = json!({ "type": "outcome", "decision": "deny", "reason": "not this", "input": null,
        "rewritten": false, "contexts": [], "hooks": 1, "failed": 0 });
    assert_eq!(outcome, expected);
    let (code, hooks, _) =
        call(&[&answers(&json!({ "continue": false, "stopReason": "why" })), "echo plain; echo e >&2"]);
    assert_eq!((code, &hooks[0]["stop"], &hooks[0]["decision"]), (Some(0), &json!("why"), &Value::Null));
    assert_eq!((&hooks[1]["stdout"], &hooks[1]["stderr"]), (&json!("plain"), &json!("e\n")));
}

// spec: timeout-jobs-hooks/J57, timeout-jobs-hooks/J78
#[test]
fn a_hook_without_an_exit_code_is_told_with_the_reason() {
    let (code, hooks, outcome) = call(&["echo before >&2; kill -9 $$", "exit 3", "no-such-program-xyz"]);
    assert_eq!((code, &outcome["decision"]), (Some(0), &json!("allow")));
    assert_eq!(
        (&hooks[0]["exitCode"], &hooks[0]["ended"]),
        (&Value::Null, &json!("the hook was killed by SIGKILL"))
    );
    assert_eq!((&hooks[0]["stderr"], &hooks[0]["decision"]), (&json!("before\n"), &Value::Null));
    assert_eq!((&hooks[1]["exitCode"], &hooks[2]["exitCode"]), (&json!(3), &json!(127)));
}

#[test]
fn hooks_that_failed_are_counted_with_what_comes_of_it() {
    let (code, _, outcome) = call(&["no-such-program-xyz", "exit 1", "kill -9 $$", "true"]);
    assert_eq!((code, &outcome["hooks"], &outcome["failed"]), (Some(0), &json!(4), &json!(3)));
    let (_, _, outcome) = call(&["exit 2", "true"]);
    assert_eq!(outcome["failed"], 0, "to deny is no failure");
    let text = |commands: &[&str]| {
        Project::with("PreToolUse", commands).hooks(&[&["run"], &CALL[..]].concat()).stdout
    };
    let told = text(&["no-such-program-xyz", "true"]);
    assert!(told.ends_with("\n\nthe call may be made; 1 of 2 hooks failed\n"), "{told}");
    let told = text(&["exit 1"]);
    assert!(told.ends_with("\n\nthe call may be made; the hook failed\n"), "{told}");
}

#[test]
fn a_hook_that_takes_too_long_is_ended() {
    let project = Project::with("PreToolUse", &["sleep 300"]);
    let (code, hooks, _) = project.run(&[&CALL[..], &["--timeout", "50"]].concat());
    assert_eq!(code, Some(0));
    assert_eq!(hooks[0]["ended"], "the hook was ended by its time limit of 50 ms");
    let own =
        json!({ "hooks": { "PreToolUse": [{ "hooks": [{ "command": "sleep 300", "timeout": 0.02 }] }] } });
    let (_, hooks, _) = Project::of(&own).run(&[&CALL[..], &["--timeout", "60000"]].concat());
    assert_eq!(hooks[0]["ended"], "the hook was ended by its time limit of 20 ms");
}

// spec: timeout-jobs-hooks/J73, cases/H2
#[test]
fn each_hook_sees_the_arguments_as_the_one_before_left_them() {
    let rewrite = |value: u32| pre(json!({ "updatedInput": { "command": "ls", "n": value } }));
    let (code, hooks, outcome) =
        call(&[&format!("sleep 0.05; {}", rewrite(1)), &rewrite(2), "cat > seen; echo {}"]);
    assert_eq!((code, hooks.len()), (Some(0), 3));
    assert_eq!(hooks[0]["updatedInput"], json!({ "command": "ls", "n": 1 }));
    assert_eq!((&outcome["decision"], &outcome["rewritten"]), (&json!("allow"), &json!(true)));
    assert_eq!(outcome["input"], json!({ "command": "ls", "n": 2 }));
    let (_, _, same) = call(&[&pre(json!({ "updatedInput": { "command": "ls" } }))]);
    assert_eq!((&same["rewritten"], &same["input"]), (&json!(false), &json!({ "command": "ls" })));
    let ask = pre(json!({ "permissionDecision": "ask", "permissionDecisionReason": "sure?" }));
    let (code, _, asked) = call(&[&rewrite(1), &ask]);
    let told = (&asked["decision"], &asked["reason"], &asked["input"]["n"]);
    assert_eq!((code, told), (Some(1), (&json!("ask"), &json!("sure?"), &json!(1))));
    let (_, _, denied) = call(&[&rewrite(1), &ask, "exit 2"]);
    assert_eq!(
        (&denied["decision"], &denied["reason"]),
        (&json!("deny"), &json!("blocked by PreToolUse hook"))
    );
}

#[test]
fn no_body_and_no_hook_of_another_point_runs() {
    let project = Project::of(&json!({ "hooks": {
        "PreToolUse": [{ "hooks": [{ "command": "touch pre" }] }],
        "PostToolUse": [{ "hooks": [{ "command": "touch post" }] }],
        "SubagentStart": [{ "hooks": [{ "command": "touch child" }] }],
        "SubagentStop": [{ "hooks": [{ "command": "touch ended" }] }],
    } }));
    let input = json!({ "command": "touch body", "description": "d" }).to_string();
    let made = || {
        let made = ["body", "pre", "post", "child", "ended"].map(|name| project.file(name).exists());
        for name in ["pre", "post", "child", "ended"] {
            let _ = std::fs::remove_file(project.file(name));
        }
        made
    };
    assert_eq!(project.run(&["PreToolUse", "--tool", "bash", "--input", &input]).0, Some(0));
    assert_eq!(made(), [false, true, false, false, false]);
    assert_eq!(project.run(&["PostToolUse", "--tool", "bash", "--input", &input]).0, Some(0));
    assert_eq!(made(), [false, false, true, false, false]);
    assert_eq!(project.run(&["SubagentStart"]).0, Some(0));
    assert_eq!(made(), [false, false, false, true, false]);
    assert_eq!(project.run(&["SubagentStop"]).0, Some(0));
    assert_eq!(made(), [false, false, false, false, true]);
}

// spec: timeout-jobs-hooks/J73
#[test]
fn what_comes_of_other_points_is_told() {
    let say = |point: &str, words: &str| says(point, json!({ "additionalContext": words }));
    let project =
        Project::with("PostToolUse", &[&say("PostToolUse", "more"), "cat > read; echo no >&2; exit 2"]);
    let (code, _, outcome) = project.run(&["PostToolUse", "--tool", "t", "--response", "text"]);
    let told = (&outcome["decision"], &outcome["reason"], &outcome["contexts"]);
    assert_eq!((code, told), (Some(1), (&json!("block"), &json!("no"), &json!(["more"]))));
    let read: Value = serde_json::from_str(&std::fs::read_to_string(project.file("read")).unwrap()).unwrap();
    assert_eq!((&read["tool_response"], &read["tool_name"]), (&json!("text"), &json!("t")));

    let (code, _, outcome) =
        Project::with("UserPromptSubmit", &[&say("UserPromptSubmit", "a"), &say("UserPromptSubmit", "b")])
            .run(&["UserPromptSubmit", "--prompt", "hello"]);
    assert_eq!(
        (code, &outcome["decision"], &outcome["contexts"]),
        (Some(0), &json!("enter"), &json!(["a", "b"]))
    );
    let (code, _, outcome) = Project::with("UserPromptSubmit", &["echo secret >&2; exit 2"]).run(&[
        "UserPromptSubmit",
        "--prompt",
        "hello",
    ]);
    assert_eq!(
        (code, &outcome["decision"], &outcome["reason"]),
        (Some(1), &json!("reject"), &json!("secret"))
    );

    let (code, _, outcome) = Project::with("Stop", &["echo go on >&2; exit 2"]).run(&["Stop"]);
    assert_eq!(
        (code, &outcome["decision"], &outcome["reason"]),
        (Some(1), &json!("continue"), &json!("go on"))
    );
    let (code, _, outcome) = Project::with("Stop", &["true"]).run(&["Stop"]);
    assert_eq!((code, &outcome["decision"]), (Some(0), &json!("end")));

    let begin = json!({ "hooks": { "SessionStart": [
        { "matcher": "startup", "hooks": [{ "command": say("SessionStart", "new") }, { "command": say("SessionStart", "one") }] },
        { "matcher": "resume", "hooks": [{ "command": say("SessionStart", "old") }] },
    ] } });
    let (code, _, outcome) = Project::of(&begin).run(&["SessionStart"]);
    assert_eq!(
        (code, &outcome["decision"], &outcome["contexts"]),
        (Some(0), &json!("pass"), &json!(["new", "one"]))
    );
    let (_, _, outcome) = Project::of(&begin).run(&["SessionStart", "--source", "resume"]);
    assert_eq!(outcome["contexts"], json!(["old"]));
}

// spec: timeout-jobs-hooks/J69, timeout-jobs-hooks/J70
#[test]
fn hooks_run_in_the_workspace_and_find_the_project_there() {
    let project = Project::with(
        "PreToolUse",
        &["printf '%s %s %s' \"$PWD\" \"$CLAUDE_PROJECT_DIR\" '${CLAUDE_PLUGIN_ROOT}'"],
    );
    let folder = project.folder().display().to_string();
    let (_, hooks, _) = project.run(&CALL);
    assert_eq!(hooks[0]["stdout"], format!("{folder} {folder} ${{CLAUDE_PLUGIN_ROOT}}"));
    let elsewhere = project.fixture.path("bin").canonicalize().unwrap().display().to_string();
    let settings = project.file(".claude/settings.json").display().to_string();
    let options = ["--workspace", &elsewhere, "--settings", &settings, "--plugin-root", "/plugin"];
    let (_, hooks, _) = project.run(&[&CALL[..], &options].concat());
    assert_eq!(hooks[0]["stdout"], format!("{elsewhere} {elsewhere} /plugin"));
}

#[test]
fn the_hooks_of_all_settings_run_and_keep_their_numbers() {
    let project = Project::with("PreToolUse", &["echo first"]);
    project.write(".claude/settings.local.json", &hooks("PreToolUse", &["echo second"]).to_string());
    let (code, hooks, _) = project.run(&CALL);
    let told: Vec<String> = hooks.iter().map(|hook| format!("{} {}", hook["hook"], hook["stdout"])).collect();
    assert_eq!((code, told), (Some(0), vec!["1 \"first\"".to_owned(), "2 \"second\"".to_owned()]));
}

#[test]
fn settings_can_be_several_files_in_the_order_that_they_are_given() {
    let project = Project::bare();
    project.write("a.json", &hooks("PreToolUse", &["echo a"]).to_string());
    project.write("b.json", &hooks("PreToolUse", &["echo b"]).to_string());
    let (code, hooks, _) =
        project.run(&[&CALL[..], &["--settings", "b.json", "--settings", "a.json"]].concat());
    let told: Vec<&Value> = hooks.iter().map(|hook| &hook["stdout"]).collect();
    assert_eq!((code, told), (Some(0), vec![&json!("b"), &json!("a")]));
    let (code, lines) = project.json(&["check", "b.json", "a.json"]);
    let files: Vec<&Value> = of_type(&lines, "file").iter().map(|file| &file["path"]).collect();
    assert_eq!((code, files), (Some(0), vec![&json!("b.json"), &json!("a.json")]));
    let ran = project.hooks(&["check", "a.json", "none.json"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(2), "dsh: error: there are no settings at none.json\n"));
}

#[test]
fn what_hooks_would_read_is_shown_and_none_runs() {
    let project = Project::with("PreToolUse", &["touch ran", "touch ran"]);
    let (code, lines) = project.json(&[&["run"], &CALL[..], &["--show-payload"]].concat());
    let payloads = of_type(&lines, "payload");
    assert_eq!((code, payloads.len(), lines.len()), (Some(0), 2, 3));
    let payload: Value = serde_json::from_str(payloads[0]["payload"].as_str().unwrap()).unwrap();
    let folder = project.folder().display().to_string();
    let expected = json!({ "session_id": "cli", "transcript_path": "", "cwd": folder, "hook_event_name": "PreToolUse",
        "tool_name": "bash", "tool_input": { "command": "ls" }, "tool_use_id": "call-1" });
    assert_eq!(payload, expected);
    assert!(!project.file("ran").exists());
    let text = project.hooks(&[&["run"], &CALL[..], &["--show-payload"]].concat()).stdout;
    assert!(text.contains(&format!("  #1 touch ran\n    {expected}\n  #2 touch ran\n")), "{text}");
}

#[test]
fn the_arguments_can_come_by_standard_input() {
    let project = Project::with("PreToolUse", &["cat"]);
    let mut command = project.command(&["run", "PreToolUse", "--tool", "bash", "--input", "-", "--json"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"{\"command\": \"by pipe\"}").unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains("by pipe"), "{}", ran.stdout);
}

#[test]
fn a_wrong_command_line_is_told_and_nothing_runs() {
    let project = Project::with("PreToolUse", &["touch ran"]);
    for (arguments, says) in [
        (&["PreTolUse"][..], "did you mean PreToolUse?"),
        (&["Notification"], "no hooks run for that: there are SessionStart, "),
        (&["PreToolUse"], "PreToolUse is about a tool: add --tool NAME"),
        (&["PreToolUse", "--tool", "bash", "--input", "{\"a\": }"], "error: --input: not valid JSON"),
        (&["PreToolUse", "--tool", "bash", "--input", "[1]"], "the arguments of a tool are an object"),
        (&["PreToolUse", "--tool", "bash", "--input", "{\"a\":1,\"a\":2}"], "is given twice"),
        (&["PreToolUse", "--tool", "b\u{7}"], "is no name of a tool"),
        (
            &["PreToolUse", "--tool", "bash", "--prompt", "x"],
            "--prompt says nothing of PreToolUse: it is for UserPromptSubmit",
        ),
        (&["UserPromptSubmit"], "add --prompt TEXT"),
        (&["Stop", "--tool", "bash"], "--tool says nothing of Stop"),
        (
            &["SubagentStop", "--dialect", "codex"],
            "codex has no hooks of SubagentStop; there are SessionStart, ",
        ),
        (&["Stop", "--timeout", "0"], "milliseconds, at least 1"),
        (&["Stop", "--settings", "none.json"], "there are no settings at none.json"),
        (&["Stop", "--workspace", "none"], "cannot work in the folder none"),
    ] {
        let ran = project.hooks(&[&["run"], arguments].concat());
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{arguments:?}: {}", ran.stderr);
    }
    assert!(!project.file("ran").exists());
}

#[test]
fn a_tool_that_is_not_here_is_allowed_with_a_hint() {
    let project = Project::with("PreToolUse", &["true"]);
    let ran = project.hooks(&["run", "PreToolUse", "--tool", "Bash"]);
    assert_eq!(
        (ran.code, &*ran.stderr),
        (Some(0), "dsh: no tool here is called `Bash`; did you mean `bash`?\n")
    );
    let ran = project.hooks(&["run", "PreToolUse", "--tool", "mcp__x__y"]);
    assert!(
        ran.code == Some(0)
            && ran.stderr.starts_with("dsh: no tool here is called `mcp__x__y`; there are bash"),
        "{}",
        ran.stderr
    );
}

// spec: timeout-jobs-hooks/J76
#[test]
fn what_the_bridge_does_not_honour_it_says() {
    let project = Project::with("PreToolUse", &[&answers(&json!({ "systemMessage": "hello" }))]);
    let ran = project.hooks(&[&["run"], &CALL[..]].concat());
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.stderr.contains("`systemMessage`") && !ran.stdout.contains("hello\n"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
}

#[test]
fn the_text_form_tells_what_would_happen() {
    let project = Project::with("PreToolUse", &["cat >/dev/null; printf 'two\\nlines\\033[2J' >&2; exit 2"]);
    let ran = project.hooks(&[&["run"], &CALL[..]].concat());
    assert_eq!((ran.code, &*ran.stderr), (Some(1), ""));
    let (head, rest) = ran.stdout.split_once(" ms: ").unwrap();
    let folder = project.folder().display().to_string();
    assert!(head.starts_with(&format!("PreToolUse of bash in {folder}\n  #1 cat >/dev/null; ")), "{head}");
    let expected = "block\n    reason   two\n             lines\\u{1b}[2J\n\nthe call would be denied\n  \
                    reason   two\n           lines\\u{1b}[2J\n";
    assert_eq!(rest, expected);
    let none = Project::with("Stop", &["true"]).hooks(&[&["run"], &CALL[..]].concat());
    assert!(none.stdout.ends_with("\n  no hook runs for this\n\nthe call may be made\n"), "{}", none.stdout);
}

/// Waits until something is the case.
fn until(what: &str, is: impl Fn() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < Duration::from_secs(60), "never: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn is_alive(pid: &str) -> bool {
    kill(Pid::from_raw(pid.trim().parse().unwrap()), None).is_ok()
}

// spec: timeout-jobs-hooks/J77
#[test]
fn an_interruption_ends_hooks_and_what_they_started() {
    for (point, options) in [("PreToolUse", &["--tool", "bash"][..]), ("SessionStart", &[]), ("Stop", &[])] {
        let project = Project::with(point, &["sleep 300 & echo $! > pid; mv pid child; wait", "touch never"]);
        let child = project.command(&[&["run", point], options].concat()).spawn().unwrap();
        until("the hook runs", || project.file("child").exists());
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGINT).unwrap();
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(1), "{point}: {}", ran.stderr);
        assert!(ran.stderr.contains("interrupted; the hooks were ended"), "{point}: {}", ran.stderr);
        let pid = std::fs::read_to_string(project.file("child")).unwrap();
        until("what the hook started ends", || !is_alive(&pid));
        assert!(!project.file("never").exists(), "{point}");
        project.fixture.assert_tidy();
    }
}

#[test]
fn who_reads_no_further_is_not_told_of_it() {
    let project = Project::with("PreToolUse", &["true", "true"]);
    let mut child = project.command(&[&["run"], &CALL[..]].concat()).spawn().unwrap();
    drop(child.stdout.take());
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, &*ran.stderr), (Some(1), ""));
}

// spec: timeout-jobs-hooks/J66, timeout-jobs-hooks/J68
#[test]
fn what_is_wrong_with_settings_is_said_once() {
    for (text, cause) in [
        (r#"{"hooks":"#, "EOF while parsing"),
        (
            r#"{"hooks":{"Stop":[],"PreToolUse":[{"matcher":"["}]}}"#,
            "invalid claude-code regex matcher \"[\"",
        ),
    ] {
        let project = Project::bare();
        project.write(".claude/settings.json", text);
        let ran = project.hooks(&[&["run"], &CALL[..]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{text}");
        assert_eq!(ran.stderr.matches(cause).count(), 1, "{}", ran.stderr);
    }
}

// spec: timeout-jobs-hooks/J67
#[test]
fn only_hooks_of_the_point_that_was_asked_for_are_told_as_left_out() {
    let project = Project::of(&json!({ "hooks": {
        "PreToolUse": [{ "hooks": [{ "type": "prompt" }, { "command": "true" }] }],
        "Stop": [{ "hooks": [{ "type": "http" }, { "command": "true", "args": 1 }] }],
    } }));
    let stderr = |arguments: &[&str]| project.hooks(&[&["run"], arguments].concat()).stderr;
    let said: Vec<String> = stderr(&CALL).lines().map(str::to_owned).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    let ends =
        "settings.json: a hook of the type \"prompt\" on PreToolUse is left out: only command hooks run";
    assert!(said[0].starts_with("dsh: ") && said[0].ends_with(ends), "{said:?}");
    let said = stderr(&["Stop"]);
    assert_eq!((said.lines().count(), said.matches("on Stop is left out").count()), (2, 2), "{said}");
}
