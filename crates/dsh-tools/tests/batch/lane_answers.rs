//! What a program is given.

use std::sync::Arc;

use cordis::Next;
use dsh_llm::ContentBlock;
use dsh_tools::{
    CallRequest, CallToken, EXECUTE, NestedError, POST_EXECUTE, PRE_EXECUTE, PostDecision, PreDecision,
    RESULT, Replacement, Settled, ToolCall, ToolError, ToolOutcome, ToolRun,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::world::{World, raw};

type Answer = Result<Value, NestedError>;

fn failed(tool: &str, message: &str) -> Answer {
    Err(NestedError { tool: tool.to_owned(), message: message.to_owned() })
}

/// Runs a program that makes these calls, each after the one before, and gives what it was given.
async fn answers(world: &World, calls: Vec<(&'static str, Value)>) -> Vec<Answer> {
    let got = Arc::new(Mutex::new(Vec::new()));
    let keep = got.clone();
    world.program("program", move |lane, _| {
        let (calls, keep) = (calls.clone(), keep.clone());
        async move {
            for (tool, arguments) in calls {
                let answer = lane.call(tool, arguments).await;
                keep.lock().push(answer);
            }
            Ok(Value::Null)
        }
    });
    assert!(!world.call("program").await.is_error());
    Arc::try_unwrap(got).map_or_else(|shared| shared.lock().clone(), Mutex::into_inner)
}

// spec: code-mode/C19, code-mode/C94, tools/T97
#[tokio::test]
async fn arguments_that_would_be_changed_are_refused_without_an_id() {
    let world = World::new().await;
    world.timed("quick", true);
    let lossy: Value = serde_json::from_str(r#"{"n": 1e400}"#).unwrap();
    let beyond = json!({ "n": 9_007_199_254_740_993_u64 });
    let mut deep = json!({});
    for _ in 0..100_000 {
        deep = Value::Array(vec![deep]);
    }
    // A value of that depth cannot be cloned, so the call is made by hand.
    let deep = Arc::new(Mutex::new(Some(deep)));
    world.program("deep", move |lane, _| {
        let deep = deep.clone();
        async move {
            let deep = deep.lock().take().unwrap();
            Ok(json!(lane.call("quick", deep).await.unwrap_err().message))
        }
    });
    let advice = "tool arguments must be lossless JSON; pass an object of arguments such as {}";
    assert_eq!(world.call("deep").await.value(), Some(&json!(advice)));

    let calls = vec![("quick", json!({})), ("quick", lossy), ("quick", beyond), ("quick", json!({}))];
    let got = answers(&world, calls).await;
    assert_eq!(
        (&got[0], &got[1], &got[3]),
        (&Ok(json!("quick")), &failed("quick", advice), &Ok(json!("quick")))
    );
    let reason = got[2].clone().unwrap_err().message;
    assert!(reason.starts_with("tool arguments must be lossless JSON: "), "{reason}");
    let log = ["start c1:code:1", "end c1:code:1: quick", "start c1:code:2", "end c1:code:2: quick"];
    assert_eq!(world.log(), log);
}

// spec: code-mode/C29, tools/T98
#[tokio::test]
async fn a_success_is_the_canonical_value_and_not_what_a_model_would_read() {
    let world = World::new().await;
    let rows = raw("rows").run(async |_, _run| Ok(json!({ "rows": [1, 2] })));
    world.offer(rows.render(|_, _| Ok(vec![ContentBlock::text("two rows")])));
    let got = answers(&world, vec![("rows", json!({}))]).await;
    assert_eq!(got, [Ok(json!({ "rows": [1, 2] }))]);
    assert_eq!(world.log()[1], "end c1:code:1: two rows");
}

// spec: code-mode/C29, code-mode/C30, code-mode/C97, tools/T98
#[tokio::test(start_paused = true)]
async fn any_failure_is_its_message_alone_and_the_program_goes_on() {
    let world = World::new().await;
    world.timed("quick", true);
    world.timed("guarded", true);
    world.timed("denied", true);
    world.timed("stopped", true);
    world.deny("guarded");
    world.offer(raw("fails").run(async |_, _run| Err(ToolError::new("no luck").with_output("half"))));
    world.offer(raw("panics").run(async |_, _run| panic!("the probe burst")));
    let parameters =
        json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] });
    let strict = dsh_tools::ToolDefinition::raw("strict", "Strict.", parameters).checked();
    world.offer(strict.run(async |_, _run| Ok(Value::Null)));
    world
        .app
        .on(PRE_EXECUTE)
        .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>| match call.name() {
            "denied" => PreDecision::Deny { reason: "not on Mondays".to_owned() },
            _ => next.run(call).await,
        })
        .unwrap();
    world
        .app
        .on(EXECUTE)
        .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| match call.name() {
            "stopped" => ToolOutcome::failed("took too long"),
            _ => next.run(call).await,
        })
        .unwrap();
    let names = ["denied", "guarded", "fails", "panics", "strict", "nobody", "stopped", "quick"];
    let got = answers(&world, names.map(|name| (name, json!({}))).to_vec()).await;
    let expected = [
        failed("denied", "not on Mondays"),
        failed("guarded", "guarded is not for you"),
        failed("fails", "no luck"),
        failed("panics", "tool \"panics\" panicked: the probe burst"),
        failed("strict", "invalid arguments: missing required property \"a\""),
        failed("nobody", "unknown tool \"nobody\""),
        failed("stopped", "took too long"),
        Ok(json!("quick")),
    ];
    assert_eq!(got, expected);
    assert_eq!(world.log()[..2], ["start c1:code:1", "end c1:code:1: Error: not on Mondays (failed)"]);
}

// spec: code-mode/C102
#[tokio::test]
async fn a_value_that_a_wrapper_gives_is_checked_before_the_program_gets_it() {
    let world = World::new().await;
    for name in ["right", "wrong"] {
        let tool = raw(name).output(json!({ "type": "string" }));
        world.offer(tool.run(async |_, _run| panic!("no body runs")));
    }
    world
        .app
        .on(EXECUTE)
        .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| match call.name() {
            "right" => ToolOutcome::success("cached"),
            "wrong" => ToolOutcome::success(7),
            _ => next.run(call).await,
        })
        .unwrap();
    let got = answers(&world, vec![("right", json!({})), ("wrong", json!({}))]).await;
    assert_eq!(got[0], Ok(json!("cached")));
    let reason = got[1].clone().unwrap_err().message;
    assert!(reason.starts_with("tool \"wrong\" returned invalid output: "), "{reason}");
}

// spec: code-mode/C103
#[tokio::test]
async fn a_replaced_value_reaches_the_program_and_replaced_content_the_log() {
    let world = World::new().await;
    world.timed("value", true);
    world.timed("content", true);
    world
        .app
        .on(POST_EXECUTE)
        .run(async |settled: &mut Settled, next: Next<'_, Settled, PostDecision>| {
            match settled.call().name() {
                "value" => PostDecision::replace_value("another"),
                "content" => {
                    let content = Replacement::Content(vec![ContentBlock::text("short")]);
                    PostDecision::Accept { replace: Some(content), contexts: Vec::new() }
                }
                _ => next.run(settled).await,
            }
        })
        .unwrap();
    let got = answers(&world, vec![("value", json!({})), ("content", json!({}))]).await;
    assert_eq!(got, [Ok(json!("another")), Ok(json!("content"))]);
    let log = ["start c1:code:1", "end c1:code:1: another", "start c1:code:2", "end c1:code:2: short"];
    assert_eq!(world.log(), log);
}

/// Id, root, parent, token, whether the agent is the one that called, and what a user interface would be shown.
type Seen = (String, String, Option<CallToken>, CallToken, bool, Option<Value>);

// spec: code-mode/C20, code-mode/C32, tools/T97, tools/T101
#[tokio::test]
async fn a_nested_call_names_its_parent_by_a_token_and_its_root_by_its_id() {
    let world = World::new().await;
    let tokens: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let keep = tokens.clone();
    let agent = world.agent.clone();
    let leaf = raw("leaf").run(async |_, _run: ToolRun| Ok(json!("leaf")));
    world.offer(leaf.presentation_meta(|_, _| Ok(json!({ "shown": true }))));
    world.program("inner", async |lane, _| Ok(lane.call("leaf", json!({})).await?));
    world.program("outer", async |lane, _| Ok(lane.call("inner", json!({})).await?));
    world
        .app
        .on(RESULT)
        .run(move |settled| {
            let call = settled.call();
            keep.lock().push((
                call.id().to_owned(),
                call.root_id().to_owned(),
                call.parent(),
                call.token(),
                call.agent() == Some(&agent),
                settled.outcome().meta().cloned(),
            ));
        })
        .unwrap();
    world.call("outer").await;
    world.call("leaf").await;
    let told = tokens.lock().clone();
    let [leaf, inner, outer, direct] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(
        (leaf.0.as_str(), inner.0.as_str(), outer.0.as_str()),
        ("c1:code:1:code:1", "c1:code:1", "c1")
    );
    assert!(told.iter().all(|it| it.1 == "c1" && it.4), "{told:?}");
    assert_eq!((leaf.2, inner.2, outer.2), (Some(inner.3), Some(outer.3), None));
    assert_eq!((&leaf.5, &direct.5), (&None, &Some(json!({ "shown": true }))));
}

// spec: code-mode/C33
#[tokio::test]
async fn calls_of_nobody_work_without_a_log() {
    let world = World::new().await;
    world.timed("quick", true);
    world.program("program", async |lane, _| Ok(lane.call("quick", json!({})).await?));
    let outcome = world.execute(CallRequest::new("c1", "program", "{}")).await;
    assert_eq!(outcome.value(), Some(&json!("quick")));
    assert!(world.log().is_empty());
}
