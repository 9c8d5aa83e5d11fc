//! What hooks decide about messages.

use std::sync::Arc;

use cordis::Next;
use dsh_agent::{PRE_STEP, PreStep, PreStepDecision};
use dsh_hooks::testing::decisions;
use dsh_llm::{ContentBlock, Message, Role, Source};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, answers, blocks, is_alive, of_hooks, says, until, user};

fn prompt(own: Value) -> String {
    says("UserPromptSubmit", own)
}

// spec: timeout-jobs-hooks/J73, timeout-jobs-hooks/J85
#[tokio::test]
async fn a_denial_rejects_the_step() {
    let with_context = json!({ "decision": "block", "reason": "no",
        "hookSpecificOutput": { "hookEventName": "UserPromptSubmit", "additionalContext": "lost" } });
    for command in ["echo no >&2; exit 2", "exit 2", &answers(&with_context)] {
        let fixture = Fixture::of("UserPromptSubmit", &[command]).await;
        let after = async |_: &mut PreStep, _: Next<'_, PreStep, PreStepDecision>| panic!("asked");
        fixture.world.app.on(PRE_STEP).run(after).unwrap();
        assert_eq!(fixture.step(vec![user("go")]).await, None, "{command}");
        assert_eq!(decisions(fixture.agent.session()), ["block"]);
    }
}

// spec: timeout-jobs-hooks/J73, timeout-jobs-hooks/J74
#[tokio::test]
async fn what_the_hooks_say_comes_after_the_messages_of_all_others() {
    let (one, two) =
        (prompt(json!({ "additionalContext": "one" })), prompt(json!({ "additionalContext": "two" })));
    let fixture = Fixture::of("UserPromptSubmit", &[&one, "echo plain", &two]).await;
    let adds = async |step: &mut PreStep, next: Next<'_, PreStep, PreStepDecision>| {
        let mut decision = next.run(step).await;
        if let PreStepDecision::Enter { messages } = &mut decision {
            let text = vec![ContentBlock::text("theirs")];
            messages.push(Arc::new(Message::new(Role::User, text, Source::notice("other", "n"))));
        }
        decision
    };
    fixture.world.app.on(PRE_STEP).run(adds).unwrap();
    let mut said = user("go");
    said.id = "m-1".to_owned();
    let messages = fixture.step(vec![said.clone()]).await.unwrap();
    assert_eq!(*messages[0], said, "what was said is as it was");
    let texts: Vec<_> = messages.iter().map(|message| blocks(message)).collect();
    assert_eq!(texts, [vec!["go"], vec!["theirs"], vec!["one", "two"]]);
    assert_eq!((messages[2].role, &messages[2].source), (Role::User, &of_hooks()));
}

// spec: timeout-jobs-hooks/J73
#[tokio::test]
async fn a_step_without_messages_is_not_asked_about() {
    let fixture = Fixture::of("UserPromptSubmit", &["exit 2"]).await;
    assert_eq!(fixture.step(Vec::new()).await, Some(Vec::new()));
    assert_eq!(decisions(fixture.agent.session()), Vec::<String>::new());
}

// spec: timeout-jobs-hooks/J73, timeout-jobs-hooks/J78
#[tokio::test]
async fn whatever_else_hooks_say_lets_the_step_begin() {
    let ask = prompt(json!({ "permissionDecision": "ask" }));
    for command in [&ask, "exit 1", "no-such-command-xyz", &answers(&json!({ "continue": false }))] {
        let fixture = Fixture::of("UserPromptSubmit", &[command]).await;
        assert_eq!(fixture.step(vec![user("go")]).await.unwrap().len(), 1, "{command}");
    }
}

// spec: timeout-jobs-hooks/J72, timeout-jobs-hooks/J83
#[tokio::test]
async fn the_end_of_the_turn_ends_a_hook_and_no_further_one_is_begun() {
    let fixture =
        Fixture::of("UserPromptSubmit", &["echo $$ > pid.part; mv pid.part pid; sleep 300", "touch second"])
            .await;
    let cancellation = CancellationToken::new();
    let step = fixture.step_until(vec![user("go")], &cancellation);
    let cancel = async {
        until("the hook runs", || fixture.has("pid")).await;
        cancellation.cancel();
    };
    let (messages, ()) = tokio::join!(step, cancel);
    assert_eq!(messages.unwrap().len(), 1);
    assert!(!is_alive(&fixture.read("pid")), "it was waited for");
    assert!(!fixture.has("second"));
}
