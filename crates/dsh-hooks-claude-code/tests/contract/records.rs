//! What the log holds of hooks.

use dsh_agent::{SESSION_START, SessionSource, SessionStart};
use dsh_hooks::testing::{end_turn, open_turn, records};
use dsh_hooks_claude_code::Config;
use dsh_tools::CallRequest;
use serde_json::json;

use crate::fixture::{Fixture, hooks, says, until, user};

// spec: timeout-jobs-hooks/J62, timeout-jobs-hooks/J71, timeout-jobs-hooks/J75
#[tokio::test]
async fn every_run_is_logged_before_and_after_in_the_turn_that_is_open() {
    let fixture = Fixture::with(json!({
        "PreToolUse": [{ "matcher": "mark", "hooks": [{ "command": "echo hm >&2" }] }],
        "PostToolUse": [{ "hooks": [{ "command": "echo; exit 1" }] }],
        "UserPromptSubmit": [{ "matcher": "x", "hooks": [{ "command": "kill -9 $$" }] }],
        "Stop": [{ "hooks": [{ "command": "true" }] }],
    }))
    .await;
    end_turn(fixture.agent.session(), 1);
    open_turn(fixture.agent.session(), 2);
    assert!(!fixture.call(json!({})).await.is_error());
    fixture.stop(2).await;
    let logged = records(fixture.agent.session());
    let expected = [
        (
            "invoked",
            json!({ "turn": 2, "point": "PreToolUse", "dialect": "claude-code",
            "handlerId": "claude-code:PreToolUse:1", "matcher": "mark" }),
        ),
        (
            "result",
            json!({ "turn": 2, "point": "PreToolUse", "handlerId": "claude-code:PreToolUse:1",
            "decision": "pass", "exitCode": 0, "stderrSummary": "hm" }),
        ),
        (
            "invoked",
            json!({ "turn": 2, "point": "PostToolUse", "dialect": "claude-code",
            "handlerId": "claude-code:PostToolUse:2" }),
        ),
        (
            "result",
            json!({ "turn": 2, "point": "PostToolUse", "handlerId": "claude-code:PostToolUse:2",
            "decision": "pass", "exitCode": 1 }),
        ),
        (
            "invoked",
            json!({ "turn": 2, "point": "Stop", "dialect": "claude-code",
            "handlerId": "claude-code:Stop:3" }),
        ),
        (
            "result",
            json!({ "turn": 2, "point": "Stop", "handlerId": "claude-code:Stop:3",
            "decision": "pass", "exitCode": 0 }),
        ),
    ];
    assert_eq!(logged, expected.map(|(kind, data)| (kind.to_owned(), data)));
}

// spec: timeout-jobs-hooks/J62, timeout-jobs-hooks/J65
#[tokio::test]
async fn of_errors_only_the_beginning_is_logged() {
    let long = "printf 'é%.0s' $(seq 600) >&2; exit 2";
    let summary = async |more: fn(Config) -> Config| {
        let fixture = Fixture::bare().await;
        fixture.mount_as(hooks("PreToolUse", &[long]), more).await;
        let text = fixture.call(json!({})).await.text();
        assert_eq!(text, format!("Error: {}", "é".repeat(600)), "the model reads all of it");
        records(fixture.agent.session())[1].1["stderrSummary"].as_str().unwrap().to_owned()
    };
    assert_eq!(summary(|config| config).await, format!("{}…", "é".repeat(500)));
    let ten = summary(|config| Config { stderr_summary_max_chars: 10, ..config }).await;
    assert_eq!(ten, format!("{}…", "é".repeat(10)));
}

// spec: timeout-jobs-hooks/J78
#[tokio::test]
async fn a_hook_that_could_not_be_run_has_no_exit_code_and_says_why() {
    let fixture = Fixture::of("PreToolUse", &[" "]).await;
    assert!(!fixture.call(json!({})).await.is_error());
    let (_, result) = records(fixture.agent.session()).remove(1);
    assert_eq!((result.get("exitCode"), &result["decision"]), (None, &json!("pass")));
    assert!(result["stderrSummary"].as_str().unwrap().contains("command"), "{result}");
}

// spec: timeout-jobs-hooks/J75
#[tokio::test]
async fn nothing_is_logged_without_an_agent_without_a_turn_or_at_the_beginning_of_a_session() {
    let fixture = Fixture::bare().await;
    // Without an agent a hook runs elsewhere.
    let pre = format!("echo >> '{}'", fixture.path("pre").display());
    fixture
        .mount(json!({
            "PreToolUse": [{ "hooks": [{ "command": pre }] }],
            "SessionStart": [{ "hooks": [{ "command": "touch start" }] }],
        }))
        .await;
    let start = SessionStart { agent: fixture.agent.clone(), source: SessionSource::Startup };
    fixture.world.app.emit(SESSION_START, &start);
    until("the hook has run", || fixture.has("start")).await;
    assert!(!fixture.world.execute(CallRequest::new("call_1", "mark", "{}")).await.is_error());
    end_turn(fixture.agent.session(), 1);
    assert!(!fixture.call(json!({})).await.is_error());
    assert_eq!(fixture.read("pre"), "\n\n", "both calls were asked about");
    assert_eq!(records(fixture.agent.session()), []);
}

// spec: timeout-jobs-hooks/J62, timeout-jobs-hooks/J75
#[tokio::test]
async fn a_prompt_is_logged_in_the_turn_of_its_step() {
    let fixture = Fixture::of("UserPromptSubmit", &[&says("UserPromptSubmit", json!({}))]).await;
    assert!(fixture.step(vec![user("go")]).await.is_some());
    let turns: Vec<_> =
        records(fixture.agent.session()).into_iter().map(|(_, data)| data["turn"].clone()).collect();
    assert_eq!(turns, [json!(1), json!(1)]);
}

// spec: timeout-jobs-hooks/J62, timeout-jobs-hooks/J64
#[tokio::test]
async fn the_end_of_a_hook_that_outlives_its_turn_is_logged_nowhere() {
    let command = "touch runs; while ! [ -e go ]; do sleep 0.01; done";
    let fixture = Fixture::of("PreToolUse", &[command]).await;
    let ends = async {
        until("the hook runs", || fixture.has("runs")).await;
        end_turn(fixture.agent.session(), 1);
        open_turn(fixture.agent.session(), 2);
        std::fs::write(fixture.path("go"), "").unwrap();
    };
    let (outcome, ()) = tokio::join!(fixture.call(json!({})), ends);
    assert!(!outcome.is_error());
    let kinds: Vec<_> = records(fixture.agent.session()).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["invoked"]);
}
