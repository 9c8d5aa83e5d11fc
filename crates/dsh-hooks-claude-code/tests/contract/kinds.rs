//! A denial holds for every kind of tool and every way to call one.

use std::num::NonZeroUsize;
use std::sync::Arc;

use cordis::{BoxError, Context, Handle, define};
use dsh_hooks::testing::open_turn;
use dsh_llm::FinishReason;
use dsh_tools::{Batch, CallRequest, ModelCall, TOOLS, ToolDefinition, ToolOutcome, ToolRuntime};
use parking_lot::Mutex;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use dsh_hooks::testing::marks;

use crate::fixture::Fixture;

const DENIES: &str = "echo 'not with me' >&2; exit 2";

/// What the model reads of a denied call.
const DENIED: &str = "Error: not with me";

// spec: cases/H1, design/P7
#[tokio::test]
async fn a_tool_of_the_app() {
    let fixture = Fixture::of("PreToolUse", &[DENIES]).await;
    assert_eq!(fixture.call(json!({})).await.text(), DENIED);
    assert!(!fixture.has("ran-mark"));
}

// spec: cases/H1, design/P7
#[tokio::test]
async fn a_tool_of_a_plugin_whose_body_blocks() {
    let fixture = Fixture::of("PreToolUse", &[DENIES]).await;
    let file = fixture.path("ran-blocking");
    let offers = async |ctx: &Context,
                        tools: Handle<ToolRuntime>,
                        file: &std::path::PathBuf|
           -> Result<(), BoxError> {
        let file = file.clone();
        let tool = ToolDefinition::raw("blocking", "Writes a file.", json!({ "type": "object" }))
            .run_blocking(move |_arguments, _run| {
                std::fs::write(&file, "").unwrap();
                Ok(json!("done"))
            });
        tools.get()?.register(ctx, tool)?;
        Ok(())
    };
    let plugin = define("offers").needs(TOOLS).run(offers);
    fixture.world.app.plugin(plugin, file).unwrap().ready().await.unwrap();
    let outcome = fixture.world.execute(fixture.request("blocking", json!({}))).await;
    assert_eq!(outcome.text(), DENIED);
    assert!(!fixture.has("ran-blocking"));
}

// spec: cases/H1, design/P7
#[tokio::test]
async fn a_tool_that_only_a_child_agent_has() {
    let fixture = Fixture::of("PreToolUse", &[DENIES]).await;
    let (child, _) = fixture.world.agent("child", fixture.folder(), Some(&fixture.agent));
    open_turn(child.session(), 1);
    let tool = marks("own", fixture.path("ran-own"));
    fixture.world.tools.get().unwrap().register(child.context(), tool).unwrap();
    let outcome = fixture.world.execute(CallRequest::new("call_1", "own", "{}").agent(&child)).await;
    assert_eq!(outcome.text(), DENIED);
    assert!(!fixture.has("ran-own"));
}

// spec: cases/H1, design/P7
#[tokio::test]
async fn a_call_of_a_tool_by_another_one() {
    let fixture =
        Fixture::with(json!({ "PreToolUse": [{ "matcher": "mark", "hooks": [{ "command": DENIES }] }] }))
            .await;
    let (ctx, got): (Context, Arc<Mutex<Vec<ToolOutcome>>>) = ((**fixture.world.app).clone(), Arc::default());
    let sink = got.clone();
    let outer =
        ToolDefinition::raw("outer", "Calls `mark`.", json!({ "type": "object" })).run(move |_, run| {
            let (ctx, sink) = (ctx.clone(), sink.clone());
            async move {
                let tools = ctx.get(TOOLS).unwrap();
                let request = CallRequest::new("call_2", "mark", "{}");
                let outcome = tools.get().unwrap().execute_nested(&ctx, &run, request).await;
                sink.lock().push(outcome);
                Ok(json!("done"))
            }
        });
    fixture.world.offer(outer);
    let outcome = fixture.world.execute(fixture.request("outer", json!({}))).await;
    assert_eq!(outcome.text(), "done");
    assert_eq!(got.lock()[0].text(), DENIED);
    assert!(!fixture.has("ran-mark"));
}

// spec: cases/H1, design/P7
#[tokio::test]
async fn a_call_of_a_batch() {
    let fixture = Fixture::of("PreToolUse", &[DENIES]).await;
    let calls = vec![ModelCall::new("call_1", "mark", "{}"), ModelCall::new("call_2", "mark", r#"{"a":1}"#)];
    let batch = Batch {
        agent: fixture.agent.clone(),
        turn: 1,
        step: 1,
        calls,
        finish: FinishReason::ToolCalls {},
        max_parallel: NonZeroUsize::new(2).unwrap(),
        cancellation: CancellationToken::new(),
    };
    let outcomes = fixture.world.tools.get().unwrap().execute_batch(&fixture.world.app, batch).await.unwrap();
    let texts: Vec<_> = outcomes.iter().map(ToolOutcome::text).collect();
    assert_eq!(texts, [DENIED, DENIED]);
    assert!(!fixture.has("ran-mark"));
}
