//! What hooks decide about a result.

use std::sync::Arc;

use cordis::Next;
use dsh_llm::{ContentBlock, Message, Role, Source};
use dsh_tools::{
    OUTPUT, POST_EXECUTE, PostDecision, Replacement, Settled, ToolDefinition, ToolOutcome, ToolOutput,
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, answers, blocks, of_hooks, says};

fn post(own: Value) -> String {
    says("PostToolUse", own)
}

/// The blocks of each message that came with a result.
fn contexts(outcome: &ToolOutcome) -> Vec<Vec<String>> {
    outcome.additional_contexts().iter().map(blocks).collect()
}

// spec: timeout-jobs-hooks/J73, timeout-jobs-hooks/J85
#[tokio::test]
async fn a_denial_keeps_the_result_from_the_model_and_says_why() {
    let cases = [
        ("echo 'post says no' >&2; exit 2".to_owned(), "post says no"),
        ("exit 2".to_owned(), "blocked by PostToolUse hook"),
        (answers(&json!({ "decision": "block", "reason": "why" })), "why"),
        (post(json!({ "permissionDecision": "deny" })), "blocked by PostToolUse hook"),
    ];
    for (command, text) in cases {
        let fixture = Fixture::of("PostToolUse", &[&command]).await;
        let outcome = fixture.call(json!({})).await;
        assert_eq!((outcome.is_error(), outcome.text()), (true, text.to_owned()), "{command}");
        assert!(fixture.has("ran-mark"), "it was made");
    }
}

// spec: timeout-jobs-hooks/J73, timeout-jobs-hooks/J74, timeout-jobs-hooks/J61
#[tokio::test]
async fn what_the_hooks_say_is_one_message_with_a_block_for_each_of_them() {
    let commands = [
        post(json!({ "additionalContext": "one" })),
        "true".to_owned(),
        post(json!({ "additionalContext": "two" })),
        post(json!({ "additionalContext": "" })),
    ];
    let fixture = Fixture::of("PostToolUse", &commands.each_ref().map(|it| it.as_str())).await;
    let outcome = fixture.call(json!({})).await;
    assert_eq!(outcome.text(), "{}");
    let [message] = outcome.additional_contexts() else { panic!("{outcome:?}") };
    assert_eq!(blocks(message), ["one", "two"]);
    assert_eq!((message.role, &message.source), (Role::User, &of_hooks()));
}

// spec: timeout-jobs-hooks/J73
#[tokio::test]
async fn a_block_keeps_its_own_context_and_asks_no_listener_after_it() {
    let block = json!({ "decision": "block", "reason": "two",
        "hookSpecificOutput": { "hookEventName": "PostToolUse", "additionalContext": "ctx" } });
    let fixture =
        Fixture::of("PostToolUse", &[&post(json!({ "additionalContext": "one" })), &answers(&block)]).await;
    fixture
        .world
        .app
        .on(POST_EXECUTE)
        .run(async |_: &mut Settled, _: Next<'_, Settled, PostDecision>| panic!("asked"))
        .unwrap();
    let outcome = fixture.call(json!({})).await;
    assert_eq!(outcome.text(), "two");
    assert_eq!(contexts(&outcome), [["one", "ctx"]]);
}

fn theirs() -> Message {
    Message::new(Role::User, vec![ContentBlock::text("theirs")], Source::notice("other", "n"))
}

/// What comes of a result about which the hooks say `ours` and a listener after them decides this.
async fn folded(decision: PostDecision) -> ToolOutcome {
    let fixture = Fixture::of("PostToolUse", &[&post(json!({ "additionalContext": "ours" }))]).await;
    let after =
        async |decision: &PostDecision, _: &mut Settled, _: Next<'_, Settled, PostDecision>| decision.clone();
    fixture.world.app.on(POST_EXECUTE).with(decision).run(after).unwrap();
    fixture.call(json!({})).await
}

// spec: timeout-jobs-hooks/J73, timeout-jobs-hooks/J74
#[tokio::test]
async fn their_context_comes_before_that_of_later_listeners_and_changes_nothing_else() {
    let ours_and_theirs = [vec!["ours".to_owned()], vec!["theirs".to_owned()]];
    let replaced = folded(PostDecision::replace_value(json!("other")).with_context(theirs())).await;
    assert_eq!((replaced.value(), contexts(&replaced)), (Some(&json!("other")), ours_and_theirs.to_vec()));
    let text = Replacement::Content(vec![ContentBlock::text("text")]);
    let text = PostDecision::Accept { replace: Some(text), contexts: vec![theirs()] };
    let replaced = folded(text).await;
    assert_eq!((replaced.text(), contexts(&replaced)), ("text".to_owned(), ours_and_theirs.to_vec()));
    let blocked = folded(PostDecision::block("blocked").with_context(theirs())).await;
    assert_eq!((blocked.text(), contexts(&blocked)), ("blocked".to_owned(), ours_and_theirs.to_vec()));
}

// spec: timeout-jobs-hooks/J73
#[tokio::test]
async fn a_denied_call_is_told_too() {
    let fixture = Fixture::with(json!({
        "PreToolUse": [{ "hooks": [{ "command": "echo no >&2; exit 2" }] }],
        "PostToolUse": [{ "hooks": [{ "command": "cat > told" }] }],
    }))
    .await;
    assert_eq!(fixture.call(json!({})).await.text(), "Error: no");
    assert_eq!(fixture.told("told")[0]["tool_response"], json!("Error: no"));
}

// spec: timeout-jobs-hooks/J76
#[tokio::test]
async fn a_result_cannot_be_given_other_arguments() {
    let fixture = Fixture::of("PostToolUse", &[&post(json!({ "updatedInput": { "a": 1 } }))]).await;
    assert_eq!(fixture.call(json!({})).await.text(), "{}");
    let warnings = fixture.world.warnings();
    let [warning] = warnings.as_slice() else { panic!("one warning: {warnings:?}") };
    assert!(warning.contains("PostToolUse") && warning.contains("updatedInput"), "{warning}");
}

/// A tool that writes something and waits until it is cancelled.
fn leaks() -> ToolDefinition {
    ToolDefinition::raw("leaks", "Writes.", json!({ "type": "object" })).run(async |_, run| {
        run.write("SECRET");
        run.cancellation().cancelled().await;
        Ok(json!("late"))
    })
}

// spec: timeout-jobs-hooks/J73
#[tokio::test]
async fn what_a_cancelled_call_has_written_is_withheld_if_its_hooks_could_not_judge_it() {
    for (pattern, is_withheld) in [("leaks", true), ("other", false)] {
        let fixture = Fixture::bare().await;
        let group = json!([{ "matcher": pattern, "hooks": [{ "command": "exit 2" }] }]);
        fixture.mount(json!({ "PostToolUse": group })).await;
        fixture.world.offer(leaks());
        let (token, written) = (CancellationToken::new(), Arc::new(Notify::new()));
        let tells = |written: &Arc<Notify>, _: &ToolOutput| written.notify_one();
        fixture.world.app.on(OUTPUT).with(written.clone()).run(tells).unwrap();
        let cancel = async {
            written.notified().await;
            token.cancel();
        };
        let request = fixture.request("leaks", json!({})).cancellation(&token);
        let (outcome, ()) = tokio::join!(fixture.world.execute(request), cancel);
        assert_eq!(outcome.code(), Some("ABORTED"), "{outcome:?}");
        assert_eq!(outcome.text().contains("SECRET"), !is_withheld, "{outcome:?}");
        assert_eq!(outcome.text().contains("withheld"), is_withheld, "{outcome:?}");
    }
}
