//! What is wrong with settings, and which hook is for which tool.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::fixture::of_type;
use crate::hooks::{Project, hooks};

/// What is found in these settings.
fn found(settings: &Value) -> (Option<i32>, Vec<String>) {
    Project::of(settings).check(&[])
}

#[track_caller]
fn finds(settings: &Value, code: i32, problems: &[&str]) {
    let (exit, found) = found(settings);
    assert_eq!(found.len(), problems.len(), "{settings}: {found:#?}");
    for (found, problem) in found.iter().zip(problems) {
        assert!(found.starts_with(problem), "{settings}: {found} instead of {problem}");
    }
    assert_eq!(exit, Some(code), "{settings}");
}

/// Settings with this group before a call.
fn group(group: Value) -> Value {
    json!({ "hooks": { "PreToolUse": [group] } })
}

/// Settings with this hook before a call.
fn entry(entry: Value) -> Value {
    group(json!({ "hooks": [entry] }))
}

#[test]
fn settings_with_which_nothing_is_wrong_are_told_so() {
    let project = Project::with("PreToolUse", &["cat"]);
    let ran = project.hooks(&["check"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let file = project.file(".claude/settings.json").display().to_string();
    assert!(
        ran.stdout.starts_with(&format!("{file}\n  nothing is wrong with it\n\nHOOK  POINT")),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.ends_with("\n\n1 hook, 0 errors, 0 warnings, 0 hints\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("#1    PreToolUse  *        600 s    cat\n"), "{}", ran.stdout);
}

// spec: timeout-jobs-hooks/J66
#[test]
fn what_is_no_json_is_told_with_its_place() {
    let project = Project::bare();
    project.write(".claude/settings.json", "{\n  \"hooks\": {},,\n}");
    let (code, problems) = project.check(&[]);
    assert_eq!(code, Some(2));
    let [problem] = &*problems else { panic!("{problems:?}") };
    assert!(
        problem.starts_with("error : it is no JSON, so no hook of it runs: ")
            && problem.contains("line 2 column 15"),
        "{problem}"
    );
    let text = project.hooks(&["check"]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    let (shown, mark) = (lines[2], lines[3]);
    assert_eq!(shown.chars().nth(mark.find('^').unwrap()), Some(','), "{text}");
}

// spec: timeout-jobs-hooks/J66
#[test]
fn a_file_that_cannot_be_read_is_told_and_one_that_was_asked_for_and_is_not_there_is_wrong() {
    let project = Project::bare();
    fs::create_dir(project.file(".claude/settings.json")).unwrap();
    let (code, problems) = project.check(&[]);
    assert_eq!(code, Some(2));
    assert!(problems[0].starts_with("error : it cannot be read"), "{problems:?}");
    fs::write(project.file("bytes.json"), [b'{', 0xff]).unwrap();
    let (code, problems) = project.check(&["bytes.json"]);
    assert_eq!(code, Some(2));
    assert_eq!(
        problems,
        ["error : it cannot be read, so no hook of it runs: it is no UTF-8 text, from byte 1 on"]
    );
    let ran = project.hooks(&["check", "none.json"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(2), "dsh: error: there are no settings at none.json\n"));
}

#[test]
fn without_settings_it_is_said_where_they_were_looked_for() {
    let project = Project::bare();
    let ran = project.hooks(&["check"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    for place in [project.file(".claude/settings.json"), project.file(".claude/settings.local.json")] {
        assert!(ran.stderr.contains(&*place.to_string_lossy()), "{}", ran.stderr);
    }
    assert!(ran.stderr.contains("/home/.claude/settings.json"), "{}", ran.stderr);
    let ran = project.hooks(&["check", "--dialect", "codex"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("/project/.codex/hooks.json") && ran.stderr.contains("/home/.codex/hooks.json")
    );
}

#[test]
fn all_settings_that_are_there_are_looked_at_and_their_hooks_counted_on() {
    let project = Project::with("PreToolUse", &["cat", "true"]);
    project.write(".claude/settings.local.json", &hooks("PostToolUse", &["cat"]).to_string());
    fs::create_dir(project.fixture.path("home/.claude")).unwrap();
    fs::write(project.fixture.path("home/.claude/settings.json"), hooks("PreToolUse", &["cat"]).to_string())
        .unwrap();
    let (code, lines) = project.json(&["check"]);
    assert_eq!((code, of_type(&lines, "file").len()), (Some(0), 3));
    let hooks: Vec<String> =
        of_type(&lines, "hook").iter().map(|hook| format!("{} {}", hook["hook"], hook["at"])).collect();
    let at = |point: &str, index: usize| format!("\"hooks.{point}[0].hooks[{index}]\"");
    let expected = [
        format!("1 {}", at("PreToolUse", 0)),
        format!("2 {}", at("PreToolUse", 1)),
        format!("3 {}", at("PostToolUse", 0)),
        format!("4 {}", at("PreToolUse", 0)),
    ];
    assert_eq!(hooks, expected);
    let bash = of_type(&lines, "tool").into_iter().find(|tool| tool["name"] == "bash").unwrap();
    assert_eq!((&bash["preToolUse"], &bash["postToolUse"]), (&json!([1, 2, 4]), &json!([3])));
    // Who works at home has one file for both.
    let mut at_home = project.command(&["check"]);
    let ran = at_home.env("HOME", project.folder()).output().unwrap();
    assert_eq!(String::from_utf8(ran.stdout).unwrap().matches("nothing is wrong with it").count(), 2);
}

// spec: timeout-jobs-hooks/J67
#[test]
fn everything_that_is_left_out_without_a_word_is_told_with_its_path() {
    let top = |top: Value, problem: &str| finds(&top, 2, &[problem]);
    top(json!([]), "error : the file holds no object");
    top(json!({ "hooks": [] }), "error hooks: it is no object");
    top(json!({ "hooks": { "PreToolUse": {} } }), "error hooks.PreToolUse: it is no list of groups");
    top(json!({ "hooks": { "PreToolUse": [7] } }), "error hooks.PreToolUse[0]: it is no object");
    top(json!({ "Stop": [null] }), "error Stop[0]: it is no object");
    top(group(json!({ "matcher": "bash" })), "error hooks.PreToolUse[0]: the group has no `hooks`");
    top(
        group(json!({ "command": "cat" })),
        "error hooks.PreToolUse[0]: a hook stands where a group is expected",
    );
    top(group(json!({ "hooks": "cat" })), "error hooks.PreToolUse[0].hooks: it is no list");
    top(
        group(json!({ "matcher": 7, "hooks": [{ "command": "cat" }] })),
        "error hooks.PreToolUse[0].matcher: it is no text",
    );
    top(entry(json!("cat")), "error hooks.PreToolUse[0].hooks[0]: it is no object");
    top(entry(json!({ "type": "command" })), "error hooks.PreToolUse[0].hooks[0]: it has no `command`");
    top(entry(json!({ "command": 7 })), "error hooks.PreToolUse[0].hooks[0].command: it is no text");
    top(entry(json!({ "command": " " })), "error hooks.PreToolUse[0].hooks[0].command: it is blank");
    for timeout in [json!(0), json!(-1), json!("60"), json!(null)] {
        let settings = entry(json!({ "command": "cat", "timeout": timeout }));
        top(settings, "error hooks.PreToolUse[0].hooks[0].timeout: it is no number of seconds above 0");
    }
}

// spec: timeout-jobs-hooks/J67
#[test]
fn what_means_nothing_here_is_a_warning() {
    let warns = |settings: Value, problem: &str| finds(&settings, 0, &[problem]);
    warns(json!({}), "warning : there are no hooks in it");
    warns(json!({ "model": "m", "env": {} }), "warning : there are no hooks in it");
    warns(json!({ "hooks": {} }), "warning hooks: there are no hooks in it");
    warns(
        json!({ "hooks": { "PreCompact": [{ "hooks": [] }] } }),
        "warning hooks.PreCompact: hooks of PreCompact are not run here",
    );
    warns(group(json!({ "hooks": [] })), "warning hooks.PreToolUse[0].hooks: there are no hooks in it");
    warns(
        group(json!({ "description": "d", "hooks": [{ "command": "cat" }] })),
        "warning hooks.PreToolUse[0].description: it means nothing here",
    );
    warns(
        entry(json!({ "type": "prompt", "prompt": "p" })),
        "warning hooks.PreToolUse[0].hooks[0].type: hooks of the type `prompt` are left out",
    );
    warns(
        entry(json!({ "command": "cat", "async": true })),
        "warning hooks.PreToolUse[0].hooks[0].async: it is not looked at: the agent waits",
    );
    warns(
        entry(json!({ "command": "cat", "if": "Bash(git *)" })),
        "warning hooks.PreToolUse[0].hooks[0].if: it is not looked at",
    );
    warns(
        entry(json!({ "command": "cat", "timout": 5 })),
        "warning hooks.PreToolUse[0].hooks[0].timout: it means nothing here: did you mean `timeout`?",
    );
    warns(
        entry(json!({ "command": "cat", "timeout": 10_000 })),
        "warning hooks.PreToolUse[0].hooks[0].timeout: it is in seconds",
    );
    warns(
        entry(json!({ "command": "cat", "timeout": 0.049 })),
        "warning hooks.PreToolUse[0].hooks[0].timeout: it is in seconds, and in 49ms no shell starts and runs anything",
    );
    finds(&entry(json!({ "command": "cat", "timeout": 0.05 })), 0, &[]);
    let never = json!({ "hooks": { "Stop": [{ "matcher": "x", "hooks": [{ "command": "cat" }] }] } });
    warns(never, "warning hooks.Stop[0].matcher: at Stop there is nothing to match");
    let mut off = entry(json!({ "command": "cat" }));
    off["disableAllHooks"] = json!(true);
    warns(off, "warning disableAllHooks: it is not looked at");
    let mut denied = entry(json!({ "command": "cat" }));
    denied["permissions"] = json!({ "deny": ["Bash(rm:*)"] });
    finds(&denied, 0, &["hint permissions: they are not looked at here"]);
}

#[test]
fn a_name_that_is_nearly_right_is_told() {
    finds(
        &json!({ "hooks": { "PreTooluse": [] } }),
        2,
        &[
            "error hooks.PreTooluse: there is no event `PreTooluse`, so its hooks never run: did you mean `PreToolUse`?",
        ],
    );
    finds(
        &json!({ "hooks": { "OnCall": [] } }),
        2,
        &["error hooks.OnCall: there is no event `OnCall`, so its hooks never run: there are SessionStart, "],
    );
    finds(
        &group(json!({ "matchers": "x", "hooks": [{ "command": "cat" }] })),
        0,
        &["warning hooks.PreToolUse[0].matchers: it means nothing here: did you mean `matcher`?"],
    );
}

#[test]
fn a_key_that_is_given_twice_is_told() {
    let project = Project::bare();
    project.write(
        ".claude/settings.json",
        r#"{"hooks": {"Stop": [{"hooks": [{"command": "false"}]}], "Stop": []}}"#,
    );
    let (code, problems) = project.check(&[]);
    assert_eq!((code, problems.len()), (Some(2), 1), "{problems:?}");
    assert!(problems[0].contains("the key `Stop` is given twice"), "{problems:?}");
}

// spec: timeout-jobs-hooks/J56, timeout-jobs-hooks/J68, cases/H5
#[test]
fn a_pattern_that_is_none_is_told_with_its_event_and_place_and_no_hook_is_left() {
    let project = Project::of(&json!({ "hooks": {
        "Stop": [{ "hooks": [{ "command": "cat" }] }],
        "PreToolUse": [{ "hooks": [{ "command": "cat" }] }, { "matcher": "(a[", "hooks": [{ "command": "cat" }] }],
    } }));
    let (code, problems) = project.check(&[]);
    let [problem] = &*problems else { panic!("{problems:?}") };
    let quoted = "error hooks.PreToolUse[1].matcher: invalid claude-code regex matcher \"(a[\" on event \"PreToolUse\", so no hook of the file runs: ";
    assert!(code == Some(2) && problem.starts_with(quoted) && problem.contains("position"), "{problem}");
    let (_, lines) = project.json(&["check"]);
    assert!(of_type(&lines, "hook").is_empty() && lines.last().unwrap()["hooks"] == 0, "{lines:?}");
    let ran = project.hooks(&["run", "Stop"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("invalid claude-code regex matcher")
            && ran.stderr.contains("`dsh hooks check` says more"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_program_of_a_command_is_looked_for() {
    let project = Project::bare();
    project.script("good.sh", "#!/bin/sh\n");
    project.script("plain.sh", "#!/bin/sh\n");
    fs::set_permissions(project.file("plain.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    for (command, trouble) in [
        ("no-such-program-xyz --flag", Some("there is no program `no-such-program-xyz` in PATH")),
        ("./none.sh", Some("there is no program `./none.sh`")),
        ("./plain.sh", Some("`./plain.sh` is not executable: chmod +x ")),
        ("\"$CLAUDE_PROJECT_DIR\"/good.sh", None),
        ("${CLAUDE_PROJECT_DIR}/good.sh", None),
        ("sh plain.sh", None),
        ("sh ./none.sh", Some("there is no file `./none.sh`")),
        ("[ -n \"$X\" ] && no-such-program-xyz", None),
    ] {
        project.write(".claude/settings.json", &hooks("PreToolUse", &[command]).to_string());
        let (code, problems) = project.check(&[]);
        assert_eq!(
            (code, problems.len()),
            (Some(0), usize::from(trouble.is_some())),
            "{command}: {problems:?}"
        );
        let trouble =
            trouble.map(|trouble| format!("warning hooks.PreToolUse[0].hooks[0].command: {trouble}"));
        assert!(trouble.iter().all(|trouble| problems[0].starts_with(trouble)), "{command}: {problems:?}");
    }
}

#[test]
fn a_program_with_arguments_is_told_as_its_command_line() {
    let project = Project::of(&entry(json!({ "command": "sh", "args": ["./a guard.sh"] })));
    let (code, problems) = project.check(&[]);
    let missing = "warning hooks.PreToolUse[0].hooks[0].command: there is no file `./a guard.sh`";
    assert!(code == Some(0) && problems.len() == 1 && problems[0].starts_with(missing), "{problems:?}");
    project.script("a guard.sh", "cat > read; echo no >&2; exit 2");
    assert_eq!(project.check(&[]), (Some(0), Vec::new()));
    let (_, lines) = project.json(&["check"]);
    assert_eq!(of_type(&lines, "hook")[0]["command"], "exec sh './a guard.sh'");
    let input = json!({ "command": "\ntouch pwned\n" }).to_string();
    let (code, hooks, outcome) = project.run(&["PreToolUse", "--tool", "bash", "--input", &input]);
    assert_eq!((code, hooks.len(), &outcome["reason"]), (Some(1), 1, &json!("no")));
    assert!(project.file("read").exists() && !project.file("pwned").exists());
    for args in [json!("x"), json!([1]), json!({})] {
        let at = "error hooks.PreToolUse[0].hooks[0].args: it is no list of texts, so the hook is left out";
        finds(&entry(json!({ "command": "sh", "args": args })), 2, &[at]);
    }
}

#[test]
fn a_pattern_with_the_capitals_of_another_agent_is_a_warning_until_there_is_the_tool() {
    let settings = json!({ "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "command": "cat" }, { "command": "true" }] }] } });
    let project = Project::of(&settings);
    let (code, problems) = project.check(&[]);
    assert_eq!(code, Some(0));
    assert_eq!(
        problems,
        [
            "warning hooks.PreToolUse[0].matcher: `Bash` matches no tool here, so the hook never runs for what it is meant for: write `bash`"
        ]
    );
    assert_eq!(project.check(&["--strict"]).0, Some(2));
    assert_eq!(project.check(&["--strict", "--tool", "Bash"]), (Some(0), Vec::new()));
    let elsewhere = group(json!({ "matcher": "Edit|Write", "hooks": [{ "command": "cat" }] }));
    finds(&elsewhere, 0, &["hint hooks.PreToolUse[0].matcher: `Edit|Write` matches no tool here"]);
    assert_eq!(Project::of(&elsewhere).check(&["--strict"]).0, Some(0));
    let (code, problems) = Project::of(&elsewhere).check(&["--tool", "edit", "--tool", "write"]);
    assert!(code == Some(0) && problems[0].ends_with(": write `edit|write`"), "{problems:?}");
    assert_eq!(project.check(&["--tool", "Bash"]), (Some(0), Vec::new()));
    let (_, lines) = project.json(&["check", "--tool", "Bash", "--tool", "bash"]);
    let tools = of_type(&lines, "tool");
    let row = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    assert_eq!((&row("Bash")["preToolUse"], &row("Bash")["isHere"]), (&json!([1, 2]), &json!(false)));
    assert_eq!((&row("bash")["preToolUse"], &row("bash")["isHere"]), (&json!([]), &json!(true)));
    let text = project.hooks(&["check", "--tool", "Bash"]).stdout;
    assert!(text.contains("Bash (not here)  #1 #2       -\n"), "{text}");
}

#[test]
fn every_tool_that_is_listed_has_a_row() {
    let project = Project::with("PreToolUse", &["cat"]);
    let listed = project.fixture.run(&["tools", "ls", "--json"]).stdout;
    let listed: Vec<Value> =
        listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["name"].clone()).collect();
    let (_, lines) = project.json(&["check"]);
    let rows: Vec<Value> = of_type(&lines, "tool").iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(rows, listed);
    assert!(of_type(&lines, "tool").iter().all(|tool| tool["preToolUse"] == json!([1])));
}

// spec: timeout-jobs-hooks/J79
#[test]
fn codex_has_fewer_events_and_leaves_out_what_nobody_waits_for() {
    let project = Project::of_codex(&json!({ "hooks": {
        "SubagentStop": [{ "hooks": [{ "command": "cat" }] }],
        "PreToolUse": [{ "hooks": [
            { "command": "cat", "async": true },
            { "command": "cat", "timeoutSec": 0 },
            { "command": "$CLAUDE_PROJECT_DIR/x" },
        ] }],
    } }));
    let (code, problems) = project.check(&[]);
    let starts = [
        "warning hooks.SubagentStop: hooks of SubagentStop are not run here; there are SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, Stop",
        "warning hooks.PreToolUse[0].hooks[0].async: hooks that nobody waits for are left out",
        "error hooks.PreToolUse[0].hooks[1].timeoutSec: it is no number of seconds above 0",
        "warning hooks.PreToolUse[0].hooks[2].command: the variable `CLAUDE_PROJECT_DIR` is not set for hooks",
    ];
    assert_eq!((code, problems.len()), (Some(2), starts.len()), "{problems:#?}");
    for (problem, start) in problems.iter().zip(starts) {
        assert!(problem.starts_with(start), "{problem}");
    }
}

#[test]
fn text_of_a_file_cannot_move_the_cursor() {
    let project = Project::of(&json!({ "hooks": {
        "Pre\u{1b}[2J": [], "PreToolUse": [{ "matcher": "\u{202e}x.", "hooks": [{ "command": "echo \u{1b}[31m" }] }],
    } }));
    let ran = project.hooks(&["check"]);
    assert_eq!(ran.code, Some(2));
    assert!(!ran.stdout.contains(['\u{1b}', '\u{202e}']), "{}", ran.stdout);
    let json = project.hooks(&["check", "--json"]).stdout;
    assert!(!json.contains(['\u{1b}', '\u{202e}']), "{json}");
    let coloured = project.hooks(&["check", "--color", "always"]).stdout;
    assert!(coloured.contains("\u{1b}[31merror"), "{coloured}");
}

#[test]
fn the_help_names_the_command_and_its_examples_are_in_one_column() {
    let project = Project::bare();
    assert!(
        project
            .fixture
            .run(&["--help"])
            .stdout
            .contains("hooks    Check the hooks of a settings file, and try them")
    );
    for arguments in [&["--help"][..], &["check", "--help"]] {
        let help = project.hooks(arguments).stdout;
        let (_, examples) = help.split_once("Examples:\n").unwrap();
        let lines = examples.lines().take_while(|line| !line.is_empty());
        let starts: Vec<usize> = lines.map(|line| line.rfind("  ").unwrap() + 2).collect();
        assert!(starts.len() > 2 && starts.iter().all(|start| *start == starts[0]), "{help}");
        assert!(help.contains("Exit codes:\n"), "{help}");
    }
}
