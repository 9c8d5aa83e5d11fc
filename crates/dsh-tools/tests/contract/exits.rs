//! Which stations a call passes on its way out, and that each call is told once.

use cordis::Next;
use dsh_tools::{
    CallRequest, Config, EXECUTE, Mode, POST_EXECUTE, PRE_EXECUTE, PostDecision, PreDecision, Settled,
    ToolCall, ToolOutcome,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Does, Fixture, Probe, request};

async fn watched(does: Does) -> (Fixture, Probe) {
    let fixture = Fixture::new().await;
    fixture.watch();
    let probe = Probe::logging(does, &fixture.log);
    fixture.register(&probe);
    (fixture, probe)
}

async fn burst<A: Send, R: Send>(_: &mut A, _next: Next<'_, A, R>) -> R {
    panic!("burst")
}

// spec: tools/T55, tools/T56, tools/T62, tools/T74, tools/T75, tools/T79
#[tokio::test]
async fn a_success_passes_all_of_them_in_order() {
    let (fixture, _) = watched(Does::Echo).await;
    let outcome = fixture.call_with("probe", r#"{"text":"x"}"#).await;
    assert_eq!(outcome, ToolOutcome::success(r#"probe {"text":"x"}"#));
    assert_eq!(fixture.log.take(), ["pre", "guard", "execute", "body", "post", "finalizer", "result"]);
}

// spec: tools/T52, tools/T79, cases/T2, cases/T3, cases/T4, cases/T5
#[tokio::test]
async fn arguments_that_cannot_be_read_reach_the_finalizer_and_nobody_else() {
    let (fixture, probe) = watched(Does::Echo).await;
    let deep = "[".repeat(100_000);
    for text in [r#"{"a":1,"a":2}"#, r#"{"a":18446744073709551616}"#, r#"{"a":1e400}"#, r#"{"a":"#, &deep] {
        let outcome = fixture.call_with("probe", text).await;
        assert_eq!(outcome.code(), Some("INVALID_ARGS"));
        assert!(outcome.text().starts_with("Error: invalid arguments: "), "{}", outcome.text());
        assert_eq!(fixture.log.take(), ["finalizer", "result"]);
    }
    assert_eq!(probe.runs(), 0);
}

// spec: tools/T52, cases/T3, cases/T4
#[tokio::test]
async fn a_value_of_a_program_is_read_as_strictly_as_text() {
    let (fixture, probe) = watched(Does::Echo).await;
    let mut deep = json!(0);
    for _ in 0..129 {
        deep = json!([deep]);
    }
    let lossy: Value = serde_json::from_str(r#"{"text":0.1000000000000000055}"#).unwrap();
    for value in [deep, lossy] {
        let outcome = fixture.execute(CallRequest::new("c1", "probe", value)).await;
        let told = "Error: tool execution arguments must be losslessly JSON-serializable";
        assert!(outcome.is_error() && outcome.text().starts_with(told), "{}", outcome.text());
        assert_eq!(fixture.log.take(), ["finalizer", "result"]);
    }
    assert_eq!(probe.runs(), 0);
}

// spec: cases/T1
#[tokio::test]
async fn no_arguments_are_an_empty_object_however_they_are_given() {
    let fixture = Fixture::with(&Probe::new(Does::Echo)).await;
    for text in ["", "  ", "null"] {
        assert_eq!(fixture.call_with("probe", text).await, ToolOutcome::success("probe {}"));
    }
    let absent = CallRequest::new("c1", "probe", Value::Null);
    assert_eq!(fixture.execute(absent).await, ToolOutcome::success("probe {}"));
}

// spec: tools/T55, tools/T71, tools/T79
#[tokio::test]
async fn a_call_that_is_cancelled_before_it_begins_reaches_the_finalizer_and_nobody_else() {
    let (fixture, probe) = watched(Does::Echo).await;
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let outcome = fixture.call_until("probe", &cancelled).await;
    assert_eq!(outcome, ToolOutcome::aborted_before_dispatch());
    assert_eq!(outcome.text(), "Error: tool call aborted before dispatch");
    assert_eq!(fixture.log.take(), ["finalizer", "result"]);
    assert_eq!(probe.runs(), 0);
    let lossy = CallRequest::new("c1", "probe", "{").cancellation(&cancelled);
    assert_eq!(fixture.execute(lossy).await.code(), Some("INVALID_ARGS"), "arguments are looked at first");
}

// spec: tools/T53, tools/T79, tools/T125
#[tokio::test]
async fn in_code_mode_a_direct_call_is_unknown_and_reaches_nobody() {
    let fixture = Fixture::configured(Config { mode: Mode::Code, ..Config::default() }).await;
    fixture.watch();
    let probe = Probe::logging(Does::Echo, &fixture.log);
    fixture.register(&probe);
    let outcome = fixture.call("probe").await;
    assert_eq!(outcome.code(), Some("UNKNOWN_TOOL"));
    assert!(outcome.text().contains("probe") && outcome.text().contains("run_code"), "{}", outcome.text());
    assert_eq!(fixture.log.take(), ["result"]);

    assert_eq!(fixture.call_with("probe", "{").await.code(), Some("INVALID_ARGS"));
    assert_eq!(fixture.log.take(), ["result"]);

    let cancelled = CancellationToken::new();
    cancelled.cancel();
    assert_eq!(fixture.call_until("probe", &cancelled).await, ToolOutcome::aborted_before_dispatch());
    assert_eq!(fixture.log.take(), ["finalizer", "result"]);
    let lossy = CallRequest::new("c1", "probe", "{").cancellation(&cancelled);
    assert_eq!(fixture.execute(lossy).await.code(), Some("INVALID_ARGS"));
    assert_eq!(fixture.log.take(), ["finalizer", "result"]);
    assert_eq!(probe.runs(), 0);
}

// spec: tools/T54, tools/T76, tools/T77, tools/T79
#[tokio::test]
async fn a_tool_that_nobody_offers_is_judged_and_fails_at_the_body() {
    let (fixture, _) = watched(Does::Echo).await;
    let outcome = fixture.call("nothere").await;
    let info = outcome.as_failure().unwrap().info().unwrap();
    assert_eq!((&*info.name, &*info.code), ("ToolNotFoundError", "UNKNOWN_TOOL"));
    assert_eq!(outcome.text(), "Error: unknown tool \"nothere\"");
    assert_eq!(fixture.log.take(), ["pre", "guard", "execute", "post", "result"]);
}

// spec: tools/T61, tools/T79, tools/T84
#[tokio::test]
async fn a_policy_or_a_guard_that_breaks_ends_the_call_without_a_review() {
    let (fixture, probe) = watched(Does::Echo).await;
    let guard = fixture.guard(|_| panic!("what was that"));
    let outcome = fixture.call("probe").await;
    assert!(outcome.text().contains("what was that"), "{}", outcome.text());
    assert!(outcome.is_error() && !outcome.is_denied() && outcome.code().is_none());
    assert_eq!(fixture.log.take(), ["pre", "guard", "finalizer", "result"]);
    guard.dispose().await;
    fixture.app.on(PRE_EXECUTE).run(burst::<ToolCall, PreDecision>).unwrap();
    let outcome = fixture.call("probe").await;
    assert!(outcome.text().contains("tools/pre-execute"), "{}", outcome.text());
    assert_eq!(fixture.log.take(), ["pre", "finalizer", "result"]);
    assert_eq!(probe.runs(), 0);
}

// spec: tools/T59, tools/T79
#[tokio::test]
async fn a_denial_is_reviewed_but_not_executed() {
    let (fixture, probe) = watched(Does::Echo).await;
    let policy = fixture.decides(PreDecision::Deny { reason: "not today".to_owned() });
    let denied = fixture.call("probe").await;
    assert_eq!(denied, ToolOutcome::denied("not today"));
    assert_eq!((denied.text().as_str(), denied.code()), ("Error: not today", None));
    assert_eq!(fixture.log.take(), ["pre", "post", "finalizer", "result"]);
    policy.dispose().await;
    fixture.guard(|_| Some("never".to_owned()));
    assert_eq!(fixture.call("probe").await, ToolOutcome::denied("never"));
    assert_eq!(fixture.log.take(), ["pre", "guard", "post", "finalizer", "result"]);
    assert_eq!(probe.runs(), 0);
}

// spec: tools/T60, tools/T71, tools/T79
#[tokio::test]
async fn a_call_that_is_cancelled_after_it_was_allowed_is_reviewed() {
    let (fixture, probe) = watched(Does::Echo).await;
    let token = CancellationToken::new();
    let of_guard = token.clone();
    fixture.guard(move |_| {
        of_guard.cancel();
        None
    });
    assert_eq!(fixture.call_until("probe", &token).await, ToolOutcome::aborted_before_dispatch());
    assert_eq!(fixture.log.take(), ["pre", "guard", "post", "finalizer", "result"]);
    assert_eq!(probe.runs(), 0);
}

// spec: tools/T59, tools/T61, tools/T78
#[tokio::test]
async fn a_denial_or_a_failure_that_comes_after_the_cancellation_stays_what_it_is() {
    let (fixture, _) = watched(Does::Echo).await;
    let token = CancellationToken::new();
    let of_guard = token.clone();
    let guard = fixture.guard(move |_| {
        of_guard.cancel();
        Some("no".to_owned())
    });
    assert_eq!(fixture.call_until("probe", &token).await, ToolOutcome::denied("no"));
    guard.dispose().await;
    let token = CancellationToken::new();
    let of_guard = token.clone();
    fixture.guard(move |_| {
        of_guard.cancel();
        panic!("while cancelled")
    });
    let outcome = fixture.call_until("probe", &token).await;
    assert!(outcome.text().contains("while cancelled"), "{}", outcome.text());
}

// spec: tools/T63, tools/T70, tools/T79
#[tokio::test]
async fn a_failing_body_is_reviewed_and_keeps_its_kind() {
    let (fixture, _) = watched(Does::Fail).await;
    let outcome = fixture.call("probe").await;
    assert_eq!((outcome.text().as_str(), outcome.code()), ("half\nError: no luck", Some("P")));
    assert_eq!(outcome.as_failure().unwrap().message(), "no luck");
    assert!(!outcome.is_denied());
    assert_eq!(fixture.log.take(), ["pre", "guard", "execute", "body", "post", "finalizer", "result"]);
}

// spec: tools/T65, tools/T79
#[tokio::test]
async fn a_wrapper_that_breaks_ends_the_call_without_a_review() {
    let (fixture, _) = watched(Does::Echo).await;
    fixture.app.on(EXECUTE).run(burst::<ToolCall, ToolOutcome>).unwrap();
    let outcome = fixture.call("probe").await;
    assert!(outcome.text().contains("tools/execute"), "{}", outcome.text());
    assert_eq!(fixture.log.take(), ["pre", "guard", "execute", "finalizer", "result"]);
}

// spec: tools/T69, tools/T79
#[tokio::test]
async fn a_review_that_breaks_fails_the_call() {
    let (fixture, _) = watched(Does::Echo).await;
    fixture.app.on(POST_EXECUTE).run(burst::<Settled, PostDecision>).unwrap();
    let outcome = fixture.call("probe").await;
    assert!(outcome.is_error() && outcome.text().contains("tools/post-execute"), "{}", outcome.text());
    assert_eq!(fixture.log.take(), ["pre", "guard", "execute", "body", "post", "finalizer", "result"]);
}

// spec: tools/T74, tools/T75
#[tokio::test]
async fn what_is_told_is_what_the_caller_gets_and_observers_cannot_break_it() {
    let (fixture, _) = watched(Does::Echo).await;
    fixture.app.on(dsh_tools::RESULT).prepend().run(|_| panic!("an observer burst")).unwrap();
    let told = fixture.told();
    let outcome = fixture.call("probe").await;
    assert_eq!(*told.lock(), [("c1".to_owned(), outcome.clone())]);
    assert!(!outcome.is_error());
    let reported = fixture.app.take_errors();
    assert!(
        reported.iter().any(|report| format!("{report:?}").contains("an observer burst")),
        "{reported:?}"
    );
}

// spec: tools/T6, tools/T124
#[tokio::test]
async fn every_station_is_of_the_calling_agent() {
    let fixture = Fixture::with(&Probe::new(Does::Echo)).await;
    let (agent, other) = (fixture.app.scope().unwrap(), fixture.app.scope().unwrap());
    let child = fixture.app.scope_under(&agent).unwrap();
    let ctx = agent.context();
    let log = fixture.log.clone();
    macro_rules! listen {
        ($key:expr, $args:ty, $out:ty, $note:literal) => {
            ctx.on($key)
                .with(log.clone())
                .run(async |log: &crate::fixture::Log, args: &mut $args, next: Next<'_, $args, $out>| {
                    log.note($note);
                    next.run(args).await
                })
                .unwrap();
        };
    }
    listen!(PRE_EXECUTE, ToolCall, PreDecision, "pre");
    listen!(EXECUTE, ToolCall, ToolOutcome, "execute");
    listen!(POST_EXECUTE, Settled, PostDecision, "post");
    let of_result = log.clone();
    ctx.on(dsh_tools::RESULT).run(move |_| of_result.note("result")).unwrap();
    for scope in [agent.key(), child.key()] {
        fixture.call_as(scope, "probe").await;
        assert_eq!(log.take(), ["pre", "execute", "post", "result"]);
    }
    fixture.call_as(other.key(), "probe").await;
    fixture.execute(request("probe")).await;
    assert_eq!(log.take(), Vec::<String>::new());
}
