//! Calls: what the watch lets pass, and every rule broken by a listener that dispatches a station itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cordis::{Context, Next};
use dsh_tools::{
    CallRequest, EXECUTE, POST_EXECUTE, PRE_EXECUTE, PostDecision, PreDecision, RESULT, Settled, ToolCall,
    ToolOutcome,
};
use dsh_tools_invariants::{Rule, Violation};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, of_call, pass};

const PREFIX: &str = "invariant violated by \"@deepseek-ai/dsh-tools\": ";

async fn allow(_: &(), _: &mut ToolCall) -> PreDecision {
    PreDecision::Allow
}

async fn done(_: &(), _: &mut ToolCall) -> ToolOutcome {
    ToolOutcome::success("done")
}

async fn accept(_: &(), _: &mut Settled) -> PostDecision {
    PostDecision::accept()
}

// spec: tools/T103
#[tokio::test]
async fn every_way_that_the_pipeline_goes_is_let_pass() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.call("c-1", "echo").await.text(), "{}");
    assert!(fixture.call("c-2", "fail").await.is_error());
    assert_eq!(fixture.call("c-3", "nobody").await.code(), Some("UNKNOWN_TOOL"));
    assert_eq!(fixture.execute(CallRequest::new("c-4", "echo", "{")).await.code(), Some("INVALID_ARGS"));
    let cancelled = CallRequest::new("c-5", "echo", "{}");
    let token = CancellationToken::new();
    token.cancel();
    assert_eq!(fixture.execute(cancelled.cancellation(&token)).await.code(), Some("ABORTED_BEFORE_DISPATCH"));

    let guard = fixture.tools.get().unwrap().guard(&fixture.app, |_| Some("no".to_owned())).unwrap();
    assert!(fixture.call("c-6", "echo").await.is_denied());
    guard.dispose().await;

    // A wrapper that breaks: the outcome is told and was never looked at.
    let broken = fixture
        .app
        .on(EXECUTE)
        .run(async |_: &mut ToolCall, _: Next<'_, ToolCall, ToolOutcome>| -> ToolOutcome { panic!("broken") })
        .unwrap();
    assert!(fixture.call("c-7", "echo").await.is_error());
    broken.dispose().await;

    // A wrapper that runs the body again is one station.
    fixture
        .app
        .on(EXECUTE)
        .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            next.clone().run(call).await;
            next.run(call).await
        })
        .unwrap();
    assert!(!fixture.call("c-8", "echo").await.is_error());
    assert_eq!(fixture.watched.take(), []);
    fixture.app.assert_no_errors();
}

// spec: tools/T102, tools/T103
#[tokio::test]
async fn policies_that_are_asked_twice_fail_the_second_dispatch() {
    let fixture = Fixture::new().await;
    fixture.app.on(EXECUTE).with(Context::clone(&fixture.app)).run(again_before).unwrap();
    let heard = Arc::new(AtomicUsize::new(0));
    fixture.app.on(PRE_EXECUTE).with(heard.clone()).run(count).unwrap();
    let outcome = fixture.call("c-1", "echo").await;
    let text = "tools/pre-execute repeated for one execution";
    let rule = Rule::PreExecuteRepeated;
    assert_eq!(rule.to_string(), text);
    let violation = fixture.watched.take().pop().unwrap();
    assert_eq!((violation.to_string(), &violation.rule), (format!("{PREFIX}{text}"), &rule));
    assert_eq!((violation.subject, Violation::CODE), (of_call("c-1", "echo"), "INVARIANT"));
    let told = outcome.text();
    assert!(told.starts_with("a listener of `tools/pre-execute` of plugin `tools-invariants#"), "{told}");
    assert!(told.ends_with(&format!(" panicked: {PREFIX}{text}")), "{told}");
    // The second dispatch ended before it reached anybody.
    assert_eq!(heard.load(Ordering::SeqCst), 1);
}

async fn again_before(ctx: &Context, call: &mut ToolCall, _: Next<'_, ToolCall, ToolOutcome>) -> ToolOutcome {
    let again = ctx.waterfall(PRE_EXECUTE, call, &(), allow).await;
    ToolOutcome::success(again.map_or_else(|panic| panic.to_string(), |_| "nobody noticed".to_owned()))
}

async fn count(
    heard: &Arc<AtomicUsize>,
    call: &mut ToolCall,
    next: Next<'_, ToolCall, PreDecision>,
) -> PreDecision {
    heard.fetch_add(1, Ordering::SeqCst);
    next.run(call).await
}

// spec: tools/T102, tools/T103
#[tokio::test]
async fn a_second_execution_of_a_call_fails() {
    let fixture = Fixture::new().await;
    fixture.app.on(EXECUTE).with(Context::clone(&fixture.app)).run(again_around).unwrap();
    let text = "tools/execute must follow tools/pre-execute";
    let outcome = fixture.call("c-1", "echo").await;
    assert!(outcome.text().ends_with(&format!("{PREFIX}{text}")), "{}", outcome.text());
    assert_eq!(fixture.broken(), [Rule::ExecuteOutOfPlace]);
}

async fn again_around(ctx: &Context, call: &mut ToolCall, _: Next<'_, ToolCall, ToolOutcome>) -> ToolOutcome {
    let again = ctx.waterfall(EXECUTE, call, &(), done).await;
    again.unwrap_or_else(|panic| ToolOutcome::success(panic.to_string()))
}

// spec: tools/T102, tools/T103
#[tokio::test]
async fn the_execution_of_a_call_that_no_policy_saw_fails() {
    let fixture = Fixture::new().await;
    // A call whose arguments cannot be read comes to no station but the last.
    let (told, mut calls) = tokio::sync::mpsc::unbounded_channel();
    let keep = move |settled: &Settled| drop(told.send(settled.call().limited().0));
    let keeper = fixture.app.on(RESULT).run(keep).unwrap();
    fixture.execute(CallRequest::new("c-1", "echo", "{")).await;
    keeper.dispose().await;
    let mut call = calls.recv().await.unwrap();
    let executed = fixture.app.waterfall(EXECUTE, &mut call, &(), done).await;
    assert!(executed.unwrap_err().to_string().contains("tools/execute must follow tools/pre-execute"));
    assert_eq!(fixture.broken(), [Rule::ExecuteOutOfPlace]);
}

// spec: tools/T102, tools/T103
#[tokio::test]
async fn an_outcome_that_is_looked_at_twice_fails_the_second_dispatch() {
    let fixture = Fixture::new().await;
    fixture.app.on(POST_EXECUTE).with(Context::clone(&fixture.app)).run(again_after).unwrap();
    let text = "tools/post-execute must follow tools/pre-execute or tools/execute";
    let outcome = fixture.call("c-1", "echo").await;
    assert!(outcome.text().ends_with(&format!("{PREFIX}{text}")), "{}", outcome.text());
    assert_eq!(fixture.broken(), [Rule::PostExecuteOutOfPlace]);
}

async fn again_after(
    ctx: &Context,
    settled: &mut Settled,
    _: Next<'_, Settled, PostDecision>,
) -> PostDecision {
    match ctx.waterfall(POST_EXECUTE, settled, &(), accept).await {
        Ok(decision) => decision,
        Err(panic) => PostDecision::replace_text(panic.to_string()),
    }
}

// spec: tools/T102, tools/T103
#[tokio::test]
async fn a_result_that_is_told_twice_is_reported() {
    let fixture = Fixture::new().await;
    let app = Context::clone(&fixture.app);
    let first = AtomicUsize::new(0);
    let again = move |settled: &Settled| {
        if first.fetch_add(1, Ordering::SeqCst) == 0 {
            app.emit(RESULT, settled);
        }
    };
    fixture.app.on(RESULT).run(again).unwrap();
    assert!(!fixture.call("c-1", "echo").await.is_error());
    assert_eq!(fixture.broken(), [Rule::ResultRepeated]);
    let reports = fixture.app.take_errors();
    let messages: Vec<&str> = reports.iter().map(|report| &*report.message).collect();
    assert_eq!(messages, [format!("{PREFIX}tools/result repeated for one execution")]);
}

// spec: tools/T102, tools/T103
#[tokio::test]
async fn a_result_without_a_name_or_an_id_is_reported() {
    let fixture = Fixture::new().await;
    fixture.call("", "echo").await;
    fixture.call("c-1", "").await;
    let subjects: Vec<_> = fixture.watched.take().into_iter().map(|it| (it.subject, it.rule)).collect();
    assert_eq!(subjects, [(of_call("", "echo"), Rule::Anonymous), (of_call("c-1", ""), Rule::Anonymous)]);
    let reports = fixture.app.take_errors();
    let text = "tools/result execution must carry non-empty name and callId";
    assert!(reports.iter().all(|report| report.message == format!("{PREFIX}{text}")), "{reports:?}");
    assert_eq!(reports.len(), 2);
}

// spec: tools/T102
#[tokio::test]
async fn a_listener_that_is_put_in_front_later_hides_no_station() {
    let fixture = Fixture::new().await;
    for _ in 0..3 {
        let denying = async |_: &mut ToolCall, _: Next<'_, ToolCall, PreDecision>| PreDecision::Deny {
            reason: "no".to_owned(),
        };
        let deny = fixture.app.on(PRE_EXECUTE).prepend().run(denying).unwrap();
        // Had the watch been behind, the outcome would be looked at out of place.
        assert_eq!(fixture.call("c-1", "echo").await.text(), "Error: no");
        deny.dispose().await;
        fixture.app.on(PRE_EXECUTE).prepend().run(pass).unwrap();
        assert!(!fixture.call("c-2", "echo").await.is_error());
    }
    assert_eq!(fixture.watched.take(), []);
    // One watch for each thread that calls, however often one was overtaken, and the three listeners of this test.
    assert_eq!(fixture.app.listeners(PRE_EXECUTE), 1 + 3);
}

// spec: tools/T102
#[tokio::test]
async fn a_listener_in_front_does_not_hear_a_dispatch_out_of_place() {
    let fixture = Fixture::new().await;
    let heard = Arc::new(AtomicUsize::new(0));
    fixture.app.on(PRE_EXECUTE).prepend().with(heard.clone()).run(count).unwrap();
    fixture.app.on(EXECUTE).prepend().with(Context::clone(&fixture.app)).run(again_before).unwrap();
    fixture.call("c-1", "echo").await;
    assert_eq!(fixture.broken(), [Rule::PreExecuteRepeated]);
    assert_eq!(heard.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_at_once_are_judged_each_by_itself() {
    let fixture = Arc::new(Fixture::new().await);
    let calls: Vec<_> = (0..4)
        .map(|task| {
            let fixture = fixture.clone();
            tokio::spawn(async move {
                for number in 0..200 {
                    // The watch is put in front again and again while others call.
                    let front = fixture.app.on(PRE_EXECUTE).prepend().run(pass).unwrap();
                    let outcome = fixture.call(&format!("c-{task}-{number}"), "echo").await;
                    assert!(!outcome.is_error(), "{}", outcome.text());
                    front.cancel();
                }
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(fixture.watched.take(), []);
}

#[tokio::test]
async fn unloaded_it_leaves_nothing() {
    let fixture = Fixture::new().await;
    let events = [
        fixture.app.listeners(PRE_EXECUTE),
        fixture.app.listeners(EXECUTE),
        fixture.app.listeners(POST_EXECUTE),
        fixture.app.listeners(RESULT),
    ];
    let second = fixture.app.plugin(dsh_tools_invariants::plugin(), ()).unwrap();
    second.ready().await.unwrap();
    // Two watches put themselves in front of each other.
    fixture.call("c-1", "echo").await;
    let disposed = second.dispose().await;
    assert!(disposed.still_running.is_empty(), "{disposed:?}");
    fixture.call("c-2", "echo").await;
    assert_eq!(fixture.watched.take(), []);
    // What was overtaken is gone.
    assert_eq!(events, [1; 4]);
    assert!(fixture.app.listeners(PRE_EXECUTE) <= 2);
}
