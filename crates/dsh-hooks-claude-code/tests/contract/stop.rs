//! Hooks of a turn that is about to end.

use std::num::NonZeroU32;
use std::time::Duration;

use dsh_agent::{DISPOSED, Target, Wakeup};
use dsh_hooks::testing::{decisions, end_turn, open_turn};
use dsh_hooks_claude_code::Config;
use dsh_llm::{PluginForm, Source};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, answers, blocks, hooks, of_hooks, says, until, user};

/// Always blocks, and keeps what it is told.
const ALWAYS: &str = "cat >> told; echo 'go on' >&2; exit 2";

fn active(fixture: &Fixture) -> Vec<Value> {
    fixture.told("told").into_iter().map(|it| it["stop_hook_active"].clone()).collect()
}

// spec: timeout-jobs-hooks/J73, timeout-jobs-hooks/J85
#[tokio::test]
async fn a_block_has_the_turn_go_on_and_says_why() {
    let cases = [
        (answers(&json!({ "decision": "block", "reason": "do more" })), "do more"),
        ("exit 2".to_owned(), "continue: blocked by Stop hook"),
        (answers(&json!({ "decision": "block", "reason": "r", "continue": false })), "r"),
    ];
    for (command, text) in cases {
        let fixture = Fixture::of("Stop", &[&command]).await;
        let sent = fixture.stop(1).await;
        let [message] = sent.as_slice() else { panic!("{sent:?}") };
        assert_eq!((blocks(message), &message.source), (vec![text.to_owned()], &of_hooks()));
    }
    let fixture = Fixture::of("Stop", &["exit 2"]).await;
    let stopping = dsh_agent::TurnStopping {
        agent: fixture.agent.clone(),
        turn: 1,
        cancellation: CancellationToken::new(),
    };
    fixture.world.app.serial(dsh_agent::TURN_STOPPING, &stopping).await.unwrap();
    let sent = fixture.inbox.take();
    assert_eq!((sent[0].target, sent[0].wakeup), (Target::NextStep, Wakeup::Wake));
}

// spec: timeout-jobs-hooks/J73
#[tokio::test]
async fn whatever_else_hooks_say_lets_the_turn_end() {
    for command in ["true", "exit 1", &says("Stop", json!({ "additionalContext": "context" }))] {
        let fixture = Fixture::of("Stop", &[command]).await;
        assert_eq!(fixture.stop(1).await, [], "{command}");
        assert_eq!(decisions(fixture.agent.session()), ["pass"]);
    }
}

// spec: cases/H6, timeout-jobs-hooks/J72
#[tokio::test]
async fn a_hook_is_told_that_the_turn_goes_on_because_of_hooks_until_one_lets_it_end() {
    let command = "cat >> told; if [ -e let ]; then exit 0; fi; exit 2";
    let fixture = Fixture::of("Stop", &[command]).await;
    assert_eq!(fixture.stop(1).await.len(), 1);
    assert_eq!(fixture.stop(1).await.len(), 1);
    std::fs::write(fixture.path("let"), "").unwrap();
    assert_eq!(fixture.stop(1).await.len(), 0);
    assert_eq!(fixture.stop(1).await.len(), 0);
    assert_eq!(active(&fixture), [json!(false), json!(true), json!(true), json!(false)]);
}

// spec: cases/H6
#[tokio::test]
async fn a_hook_that_always_blocks_is_overruled_with_a_notice() {
    let fixture = Fixture::bare().await;
    let three = NonZeroU32::new(3).unwrap();
    fixture.mount_as(hooks("Stop", &[ALWAYS]), |config| Config { max_stop_blocks: three, ..config }).await;
    for _ in 0..3 {
        assert_eq!(fixture.stop(1).await.len(), 1);
    }
    assert_eq!(fixture.world.warnings(), Vec::<String>::new());
    assert_eq!(fixture.stop(1).await, [], "nothing is said now, for it would have the turn go on");
    assert_eq!(active(&fixture), [json!(false), json!(true), json!(true), json!(true)]);
    let warnings = fixture.world.warnings();
    let [warning] = warnings.as_slice() else { panic!("one warning: {warnings:?}") };
    assert!(warning.starts_with("hooks-claude-code: ") && warning.contains("maxStopBlocks"), "{warning}");
    end_turn(fixture.agent.session(), 1);
    open_turn(fixture.agent.session(), 2);
    let messages = fixture.step(vec![user("next")]).await.unwrap();
    let [_, notice] = messages.as_slice() else { panic!("{messages:?}") };
    let text = blocks(notice).remove(0);
    assert!(text.contains("3 times") && text.contains("go on"), "{text}");
    let Source::Plugin { plugin, form, summary, .. } = &notice.source else { panic!("{notice:?}") };
    assert_eq!((plugin.as_str(), form), ("hooks-claude-code", &Some(PluginForm::Notice)));
    assert!(summary.is_some());
    assert_eq!(fixture.step(vec![user("again")]).await.unwrap().len(), 1, "it is said once");
    assert_eq!(fixture.stop(2).await.len(), 1, "another turn is counted anew");
    assert_eq!(active(&fixture).last(), Some(&json!(false)));
}

// spec: cases/H6
#[tokio::test]
async fn two_plugins_that_block_in_turns_do_not_keep_a_turn_going_for_ever() {
    // Gives one of the codes after the other.
    let gives = |name: &str, codes: &str| {
        format!(
            "n=$(cat {name} 2> /dev/null || echo 0); echo $((n + 1)) > {name}; set -- {codes}; shift $n; exit ${{1:-2}}"
        )
    };
    let alternating = ["2 0 2 0 2 0 2 0 2 0 2 0 2 0 2 0", "0 2 0 2 0 2 0 2 0 2 0 2 0 2 0 2"];
    let out_of_step = ["2 2 2 2 2 2 2 2 2 2", "0 2 2 2 2 2 2 2 2 2"];
    for codes in [alternating, out_of_step] {
        let fixture = Fixture::bare().await;
        for (name, codes) in ["a", "b"].into_iter().zip(codes) {
            let three = NonZeroU32::new(3).unwrap();
            let hooks = hooks("Stop", &[&gives(name, codes)]);
            fixture.mount_as(hooks, |config| Config { max_stop_blocks: three, ..config }).await;
        }
        let mut rounds = 0;
        while !fixture.stop(1).await.is_empty() {
            rounds += 1;
            assert!(rounds <= 6, "three for each plugin: {codes:?}");
        }
    }
}

// spec: cases/H6
#[tokio::test]
async fn eight_in_a_row_are_the_most_unless_said_otherwise() {
    let fixture = Fixture::of("Stop", &[ALWAYS]).await;
    let mut went_on = 0;
    while !fixture.stop(1).await.is_empty() {
        went_on += 1;
        assert!(went_on < 100, "a loop");
    }
    assert_eq!(went_on, 8);
}

// spec: cases/H6
#[tokio::test]
async fn what_was_counted_of_an_agent_goes_with_it() {
    let fixture = Fixture::of("Stop", &[ALWAYS]).await;
    assert_eq!(fixture.stop(1).await.len(), 1);
    fixture.world.app.emit(DISPOSED, &fixture.agent);
    assert_eq!(fixture.stop(1).await.len(), 1);
    assert_eq!(active(&fixture), [json!(false), json!(false)]);
}

// spec: timeout-jobs-hooks/J72
#[tokio::test]
async fn nothing_is_said_in_a_turn_that_was_cancelled() {
    let fixture = Fixture::bare_with_grace(Duration::from_secs(60)).await;
    fixture.mount(hooks("Stop", &["trap 'exit 2' TERM; sleep 300 & touch runs; wait"])).await;
    let cancellation = CancellationToken::new();
    let cancel = async {
        until("the hook runs", || fixture.has("runs")).await;
        cancellation.cancel();
    };
    let (sent, ()) = tokio::join!(fixture.stop_until(1, &cancellation), cancel);
    assert_eq!(sent, []);
    assert_eq!(decisions(fixture.agent.session()), ["block"], "it did say something");
}
