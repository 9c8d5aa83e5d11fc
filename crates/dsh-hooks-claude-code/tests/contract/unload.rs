//! The plugin is unloaded while hooks run.

use dsh_agent::{SESSION_START, SessionSource, SessionStart};
use serde_json::json;

use crate::fixture::{Fixture, blocks, hooks, is_alive, says, until, user};

/// Says who it is and goes on for long.
const LONG: &str = "echo $$ > pid.part; mv pid.part pid; sleep 300";

// spec: timeout-jobs-hooks/J77, timeout-jobs-hooks/J63
#[tokio::test]
async fn hooks_that_nobody_waits_for_are_ended_and_waited_for() {
    let fixture = Fixture::bare().await;
    let plugin = fixture.mount(hooks("SessionStart", &[LONG])).await;
    let start = SessionStart { agent: fixture.agent.clone(), source: SessionSource::Startup };
    fixture.world.app.emit(SESSION_START, &start);
    until("the hook runs", || fixture.has("pid")).await;
    let disposed = plugin.dispose().await;
    assert!(disposed.still_running.is_empty(), "{disposed:?}");
    assert!(!is_alive(&fixture.read("pid")));
    fixture.world.app.assert_no_errors();
}

// spec: timeout-jobs-hooks/J77, design/P1
#[tokio::test]
async fn a_call_whose_hooks_had_not_answered_is_denied() {
    let fixture = Fixture::bare().await;
    let plugin = fixture.mount(hooks("PreToolUse", &[LONG])).await;
    let unload = async {
        until("the hook runs", || fixture.has("pid")).await;
        plugin.dispose().await
    };
    let (outcome, disposed) = tokio::join!(fixture.call(json!({})), unload);
    assert!(disposed.still_running.is_empty(), "{disposed:?}");
    assert!(!is_alive(&fixture.read("pid")));
    assert!(outcome.text().contains("`hooks-claude-code` was unloaded"), "{outcome:?}");
    assert!(!fixture.has("ran-mark"));
}

// spec: timeout-jobs-hooks/J77, design/P1
#[tokio::test]
async fn a_message_whose_hooks_had_not_answered_is_refused_and_a_warning_says_so() {
    let fixture = Fixture::bare().await;
    let plugin = fixture.mount(hooks("UserPromptSubmit", &["true", LONG, "touch never"])).await;
    let unload = async {
        until("the hook runs", || fixture.has("pid")).await;
        plugin.dispose().await
    };
    let (messages, disposed) = tokio::join!(fixture.step(vec![user("go")]), unload);
    assert!(disposed.still_running.is_empty(), "{disposed:?}");
    assert_eq!(messages, None);
    let warnings = fixture.world.warnings();
    let [warning] = warnings.as_slice() else { panic!("one warning: {warnings:?}") };
    assert!(warning.contains("\"ada\"") && warning.contains("send it again"), "{warning}");
    assert!(!fixture.has("never"));
    assert!(fixture.step(vec![user("again")]).await.is_some());
}

// spec: timeout-jobs-hooks/J77, design/P1
#[tokio::test]
async fn a_result_whose_hooks_had_not_answered_is_withheld_with_what_was_said_of_it() {
    let fixture = Fixture::bare().await;
    let context = says("PostToolUse", json!({ "additionalContext": "said before" }));
    let plugin = fixture.mount(hooks("PostToolUse", &[&context, LONG])).await;
    let unload = async {
        until("the hook runs", || fixture.has("pid")).await;
        plugin.dispose().await
    };
    let (outcome, _) = tokio::join!(fixture.call(json!({ "a": "secret" })), unload);
    assert!(outcome.is_error() && fixture.has("ran-mark"));
    assert!(outcome.text().contains("`hooks-claude-code` was unloaded"), "{outcome:?}");
    assert!(!outcome.text().contains("secret"), "{outcome:?}");
    assert_eq!(blocks(&outcome.additional_contexts()[0]), ["said before"]);
}

// spec: timeout-jobs-hooks/J77, design/P1
#[tokio::test]
async fn a_turn_whose_hooks_had_not_answered_ends() {
    let fixture = Fixture::bare().await;
    let plugin = fixture.mount(hooks("Stop", &["echo 'go on' >&2; exit 2", LONG])).await;
    let unload = async {
        until("the hook runs", || fixture.has("pid")).await;
        plugin.dispose().await
    };
    let (sent, _) = tokio::join!(fixture.stop(1), unload);
    assert_eq!(sent, []);
}

// spec: timeout-jobs-hooks/J77, design/P1
#[tokio::test]
async fn nothing_is_told_to_hooks_afterwards() {
    let fixture = Fixture::bare().await;
    let commands = |point: &str| hooks(point, &["exit 2"])[point].clone();
    let all = json!({ "PreToolUse": commands("PreToolUse"), "PostToolUse": commands("PostToolUse"),
        "UserPromptSubmit": commands("UserPromptSubmit"), "Stop": commands("Stop") });
    let plugin = fixture.mount(all).await;
    plugin.dispose().await;
    assert_eq!(fixture.call(json!({})).await.text(), "{}");
    assert_eq!(fixture.step(vec![user("go")]).await.unwrap().len(), 1);
    assert_eq!(fixture.stop(1).await, []);
}

// spec: timeout-jobs-hooks/J66, timeout-jobs-hooks/J77
#[tokio::test]
async fn a_restart_reads_the_file_again() {
    let fixture = Fixture::bare().await;
    let plugin = fixture.mount(hooks("PreToolUse", &["exit 2"])).await;
    assert!(fixture.call(json!({})).await.is_error());
    let open = json!({ "hooks": hooks("PreToolUse", &["true"]) });
    std::fs::write(fixture.path("settings.json"), open.to_string()).unwrap();
    plugin.restart().await.unwrap();
    assert!(!fixture.call(json!({})).await.is_error());
}
