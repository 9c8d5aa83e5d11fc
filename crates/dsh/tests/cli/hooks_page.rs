//! The page on hooks says what is the case: what can be generated of it is, and compared with what the program does.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use dsh_hooks::{Dialect, HookInvoked, HookResult, Point, Recorded};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::fixture::of_type;
use crate::hooks::{Project, answers, hooks, says};

/// Set to have the page written anew instead of compared.
const WRITE: &str = "DSH_WRITE_PAGES";
const REMEDY: &str = "docs/hooks.md does not say what is the case. If that is meant: read the page for sentences that are no \
    longer right, note the change in CHANGELOG.md, and have what is generated written anew with \
    `DSH_WRITE_PAGES=1 cargo test -p dsh --test cli hooks_page`";

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hooks.md")
}

/// Compares the part of the page of this name, or writes it.
#[track_caller]
fn is_on_the_page(name: &str, text: &str) {
    // One part at a time is written.
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = WRITING.lock();
    let written = fs::read_to_string(page()).unwrap();
    let (begin, end) = (format!("<!-- generated: {name} -->\n"), format!("<!-- end: {name} -->"));
    let (before, rest) = written.split_once(&begin).unwrap_or_else(|| panic!("the page has no part {name}"));
    let (old, after) = rest.split_once(&end).unwrap_or_else(|| panic!("the part {name} has no end"));
    if std::env::var_os(WRITE).is_some() {
        fs::write(page(), format!("{before}{begin}{text}{end}{after}")).unwrap();
        return;
    }
    assert_eq!(old, text, "{REMEDY}");
}

fn points(dialect: Dialect) -> Vec<Point> {
    let is_there = |point: &Point| match (dialect, point) {
        (Dialect::Codex, Point::SubagentStart | Point::SubagentStop) => false,
        (Dialect::ClaudeCode | Dialect::Codex, _) => true,
    };
    Point::ALL.into_iter().filter(is_there).collect()
}

fn project(dialect: Dialect, settings: &Value) -> Project {
    match dialect {
        Dialect::ClaudeCode => Project::of(settings),
        Dialect::Codex => Project::of_codex(settings),
    }
}

/// What is to happen at a point.
fn occasion(point: Point) -> Vec<&'static str> {
    let more: &[&str] = match point {
        Point::PreToolUse => &["--tool", "bash", "--input", r#"{"command":"ls","n":1}"#],
        Point::PostToolUse => {
            &["--tool", "bash", "--input", r#"{"command":"ls","n":1}"#, "--response", "README.md\n"]
        }
        Point::UserPromptSubmit => &["--prompt", "What is here?"],
        Point::SessionStart | Point::Stop | Point::SubagentStart | Point::SubagentStop => &[],
    };
    [&[point.as_str()], more].concat()
}

/// What a hook may answer: how that is written in the table, and a command that does it at a point.
fn answered(point: Point) -> Vec<(&'static str, String)> {
    let name = point.as_str();
    let own = |value: Value| says(name, value);
    let other = if point == Point::Stop { "PreToolUse" } else { "Stop" };
    let printing = |text: &str| format!("cat > /dev/null; printf %s '{text}'");
    vec![
        ("0, nothing", "cat > /dev/null".to_owned()),
        ("0, `T`", printing("T")),
        ("0, `{}`", printing("{}")),
        ("0, JSON that is cut, or no object", printing(r#"{"decision":"block""#)),
        ("0, `[{\"decision\":\"block\"}]`", printing(r#"[{"decision":"block"}]"#)),
        ("0, `decision` `approve`", answers(&json!({ "decision": "approve", "reason": "R" }))),
        ("0, `decision` `block`, `reason` R", answers(&json!({ "decision": "block", "reason": "R" }))),
        ("0, `decision` `block`", answers(&json!({ "decision": "block" }))),
        ("0, `decision` `deny`", answers(&json!({ "decision": "deny", "reason": "R" }))),
        ("0, `decision` `ask`", answers(&json!({ "decision": "ask", "reason": "R" }))),
        ("0, `reason` R alone", answers(&json!({ "reason": "R" }))),
        ("0, `continue` false, `stopReason` R", answers(&json!({ "continue": false, "stopReason": "R" }))),
        ("0, `systemMessage`", answers(&json!({ "systemMessage": "M" }))),
        (
            "0, own `permissionDecision` `allow`, reason R",
            own(json!({ "permissionDecision": "allow", "permissionDecisionReason": "R" })),
        ),
        (
            "0, own `permissionDecision` `ask`, reason R",
            own(json!({ "permissionDecision": "ask", "permissionDecisionReason": "R" })),
        ),
        (
            "0, own `permissionDecision` `deny`, reason R",
            own(json!({ "permissionDecision": "deny", "permissionDecisionReason": "R" })),
        ),
        ("0, own `permissionDecision` another word", own(json!({ "permissionDecision": "defer" }))),
        (
            "0, `decision` `approve`, own `permissionDecision` `deny`",
            answers(
                &json!({ "decision": "approve", "hookSpecificOutput": { "hookEventName": name, "permissionDecision": "deny" } }),
            ),
        ),
        ("0, own `additionalContext` C", own(json!({ "additionalContext": "C" }))),
        ("0, own `updatedInput` I", own(json!({ "updatedInput": { "command": "pwd" } }))),
        (
            "0, own `permissionDecision` `ask` and `updatedInput` I",
            own(json!({ "permissionDecision": "ask", "updatedInput": { "command": "pwd" } })),
        ),
        (
            "0, own `permissionDecision` `deny` and `updatedInput` I",
            own(json!({ "permissionDecision": "deny", "updatedInput": { "command": "pwd" } })),
        ),
        (
            "0, own `updatedInput` that no tool can be given",
            printing(&format!(
                r#"{{"hookSpecificOutput":{{"hookEventName":"{name}","updatedInput":{{"n":1,"n":2}}}}}}"#
            )),
        ),
        (
            "0, own part without `hookEventName`",
            answers(
                &json!({ "hookSpecificOutput": { "permissionDecision": "deny", "additionalContext": "C" } }),
            ),
        ),
        (
            "0, own part of another event",
            says(other, json!({ "permissionDecision": "deny", "additionalContext": "C" })),
        ),
        ("2, nothing", "cat > /dev/null; exit 2".to_owned()),
        ("2, R as errors", "cat > /dev/null; echo R >&2; exit 2".to_owned()),
        ("2, JSON that approves", format!("{}; exit 2", answers(&json!({ "decision": "approve" })))),
        ("1, JSON that blocks", format!("{}; exit 1", answers(&json!({ "decision": "block" })))),
        ("255, R as errors", "cat > /dev/null; echo R >&2; exit 255".to_owned()),
        ("127, there is no such program", "no-such-program-xyz".to_owned()),
        ("none, killed by a signal", "kill -9 $$".to_owned()),
        ("none, over its time limit", "sleep 300".to_owned()),
        ("none, it cannot be started", " ".to_owned()),
    ]
}

/// The outcome in a few words.
fn cell(outcome: &Value) -> String {
    let mut words = vec![outcome["decision"].as_str().unwrap().to_owned()];
    if outcome["rewritten"] == true {
        words.push("with I".to_owned());
    }
    for context in outcome["contexts"].as_array().unwrap() {
        words.push(format!("told {}", context.as_str().unwrap()));
    }
    let reason = outcome["reason"].as_str().map(|reason| match reason {
        reason if reason.contains("updatedInput") => "what is wrong with it".to_owned(),
        "R" => "R".to_owned(),
        reason => format!("“{reason}”"),
    });
    let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    format!("{}{reason}", words.join(", "))
}

/// The outcome of every answer at every point.
fn outcomes(dialect: Dialect) -> String {
    let cases: Vec<(usize, usize, Point, String)> = points(dialect)
        .into_iter()
        .enumerate()
        .flat_map(|(column, point)| {
            let of_point = answered(point).into_iter().enumerate();
            of_point.map(move |(row, (_, command))| (row, column, point, command)).collect::<Vec<_>>()
        })
        .collect();
    let (next, cells) = (Mutex::new(cases.into_iter()), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let case = next.lock().unwrap().next();
                    let Some((row, column, point, command)) = case else { break };
                    let mut settings = hooks(point.as_str(), &[&command]);
                    if command == "sleep 300" {
                        settings["hooks"][point.as_str()][0]["hooks"][0]["timeout"] = json!(0.05);
                    }
                    let (_, ran, outcome) = project(dialect, &settings).run(&occasion(point));
                    assert_eq!(ran.len(), 1, "{dialect} {point} {command}");
                    cells.lock().unwrap().insert((row, column), cell(&outcome));
                }
            });
        }
    });
    let (cells, points) = (cells.into_inner().unwrap(), points(dialect));
    let mut table = String::from("| exit code, output |");
    for point in &points {
        write!(table, " {point} |").unwrap();
    }
    writeln!(table, "\n|---|{}", "---|".repeat(points.len())).unwrap();
    for (row, (answer, _)) in answered(Point::PreToolUse).iter().enumerate() {
        write!(table, "| {answer} |").unwrap();
        for column in 0..points.len() {
            write!(table, " {} |", cells[&(row, column)]).unwrap();
        }
        table.push('\n');
    }
    table
}

/// What a hook of a point reads.
fn payload(dialect: Dialect, point: Point) -> String {
    let project = project(dialect, &hooks(point.as_str(), &["cat"]));
    let (code, lines) = project.json(&[&["run"], &*occasion(point), &["--show-payload"]].concat());
    let payloads = of_type(&lines, "payload");
    assert_eq!((code, payloads.len()), (Some(0), 1));
    let folder = project.folder().display().to_string();
    payloads[0]["payload"].as_str().unwrap().replace(&folder, "/project")
}

fn payloads(dialect: Dialect) -> String {
    let mut text = String::from("```json\n");
    for point in points(dialect) {
        writeln!(text, "{}", payload(dialect, point)).unwrap();
    }
    text + "```\n"
}

/// Which pattern is for which tool.
fn matching(dialect: Dialect) -> String {
    let tools = ["Edit", "MultiEdit", "Write", "mcp__gh__a"];
    let options: Vec<&str> = tools.iter().flat_map(|tool| ["--tool", tool]).collect();
    let mut table = format!("| `matcher` | {} |\n|---|{}\n", tools.join(" | "), "---|".repeat(tools.len()));
    for pattern in [
        None,
        Some(""),
        Some("*"),
        Some("Edit"),
        Some("Edit|Write"),
        Some("mcp__gh__.*"),
        Some("["),
        Some("^(?!Bash)"),
    ] {
        let shown =
            pattern.map_or_else(|| "none".to_owned(), |pattern| format!("`{}`", pattern.replace('|', "\\|")));
        let shown = if shown == "``" { "`\"\"`".to_owned() } else { shown };
        let group = json!({ "matcher": pattern, "hooks": [{ "command": "cat" }] });
        let project = project(dialect, &json!({ "hooks": { "PreToolUse": [group] } }));
        let (code, lines) = project.json(&[&["check"], &*options].concat());
        let rows = of_type(&lines, "tool");
        let is_for = |tool: &str| {
            let row = rows.iter().find(|row| row["name"] == tool).unwrap();
            if row["preToolUse"] == json!([1]) { "yes" } else { "no" }
        };
        let cells: Vec<&str> = match code {
            Some(0) => tools.iter().map(|tool| is_for(tool)).collect(),
            _ => vec!["error"; tools.len()],
        };
        writeln!(table, "| {shown} | {} |", cells.join(" | ")).unwrap();
    }
    table
}

/// What a log holds of a hook, with all its fields.
fn records() -> String {
    let invoked = HookInvoked {
        turn: 1,
        point: Point::PreToolUse,
        dialect: Dialect::ClaudeCode,
        handler_id: "claude-code:PreToolUse:1".to_owned(),
        matcher: Some("bash".to_owned()),
    };
    let result = HookResult {
        turn: 1,
        point: Point::PreToolUse,
        handler_id: "claude-code:PreToolUse:1".to_owned(),
        decision: Recorded::Allow,
        exit_code: Some(0),
        stderr_summary: Some("text".to_owned()),
        duration_ms: 12.5,
        updated_input: Some(json!({ "command": "pwd" }).to_string()),
    };
    let (invoked, result) =
        (serde_json::to_string(&invoked).unwrap(), serde_json::to_string(&result).unwrap());
    format!("```json\nhook/invoked {invoked}\nhook/result {result}\n```\n")
}

/// The words for the decision in a log.
fn words() -> String {
    let all = [
        Recorded::Approve,
        Recorded::Allow,
        Recorded::Ask,
        Recorded::Block,
        Recorded::Deny,
        Recorded::Stop,
        Recorded::Pass,
    ];
    all.map(|word| serde_json::to_string(&word).unwrap()).join(" ")
}

// spec: timeout-jobs-hooks/J58, timeout-jobs-hooks/J59, timeout-jobs-hooks/J60, timeout-jobs-hooks/J73, timeout-jobs-hooks/J84
#[test]
fn the_outcomes_of_claude_code_are_those_of_the_page() {
    is_on_the_page("outcomes claude-code", &outcomes(Dialect::ClaudeCode));
}

// spec: timeout-jobs-hooks/J58, timeout-jobs-hooks/J81, timeout-jobs-hooks/J82, timeout-jobs-hooks/J84
#[test]
fn the_outcomes_of_codex_are_those_of_the_page() {
    is_on_the_page("outcomes codex", &outcomes(Dialect::Codex));
}

// spec: timeout-jobs-hooks/J55, cases/H5
#[test]
fn the_patterns_match_as_the_page_says() {
    for dialect in [Dialect::ClaudeCode, Dialect::Codex] {
        is_on_the_page(&format!("matchers {dialect}"), &matching(dialect));
    }
}

// spec: timeout-jobs-hooks/J72, timeout-jobs-hooks/J80, timeout-jobs-hooks/J62
#[test]
fn hooks_read_what_the_page_says_and_its_hash_is_that_of_the_wire_types() {
    let mut wire = String::new();
    for dialect in [Dialect::ClaudeCode, Dialect::Codex] {
        let payloads = payloads(dialect);
        is_on_the_page(&format!("payloads {dialect}"), &payloads);
        writeln!(wire, "{dialect}\n{payloads}").unwrap();
    }
    let records = records();
    is_on_the_page("records", &records);
    // What hooks answer has no type of its own on the wire: the words that are understood stand for it.
    writeln!(wire, "{records}{}", words()).unwrap();
    for (answer, command) in answered(Point::PreToolUse) {
        let stdout = command
            .split_once("printf %s '")
            .and_then(|(_, rest)| rest.rsplit_once('\''))
            .map(|(text, _)| text);
        let output = dsh_hooks::decode(Some(0), stdout.unwrap_or_default(), "", Some(Point::PreToolUse));
        writeln!(wire, "{answer}: {output:?}").unwrap();
    }
    let hash: String = Sha256::digest(&wire).iter().map(|byte| format!("{byte:02x}")).collect();
    is_on_the_page("hash", &format!("`{hash}`\n"));
}
