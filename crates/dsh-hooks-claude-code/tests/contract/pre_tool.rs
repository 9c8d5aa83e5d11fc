//! What hooks decide about a call before it is made.

use std::path::PathBuf;
use std::sync::Arc;

use cordis::Next;
use dsh_approval::ApprovalOutcome;
use dsh_hooks::testing::decisions;
use dsh_tools::{PRE_EXECUTE, PreDecision, ToolCall};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::fixture::{Fixture, answers, says, until};

fn pre(own: Value) -> String {
    says("PreToolUse", own)
}

/// What the model reads of a call that these hooks are asked about, and what each of them decided.
async fn told(commands: &[&str]) -> (String, Vec<String>) {
    let fixture = Fixture::of("PreToolUse", commands).await;
    let outcome = fixture.call(json!({})).await;
    assert_eq!(outcome.is_error(), !fixture.has("ran-mark"), "the body runs exactly if the call succeeds");
    (outcome.text(), decisions(fixture.agent.session()))
}

async fn alone(command: &str, text: &str, decision: &str) {
    assert_eq!(told(&[command]).await, (text.to_owned(), vec![decision.to_owned()]), "{command}");
}

// spec: timeout-jobs-hooks/J73, timeout-jobs-hooks/J58, timeout-jobs-hooks/J85
#[tokio::test]
async fn a_denial_keeps_the_body_from_running_and_says_why() {
    alone(
        "echo '  not this one' >&2; echo 'second line' >&2; exit 2",
        "Error: not this one\nsecond line",
        "block",
    )
    .await;
    alone("exit 2", "Error: blocked by PreToolUse hook", "block").await;
    alone("echo {}; exit 2", "Error: blocked by PreToolUse hook", "block").await;
    let deny = pre(json!({ "permissionDecision": "deny", "permissionDecisionReason": "policy says no" }));
    alone(&deny, "Error: policy says no", "deny").await;
    alone(&pre(json!({ "permissionDecision": "deny" })), "Error: blocked by PreToolUse hook", "deny").await;
    alone(&answers(&json!({ "decision": "block", "reason": "old" })), "Error: old", "block").await;
}

// spec: timeout-jobs-hooks/J73, timeout-jobs-hooks/J76, timeout-jobs-hooks/J59, timeout-jobs-hooks/J60
#[tokio::test]
async fn what_is_no_denial_lets_the_call_be_made() {
    alone("true", "{}", "pass").await;
    alone(&pre(json!({ "permissionDecision": "allow", "permissionDecisionReason": "fine" })), "{}", "allow")
        .await;
    alone(&answers(&json!({ "decision": "approve" })), "{}", "approve").await;
    alone(&answers(&json!({ "decision": "deny", "reason": "no such word here" })), "{}", "pass").await;
    alone(&answers(&json!({ "continue": false, "stopReason": "stop" })), "{}", "stop").await;
    alone(&says("PostToolUse", json!({ "permissionDecision": "deny" })), "{}", "pass").await;
    alone(&pre(json!({ "additionalContext": "context" })), "{}", "pass").await;
    alone("echo plain text", "{}", "pass").await;
}

// spec: timeout-jobs-hooks/J78, timeout-jobs-hooks/J84
#[tokio::test]
async fn a_hook_that_fails_decides_nothing() {
    alone("no-such-command-xyz", "{}", "pass").await;
    alone("exit 1", "{}", "pass").await;
    alone(&format!("{}; exit 3", pre(json!({ "permissionDecision": "deny" }))), "{}", "pass").await;
    alone("kill -9 $$", "{}", "pass").await;
    alone(r#"printf '{"decision":"block"'"#, "{}", "pass").await;
    alone(r#"printf '[{"decision":"block"}]'"#, "{}", "pass").await;
    alone("", "{}", "pass").await;
}

// spec: timeout-jobs-hooks/J61, timeout-jobs-hooks/J71, cases/H2
#[tokio::test]
async fn all_hooks_run_in_order_and_the_strongest_decision_counts() {
    let say =
        |word: &str, why: &str| pre(json!({ "permissionDecision": word, "permissionDecisionReason": why }));
    let (allow, deny, ask) = (say("allow", "A"), say("deny", "B"), say("ask", "D"));
    let blocks = "echo C >&2; exit 2";
    let (text, all) = told(&[&allow, &deny, blocks, &ask, "exit 127", "echo last >&2; exit 2"]).await;
    assert_eq!(text, "Error: B\n\nC\n\nlast");
    assert_eq!(all, ["allow", "deny", "block", "ask", "pass", "block"]);
    for order in [[&ask, &allow, &deny], [&deny, &ask, &allow], [&allow, &deny, &ask]] {
        let (text, _) = told(&order.map(|it| it.as_str())).await;
        assert_eq!(text, "Error: B", "{order:?}");
    }
}

// spec: timeout-jobs-hooks/J73
#[tokio::test]
async fn a_question_that_nobody_can_be_asked_is_a_denial() {
    for own in [
        json!({ "permissionDecision": "ask", "permissionDecisionReason": "please check" }),
        json!({ "permissionDecision": "ask" }),
    ] {
        let (text, decided) = told(&[&pre(own)]).await;
        assert!(text.starts_with("Error: "), "{text}");
        assert_eq!(decided, ["ask"]);
    }
}

// spec: timeout-jobs-hooks/J73
#[tokio::test]
async fn a_question_has_the_hooks_reason_if_there_is_one() {
    let cases = [
        (json!({ "permissionDecision": "ask", "permissionDecisionReason": "look" }), Some("look")),
        (json!({ "permissionDecision": "ask" }), None),
    ];
    for (own, reason) in cases {
        let fixture = Fixture::bare().await;
        let seen = decision_of(&fixture, &pre(own)).await;
        assert_eq!(seen, PreDecision::Ask { reason: reason.map(str::to_owned) });
    }
}

/// What the plugin decides, as a listener outside of it sees it.
async fn decision_of(fixture: &Fixture, command: &str) -> PreDecision {
    decision_before(fixture, command, PreDecision::Allow).await
}

/// What the plugin decides about a call about which those behind it decide this.
async fn decision_before(fixture: &Fixture, command: &str, theirs: PreDecision) -> PreDecision {
    let seen: Arc<Mutex<Vec<PreDecision>>> = Arc::default();
    let outer = async |seen: &Arc<Mutex<Vec<PreDecision>>>,
                       call: &mut ToolCall,
                       next: Next<'_, ToolCall, PreDecision>| {
        let decision = next.run(call).await;
        seen.lock().push(decision);
        PreDecision::Deny { reason: "seen".to_owned() }
    };
    fixture.world.app.on(PRE_EXECUTE).with(seen.clone()).run(outer).unwrap();
    fixture.mount(crate::fixture::hooks("PreToolUse", &[command])).await;
    let behind =
        async |theirs: &PreDecision, _: &mut ToolCall, _: Next<'_, ToolCall, PreDecision>| theirs.clone();
    fixture.world.app.on(PRE_EXECUTE).with(theirs).run(behind).unwrap();
    assert_eq!(fixture.call(json!({ "a": 1 })).await.text(), "Error: seen");
    let decision = seen.lock().pop();
    decision.unwrap()
}

fn arguments(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

// spec: design/P7
#[tokio::test]
async fn a_question_of_one_plugin_hides_no_decision_of_those_behind_it() {
    let ask = pre(json!({ "permissionDecision": "ask", "permissionDecisionReason": "ours" }));
    let asked = |reason: &str| PreDecision::Ask { reason: Some(reason.to_owned()) };
    let deny = PreDecision::Deny { reason: "theirs".to_owned() };
    let replace = |value| PreDecision::Replace { arguments: arguments(value) };
    for (theirs, both) in [
        (PreDecision::Allow, asked("ours")),
        (asked("theirs"), asked("ours\n\ntheirs")),
        (PreDecision::Ask { reason: None }, asked("ours")),
        (deny.clone(), deny),
        (replace(json!({ "a": 2 })), replace(json!({ "a": 2 }))),
    ] {
        let decision = decision_before(&Fixture::bare().await, &ask, theirs.clone()).await;
        assert_eq!(decision, both, "{theirs:?}");
    }
}

// spec: design/P7
#[tokio::test]
async fn a_denial_counts_before_a_question_whichever_file_it_is_in() {
    let ask = pre(json!({ "permissionDecision": "ask" }));
    let rewritten = pre(json!({ "permissionDecision": "ask", "updatedInput": { "a": 2 } }));
    for ask in [ask, rewritten] {
        for files in [[&*ask, "cat >> told; exit 2"], ["cat >> told; exit 2", &*ask]] {
            let fixture = Fixture::bare().await;
            fixture.answer_questions(ApprovalOutcome::AllowedOnce).await;
            for command in files {
                fixture.mount(crate::fixture::hooks("PreToolUse", &[command])).await;
            }
            let outcome = fixture.call(json!({ "a": 1 })).await;
            assert_eq!(outcome.text(), "Error: blocked by PreToolUse hook", "{files:?}");
            assert!(!fixture.has("ran-mark") && fixture.has("told"), "{files:?}");
        }
    }
}

// spec: design/P7
#[tokio::test]
async fn a_call_whose_hooks_a_listener_cancels_is_denied() {
    let fixture = Fixture::bare().await;
    let began = fixture.path("began");
    let deadline = async |began: &PathBuf, call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>| {
        let (mut view, token) = call.limited();
        let passes = async {
            until("the hook runs", || began.exists()).await;
            token.cancel();
        };
        tokio::join!(next.run(&mut view), passes).0
    };
    fixture.world.app.on(PRE_EXECUTE).with(began).run(deadline).unwrap();
    fixture.mount(crate::fixture::hooks("PreToolUse", &["touch began; sleep 300", "exit 2"])).await;
    let outcome = fixture.call(json!({})).await;
    assert!(outcome.text().contains("were cancelled before they had answered"), "{outcome:?}");
    assert!(!fixture.has("ran-mark"));
}

// spec: timeout-jobs-hooks/J73
#[tokio::test]
async fn an_allow_does_not_skip_the_listeners_after_it() {
    let fixture = Fixture::of("PreToolUse", &[&pre(json!({ "permissionDecision": "allow" }))]).await;
    let refuse = async |_: &mut ToolCall, _: Next<'_, ToolCall, PreDecision>| PreDecision::Deny {
        reason: "mine".to_owned(),
    };
    fixture.world.app.on(PRE_EXECUTE).run(refuse).unwrap();
    assert_eq!(fixture.call(json!({})).await.text(), "Error: mine");
}

// spec: timeout-jobs-hooks/J71, timeout-jobs-hooks/J72
#[tokio::test]
async fn only_hooks_whose_pattern_matches_the_tool_run() {
    let fixture = Fixture::with(json!({ "PreToolUse": [
        { "matcher": "other", "hooks": [{ "command": "exit 2" }] },
        { "matcher": "mar", "hooks": [{ "command": "exit 2" }] },
    ] }))
    .await;
    assert!(!fixture.call(json!({})).await.is_error());
    assert_eq!(decisions(fixture.agent.session()), Vec::<String>::new());
    fixture.offer("other");
    assert!(fixture.world.execute(fixture.request("other", json!({}))).await.is_error());
    assert!(!fixture.has("ran-other"));
}

// spec: timeout-jobs-hooks/J76
#[tokio::test]
async fn a_message_for_the_user_is_ignored_with_a_warning() {
    let fixture = Fixture::of("PreToolUse", &[&answers(&json!({ "systemMessage": "hello" }))]).await;
    assert!(!fixture.call(json!({})).await.is_error());
    let warnings = fixture.world.warnings();
    let [warning] = warnings.as_slice() else { panic!("one warning: {warnings:?}") };
    assert!(warning.starts_with("hooks-claude-code: "), "{warning}");
    assert!(warning.contains("PreToolUse") && warning.contains("systemMessage"), "{warning}");
}

#[tokio::test]
async fn a_matcher_is_compared_once_for_a_call() {
    // A search that is given up is warned of.
    let group = json!([{ "matcher": "^(?=(m|a|r|k)+$)(.|.|.)+\\1b$", "hooks": [{ "command": "exit 2" }] }]);
    let fixture = Fixture::with(json!({ "PreToolUse": group, "PostToolUse": group })).await;
    let name = "markmarkmarkmarkmark";
    fixture.offer(name);
    let outcome = fixture.world.execute(fixture.request(name, json!({}))).await;
    assert!(!outcome.is_error(), "{outcome:?}");
    let warnings = fixture.world.warnings();
    assert_eq!(warnings.len(), 2, "one before the call and one after it: {warnings:?}");
}
