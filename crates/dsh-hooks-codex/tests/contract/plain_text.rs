//! What hooks print that is no JSON.

use dsh_agent::{SESSION_START, SessionSource, SessionStart};
use dsh_hooks::testing::{blocks, says, until, user};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fixture::Fixture;

// spec: timeout-jobs-hooks/J81
#[tokio::test]
async fn of_a_prompt_it_is_a_context_unless_it_begins_like_an_object_or_the_hook_fails() {
    let own = says("UserPromptSubmit", json!({ "additionalContext": "json ctx" }));
    let commands = [
        r#"echo; echo "  plain text  "; echo"#,
        &own,
        "echo '{broken'",
        "echo '[1]'",
        "echo text; exit 1",
        "true",
        "echo; echo '{\"a\":1}'",
    ];
    let fixture = Fixture::of("UserPromptSubmit", &commands).await;
    let token = CancellationToken::new();
    let messages = fixture.world.step(&fixture.agent, vec![user("go")], &token).await.unwrap();
    let texts: Vec<_> = messages.iter().map(|message| blocks(message)).collect();
    assert_eq!(texts, [vec!["go"], vec!["plain text", "json ctx", "[1]"]]);
}

// spec: timeout-jobs-hooks/J81, timeout-jobs-hooks/J82
#[tokio::test]
async fn of_a_session_it_is_a_context_too() {
    let own = says("SessionStart", json!({ "additionalContext": "json ctx" }));
    let fixture = Fixture::of("SessionStart", &["echo session text", &own]).await;
    let start = SessionStart { agent: fixture.agent.clone(), source: SessionSource::Startup };
    fixture.world.app.emit(SESSION_START, &start);
    until("it is said", || !fixture.inbox.sent().is_empty()).await;
    let sent = fixture.inbox.take();
    assert_eq!(sent.len(), 1);
    assert_eq!(blocks(&sent[0].message), ["session text", "json ctx"]);
}

// spec: timeout-jobs-hooks/J81
#[tokio::test]
async fn of_a_call_or_the_end_of_a_turn_it_is_nothing() {
    let fixture = Fixture::with(json!({
        "PreToolUse": [{ "hooks": [{ "command": "echo plain" }] }],
        "Stop": [{ "hooks": [{ "command": "echo plain" }] }],
    }))
    .await;
    assert!(fixture.call(json!({})).await.additional_contexts().is_empty());
    fixture.world.stop(&fixture.agent, 1, &CancellationToken::new()).await;
    assert_eq!(fixture.inbox.sent(), []);
}
