//! The tool calls of an answer, as the loop makes them. How a batch goes is proven where batches are: in dsh-tools.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use dsh_agent::Target;
use dsh_agent_loop::Config;
use dsh_llm::ContentBlock;
use dsh_llm::testing::Answer;
use dsh_session::{CancelCause, Session, TurnEndReason};
use dsh_tools::ToolRun;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, calls, endings, raw, said, texts};

/// The results of a conversation: call, text, whether it failed.
fn results(session: &Session) -> Vec<(String, String, bool)> {
    let messages = session.messages();
    let blocks = messages.iter().flat_map(|message| &message.content);
    blocks
        .filter_map(|block| match block {
            ContentBlock::ToolResult { tool_call_id, content, is_error } => {
                let texts = content.iter().map(|block| match block {
                    ContentBlock::Text { text } => text.as_str(),
                    _ => "",
                });
                Some((tool_call_id.clone(), texts.collect(), *is_error == Some(true)))
            }
            _ => None,
        })
        .collect()
}

// spec: agent-loop/S78, agent-loop/S80, agent-loop/S30
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_calls_run_at_once_as_the_configuration_says() {
    for (limit, expected) in [(1, 1), (3, 3)] {
        let mut config = Config::default();
        config.max_parallel_tool_calls = NonZeroUsize::new(limit).unwrap();
        let asked: Vec<(String, &str, Value)> =
            (0..6).map(|index| (format!("c{index}"), "count", json!({}))).collect();
        let asked: Vec<(&str, &str, Value)> =
            asked.iter().map(|(id, name, arguments)| (id.as_str(), *name, arguments.clone())).collect();
        let fixture = Fixture::with(config, [calls(&asked), Answer::text("ok")]).await;
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counted = most.clone();
        let body = move |_, _: ToolRun| {
            let (running, most) = (running.clone(), counted.clone());
            async move {
                most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                running.fetch_sub(1, SeqCst);
                Ok(json!("x"))
            }
        };
        fixture.offer(&fixture.app, raw("count").run(body).parallel());
        let agent = fixture.agent("a").await;
        agent.followup(said("go")).unwrap();
        agent.when_idle().await;
        assert_eq!(most.load(SeqCst), expected);
        let ids: Vec<String> = results(agent.session()).into_iter().map(|(id, ..)| id).collect();
        assert_eq!(ids, ["c0", "c1", "c2", "c3", "c4", "c5"]);
    }
}

// spec: agent-loop/S81, agent-loop/S80
#[tokio::test]
async fn what_came_with_results_is_said_in_the_next_step_in_the_order_of_the_calls() {
    let asked = [("c1", "slow", json!({})), ("c2", "quick", json!({}))];
    let fixture = Fixture::new([calls(&asked), Answer::text("ok")]).await;
    let gate = CancellationToken::new();
    let (waits, opens) = (gate.clone(), gate);
    let slow = move |_, run: ToolRun| {
        let waits = waits.clone();
        async move {
            waits.cancelled().await;
            run.defer_context(dsh_llm::Message::clone(&said("with c1")));
            Ok(json!("slow"))
        }
    };
    let quick = move |_, run: ToolRun| {
        let opens = opens.clone();
        async move {
            run.defer_context(dsh_llm::Message::clone(&said("with c2")));
            opens.cancel();
            Ok(json!("quick"))
        }
    };
    fixture.offer(&fixture.app, raw("slow").run(slow).parallel());
    fixture.offer(&fixture.app, raw("quick").run(quick).parallel());
    let agent = fixture.agent("a").await;
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert_eq!(texts(agent.session()), ["go", "", "", "", "with c1", "with c2", "ok"]);
}

// spec: agent-loop/S82, cases/S5
#[tokio::test]
async fn a_cancel_in_a_batch_gives_every_call_one_result_and_keeps_what_came_with_them() {
    let asked = [("c1", "first", json!({})), ("c2", "second", json!({})), ("c3", "second", json!({}))];
    let fixture = Fixture::new([calls(&asked), Answer::text("next")]).await;
    let entered = CancellationToken::new();
    let inside = entered.clone();
    let first = move |_, run: ToolRun| {
        let inside = inside.clone();
        async move {
            inside.cancel();
            run.cancellation().cancelled().await;
            run.defer_context(dsh_llm::Message::clone(&said("with c1")));
            Ok(json!("late"))
        }
    };
    fixture.offer(&fixture.app, raw("first").run(first));
    fixture.offer(&fixture.app, raw("second").run(async |_, _: ToolRun| panic!("it never runs")));
    let agent = fixture.agent("a").await;
    agent.followup(said("go")).unwrap();
    entered.cancelled().await;
    agent.followup(said("queued")).unwrap();
    agent.interrupt(CancelCause::User {}).unwrap();
    agent.when_idle().await;
    let results = results(agent.session());
    assert_eq!(results.len(), 3);
    assert!(results.iter().all(|(_, _, failed)| *failed), "{results:?}");
    assert_eq!(results.iter().map(|(id, ..)| id.as_str()).collect::<Vec<_>>(), ["c1", "c2", "c3"]);
    assert_eq!(endings(agent.session()), [TurnEndReason::Aborted { reason: CancelCause::User {} }]);
    assert_eq!(agent.inbox().waits_for(Target::NextStep), 1);
    assert_eq!(agent.inbox().waits_for(Target::NextTurn), 1);
    // The next request has the results right behind the calls, and nothing between them.
    agent.steer(said("wake")).unwrap();
    agent.when_idle().await;
    assert_eq!(texts(agent.session()), ["go", "", "", "", "", "with c1", "wake", "queued", "next"]);
}

// spec: agent-loop/S77, agent-loop/S84, cases/T1
#[tokio::test]
async fn a_call_that_is_wrong_is_a_result_and_the_turn_goes_on() {
    let cut = |index, id: &str, name: &str, arguments: &str| {
        let (id, name, arguments) = (id.to_owned(), name.to_owned(), arguments.to_owned());
        [
            dsh_llm::StreamChunk::BlockStart { index, block_type: "tool-call".into() },
            dsh_llm::StreamChunk::BlockEnd { index, block: ContentBlock::ToolCall { id, name, arguments } },
        ]
    };
    let answer = Answer::new()
        .chunks(cut(0, "c1", "nope", "{}"))
        .chunks(cut(1, "c2", "echo", "{\"text\":"))
        .chunks(cut(2, "c3", "echo", ""))
        .chunks([dsh_llm::testing::finish(dsh_llm::FinishReason::ToolCalls {})]);
    let fixture = Fixture::new([answer, Answer::text("ok")]).await;
    fixture.echo(&fixture.app, "echo");
    let agent = fixture.agent("a").await;
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    let failed: Vec<bool> = results(agent.session()).into_iter().map(|(_, _, failed)| failed).collect();
    assert_eq!(failed, [true, true, false]);
    assert_eq!(endings(agent.session()), [TurnEndReason::Completed {}]);
}

// spec: agent-loop/S86
#[tokio::test]
async fn what_bodies_log_by_themselves_does_not_come_between_calls_and_results() {
    let asked = [("c1", "notes", json!({})), ("c2", "notes", json!({}))];
    let fixture = Fixture::new([calls(&asked), Answer::text("ok")]).await;
    let agent = fixture.agent("a").await;
    let session = agent.session().clone();
    let body = move |_, _: ToolRun| {
        let session = session.clone();
        async move {
            let todos = dsh_session::TodoWrite { todos: Vec::new() };
            session.append(dsh_session::NewEvent::new(&todos)?)?;
            tokio::task::yield_now().await;
            session.append(dsh_session::NewEvent::new(&todos)?)?;
            Ok(json!("noted"))
        }
    };
    fixture.offer(&fixture.app, raw("notes").run(body).parallel());
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    let kinds = crate::fixture::kinds(agent.session());
    assert_eq!(kinds.iter().filter(|kind| *kind == "todo/write").count(), 4);
    let ids: Vec<String> = results(agent.session()).into_iter().map(|(id, ..)| id).collect();
    assert_eq!(ids, ["c1", "c2"]);
    assert_eq!(fixture.requests()[1].messages.len(), 4);
}

// spec: agent-loop/S83
#[tokio::test]
async fn a_batch_that_cannot_be_logged_fails_the_step_and_makes_nothing_up() {
    let fixture = Fixture::new([calls(&[("c1", "echo", json!({})), ("c2", "echo", json!({}))])]).await;
    fixture.echo(&fixture.app, "echo");
    let agent = fixture.agent("a").await;
    let refuses = |appending: &dsh_session::Appending| {
        if appending.event.kind() == "tool/result" { Err("no results".into()) } else { Ok(()) }
    };
    fixture.app.on(dsh_session::APPENDING).run(refuses).unwrap();
    agent.followup(said("go")).unwrap();
    agent.when_idle().await;
    assert_eq!(results(agent.session()), []);
    assert!(matches!(&endings(agent.session())[..], [TurnEndReason::Error { .. }]));
}
