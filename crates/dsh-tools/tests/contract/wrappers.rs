//! What wrappers of the body may do with it and with its outcome.

use std::sync::Arc;

use cordis::Next;
use dsh_llm::ContentBlock;
use dsh_tools::{
    EXECUTE, ErrorInfo, Failure, PRE_EXECUTE, PreDecision, ToolCall, ToolDefinition, ToolOutcome,
};
use parking_lot::Mutex;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Does, Fixture, Probe, around, contexts, message, request, tool};

/// Its value is text, which its content and meta show.
fn shown(name: &'static str) -> ToolDefinition {
    ToolDefinition::raw(name, "Shows its value.", json!({ "type": "object" }))
        .output(json!({ "type": "string" }))
        .run(move |_, run| async move {
            run.defer_context(message("of the body"));
            run.conclude_turn();
            Ok(json!(name))
        })
        .render(|_, value| Ok(vec![ContentBlock::text(format!("shown {value}"))]))
        .presentation_meta(|_, value| Ok(value.clone()))
}

// spec: tools/T62, tools/T64, tools/T67, tools/T122
#[tokio::test]
async fn a_success_in_the_place_of_the_body_is_checked_and_shown_by_the_tool() {
    let fixture = Fixture::with(shown("t")).await;
    let authored = ToolOutcome::success("authored")
        .with_content(vec![ContentBlock::text("ignored")])
        .with_meta(json!("ignored"))
        .with_context(message("authored"));
    let effect = fixture.answers(authored);
    let outcome = fixture.call("t").await;
    assert_eq!((outcome.text().as_str(), outcome.meta()), (r#"shown "authored""#, Some(&json!("authored"))));
    assert_eq!((contexts(&outcome), outcome.concludes_turn()), (vec!["authored".to_owned()], false));
    effect.dispose().await;
    fixture.answers(ToolOutcome::success(7));
    let outcome = fixture.call("t").await;
    let expected = "Error: tool \"t\" returned invalid output: \"value\" must be a string";
    assert_eq!((outcome.text().as_str(), outcome.code()), (expected, Some("INVALID_TOOL_OUTPUT")));
}

// spec: tools/T64
#[tokio::test]
async fn a_failure_in_the_place_of_the_body_stands_as_it_is() {
    let fixture = Fixture::with(shown("t")).await;
    let failure = Failure::new("authored").coded(ErrorInfo::fixed("AuthoredError", "AUTHORED"));
    let authored = ToolOutcome::failure(failure)
        .with_content(vec![ContentBlock::text("other words")])
        .with_meta(json!(1))
        .with_context(message("authored"));
    fixture.answers(authored.clone());
    assert_eq!(fixture.call("t").await, authored);
    assert_eq!(fixture.call("of nobody").await, authored, "a failure needs no tool");
}

// spec: tools/T64, tools/T107
#[tokio::test]
async fn a_success_of_a_tool_that_nobody_offers_is_none() {
    let fixture = Fixture::new().await;
    fixture.answers(ToolOutcome::success("fine"));
    assert_eq!(fixture.call("of nobody").await.code(), Some("UNKNOWN_TOOL"));
}

// spec: tools/T64, tools/T67
#[tokio::test]
async fn the_outcome_of_another_call_is_read_again() {
    let fixture = Fixture::with(shown("a")).await;
    fixture.register(shown("b"));
    fixture.register(tool("number", async |_| Ok(json!(1))));
    let cached = fixture.call("a").await;
    assert!(cached.concludes_turn());
    let effect = fixture.answers(cached.clone());
    let outcome = fixture.call("b").await;
    assert_eq!((outcome.text().as_str(), outcome.concludes_turn()), (r#"shown "a""#, false));
    assert_eq!(contexts(&outcome), ["of the body"], "those of the outcome that was kept");
    effect.dispose().await;
    fixture.answers(fixture.call("number").await);
    assert_eq!(fixture.call("b").await.code(), Some("INVALID_TOOL_OUTPUT"));
}

// spec: tools/T64, tools/T108
#[tokio::test]
async fn an_altered_outcome_of_this_call_is_read_again() {
    let fixture = Fixture::with(shown("t")).await;
    fixture.turns(|outcome| outcome.with_content(Vec::new()).with_meta(json!("altered")));
    let outcome = fixture.call("t").await;
    assert_eq!((outcome.text().as_str(), outcome.meta()), (r#"shown "t""#, Some(&json!("t"))));
    assert!(outcome.concludes_turn());
}

// spec: tools/T62, tools/T63, tools/T64
#[tokio::test]
async fn a_wrapper_sees_an_outcome_whatever_the_body_did_and_may_make_a_success_of_it() {
    for does in [Does::Fail, Does::Panic] {
        let fixture = Fixture::with(&Probe::new(does)).await;
        let log = fixture.log.clone();
        fixture.turns(move |outcome| {
            log.note(outcome.text());
            ToolOutcome::success("recovered")
        });
        assert_eq!(fixture.call("probe").await, ToolOutcome::success("recovered"));
        assert_eq!(fixture.log.take().len(), 1);
    }
}

// spec: cases/D8, tools/T62, tools/T85
#[tokio::test]
async fn a_retry_runs_what_is_below_it_again_guards_included() {
    let fixture = Fixture::new().await;
    let probe = Probe::logging(Does::Fail, &fixture.log);
    fixture.register(&probe);
    let retry = async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
        let first = next.clone().run(call).await;
        assert!(first.is_error());
        next.run(call).await
    };
    fixture.app.on(EXECUTE).run(retry).unwrap();
    fixture.watch();
    fixture.call("probe").await;
    let expected =
        ["pre", "guard", "execute", "body", "execute", "guard", "body", "post", "finalizer", "result"];
    assert_eq!(fixture.log.take(), expected);
}

// spec: design/P7
#[tokio::test]
async fn a_guard_that_refuses_the_second_run_is_heard() {
    let probe = Probe::new(Does::Fail);
    let fixture = Fixture::with(&probe).await;
    let retry = async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
        let _ = next.clone().run(call).await;
        next.run(call).await
    };
    fixture.app.on(EXECUTE).run(retry).unwrap();
    fixture.guard(|call| call.body_was_entered().then(|| "once is enough".to_owned()));
    assert_eq!(fixture.call("probe").await, ToolOutcome::denied("once is enough"));
    assert_eq!(probe.runs(), 1);
}

// spec: tools/T63, tools/T111
#[tokio::test]
async fn a_limit_that_is_over_already_keeps_the_body_from_running() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(&probe).await;
    let over = async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
        let (mut limited, limit) = call.limited();
        limit.cancel();
        next.run(&mut limited).await
    };
    fixture.app.on(EXECUTE).run(over).unwrap();
    let token = CancellationToken::new();
    assert_eq!(fixture.call_until("probe", &token).await, ToolOutcome::aborted_before_dispatch());
    assert!(!token.is_cancelled());
    assert_eq!(probe.runs(), 0);
}

// spec: design/P7
#[tokio::test]
async fn a_wrapper_that_hands_on_another_call_than_its_own_fails() {
    let (allowed, denied) = (Probe::named("allowed"), Probe::named("denied"));
    let fixture = Fixture::with(&allowed).await;
    fixture.register(&denied);
    fixture.guard(|call| (call.name() == "denied").then(|| "no".to_owned()));
    // A policy keeps the denied call before its guards are asked; a wrapper of an allowed one hands it on.
    let kept: Arc<Mutex<Option<ToolCall>>> = Arc::default();
    let keeper = Arc::clone(&kept);
    let keep = around::<ToolCall, PreDecision, _>(move |call, next| {
        if call.name() == "denied" {
            *keeper.lock() = Some(call.limited().0);
        }
        Box::pin(next.run(call))
    });
    fixture.app.on(PRE_EXECUTE).run_boxed(keep).unwrap();
    let swap = around::<ToolCall, ToolOutcome, _>(move |call, next| {
        if let Some(other) = kept.lock().take() {
            *call = other;
        }
        Box::pin(next.run(call))
    });
    fixture.app.on(EXECUTE).run_boxed(swap).unwrap();
    assert!(fixture.call("denied").await.is_denied());
    let outcome = fixture.execute(request("allowed")).await;
    assert!(outcome.is_error() && outcome.text().contains("another call"), "{}", outcome.text());
    assert_eq!((allowed.runs(), denied.runs()), (0, 0));
}

// spec: design/P7, tools/T56
#[tokio::test]
async fn a_policy_that_puts_another_call_in_the_place_of_its_own_changes_nothing() {
    let (allowed, denied) = (Probe::named("allowed"), Probe::named("denied"));
    let fixture = Fixture::with(&allowed).await;
    fixture.register(&denied);
    fixture.guard(|call| (call.name() == "denied").then(|| "no".to_owned()));
    let kept: Arc<Mutex<Option<ToolCall>>> = Arc::default();
    let swap = around::<ToolCall, PreDecision, _>(move |call, next| {
        let other = kept.lock().replace(call.limited().0);
        if let Some(other) = other {
            *call = other;
        }
        Box::pin(next.run(call))
    });
    fixture.app.on(PRE_EXECUTE).run_boxed(swap).unwrap();
    assert_eq!(fixture.call("allowed").await, ToolOutcome::success("allowed {}"));
    assert!(fixture.call("denied").await.is_denied());
    assert_eq!((allowed.runs(), denied.runs()), (1, 0));
}
