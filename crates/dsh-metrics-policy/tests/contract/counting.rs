//! Every call is counted once, by how it ended.

use std::sync::Arc;
use std::time::Duration;

use cordis::Next;
use dsh_tools::{
    CallRequest, EXECUTE, POST_EXECUTE, PRE_EXECUTE, PostDecision, PreDecision, Settled, ToolCall,
    ToolDefinition, ToolError, ToolOutcome, ToolRun,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, expected};

#[tokio::test(start_paused = true)]
async fn successes_and_failures_are_counted_apart_with_what_they_took() {
    let fixture = Fixture::new().await;
    fixture.call(json!({ "ms": 30 })).await;
    fixture.call(json!({ "ms": 10 })).await;
    fixture.call(json!({ "ms": 5, "code": "E_FULL" })).await;
    fixture.call(json!({ "ms": 7, "code": "" })).await;
    assert_eq!(
        fixture.rows(),
        [
            expected("probe", "success", 2, Some((2, 40))),
            expected("probe", "failed", 1, Some((1, 7))),
            expected("probe", "E_FULL", 1, Some((1, 5))),
        ]
    );
    fixture.app.assert_no_errors();
}

#[tokio::test(start_paused = true)]
async fn denied_calls_are_counted_without_a_duration() {
    let fixture = Fixture::new().await;
    let policy = fixture
        .app
        .on(PRE_EXECUTE)
        .run(async |_: &mut ToolCall, _: Next<'_, ToolCall, PreDecision>| PreDecision::Deny {
            reason: "no".into(),
        })
        .unwrap();
    fixture.call(json!({})).await;
    policy.dispose().await;
    fixture.tools.get().unwrap().guard(&fixture.app, |_| Some("no".to_owned())).unwrap();
    fixture.call(json!({})).await;
    assert_eq!(fixture.rows(), [expected("probe", "denied", 2, None)]);
}

#[tokio::test(start_paused = true)]
async fn calls_that_end_before_any_policy_are_counted_without_a_duration() {
    let fixture = Fixture::new().await;
    fixture.execute(CallRequest::new("call_1", "probe", "{")).await;
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    fixture.execute(CallRequest::new("call_2", "probe", "{}").cancellation(&cancelled)).await;
    assert_eq!(
        fixture.rows(),
        [expected("probe", "ABORTED_BEFORE_DISPATCH", 1, None), expected("probe", "INVALID_ARGS", 1, None)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_while_it_runs_is_counted_with_what_it_took() {
    let fixture = Fixture::new().await;
    let token = CancellationToken::new();
    let later = token.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        later.cancel();
    });
    fixture.execute(CallRequest::new("call_1", "probe", json!({ "ms": 1_000 })).cancellation(&token)).await;
    assert_eq!(fixture.rows(), [expected("probe", "ABORTED", 1, Some((1, 20)))]);
}

#[tokio::test(start_paused = true)]
async fn what_counts_is_the_outcome_that_the_caller_gets() {
    let fixture = Fixture::new().await;
    fixture
        .app
        .on(POST_EXECUTE)
        .run(async |_: &mut Settled, _: Next<'_, Settled, PostDecision>| PostDecision::block("not for you"))
        .unwrap();
    fixture.call(json!({ "ms": 3 })).await;
    assert_eq!(fixture.rows(), [expected("probe", "failed", 1, Some((1, 3)))]);
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_body_runs_twice_is_one_call_with_one_duration() {
    let fixture = Fixture::new().await;
    fixture
        .app
        .on(EXECUTE)
        .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            let _ = next.clone().run(call).await;
            next.run(call).await
        })
        .unwrap();
    fixture.call(json!({ "ms": 4 })).await;
    assert_eq!(fixture.rows(), [expected("probe", "success", 1, Some((1, 8)))]);
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_was_there_before_is_timed_too() {
    let app = cordis::testing::TestApp::new();
    app.on(EXECUTE)
        .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            tokio::time::sleep(Duration::from_millis(100)).await;
            next.run(call).await
        })
        .unwrap();
    app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap().ready().await.unwrap();
    let _watched = dsh_tools_invariants::testing::watch(&app).await;
    let policy = app.plugin(dsh_metrics_policy::plugin(), dsh_metrics_policy::Config::default()).unwrap();
    policy.ready().await.unwrap();
    let tools = app.get(dsh_tools::TOOLS).unwrap();
    tools.get().unwrap().register(&app, crate::fixture::probe()).unwrap();
    tools.get().unwrap().execute(&app, CallRequest::new("call_1", "probe", json!({ "ms": 1 }))).await;
    let snapshot = app.get(dsh_metrics_policy::METRICS).unwrap().get().unwrap().snapshot();
    let took: Vec<_> = snapshot.series.iter().map(|row| row.durations.unwrap().total().as_millis()).collect();
    assert_eq!(took, [101]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_panic_of_a_listener_ends_is_counted_with_what_it_took() {
    let fixture = Fixture::new().await;
    fixture
        .app
        .on(EXECUTE)
        .run(async |_: &mut ToolCall, _: Next<'_, ToolCall, ToolOutcome>| {
            tokio::time::sleep(Duration::from_millis(6)).await;
            panic!("the listener burst")
        })
        .unwrap();
    fixture.call(json!({})).await;
    assert_eq!(fixture.rows(), [expected("probe", "failed", 1, Some((1, 6)))]);
}

#[tokio::test(start_paused = true)]
async fn outer_and_nested_calls_are_each_counted_with_their_own_duration() {
    let fixture = Fixture::new().await;
    let (tools, app) = (fixture.tools.clone(), fixture.app.root());
    let outer = move |_: Arc<Value>, run: ToolRun| {
        let (tools, app) = (tools.clone(), app.clone());
        async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let request = CallRequest::new("call_2", "probe", json!({ "ms": 5 }));
            tools.get()?.execute_nested(&app, &run, request).await;
            // One that never begins has no duration, although the outer one has.
            tools.get()?.execute_nested(&app, &run, CallRequest::new("call_3", "probe", "{")).await;
            Ok::<_, ToolError>(Value::Null)
        }
    };
    fixture.offer(ToolDefinition::raw("outer", "Calls the probe.", json!({ "type": "object" })).run(outer));
    fixture.execute(CallRequest::new("call_1", "outer", "{}")).await;
    assert_eq!(
        fixture.rows(),
        [
            expected("outer", "success", 1, Some((1, 15))),
            expected("probe", "success", 1, Some((1, 5))),
            expected("probe", "INVALID_ARGS", 1, None),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_nested_call_that_is_made_when_the_outer_one_has_ended_has_no_duration_of_it() {
    let fixture = Fixture::new().await;
    let kept: Arc<Mutex<Option<ToolRun>>> = Arc::default();
    let sink = kept.clone();
    let keeps = ToolDefinition::raw("keeps", "Keeps its run.", json!({ "type": "object" }));
    fixture.offer(keeps.run(move |_, run| {
        *sink.lock() = Some(run);
        async {
            tokio::time::sleep(Duration::from_millis(9)).await;
            Ok(Value::Null)
        }
    }));
    fixture.execute(CallRequest::new("call_1", "keeps", "{}")).await;
    let run = kept.lock().take().unwrap();
    let tools = fixture.tools.get().unwrap();
    tools.execute_nested(&fixture.app, &run, CallRequest::new("call_2", "probe", "{")).await;
    assert_eq!(
        fixture.rows(),
        [expected("keeps", "success", 1, Some((1, 9))), expected("probe", "INVALID_ARGS", 1, None)]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_on_many_threads_are_counted_one_by_one() {
    let fixture = Arc::new(Fixture::with_rows(4).await);
    let calls = (0..8).map(|task| {
        let fixture = fixture.clone();
        tokio::spawn(async move {
            for call in 0..50 {
                let code =
                    if (task + call) % 2 == 0 { json!(null) } else { json!(format!("E{}", call % 10)) };
                fixture.call(json!({ "code": code })).await;
            }
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    let snapshot = fixture.snapshot();
    assert_eq!(snapshot.calls(), 400);
    assert_eq!(snapshot.series.iter().map(|row| row.durations.unwrap().count()).sum::<u64>(), 400);
    assert!(snapshot.series.len() <= 5, "{snapshot}");
}
