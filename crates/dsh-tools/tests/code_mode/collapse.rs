//! Direct calls in code mode.

use cordis::Next;
use dsh_llm::ContentBlock;
use dsh_tools::{
    CallRequest, Mode, POST_EXECUTE, PRE_EXECUTE, PostDecision, PreDecision, RESULT, Settled, ToolCall,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, Log, named};

/// A tool `t` that has the last word, and policies that say that they were asked.
async fn fixture(log: &Log) -> Fixture {
    let fixture = Fixture::new(Mode::Code).await;
    let said = log.clone();
    let tool = named("t").finalize(move |_, _| {
        said.say("finalizer");
        Some(vec![ContentBlock::text("finalized")])
    });
    fixture.tools().register(&fixture.app, tool).unwrap();
    let pre = async |said: &Log, call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>| {
        said.say(format!("pre {}", call.name()));
        next.run(call).await
    };
    fixture.app.on(PRE_EXECUTE).with(log.clone()).run(pre).unwrap();
    let post = async |said: &Log, settled: &mut Settled, next: Next<'_, Settled, PostDecision>| {
        said.say("post");
        next.run(settled).await
    };
    fixture.app.on(POST_EXECUTE).with(log.clone()).run(post).unwrap();
    let said = log.clone();
    fixture.app.on(RESULT).run(move |settled| said.say(format!("result {}", settled.call().name()))).unwrap();
    fixture
}

// spec: tools/T53, code-mode/C84
#[tokio::test]
async fn a_direct_call_of_a_tool_is_refused_before_policies_and_without_its_finalizer() {
    let log = Log::default();
    let fixture = fixture(&log).await;
    let outcome = fixture.execute(CallRequest::new("c1", "t", "{}")).await;
    assert_eq!(outcome.code(), Some("UNKNOWN_TOOL"));
    let told = outcome.text();
    for word in ["unknown tool \"t\"", "`run_code` is the only tool", "from inside of a `run_code` program"] {
        assert!(told.contains(word), "{word}: {told}");
    }
    assert_eq!(log.take(), ["result t"]);
    let mode = fixture.tools().execution_mode("t", &json!({}), None);
    assert_eq!(mode, dsh_tools::ExecutionMode::Exclusive);
}

// spec: tools/T53
#[tokio::test]
async fn a_direct_call_that_is_cancelled_already_was_aborted_and_keeps_its_finalizer() {
    let log = Log::default();
    let fixture = fixture(&log).await;
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let outcome = fixture.execute(CallRequest::new("c1", "t", "{}").cancellation(&cancelled)).await;
    assert_eq!((outcome.code(), &*outcome.text()), (Some("ABORTED_BEFORE_DISPATCH"), "finalized"));
    assert_eq!(log.take(), ["finalizer", "result t"]);
}

// spec: tools/T125
#[tokio::test]
async fn lossy_arguments_of_a_direct_call_are_what_is_told_of_it() {
    let log = Log::default();
    let fixture = fixture(&log).await;
    let lossy: Value = serde_json::from_str("{\"n\": 12345678901234567890123}").unwrap();
    let outcome = fixture.execute(CallRequest::new("c1", "t", lossy.clone())).await;
    assert!(outcome.text().contains("losslessly JSON-serializable"), "{}", outcome.text());
    assert_eq!(outcome.code(), None);
    assert_eq!(log.take(), ["result t"]);

    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let outcome = fixture.execute(CallRequest::new("c1", "t", lossy).cancellation(&cancelled)).await;
    assert_eq!(outcome.text(), "finalized");
    assert!(outcome.as_failure().unwrap().message().contains("losslessly JSON-serializable"));
    assert_eq!(log.take(), ["finalizer", "result t"]);
}

// spec: tools/T54
#[tokio::test]
async fn a_name_that_nobody_sees_goes_the_ordinary_way() {
    let log = Log::default();
    let fixture = fixture(&log).await;
    let outcome = fixture.execute(CallRequest::new("c1", "nobody", "{}")).await;
    assert_eq!(&*outcome.text(), "Error: unknown tool \"nobody\"");
    assert_eq!(log.take(), ["pre nobody", "post", "result nobody"]);
}
