//! What calls are given.

use std::time::{Duration, SystemTime};

use cordis::Next;
use dsh_enrichment_policy::{CallTime, Config, TraceId};
use dsh_tools::{CallRequest, EXECUTE, PRE_EXECUTE, PreDecision, ToolCall, ToolOutcome};

use crate::fixture::{Carried, Fixture, Log, call};

#[tokio::test(start_paused = true)]
async fn every_call_has_a_trace_id_of_its_own_and_the_time_of_its_beginning() {
    let fixture = Fixture::new(Config::default()).await;
    fixture
        .app
        .on(EXECUTE)
        .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            tokio::time::sleep(Duration::from_millis(25)).await;
            next.run(call).await
        })
        .unwrap();
    let (first, second) = (fixture.carried(call()).await, fixture.carried(call()).await);
    assert_eq!((first.age, second.age), (Some(Duration::from_millis(25)), Some(Duration::from_millis(25))));
    assert!(first.trace.is_some() && second.trace.is_some() && first.trace != second.trace);
    fixture.app.assert_no_errors();
}

#[tokio::test]
async fn the_time_of_day_is_the_one_at_which_the_call_began() {
    let fixture = Fixture::new(Config::default()).await;
    let seen: std::sync::Arc<parking_lot::Mutex<Option<SystemTime>>> = std::sync::Arc::default();
    let sink = seen.clone();
    fixture
        .tools
        .get()
        .unwrap()
        .guard(&fixture.app, move |call| {
            *sink.lock() = call.context().get::<CallTime>().map(|time| time.started_at());
            None
        })
        .unwrap();
    let before = SystemTime::now();
    fixture.execute(call()).await;
    let started = seen.lock().unwrap();
    assert!(before <= started && started <= SystemTime::now());
}

#[tokio::test]
async fn a_call_that_brings_a_trace_id_keeps_it() {
    let fixture = Fixture::new(Config::default()).await;
    let mine = TraceId::random();
    assert_eq!(fixture.carried(call().with(mine)).await.trace, Some(mine));
}

#[tokio::test]
async fn two_calls_of_clones_of_one_request_are_two_calls() {
    let fixture = Fixture::new(Config::default()).await;
    let request = call();
    let (first, second) = (fixture.carried(request.clone()).await, fixture.carried(request).await);
    assert!(first.trace.is_some() && second.trace.is_some() && first.trace != second.trace);
}

#[tokio::test]
async fn policies_that_were_there_before_and_guards_find_it() {
    let fixture = Fixture::bare().await;
    let seen = Log::default();
    fixture
        .app
        .on(PRE_EXECUTE)
        .with(seen.clone())
        .run(async |seen: &Log, call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>| {
            seen.lock().push(Carried::by(call.context(), call.arguments()));
            next.run(call).await
        })
        .unwrap();
    let sink = seen.clone();
    let guard = move |call: &ToolCall| {
        sink.lock().push(Carried::by(call.context(), call.arguments()));
        None
    };
    fixture.tools.get().unwrap().guard(&fixture.app, guard).unwrap();
    fixture.mount(Config::default()).await;
    let body = fixture.carried(call()).await;
    let traces: Vec<_> = seen.lock().iter().map(|carried| carried.trace).collect();
    assert!(body.trace.is_some());
    assert_eq!(traces, [body.trace, body.trace]);
}

#[tokio::test]
async fn a_denied_call_stays_denied() {
    let fixture = Fixture::new(Config::default()).await;
    fixture
        .app
        .on(PRE_EXECUTE)
        .run(async |_: &mut ToolCall, _: Next<'_, ToolCall, PreDecision>| PreDecision::Deny {
            reason: "no".into(),
        })
        .unwrap();
    assert!(fixture.execute(call()).await.is_denied());
}

#[tokio::test]
async fn when_the_policy_is_gone_calls_carry_nothing() {
    let fixture = Fixture::bare().await;
    let policy = fixture.mount(Config { agent_role: Some("reader".into()), ..Config::default() }).await;
    policy.dispose().await;
    let carried =
        fixture.carried(CallRequest::new("call_1", "probe", "{}").agent(&fixture.agent("ada"))).await;
    let nothing = Carried { trace: None, caller: None, age: None, arguments: serde_json::json!({}) };
    assert_eq!(carried, nothing);
}
