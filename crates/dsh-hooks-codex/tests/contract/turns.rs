//! Hooks of turns: the messages that open one, and its end.

use dsh_hooks::testing::{blocks, decisions, is_alive, until, user};
use dsh_llm::Source;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fixture::Fixture;

// spec: timeout-jobs-hooks/J82
#[tokio::test]
async fn a_prompt_can_be_refused() {
    let fixture = Fixture::of("UserPromptSubmit", &["echo no >&2; exit 2"]).await;
    let token = CancellationToken::new();
    assert_eq!(fixture.world.step(&fixture.agent, vec![user("go")], &token).await, None);
    assert_eq!(decisions(fixture.agent.session()), ["block"]);
}

// spec: timeout-jobs-hooks/J82, cases/H6
#[tokio::test]
async fn a_turn_goes_on_because_of_a_block_and_the_hook_is_told_so() {
    let fixture = Fixture::of("Stop", &["cat >> told; echo >> told; echo 'keep going' >&2; exit 2"]).await;
    let token = CancellationToken::new();
    for _ in 0..2 {
        fixture.world.stop(&fixture.agent, 1, &token).await;
    }
    let sent = fixture.inbox.take();
    assert_eq!(sent.len(), 2);
    assert_eq!(blocks(&sent[0].message), ["keep going"]);
    let Source::Plugin { plugin, .. } = &sent[0].message.source else { panic!("{sent:?}") };
    assert_eq!(plugin, "hooks-codex");
    let told = fixture.read("told");
    let active =
        told.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["stop_hook_active"].clone());
    assert_eq!(active.collect::<Vec<_>>(), [json!(false), json!(true)]);
}

// spec: timeout-jobs-hooks/J83
#[tokio::test]
async fn the_end_of_the_turn_ends_a_hook_and_waits_for_it() {
    let command = "trap '' TERM; echo $$ > pid.part; mv pid.part pid; while :; do sleep 0.1; done";
    let fixture = Fixture::of("UserPromptSubmit", &[command]).await;
    let token = CancellationToken::new();
    let cancel = async {
        until("the hook runs", || fixture.has("pid")).await;
        token.cancel();
    };
    let step = fixture.world.step(&fixture.agent, vec![user("go")], &token);
    let (messages, ()) = tokio::join!(step, cancel);
    assert!(messages.is_some());
    assert!(!is_alive(&fixture.read("pid")), "even one that does not want to end");
}
