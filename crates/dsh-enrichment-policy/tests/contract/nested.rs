//! What a nested call carries.

use std::sync::Arc;
use std::time::Duration;

use dsh_enrichment_policy::{Config, TraceId};
use dsh_tools::{CallRequest, ToolDefinition, ToolError, ToolRun};
use serde_json::{Value, json};

use crate::fixture::{Carried, Fixture, call, caller};

/// A tool that keeps what it carries, works for 40 ms and then calls the probe by itself and with a trace id of its own.
fn outer(fixture: &Fixture, other: TraceId) -> ToolDefinition {
    let (tools, app, seen) = (fixture.tools.clone(), fixture.app.root(), fixture.seen.clone());
    let body = move |arguments: Arc<Value>, run: ToolRun| {
        seen.lock().push(Carried::by(run.context(), &arguments));
        let (tools, app) = (tools.clone(), app.clone());
        async move {
            tokio::time::sleep(Duration::from_millis(40)).await;
            tools.get()?.execute_nested(&app, &run, call()).await;
            tools.get()?.execute_nested(&app, &run, call().with(other)).await;
            Ok::<_, ToolError>(Value::Null)
        }
    };
    ToolDefinition::raw("outer", "Calls the probe.", json!({ "type": "object" })).run(body)
}

#[tokio::test(start_paused = true)]
async fn trace_and_caller_are_those_of_the_outer_call_and_the_time_is_its_own() {
    let fixture = Fixture::new(Config::default()).await;
    let other = TraceId::random();
    fixture.offer(outer(&fixture, other));
    fixture.execute(CallRequest::new("call_0", "outer", "{}").with(caller("Grace"))).await;
    let seen = fixture.seen.lock();
    let [outer, inner, with_own] = seen.as_slice() else { panic!("three calls: {seen:?}") };
    assert!(outer.trace.is_some());
    assert_eq!(inner.trace, outer.trace);
    assert_eq!(with_own.trace, Some(other));
    assert_eq!([&outer.caller, &inner.caller, &with_own.caller], [&Some(caller("Grace")); 3]);
    assert_eq!([outer.age, inner.age, with_own.age], [Some(Duration::ZERO); 3]);
}

#[tokio::test(start_paused = true)]
async fn the_outer_call_keeps_its_time_and_trace_when_a_nested_one_has_others() {
    let fixture = Fixture::new(Config::default()).await;
    fixture.offer(outer(&fixture, TraceId::random()));
    let seen = crate::fixture::Log::default();
    let sink = seen.clone();
    fixture
        .app
        .on(dsh_tools::RESULT)
        .run(move |settled| sink.lock().push(Carried::by(settled.call().context(), &Value::Null)))
        .unwrap();
    fixture.execute(CallRequest::new("call_0", "outer", "{}")).await;
    let first = fixture.seen.lock()[0].clone();
    let last = seen.lock().last().cloned().unwrap();
    assert_eq!((last.trace, last.age), (first.trace, Some(Duration::from_millis(40))));
}

#[tokio::test]
async fn the_calls_of_a_program_are_of_its_trace_and_its_caller() {
    let fixture = Fixture::new(Config::default()).await;
    let (tools, seen) = (fixture.tools.clone(), fixture.seen.clone());
    let program = move |arguments: Arc<Value>, run: ToolRun| {
        seen.lock().push(Carried::by(run.context(), &arguments));
        let tools = tools.clone();
        async move {
            let calls = async |lane: dsh_tools::Lane| lane.call("probe", json!({})).await;
            tools.get()?.with_lane(&run, calls).await.map_err(|error| ToolError::new(error.to_string()))
        }
    };
    fixture
        .offer(ToolDefinition::raw("program", "Calls the probe.", json!({ "type": "object" })).run(program));
    fixture.execute(CallRequest::new("call_0", "program", "{}").with(caller("Grace"))).await;
    let seen = fixture.seen.lock();
    let [outer, inner] = seen.as_slice() else { panic!("two calls: {seen:?}") };
    assert!(outer.trace.is_some());
    assert_eq!((inner.trace, &inner.caller), (outer.trace, &Some(caller("Grace"))));
}
