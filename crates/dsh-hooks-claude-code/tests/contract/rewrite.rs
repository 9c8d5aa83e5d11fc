//! Hooks that have a call made with other arguments.

use std::sync::Arc;

use cordis::Next;
use dsh_approval::{ApprovalOutcome, ApprovalRequest, REQUEST};
use dsh_hooks::testing::{decisions, records};
use dsh_tools::{PRE_EXECUTE, PreDecision, ToolCall};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::fixture::{Fixture, hooks, says};

/// Rewrites the input to this, whatever it was, and says this word.
fn rewrites(word: Option<&str>, input: Value) -> String {
    let mut own = json!({ "updatedInput": input });
    if let Some(word) = word {
        own["permissionDecision"] = json!(word);
    }
    says("PreToolUse", own)
}

/// Keeps what it is told, and puts this letter behind the text of the input.
fn appends(letter: &str) -> String {
    format!(
        r#"told=$(cat); echo "$told" >> told; text=$(expr "$told" : '.*"text":"\([a-z]*\)"'); printf '{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","updatedInput":{{"text":"%s{letter}"}}}}}}' "$text""#
    )
}

fn inputs(fixture: &Fixture) -> Vec<Value> {
    fixture.told("told").into_iter().map(|it| it["tool_input"]["text"].clone()).collect()
}

// spec: cases/H2, timeout-jobs-hooks/J71, timeout-jobs-hooks/J76
#[tokio::test]
async fn each_hook_sees_the_input_as_those_before_left_it_in_a_hundred_runs() {
    let slow = format!("sleep 0.02; {}", appends("b"));
    let fixture =
        Fixture::of("PreToolUse", &[&slow, &appends("c"), "cat >> told; echo >> told; echo {}"]).await;
    for run in 0..100 {
        std::fs::write(fixture.path("told"), "").unwrap();
        let outcome = fixture.call(json!({ "text": "a", "gone": run })).await;
        assert_eq!(outcome.text(), r#"{"text":"abc"}"#, "run {run}");
        let told: Vec<Value> = fixture
            .read("told")
            .lines()
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["tool_input"].clone())
            .collect();
        assert_eq!(
            told,
            [json!({ "text": "a", "gone": run }), json!({ "text": "ab" }), json!({ "text": "abc" })]
        );
        assert_eq!(fixture.read("ran-mark"), r#"{"text":"abc"}"#);
    }
}

// spec: cases/H2, timeout-jobs-hooks/J62
#[tokio::test]
async fn the_log_says_what_a_hook_made_of_the_input_and_no_hook_runs_twice() {
    let (allow, plain) =
        (rewrites(Some("allow"), json!({ "text": "b" })), rewrites(None, json!({ "text": "c" })));
    let fixture = Fixture::of("PreToolUse", &[&allow, &plain]).await;
    assert_eq!(fixture.call(json!({ "text": "a" })).await.text(), r#"{"text":"c"}"#);
    assert_eq!(decisions(fixture.agent.session()), ["allow", "pass"]);
    let results = records(fixture.agent.session()).into_iter().filter(|(kind, _)| kind == "result");
    let updated: Vec<Value> = results
        .map(|(_, data)| serde_json::from_str(data["updatedInput"].as_str().unwrap()).unwrap())
        .collect();
    assert_eq!(updated, [json!({ "text": "b" }), json!({ "text": "c" })]);
    assert_eq!(fixture.world.warnings(), Vec::<String>::new());
}

// spec: cases/H2
#[tokio::test]
async fn a_denial_of_any_hook_beats_a_rewrite() {
    let (allow, deny) = (rewrites(Some("allow"), json!({ "text": "b" })), "echo no >&2; exit 2");
    for order in [[allow.as_str(), deny], [deny, allow.as_str()]] {
        let fixture = Fixture::of("PreToolUse", &order).await;
        assert_eq!(fixture.call(json!({})).await.text(), "Error: no");
        assert!(!fixture.has("ran-mark"));
    }
}

// spec: cases/H2
#[tokio::test]
async fn a_question_of_any_hook_is_asked_about_the_rewritten_call() {
    let (allow, ask) = (
        rewrites(Some("allow"), json!({ "text": "b" })),
        says("PreToolUse", json!({ "permissionDecision": "ask", "permissionDecisionReason": "look" })),
    );
    for order in [[&allow, &ask], [&ask, &allow]] {
        let fixture = Fixture::of("PreToolUse", &order.map(|it| it.as_str())).await;
        let approvals =
            fixture.world.app.plugin(dsh_approval::plugin(), dsh_approval::Config::default()).unwrap();
        approvals.ready().await.unwrap();
        let asked: Arc<Mutex<Vec<ApprovalRequest>>> = Arc::default();
        let answers = async |asked: &Arc<Mutex<Vec<ApprovalRequest>>>,
                             request: &mut ApprovalRequest,
                             _: Next<'_, ApprovalRequest, ApprovalOutcome>| {
            asked.lock().push(request.clone());
            ApprovalOutcome::AllowedOnce
        };
        fixture.world.app.on(REQUEST).with(asked.clone()).run(answers).unwrap();
        assert_eq!(fixture.call(json!({ "text": "a" })).await.text(), r#"{"text":"b"}"#);
        let asked = asked.lock();
        let [request] = asked.as_slice() else { panic!("asked once: {asked:?}") };
        let reason = request.reason.as_deref().unwrap();
        assert!(reason.contains("look") && reason.contains(r#"{"text":"b"}"#), "{reason}");
        assert_eq!(decisions(fixture.agent.session()).len(), 2, "the hooks are not run again");
    }
}

/// Replaces the arguments once, by these.
async fn replace(
    arguments: &Map<String, Value>,
    call: &mut ToolCall,
    next: Next<'_, ToolCall, PreDecision>,
) -> PreDecision {
    match call.arguments().get("text") == arguments.get("text") {
        true => next.run(call).await,
        false => PreDecision::Replace { arguments: arguments.clone() },
    }
}

// spec: cases/H2
#[tokio::test]
async fn hooks_run_anew_for_arguments_that_somebody_else_made() {
    let fixture = Fixture::of("PreToolUse", &[&appends("b")]).await;
    let once: Arc<Mutex<bool>> = Arc::default();
    let after =
        async |once: &Arc<Mutex<bool>>, call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>| {
            let first = !std::mem::replace(&mut *once.lock(), true);
            match first {
                true => {
                    let Value::Object(arguments) = json!({ "text": "x" }) else { unreachable!() };
                    PreDecision::Replace { arguments }
                }
                false => next.run(call).await,
            }
        };
    fixture.world.app.on(PRE_EXECUTE).with(once).run(after).unwrap();
    assert_eq!(fixture.call(json!({ "text": "a" })).await.text(), r#"{"text":"xb"}"#);
    assert_eq!(inputs(&fixture), [json!("a"), json!("x")]);
}

// spec: cases/H2
#[tokio::test]
async fn a_policy_that_undoes_every_rewrite_ends_in_a_call_that_is_not_made() {
    let fixture = Fixture::bare().await;
    let Value::Object(arguments) = json!({ "text": "mine" }) else { unreachable!() };
    fixture.world.app.on(PRE_EXECUTE).with(arguments).run(replace).unwrap();
    fixture.mount(hooks("PreToolUse", &[&appends("b")])).await;
    let outcome = fixture.call(json!({ "text": "a" })).await;
    assert!(outcome.is_error(), "{outcome:?}");
    assert!(!fixture.has("ran-mark"));
}

// spec: cases/H2
#[tokio::test]
async fn two_bridges_see_what_the_other_made() {
    let fixture = Fixture::bare().await;
    fixture.mount(hooks("PreToolUse", &[&appends("b")])).await;
    let only_without_c = format!(
        "told=$(cat); case \"$told\" in *'text\":\"abc'*) echo {{}};; *) printf %s \"$told\" | ( {} );; esac",
        appends("c")
    );
    fixture.mount(hooks("PreToolUse", &[&only_without_c])).await;
    let outcome = fixture.call(json!({ "text": "a" })).await;
    // The first one has made `ab`, the second one `abc` of it, which the first one had not seen, and so on.
    assert_eq!(outcome.text(), r#"{"text":"abcb"}"#);
}

// spec: cases/H2, cases/T3
#[tokio::test]
async fn arguments_that_a_model_may_not_give_may_not_be_given_by_hooks() {
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let command = format!(
        r#"printf '{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","updatedInput":{{"a":{deep}}}}}}}'"#
    );
    let fixture = Fixture::of("PreToolUse", &[&command]).await;
    let outcome = fixture.call(json!({})).await;
    assert_eq!(outcome.is_error(), !fixture.has("ran-mark"));
    let large = r#"printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"n":9007199254740993}}}'"#;
    let fixture = Fixture::of("PreToolUse", &[large]).await;
    assert_eq!(fixture.call(json!({})).await.text(), r#"{"n":9007199254740993}"#);
}

// spec: cases/H2
#[tokio::test]
async fn the_input_as_it_is_lets_later_listeners_decide() {
    let fixture = Fixture::of("PreToolUse", &[&rewrites(Some("allow"), json!({ "text": "a" }))]).await;
    let refuse = async |_: &mut ToolCall, _: Next<'_, ToolCall, PreDecision>| PreDecision::Deny {
        reason: "mine".to_owned(),
    };
    fixture.world.app.on(PRE_EXECUTE).run(refuse).unwrap();
    assert_eq!(fixture.call(json!({ "text": "a" })).await.text(), "Error: mine");
}
