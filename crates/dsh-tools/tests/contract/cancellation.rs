//! Cancelling a call whose body is polled.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use cordis::Next;
use dsh_tools::{
    EXECUTE, ErrorInfo, Failure, POST_EXECUTE, PRE_EXECUTE, PostDecision, PreDecision, Settled, ToolCall,
    ToolDefinition, ToolError, ToolOutcome,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Does, Fixture, Probe, around, cancelled_after, contexts, message, request, tool};

fn aborted(output: &str) -> ToolOutcome {
    ToolOutcome::failure(Failure::aborted().with_output(output))
}

// spec: tools/T60
#[tokio::test]
async fn a_call_that_is_cancelled_while_policies_think_does_not_run() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(&probe).await;
    let token = CancellationToken::new();
    fixture
        .app
        .on(PRE_EXECUTE)
        .with(token.clone())
        .run(async |token: &CancellationToken, call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>| {
            token.cancel();
            next.run(call).await
        })
        .unwrap();
    assert_eq!(fixture.call_until("probe", &token).await, ToolOutcome::aborted_before_dispatch());
    assert_eq!(probe.runs(), 0);
}

// spec: tools/T63, tools/T71, tools/T119
#[tokio::test(start_paused = true)]
async fn the_body_is_told_and_a_late_success_does_not_count() {
    let late = tool("late", async |run: dsh_tools::ToolRun| {
        run.defer_context(message("kept"));
        run.conclude_turn();
        run.cancellation().cancelled().await;
        Ok(json!("late"))
    });
    let fixture = Fixture::with(late.presentation_meta(|_, _| Ok(json!("meta")))).await;
    let outcome = fixture.call_until("late", &cancelled_after(Duration::from_millis(100))).await;
    assert_eq!(outcome.as_failure(), Some(&Failure::aborted()));
    assert_eq!((outcome.value(), outcome.meta(), outcome.concludes_turn()), (None, None, false));
    assert_eq!(contexts(&outcome), ["kept"]);
}

// spec: tools/T78
#[tokio::test(start_paused = true)]
async fn a_late_failure_stays_what_it_is() {
    let fails = async |run: dsh_tools::ToolRun| {
        run.cancellation().cancelled().await;
        Err(ToolError::new("stopped half way"))
    };
    let fixture = Fixture::with(tool("fails", fails)).await;
    let outcome = fixture.call_until("fails", &cancelled_after(Duration::from_millis(100))).await;
    assert_eq!(outcome, ToolOutcome::failed("stopped half way"));
}

// spec: tools/T117
#[tokio::test(start_paused = true)]
async fn a_late_value_that_is_not_what_the_tool_declares_is_told() {
    let number = ToolDefinition::raw("number", "Gives one.", json!({ "type": "object" }))
        .output(json!({ "type": "string" }))
        .run(async |_, run| {
            run.cancellation().cancelled().await;
            Ok(json!(7))
        });
    let fixture = Fixture::with(number).await;
    let outcome = fixture.call_until("number", &cancelled_after(Duration::from_millis(100))).await;
    assert_eq!(outcome.code(), Some("INVALID_TOOL_OUTPUT"));
}

// spec: tools/T63, tools/T110
#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_listen_is_let_go_after_the_grace_time() {
    let probe = Probe::new(Does::Hang);
    let fixture = Fixture::with(&probe).await;
    let start = tokio::time::Instant::now();
    let outcome = fixture.call_until("probe", &cancelled_after(Duration::from_millis(100))).await;
    assert_eq!(start.elapsed(), Duration::from_millis(1_100));
    let message = "tool call aborted; the tool did not stop within 1s and was let go";
    let failure = Failure::new(message).coded(ErrorInfo::ABORTED).with_output("hanging");
    assert_eq!(outcome, ToolOutcome::failure(failure));
}

// spec: tools/T62, tools/T63, tools/T112
#[tokio::test(start_paused = true)]
async fn a_wrapper_can_end_what_is_below_it_and_only_that() {
    let fixture = Fixture::with(&Probe::new(Does::Wait)).await;
    let limits = async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
        let (mut limited, limit) = call.limited();
        let timer = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            limit.cancel();
        });
        let outcome = next.run(&mut limited).await;
        timer.abort();
        outcome.into_failure(Failure::new("took too long"))
    };
    fixture.app.on(EXECUTE).run(limits).unwrap();
    fixture
        .app
        .on(POST_EXECUTE)
        .run(async |settled: &mut Settled, next: Next<'_, Settled, PostDecision>| {
            assert!(!settled.call().is_cancelled(), "the limit was of the body alone");
            next.run(settled).await
        })
        .unwrap();
    let token = CancellationToken::new();
    let outcome = fixture.call_until("probe", &token).await;
    assert_eq!(outcome, ToolOutcome::failure(Failure::new("took too long").with_output("waiting")));
    assert!(!token.is_cancelled());
}

// spec: tools/T63
#[tokio::test(start_paused = true)]
async fn a_call_that_a_limit_has_ended_can_be_run_again_from_further_out() {
    let fixture = Fixture::with(&Probe::new(Does::Wait)).await;
    let again = async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
        let _ = next.clone().run(call).await;
        assert!(!call.cancellation().is_cancelled());
        next.run(call).await
    };
    fixture.app.on(EXECUTE).run(again).unwrap();
    let runs = Arc::new(AtomicU32::new(0));
    let limits = async |runs: &Arc<AtomicU32>, call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
        let (mut limited, limit) = call.limited();
        let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
        let limited = tokio::time::timeout(Duration::from_millis(100), next.run(&mut limited));
        limited.await.unwrap_or_else(|_| {
            limit.cancel();
            ToolOutcome::failed(format!("run {run} took too long"))
        })
    };
    fixture.app.on(EXECUTE).with(runs).run(limits).unwrap();
    assert_eq!(fixture.call("probe").await, ToolOutcome::failed("run 2 took too long"));
}

// spec: tools/T63, tools/T112
#[tokio::test(start_paused = true)]
async fn the_callers_cancellation_reaches_the_body_through_a_limit() {
    let fixture = Fixture::with(&Probe::new(Does::Wait)).await;
    let limits = async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
        let (mut limited, _limit) = call.limited();
        next.run(&mut limited).await
    };
    fixture.app.on(EXECUTE).run(limits).unwrap();
    let outcome = fixture.call_until("probe", &cancelled_after(Duration::from_millis(100))).await;
    assert_eq!(outcome, aborted("waiting"));
}

fn cancelling(token: &CancellationToken, before: ToolOutcome, fixture: &Fixture) {
    let token = token.clone();
    fixture.turns(move |_| {
        token.cancel();
        before.clone()
    });
}

// spec: tools/T65, tools/T119
#[tokio::test]
async fn a_success_that_a_wrapper_gives_after_the_cancellation_is_none() {
    let fixture = Fixture::with(tool("t", async |_| Ok(json!(1)))).await;
    let token = CancellationToken::new();
    cancelling(&token, ToolOutcome::success(2).with_context(message("kept")), &fixture);
    let outcome = fixture.call_until("t", &token).await;
    assert_eq!((outcome.code(), contexts(&outcome)), (Some("ABORTED"), vec!["kept".to_owned()]));

    let fixture = Fixture::with(tool("t", async |_| Ok(json!(1)))).await;
    let token = CancellationToken::new();
    let cancels = token.clone();
    let instead = around::<ToolCall, ToolOutcome, _>(move |_, _| {
        cancels.cancel();
        Box::pin(async { ToolOutcome::success(2) })
    });
    fixture.app.on(EXECUTE).run_boxed(instead).unwrap();
    assert_eq!(fixture.call_until("t", &token).await, ToolOutcome::aborted_before_dispatch());
}

// spec: tools/T65, tools/T78
#[tokio::test]
async fn a_failure_that_a_wrapper_gives_after_the_cancellation_stays() {
    let fixture = Fixture::with(tool("t", async |_| Ok(json!(1)))).await;
    let token = CancellationToken::new();
    cancelling(&token, ToolOutcome::failed("the wrapper's"), &fixture);
    assert_eq!(fixture.call_until("t", &token).await, ToolOutcome::failed("the wrapper's"));
}

// spec: tools/T69, tools/T78, tools/T119
#[tokio::test]
async fn a_cancellation_during_the_review_ends_a_success_and_leaves_a_block() {
    for (decision, expected) in [
        (PostDecision::replace_text("fine"), ToolOutcome::failure(Failure::aborted())),
        (PostDecision::block("kept back"), {
            let content = vec![dsh_llm::ContentBlock::text("kept back")];
            ToolOutcome::failed("kept back").with_content(content)
        }),
    ] {
        let fixture = Fixture::with(tool("t", async |_| Ok(json!(1)))).await;
        let token = CancellationToken::new();
        let cancels = token.clone();
        let review = around::<Settled, PostDecision, _>(move |_, _| {
            cancels.cancel();
            let decision = decision.clone();
            Box::pin(async move { decision })
        });
        fixture.app.on(POST_EXECUTE).run_boxed(review).unwrap();
        assert_eq!(fixture.call_until("t", &token).await, expected);
    }
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_waits_for_any_more_stops() {
    let probe = Probe::new(Does::Hang);
    let held = Arc::downgrade(&probe.held);
    let fixture = Fixture::new().await;
    let effect = fixture.register(&probe);
    drop(probe);
    let call = fixture.execute(request("probe"));
    assert!(tokio::time::timeout(Duration::from_millis(100), call).await.is_err());
    assert!(effect.dispose().await.is_clean());
    assert!(held.upgrade().is_none(), "the body is dropped");
}
