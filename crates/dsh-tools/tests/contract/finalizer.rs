//! The tool's last word on what the model reads.

use dsh_llm::ContentBlock;
use dsh_tools::{
    PRE_EXECUTE, PostDecision, PreDecision, TOOLS, ToolCall, ToolDefinition, ToolError, ToolOutcome,
};
use serde_json::json;

use crate::fixture::{Fixture, Log, around, contexts, message, tool};

fn finalizing(definition: ToolDefinition, log: &Log) -> ToolDefinition {
    let log = log.clone();
    definition.finalize(move |call, outcome| {
        log.note(format!("{} {}", call.id(), outcome.text()));
        Some(vec![ContentBlock::text("final")])
    })
}

// spec: tools/T73, tools/T121
#[tokio::test]
async fn it_replaces_the_content_of_successes_and_failures_alike_once() {
    let fixture = Fixture::new().await;
    let good = tool("good", async |run| {
        run.conclude_turn();
        Ok(json!(7))
    });
    fixture.register(finalizing(good, &fixture.log));
    fixture.register(finalizing(tool("bad", async |_| Err(ToolError::new("it fails"))), &fixture.log));
    let told = fixture.told();
    let good = fixture.call("good").await;
    assert_eq!((good.text().as_str(), good.value(), good.concludes_turn()), ("final", Some(&json!(7)), true));
    let bad = fixture.call("bad").await;
    assert_eq!((bad.text().as_str(), bad.as_failure().unwrap().message()), ("final", "it fails"));
    assert_eq!(fixture.log.take(), ["c1 7", "c1 Error: it fails"]);
    assert_eq!(told.lock().len(), 2);
}

// spec: tools/T73, tools/T121
#[tokio::test]
async fn it_comes_after_the_policies() {
    let fixture = Fixture::new().await;
    fixture.register(finalizing(tool("t", async |_| Ok(json!(7))), &fixture.log));
    fixture.reviews(PostDecision::block("kept back").with_context(message("post")));
    let outcome = fixture.call("t").await;
    assert_eq!((outcome.text().as_str(), contexts(&outcome)), ("final", vec!["post".to_owned()]));
    assert_eq!(fixture.log.take(), ["c1 kept back"]);
}

// spec: tools/T73, tools/T74
#[tokio::test]
async fn one_that_breaks_fails_the_call_and_is_not_asked_again() {
    let fixture = Fixture::new().await;
    let log = fixture.log.clone();
    fixture.register(tool("t", async |_| Ok(json!(7))).finalize(move |_, _| {
        log.note("asked");
        panic!("no last word")
    }));
    let told = fixture.told();
    let outcome = fixture.call("t").await;
    assert!(outcome.is_error() && outcome.text().contains("no last word"), "{}", outcome.text());
    assert_eq!(fixture.log.take(), ["asked"]);
    assert_eq!(*told.lock(), [("c1".to_owned(), outcome)]);
}

// spec: tools/T51, tools/T54
#[tokio::test]
async fn a_tool_that_came_after_the_call_runs_but_has_no_last_word() {
    let fixture = Fixture::new().await;
    let log = fixture.log.clone();
    let ctx = (*fixture.app).clone();
    let adds = around::<ToolCall, PreDecision, _>(move |call, next| {
        let definition = finalizing(tool("t", async |_| Ok(json!("fresh"))), &log);
        ctx.get(TOOLS).unwrap().get().unwrap().register(&ctx, definition).unwrap();
        Box::pin(next.run(call))
    });
    let effect = fixture.app.on(PRE_EXECUTE).run_boxed(adds).unwrap();
    assert_eq!(fixture.call("t").await, ToolOutcome::success("fresh"));
    effect.dispose().await;
    assert_eq!(fixture.call("t").await.text(), "final");
}

// spec: tools/T51, tools/T106
#[tokio::test]
async fn the_code_of_a_tool_that_is_gone_does_not_run_any_more() {
    let fixture = Fixture::new().await;
    let effect = fixture.register(finalizing(tool("t", async |_| Ok(json!(7))), &fixture.log));
    let removes = around::<ToolCall, PreDecision, _>(move |call, next| {
        let (effect, rest) = (effect.clone(), next.run(call));
        Box::pin(async move {
            effect.dispose().await;
            rest.await
        })
    });
    fixture.app.on(PRE_EXECUTE).run_boxed(removes).unwrap();
    let outcome = fixture.call("t").await;
    assert_eq!(
        (outcome.text().as_str(), outcome.code()),
        ("Error: unknown tool \"t\"", Some("UNKNOWN_TOOL"))
    );
    assert_eq!(fixture.log.take(), Vec::<String>::new());
}
