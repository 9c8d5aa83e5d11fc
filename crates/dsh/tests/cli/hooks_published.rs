//! Settings as people have them: what is said of each, and what comes of it.

use std::fs;

use serde_json::{Value, json};

use crate::hooks::{Project, answers, says};

/// Prints the text of one field, as the `jq` of most settings does.
const JQ: &str = "#!/bin/sh\nfield=${2##*.}\nsed -n \"s/.*\\\"$field\\\":\\\"\\([^\\\"]*\\)\\\".*/\\1/p\"\n";

fn settings(point: &str, matcher: &str, command: &str) -> Value {
    json!({ "hooks": { point: [{ "matcher": matcher, "hooks": [{ "type": "command", "command": command }] }] } })
}

fn with_jq(settings: &Value) -> Project {
    Project::of(settings).program("jq", JQ)
}

#[track_caller]
fn problems(project: &Project, arguments: &[&str], code: i32, starts: &[&str]) {
    let (exit, problems) = project.check(arguments);
    assert_eq!((exit, problems.len()), (Some(code), starts.len()), "{problems:#?}");
    for (problem, start) in problems.iter().zip(starts) {
        assert!(problem.starts_with(start), "{problem}");
    }
}

#[test]
fn a_formatter_runs_after_a_file_was_written() {
    let command = "jq -r '.tool_input.file_path' | xargs npx prettier --write";
    let project = with_jq(&settings("PostToolUse", "Edit|Write", command))
        .program("npx", "#!/bin/sh\necho \"$@\" > formatted\n");
    problems(&project, &[], 0, &["hint hooks.PostToolUse[0].matcher: `Edit|Write` matches no tool here"]);
    problems(&project, &["--tool", "Edit", "--tool", "MultiEdit"], 0, &[]);
    let call =
        |tool: &str| project.run(&["PostToolUse", "--tool", tool, "--input", r#"{"file_path":"a.ts"}"#]);
    assert!(call("MultiEdit").1.is_empty(), "names are whole");
    let (code, hooks, outcome) = call("Edit");
    assert_eq!((code, hooks.len(), &outcome["decision"]), (Some(0), 1, &json!("accept")));
    assert_eq!(fs::read_to_string(project.file("formatted")).unwrap(), "prettier --write a.ts\n");
}

#[test]
fn a_log_of_commands_is_kept_under_the_name_that_the_tool_has_elsewhere() {
    let command = "jq -r '.tool_input.command' >> ~/command-log.txt";
    let project = with_jq(&settings("PreToolUse", "Bash", command));
    problems(
        &project,
        &[],
        0,
        &[
            "warning hooks.PreToolUse[0].matcher: `Bash` matches no tool here, so the hook never runs for what it is meant for: write `bash`",
        ],
    );
    assert!(project.run(&["PreToolUse", "--tool", "bash"]).1.is_empty());
    let (code, hooks, _) =
        project.run(&["PreToolUse", "--tool", "Bash", "--input", r#"{"command":"ls -l"}"#]);
    assert_eq!((code, hooks.len()), (Some(0), 1));
    assert_eq!(fs::read_to_string(project.fixture.path("home/command-log.txt")).unwrap(), "ls -l\n");
}

#[test]
fn notifications_and_the_ends_of_sessions_are_told_nobody() {
    let project = Project::of(&json!({ "hooks": {
        "Notification": [{ "matcher": "", "hooks": [{ "type": "command", "command": "notify-send 'Claude Code' waiting" }] }],
        "SessionEnd": [{ "matcher": "[", "hooks": [{ "type": "command", "command": "exit 2" }] }],
    } }));
    let starts =
        ["warning hooks.Notification: hooks of Notification are not run here", "warning hooks.SessionEnd: "];
    problems(&project, &[], 0, &starts);
    assert_eq!(project.hooks(&["run", "Notification"]).code, Some(2));
}

// spec: timeout-jobs-hooks/J67
#[test]
fn a_prompt_to_a_model_is_left_out() {
    let project = Project::of(&json!({ "hooks": { "Stop": [{ "hooks": [
        { "type": "prompt", "prompt": "Are all tasks done? $ARGUMENTS", "timeout": 30 },
        { "type": "http", "url": "http://localhost:1/hook" },
    ] }] } }));
    let starts = [
        "warning hooks.Stop[0].hooks[0].type: hooks of the type `prompt` are left out",
        "warning hooks.Stop[0].hooks[1].type: hooks of the type `http` are left out",
    ];
    problems(&project, &[], 0, &starts);
    let (code, hooks, outcome) = project.run(&["Stop"]);
    assert_eq!((code, hooks.len(), &outcome["decision"]), (Some(0), 0, &json!("end")));
    let ran = project.hooks(&["run", "Stop"]);
    assert!(ran.stderr.contains("a hook of the type \"prompt\" on Stop is left out"), "{}", ran.stderr);
}

#[test]
fn tools_of_servers_are_matched_by_patterns() {
    let project = Project::of(&json!({ "hooks": { "PreToolUse": [
        { "matcher": "mcp__memory__.*", "hooks": [{ "type": "command", "command": "echo memory" }] },
        { "matcher": "mcp__.*__write.*", "hooks": [{ "type": "command", "command": "echo write; exit 2" }] },
    ] } }));
    let hints = [
        "hint hooks.PreToolUse[0].matcher: `mcp__memory__.*` matches no tool here",
        "hint hooks.PreToolUse[1].matcher: ",
    ];
    problems(&project, &[], 0, &hints);
    problems(&project, &["--tool", "mcp__memory__write_all"], 0, &[]);
    let ran = |tool: &str| {
        let (code, hooks, _) = project.run(&["PreToolUse", "--tool", tool]);
        (code, hooks.len())
    };
    assert_eq!(ran("mcp__memory__read"), (Some(0), 1));
    assert_eq!(ran("mcp__memory__write_all"), (Some(1), 2));
    assert_eq!(ran("mcp__files__write"), (Some(1), 1));
}

#[test]
fn a_script_of_the_project_is_found_by_its_variable() {
    for command in [
        "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/style.sh",
        "${CLAUDE_PROJECT_DIR}/.claude/hooks/style.sh",
        ".claude/hooks/style.sh",
    ] {
        let project = Project::of(&settings("PreToolUse", "*", command));
        problems(&project, &[], 0, &["warning hooks.PreToolUse[0].hooks[0].command: there is no program `"]);
        project.script(".claude/hooks/style.sh", "#!/bin/sh\ncat > /dev/null\necho found\n");
        problems(&project, &[], 0, &[]);
        let (code, hooks, _) = project.run(&["PreToolUse", "--tool", "read"]);
        assert_eq!((code, &hooks[0]["stdout"]), (Some(0), &json!("found")), "{command}");
    }
}

// spec: timeout-jobs-hooks/J69
#[test]
fn the_hooks_of_a_plugin_need_its_folder() {
    let mut plugin = settings(
        "SessionStart",
        "startup|resume|clear|compact",
        "sh ${CLAUDE_PLUGIN_ROOT}/hooks/session-start.sh",
    );
    plugin["description"] = json!("what the plugin does");
    let project = Project::bare();
    project.script(
        "hooks/session-start.sh",
        &format!("#!/bin/sh\n{}\n", says("SessionStart", json!({ "additionalContext": "skills" }))),
    );
    project.write("hooks/hooks.json", &plugin.to_string());
    problems(
        &project,
        &["hooks/hooks.json"],
        0,
        &["warning hooks.SessionStart[0].hooks[0].command: `CLAUDE_PLUGIN_ROOT` stands for nothing"],
    );
    let root = project.folder().display().to_string();
    problems(&project, &["hooks/hooks.json", "--plugin-root", &root], 0, &[]);
    let (code, _, outcome) =
        project.run(&["SessionStart", "--settings", "hooks/hooks.json", "--plugin-root", &root]);
    assert_eq!((code, &outcome["contexts"]), (Some(0), &json!(["skills"])));
    let (code, hooks, _) = project.run(&["SessionStart", "--settings", "hooks/hooks.json"]);
    assert!(code == Some(0) && hooks[0]["exitCode"].as_u64().is_some_and(|code| code != 0), "{hooks:?}");
}

#[test]
fn a_script_that_is_not_there_may_deny_everything() {
    let project = Project::of(&settings("PreToolUse", "", "python3 .claude/hooks/none.py"))
        .program("python3", "#!/bin/sh\necho \"can't open file '$1'\" >&2\nexit 2\n");
    let start = "warning hooks.PreToolUse[0].hooks[0].command: there is no file `.claude/hooks/none.py`: \
                 its interpreter may end with the exit code 2, which denies";
    problems(&project, &[], 0, &[start]);
    let (code, _, outcome) = project.run(&["PreToolUse", "--tool", "read"]);
    assert_eq!((code, &outcome["decision"]), (Some(1), &json!("deny")));
}

// spec: timeout-jobs-hooks/J59
#[test]
fn decisions_of_both_forms_count() {
    let own = |word: &str| {
        says("PreToolUse", json!({ "permissionDecision": word, "permissionDecisionReason": "r" }))
    };
    for (command, decision, reason) in [
        (own("allow"), "allow", None),
        (own("deny"), "deny", Some("r")),
        (own("ask"), "ask", Some("r")),
        (own("defer"), "allow", None),
        (answers(&json!({ "decision": "approve", "reason": "r" })), "allow", None),
        (answers(&json!({ "decision": "block", "reason": "r" })), "deny", Some("r")),
        (answers(&json!({ "decision": "deny", "reason": "r" })), "allow", None),
        (answers(&json!({ "suppressOutput": true })), "allow", None),
    ] {
        let project = Project::of(&settings("PreToolUse", "", &command));
        problems(&project, &[], 0, &[]);
        let (_, _, outcome) = project.run(&["PreToolUse", "--tool", "bash"]);
        assert_eq!(
            (&outcome["decision"], &outcome["reason"]),
            (&json!(decision), &json!(reason)),
            "{command}"
        );
    }
    let blocked = Project::of(&settings(
        "PostToolUse",
        "",
        &answers(&json!({ "decision": "block", "reason": "lint" })),
    ));
    let (code, _, outcome) = blocked.run(&["PostToolUse", "--tool", "read"]);
    assert_eq!((code, &outcome["decision"], &outcome["reason"]), (Some(1), &json!("block"), &json!("lint")));
}

// spec: timeout-jobs-hooks/J76, timeout-jobs-hooks/J81
#[test]
fn what_is_printed_for_a_message_is_told_the_model_in_one_dialect_only() {
    let hooks = settings("UserPromptSubmit", "", "echo 'It is Monday.'");
    let message = ["UserPromptSubmit", "--prompt", "hello"];
    let (code, printed, outcome) = Project::of(&hooks).run(&message);
    assert_eq!(
        (code, &printed[0]["stdout"], &outcome["contexts"]),
        (Some(0), &json!("It is Monday."), &json!([]))
    );
    let (_, _, outcome) = Project::of_codex(&hooks).run(&message);
    assert_eq!(outcome["contexts"], json!(["It is Monday."]));
}

#[test]
fn timeouts_are_seconds() {
    let timeout = |value: u32| {
        let mut hooks = settings("PreToolUse", "", "cat");
        hooks["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"] = json!(value);
        Project::of(&hooks)
    };
    problems(&timeout(60), &[], 0, &[]);
    let meant = "warning hooks.PreToolUse[0].hooks[0].timeout: it is in seconds, and the shell ends every hook after 600: were milliseconds meant?";
    problems(&timeout(10_000), &[], 0, &[meant]);
}

#[test]
fn variables_that_hooks_never_had_are_told() {
    let project = Project::of(&json!({ "hooks": { "PostToolUse": [{ "matcher": "*", "hooks": [
        { "type": "command", "command": "cat $CLAUDE_FILE_PATH > out", "condition": "endsWith($CLAUDE_FILE_PATH, '.ts')" },
    ] }] } }));
    let starts = [
        "warning hooks.PostToolUse[0].hooks[0].condition: it means nothing here",
        "warning hooks.PostToolUse[0].hooks[0].command: the variable `CLAUDE_FILE_PATH` is not set for hooks",
    ];
    problems(&project, &[], 0, &starts);
}

#[test]
fn rules_of_permissions_are_no_patterns() {
    let broken = Project::of(&settings("PostToolUse", "Write(*.py)|Edit(*.py)", "cat"));
    problems(
        &broken,
        &[],
        2,
        &["error hooks.PostToolUse[0].matcher: invalid claude-code regex matcher \"Write(*.py)|Edit(*.py)\""],
    );
    let never = Project::of(&settings("PreToolUse", "Bash(git commit:*)", "cat"));
    problems(
        &never,
        &[],
        0,
        &["hint hooks.PreToolUse[0].matcher: `Bash(git commit:*)` matches no tool here"],
    );
}

// spec: timeout-jobs-hooks/J79, timeout-jobs-hooks/J80
#[test]
fn hooks_of_codex_are_read_its_way() {
    let project = Project::of_codex(&json!({ "hooks": {
        "PreToolUse": [{ "matcher": "bas", "hooks": [
            { "type": "command", "command": "cat", "timeoutSec": 5, "statusMessage": "Checking" },
        ] }],
        "PermissionRequest": [{ "hooks": [{ "type": "command", "command": "cat" }] }],
        "Stop": [{ "command": "cat", "timeout_ms": 5000 }],
    } }));
    let starts = [
        "warning hooks.PreToolUse[0].hooks[0].statusMessage: it means nothing here",
        "warning hooks.PermissionRequest: hooks of PermissionRequest are not run here",
        "error hooks.Stop[0]: a hook stands where a group is expected",
    ];
    problems(&project, &[], 2, &starts);
    let (code, hooks, _) =
        project.run(&["PreToolUse", "--tool", "bash", "--input", r#"{"command":"ls","n":1}"#]);
    assert_eq!((code, hooks.len()), (Some(0), 1), "a pattern may match a part");
    let (_, lines) = project.json(&[
        "run",
        "PreToolUse",
        "--tool",
        "bash",
        "--input",
        r#"{"command":"ls","n":1}"#,
        "--show-payload",
    ]);
    let payload: Value = serde_json::from_str(lines[1]["payload"].as_str().unwrap()).unwrap();
    let told = (&payload["tool_input"], &payload["turn_id"], &payload["permission_mode"]);
    assert_eq!(told, (&json!({ "command": "ls" }), &json!("1"), &json!("default")));
}
