//! A batch that is cancelled, or dropped.

use std::sync::Arc;
use std::time::Duration;

use dsh_llm::{ContentBlock, Message, Role};
use dsh_session::{AssistantMessage, EVENT, EventData, NewEvent, closers};
use dsh_tools::ToolOutcome;
use serde_json::json;

use crate::world::{World, raw, text_of_user, texts};

const ABORTED: &str = "Error: tool call aborted";
const BEFORE: &str = "Error: tool call aborted before dispatch";

// spec: tools/T92, agent-loop/S82, cases/S5
#[tokio::test(start_paused = true)]
async fn what_runs_is_drained_and_what_was_not_started_gets_its_pair() {
    let world = World::new().await;
    world.timed("quick", true);
    world.patient("patient", true);
    world.watch();
    let cancellation = world.cancellation.clone();
    world
        .app
        .on(EVENT)
        .run(move |told| {
            if let Ok(EventData::ToolCall(call)) = told.event.read()
                && call.call_id == "c3"
            {
                cancellation.cancel();
            }
        })
        .unwrap();
    let batch = world.batch(&[
        ("c1", "quick", "{}"),
        ("c2", "patient", "{}"),
        ("c3", "patient", "{}"),
        ("c4", "quick", "{}"),
        ("c5", "nobody", "{"),
    ]);
    let outcomes = world.run(batch).await.unwrap();
    assert_eq!(texts(&outcomes), ["quick", ABORTED, BEFORE, BEFORE, BEFORE]);
    let codes: Vec<Option<&str>> = outcomes.iter().map(|outcome| outcome.code()).collect();
    let before = Some("ABORTED_BEFORE_DISPATCH");
    assert_eq!(codes, [None, Some("ABORTED"), before, before, before]);
    let log = [
        "call c1".to_owned(),
        "call c2".to_owned(),
        "result c1: quick".to_owned(),
        "call c3".to_owned(),
        format!("result c2: {ABORTED} (failed)"),
        format!("result c3: {BEFORE} (failed)"),
        "call c4".to_owned(),
        format!("result c4: {BEFORE} (failed)"),
        "call c5".to_owned(),
        format!("result c5: {BEFORE} (failed)"),
    ];
    assert_eq!(world.log(), log);
    assert_eq!(world.contexts(), ["kept"]);
    let told = world.told.all();
    assert!(
        !told.iter().any(|it| it.starts_with("c4") || it.starts_with("c5") || it == "c3 policy"),
        "{told:?}"
    );
    world.told.place("c3 result");
    let (call, result) = (world.event(8), world.event(9));
    assert_eq!(call.data().get(), r#"{"turn":3,"step":2,"callId":"c5","name":"nobody","arguments":"{"}"#);
    assert_eq!(result.sources(), Some(&[world.seq(8)][..]));
    let error = serde_json::from_str::<serde_json::Value>(result.data().get()).unwrap()["error"].take();
    assert_eq!(error, json!({ "name": "AbortError", "code": "ABORTED_BEFORE_DISPATCH" }));
}

// spec: tools/T92
#[tokio::test]
async fn of_a_batch_that_was_cancelled_before_nothing_is_asked_and_nothing_runs() {
    let world = World::new().await;
    world.timed("quick", true);
    world.watch();
    world.cancellation.cancel();
    let outcomes = world.run(world.batch(&[("c1", "quick", "{}"), ("c2", "quick", "{}")])).await.unwrap();
    assert_eq!(outcomes, [ToolOutcome::aborted_before_dispatch(), ToolOutcome::aborted_before_dispatch()]);
    let pairs = [
        "call c1",
        &format!("result c1: {BEFORE} (failed)"),
        "call c2",
        &format!("result c2: {BEFORE} (failed)"),
    ];
    assert_eq!(world.log(), pairs);
    assert_eq!(world.told.all(), [""; 0]);
}

// spec: tools/T92, agent-loop/S82
#[tokio::test(start_paused = true)]
async fn an_exclusive_call_that_is_cancelled_keeps_the_next_one_from_starting() {
    let world = World::new().await;
    let cancellation = world.cancellation.clone();
    world.offer(raw("stops").run(move |_, _run| {
        cancellation.cancel();
        std::future::ready(Ok(json!("stopped")))
    }));
    world.timed("quick", true);
    let outcomes = world.run(world.batch(&[("c1", "stops", "{}"), ("c2", "quick", "{}")])).await.unwrap();
    assert_eq!(texts(&outcomes), [ABORTED, BEFORE]);
    assert_eq!(world.told.all(), [""; 0]);
}

// spec: cases/D6
#[tokio::test(start_paused = true)]
async fn fine_failed_panicked_and_cancelled_calls_are_answered_in_order() {
    let world = World::new().await;
    world.timed("fine", true);
    world.offer(
        raw("fails").run(async |_, _run| Err(dsh_tools::ToolError::new("no luck"))).parallel_when(|_| true),
    );
    world.offer(raw("panics").run(async |_, _run| panic!("the probe burst")).parallel_when(|_| true));
    world.patient("patient", true);
    world.cancel_after(50);
    let mut batch = world.batch(&[
        ("c1", "fine", "{}"),
        ("c2", "fails", "{}"),
        ("c3", "panics", "{}"),
        ("c4", "patient", "{}"),
    ]);
    batch.max_parallel = std::num::NonZeroUsize::new(4).unwrap();
    let outcomes = world.run(batch).await.unwrap();
    let expected = ["fine", "Error: no luck", "Error: tool \"panics\" panicked: the probe burst", ABORTED];
    assert_eq!(texts(&outcomes), expected);
    let results: Vec<String> = world.log().into_iter().filter(|it| it.starts_with("result")).collect();
    let ids: Vec<&str> = results.iter().map(|it| &it[7..9]).collect();
    assert_eq!(ids, ["c1", "c2", "c3", "c4"]);
}

/// An answer that asks for these calls.
fn asked(world: &World, ids: &[&str]) {
    let block = |id: &&str| ContentBlock::ToolCall {
        id: (*id).to_owned(),
        name: "patient".to_owned(),
        arguments: "{}".to_owned(),
    };
    let content = ids.iter().map(block).collect();
    let message = Arc::new(Message::assistant(content, "p", "m"));
    let answer = AssistantMessage { turn: 3, step: 2, message, usage: None, interrupted: None };
    world.session.append(NewEvent::answer(&answer).unwrap()).unwrap();
}

// spec: cases/S5
#[tokio::test(start_paused = true)]
async fn a_cancelled_batch_leaves_one_result_for_each_call_right_after_the_calls() {
    let world = World::new().await;
    world.patient("patient", false);
    asked(&world, &["c1", "c2", "c3"]);
    // A user speaks while the first call runs.
    let agent = world.agent.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(10)).await;
        agent.inject(Arc::new(text_of_user("stop that"))).unwrap();
    });
    world.cancel_after(20);
    let calls = [("c1", "patient", "{}"), ("c2", "patient", "{}"), ("c3", "patient", "{}")];
    world.run(world.batch(&calls)).await.unwrap();
    let messages = world.session.messages();
    let said: Vec<(Role, String)> = messages
        .iter()
        .map(|message| match message.content.as_slice() {
            [ContentBlock::ToolResult { tool_call_id, .. }] => (message.role, tool_call_id.clone()),
            other => (message.role, format!("{} blocks", other.len())),
        })
        .collect();
    let expected =
        [(Role::Assistant, "3 blocks"), (Role::User, "c1"), (Role::User, "c2"), (Role::User, "c3")];
    assert_eq!(said, expected.map(|(role, what)| (role, what.to_owned())));
}

// spec: cases/G3, cases/S5
#[tokio::test(start_paused = true)]
async fn a_batch_that_dies_half_way_leaves_exactly_one_result_to_be_made_for_each_open_call() {
    let world = World::new().await;
    world.timed("quick", true);
    world.patient("patient", true);
    asked(&world, &["c1", "c2", "c3"]);
    let calls = [("c1", "quick", "{}"), ("c2", "patient", "{}"), ("c3", "patient", "{}")];
    let batch = world.run(world.batch(&calls));
    assert!(tokio::time::timeout(Duration::from_millis(50), batch).await.is_err());
    assert_eq!(world.log()[1..], ["call c1", "call c2", "result c1: quick", "call c3"]);
    let made: Vec<String> = closers(&world.session.events())
        .iter()
        .map(|event| match event.read().unwrap() {
            EventData::ToolResult(result) => format!("result {}", result.call_id()),
            _ => event.kind().to_owned(),
        })
        .collect();
    assert_eq!(made, ["result c2", "result c3", "step/end", "turn/end"]);
}
