//! What hooks decide about calls and their results.

use dsh_hooks::testing::{answers, blocks, decisions, records, says};
use dsh_llm::Source;
use serde_json::json;

use crate::fixture::Fixture;

// spec: timeout-jobs-hooks/J82, timeout-jobs-hooks/J85
#[tokio::test]
async fn a_denial_keeps_the_body_from_running() {
    let deny = says("PreToolUse", json!({ "permissionDecision": "deny", "permissionDecisionReason": "no" }));
    let cases = [
        (deny.as_str(), "Error: no"),
        ("echo why >&2; exit 2", "Error: why"),
        ("exit 2", "Error: blocked by PreToolUse hook"),
    ];
    for (command, text) in cases {
        let fixture = Fixture::of("PreToolUse", &[command]).await;
        assert_eq!(fixture.call(json!({})).await.text(), text);
        assert!(!fixture.has("ran"));
    }
}

// spec: timeout-jobs-hooks/J82
#[tokio::test]
async fn questions_allows_and_rewrites_are_ignored() {
    let ask = says("PreToolUse", json!({ "permissionDecision": "ask", "permissionDecisionReason": "look" }));
    let allow = says("PreToolUse", json!({ "permissionDecision": "allow", "updatedInput": { "a": 2 } }));
    let fixture = Fixture::of("PreToolUse", &[&ask, &allow]).await;
    assert_eq!(fixture.call(json!({ "a": 1 })).await.text(), r#"{"a":1}"#);
    assert_eq!(decisions(fixture.agent.session()), ["ask", "allow"]);
    let warnings = fixture.world.warnings();
    let [warning] = warnings.as_slice() else { panic!("one warning: {warnings:?}") };
    assert!(warning.starts_with("hooks-codex: ") && warning.contains("updatedInput"), "{warning}");
    let logged = records(fixture.agent.session());
    assert!(logged.iter().all(|(_, data)| data.get("updatedInput").is_none()), "{logged:?}");
    assert_eq!(logged[0].1["handlerId"], json!("codex:PreToolUse:1"));
    assert_eq!(logged[0].1["dialect"], json!("codex"));
}

// spec: timeout-jobs-hooks/J82, timeout-jobs-hooks/J74
#[tokio::test]
async fn a_result_is_kept_from_the_model_with_a_context() {
    let answer = json!({ "decision": "block", "reason": "two",
        "hookSpecificOutput": { "hookEventName": "PostToolUse", "additionalContext": "ctx" } });
    let fixture = Fixture::of("PostToolUse", &[&answers(&answer), "echo plain"]).await;
    let outcome = fixture.call(json!({})).await;
    assert_eq!((outcome.is_error(), outcome.text()), (true, "two".to_owned()));
    let [message] = outcome.additional_contexts() else { panic!("{outcome:?}") };
    assert_eq!(blocks(message), ["ctx"], "plain text is none here");
    let Source::Plugin { plugin, form: None, .. } = &message.source else { panic!("{message:?}") };
    assert_eq!(plugin, "hooks-codex");
}

// spec: timeout-jobs-hooks/J82, timeout-jobs-hooks/J78, timeout-jobs-hooks/J84
#[tokio::test]
async fn a_hook_that_fails_decides_nothing() {
    for command in ["no-such-command-xyz", "exit 1", "kill -9 $$", "", "printf '{\"decision\":'"] {
        let fixture = Fixture::of("PreToolUse", &[command]).await;
        assert!(!fixture.call(json!({})).await.is_error(), "{command}");
        assert_eq!(decisions(fixture.agent.session()), ["pass"], "{command}");
    }
}
