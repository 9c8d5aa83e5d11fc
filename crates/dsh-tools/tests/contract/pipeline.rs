//! The way of a call.

use cordis::Next;
use dsh_tools::{
    EXECUTE, POST_EXECUTE, PRE_EXECUTE, PostDecision, PreDecision, RESULT, Settled, ToolCall, ToolOutcome,
};

use crate::fixture::{Does, Fixture, Log, Probe};

/// Writes down every event of a call.
fn watch(fixture: &Fixture, log: &Log) {
    let ctx = &fixture.app;
    ctx.on(PRE_EXECUTE)
        .with(log.clone())
        .run(async |log: &Log, call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>| {
            note(log, "pre");
            next.run(call).await
        })
        .unwrap();
    let seen = log.clone();
    fixture
        .tools
        .get()
        .unwrap()
        .guard(ctx, move |_| {
            seen.lock().push("guard".to_owned());
            None
        })
        .unwrap();
    ctx.on(EXECUTE)
        .with(log.clone())
        .run(async |log: &Log, call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            note(log, "execute");
            let outcome = next.run(call).await;
            note(log, "executed");
            outcome
        })
        .unwrap();
    ctx.on(POST_EXECUTE)
        .with(log.clone())
        .run(async |log: &Log, settled: &mut Settled, next: Next<'_, Settled, PostDecision>| {
            note(log, "post");
            next.run(settled).await
        })
        .unwrap();
    let seen = log.clone();
    ctx.on(RESULT).run(move |_| seen.lock().push("result".to_owned())).unwrap();
}

fn note(log: &Log, text: &str) {
    log.lock().push(text.to_owned());
}

fn taken(log: &Log) -> Vec<String> {
    std::mem::take(&mut *log.lock())
}

#[tokio::test]
async fn a_call_passes_policies_guards_wrappers_and_the_body_in_this_order() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(probe.clone()).await;
    watch(&fixture, &probe.log);
    assert_eq!(fixture.call("probe", r#"{"text":"x"}"#).await, ToolOutcome::success(r#"probe {"text":"x"}"#));
    assert_eq!(taken(&probe.log), ["pre", "guard", "execute", "guard", "body", "executed", "post", "result"]);
}

#[tokio::test]
async fn each_kind_of_call_is_told_exactly_once() {
    let probe = Probe::new(Does::Panic);
    let fixture = Fixture::with(probe.clone()).await;
    watch(&fixture, &probe.log);
    fixture.call("probe", "{}").await;
    assert_eq!(taken(&probe.log), ["pre", "guard", "execute", "guard", "body", "executed", "post", "result"]);
    fixture.call("unknown", "{}").await;
    assert_eq!(taken(&probe.log), ["pre", "guard", "execute", "guard", "executed", "post", "result"]);
    fixture.call("probe", "{").await;
    assert_eq!(taken(&probe.log), ["result"]);
    fixture.app.on(PRE_EXECUTE).prepend().run(deny).unwrap();
    fixture.call("probe", "{}").await;
    assert_eq!(taken(&probe.log), ["post", "result"]);
}

async fn deny(_: &mut ToolCall, _next: Next<'_, ToolCall, PreDecision>) -> PreDecision {
    PreDecision::Deny { reason: "not today".to_owned() }
}

#[tokio::test]
async fn a_tool_that_nobody_offers_is_an_error_result() {
    let outcome = Fixture::new().await.call("nothere", "{}").await;
    assert_eq!(
        (outcome.content.as_str(), outcome.code()),
        ("Error: unknown tool \"nothere\"", Some("UNKNOWN_TOOL"))
    );
}

// spec: cases/T2, cases/T3, cases/T4, cases/T5
#[tokio::test]
async fn arguments_that_cannot_be_read_in_one_way_never_reach_a_body() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(probe.clone()).await;
    let deep = "[".repeat(100_000);
    for arguments in
        [r#"{"a":1,"a":2}"#, r#"{"a":18446744073709551616}"#, r#"{"a":1e400}"#, r#"{"a":"#, &deep]
    {
        let outcome = fixture.call("probe", arguments).await;
        assert_eq!(outcome.code(), Some("INVALID_ARGS"));
        assert!(outcome.content.starts_with("Error: invalid arguments: "), "{}", outcome.content);
    }
    assert_eq!(probe.runs(), 0);
}

// spec: cases/T1, cases/T3
#[tokio::test]
async fn arguments_reach_the_body_exactly() {
    let fixture = Fixture::with(Probe::new(Does::Echo)).await;
    assert_eq!(fixture.call("probe", "").await.content, "probe {}");
    assert_eq!(fixture.call("probe", " null ").await.content, "probe {}");
    let exact = r#"{"a":2512292042121000001,"b":9007199254740993}"#;
    assert_eq!(fixture.call("probe", exact).await.content, format!("probe {exact}"));
}

#[tokio::test]
async fn arguments_are_checked_against_the_parameters() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(probe.clone()).await;
    for (arguments, expected) in [
        ("[1]", "\"arguments\" must be an object"),
        (r#"{"text":1}"#, "\"text\" must be a string"),
        (r#"{"mode":"c"}"#, "\"mode\" must be one of [\"a\",\"b\"]"),
        (r#"{"text":null,"count":1.5}"#, "\"text\" must be a string; \"count\" must be an integer"),
    ] {
        let outcome = fixture.call("probe", arguments).await;
        assert_eq!(outcome.content, format!("Error: invalid arguments: {expected}"));
        assert_eq!(outcome.code(), Some("INVALID_ARGS"));
    }
    assert_eq!(probe.runs(), 0);
    assert!(!fixture.call("probe", r#"{"count":2.0,"more":[]}"#).await.is_error());
}

#[tokio::test]
async fn a_failing_body_keeps_its_kind_and_what_it_had_to_say() {
    let outcome = Fixture::with(Probe::new(Does::Fail)).await.call("probe", "{}").await;
    assert_eq!((outcome.content.as_str(), outcome.code()), ("half\nError: no luck", Some("P")));
    assert!(!outcome.is_denied());
}

#[tokio::test]
async fn a_panicking_body_is_an_error_result() {
    let fixture = Fixture::with(Probe::new(Does::Panic)).await;
    for _ in 0..2 {
        let outcome = fixture.call("probe", "{}").await;
        assert_eq!(outcome.content, "Error: tool \"probe\" panicked: the probe burst");
    }
}

#[tokio::test]
async fn a_panicking_listener_fails_the_call_and_not_the_next_one() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(probe.clone()).await;
    let effect = fixture.app.on(PRE_EXECUTE).run(burst::<ToolCall, PreDecision>).unwrap();
    let outcome = fixture.call("probe", "{}").await;
    assert!(outcome.is_error() && outcome.content.contains("tools/pre-execute"), "{}", outcome.content);
    assert_eq!(probe.runs(), 0);
    effect.dispose().await;
    let effect = fixture.app.on(EXECUTE).run(burst::<ToolCall, ToolOutcome>).unwrap();
    assert!(fixture.call("probe", "{}").await.is_error());
    effect.dispose().await;
    let effect = fixture.app.on(POST_EXECUTE).run(burst::<Settled, PostDecision>).unwrap();
    assert!(fixture.call("probe", "{}").await.is_error());
    effect.dispose().await;
    fixture.app.on(RESULT).run(|_| panic!("burst")).unwrap();
    assert!(!fixture.call("probe", "{}").await.is_error());
}

async fn burst<A: Send, R: Send>(_: &mut A, _next: Next<'_, A, R>) -> R {
    panic!("burst")
}

#[tokio::test]
async fn a_wrapper_can_leave_the_body_out() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(probe.clone()).await;
    fixture
        .app
        .on(EXECUTE)
        .run(async |_: &mut ToolCall, _next: Next<'_, ToolCall, ToolOutcome>| ToolOutcome::success("cached"))
        .unwrap();
    assert_eq!(fixture.call("probe", "{}").await, ToolOutcome::success("cached"));
    assert_eq!(probe.runs(), 0);
}

// spec: cases/D8
#[tokio::test]
async fn a_wrapper_that_retries_runs_body_and_guards_again() {
    let probe = Probe::new(Does::Fail);
    let fixture = Fixture::with(probe.clone()).await;
    let seen = probe.log.clone();
    fixture
        .tools
        .get()
        .unwrap()
        .guard(&fixture.app, move |_| {
            seen.lock().push("guard".to_owned());
            None
        })
        .unwrap();
    fixture
        .app
        .on(EXECUTE)
        .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            let first = next.clone().run(call).await;
            assert!(first.is_error(), "a wrapper is given an outcome, whatever the body does");
            next.run(call).await
        })
        .unwrap();
    fixture.call("probe", "{}").await;
    assert_eq!(taken(&probe.log), ["guard", "guard", "body", "guard", "body"]);
}

#[tokio::test]
async fn after_the_body_policies_change_the_text_and_nothing_else() {
    let fixture = Fixture::with(Probe::new(Does::Fail)).await;
    let effect = fixture
        .app
        .on(POST_EXECUTE)
        .run(async |_: &mut Settled, _next: Next<'_, Settled, PostDecision>| PostDecision::Replace {
            content: "all is well".to_owned(),
        })
        .unwrap();
    let outcome = fixture.call("probe", "{}").await;
    assert_eq!((outcome.content.as_str(), outcome.code()), ("all is well", Some("P")));
    assert!(outcome.is_error());
    effect.dispose().await;
    fixture.tools.get().unwrap().register(&fixture.app, Probe::named("fine")).unwrap();
    fixture
        .app
        .on(POST_EXECUTE)
        .run(async |settled: &mut Settled, _next: Next<'_, Settled, PostDecision>| PostDecision::Block {
            feedback: format!("{} is kept back", settled.call().name()),
        })
        .unwrap();
    let outcome = fixture.call("fine", "{}").await;
    assert_eq!(outcome.content, "fine is kept back");
    assert!(outcome.is_error() && !outcome.is_denied());
}
