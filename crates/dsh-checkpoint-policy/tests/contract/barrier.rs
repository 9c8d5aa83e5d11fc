//! What is flushed before a body, and what happens if it cannot be.

use std::sync::Arc;

use cordis::{BoxError, Next};
use dsh_checkpoint_policy::SESSION_FLUSH_FAILED;
use dsh_session::{FLUSH, Session};
use dsh_tools::{EXECUTE, PRE_EXECUTE, PreDecision, RESULT, Settled, ToolCall, ToolOutcome};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, Log, outer, request};

// spec: session/S109
#[tokio::test]
async fn the_session_of_a_call_is_flushed_before_the_body_runs() {
    let fixture = Fixture::new().await;
    fixture.note_flushes();
    assert_eq!(fixture.call().await, ToolOutcome::success("done"));
    assert_eq!(fixture.happened(), ["flush own", "body"]);
}

// spec: session/S109
#[tokio::test]
async fn a_call_that_a_body_makes_is_not_flushed_for_again() {
    let fixture = Fixture::new().await;
    fixture.note_flushes();
    let outer = outer(fixture.app.root(), fixture.tools.clone(), fixture.log.clone());
    fixture.tools.get().unwrap().register(&fixture.app, outer).unwrap();
    let outcome = fixture.execute(request("outer", Some(fixture.agent.key()))).await;
    assert_eq!(outcome, ToolOutcome::success("done"));
    assert_eq!(fixture.happened(), ["flush own", "outer body", "body"]);
}

#[tokio::test]
async fn a_nested_call_names_the_call_that_makes_it_and_no_other_does() {
    let fixture = Fixture::new().await;
    let outer = outer(fixture.app.root(), fixture.tools.clone(), fixture.log.clone());
    fixture.tools.get().unwrap().register(&fixture.app, outer).unwrap();
    let seen = fixture.log.clone();
    fixture
        .app
        .on(RESULT)
        .run(move |settled: &Settled| {
            let call = settled.call();
            seen.lock().push(format!("{} by {:?}", call.name(), call.parent_id()));
        })
        .unwrap();
    fixture.execute(request("outer", Some(fixture.agent.key()))).await;
    let expected = ["outer body", "body", "probe by Some(\"call-1\")", "outer by None"];
    assert_eq!(fixture.happened(), expected);
}

#[tokio::test]
async fn the_nearest_scope_with_a_session_is_the_one_that_is_flushed() {
    let fixture = Fixture::new().await;
    fixture.note_flushes();
    let below = fixture.app.scope_under(fixture.agent.key()).unwrap();
    fixture.call_of(Some(below.key())).await;
    assert_eq!(fixture.happened(), ["flush own", "body"]);
    fixture.create(below.context(), "nearer");
    fixture.call_of(Some(below.key())).await;
    assert_eq!(fixture.happened(), ["flush nearer", "body"]);
    below.close().await;
    fixture.call().await;
    assert_eq!(fixture.happened(), ["flush own", "body"]);
}

#[tokio::test]
async fn a_call_without_a_live_session_is_let_through() {
    let fixture = Fixture::new().await;
    fixture.note_flushes();
    fixture.create(&fixture.app, "unscoped");
    let stranger = fixture.app.scope().unwrap();
    fixture.call_of(Some(stranger.key())).await;
    fixture.call_of(None).await;
    assert_eq!(fixture.happened(), ["body", "body"]);
}

#[tokio::test]
async fn sessions_that_were_live_before_the_policy_are_flushed_too() {
    let fixture = Fixture::new().await;
    fixture.note_flushes();
    fixture.policy.restart().await.unwrap();
    fixture.call().await;
    assert_eq!(fixture.happened(), ["flush own", "body"]);
}

// spec: session/S110
#[tokio::test]
async fn a_failed_flush_means_that_no_body_runs() {
    let fixture = Fixture::new().await;
    let full = async |_: &Arc<Session>| -> Result<(), BoxError> { Err("the disk is full".into()) };
    fixture.app.on(FLUSH).global().run(full).unwrap();
    let outcome = fixture.call().await;
    assert_eq!(outcome.as_failure().unwrap().info(), Some(&SESSION_FLUSH_FAILED));
    assert_eq!(
        outcome.text(),
        "Error: the tool did not run, as the session could not be saved: \
         session `own` was not flushed: the disk is full"
    );
    assert!(!outcome.is_denied());
    assert_eq!(fixture.happened(), [""; 0]);
}

// spec: session/S110
#[tokio::test]
async fn a_cancellation_during_the_flush_aborts_the_call_before_dispatch() {
    let fixture = Fixture::new().await;
    let begun = Arc::new(Notify::new());
    let hang = async |begun: &Arc<Notify>, _: &Arc<Session>| -> Result<(), BoxError> {
        begun.notify_one();
        std::future::pending().await
    };
    fixture.app.on(FLUSH).global().with(begun.clone()).run(hang).unwrap();
    let token = CancellationToken::new();
    let call = request("probe", Some(fixture.agent.key())).cancellation(&token);
    let (outcome, ()) = tokio::join!(fixture.execute(call), async {
        begun.notified().await;
        token.cancel();
    });
    assert_eq!(outcome, ToolOutcome::aborted_before_dispatch());
    assert_eq!(outcome.code(), Some("ABORTED_BEFORE_DISPATCH"));
    assert_eq!(fixture.happened(), [""; 0]);
}

// spec: session/S110
#[tokio::test]
async fn a_cancellation_outweighs_a_flush_that_fails_with_it() {
    let fixture = Fixture::new().await;
    let token = CancellationToken::new();
    let call = request("probe", Some(fixture.agent.key())).cancellation(&token);
    let fails = async |token: &CancellationToken, _: &Arc<Session>| -> Result<(), BoxError> {
        token.cancel();
        tokio::task::yield_now().await;
        Err("the disk is full".into())
    };
    fixture.app.on(FLUSH).global().with(token).run(fails).unwrap();
    assert_eq!(fixture.execute(call).await, ToolOutcome::aborted_before_dispatch());
}

#[tokio::test]
async fn a_call_that_is_refused_costs_no_flush() {
    let fixture = Fixture::new().await;
    fixture.note_flushes();
    let tools = fixture.tools.get().unwrap();
    let guard = tools.guard(&fixture.app, |_: &ToolCall| Some("guarded".to_owned())).unwrap();
    assert!(fixture.call().await.is_denied());
    guard.dispose().await;
    let deny = async |_: &mut ToolCall, _: Next<'_, ToolCall, PreDecision>| PreDecision::Deny {
        reason: "no".to_owned(),
    };
    fixture.app.on(PRE_EXECUTE).run(deny).unwrap();
    assert!(fixture.call().await.is_denied());
    assert_eq!(fixture.happened(), [""; 0]);
}

#[tokio::test]
async fn a_wrapper_that_was_there_before_stands_below_the_barrier_and_its_second_run_flushes_nothing() {
    let fixture = Fixture::new().await;
    fixture.note_flushes();
    fixture.policy.dispose().await;
    let twice = async |log: &Log, call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
        log.lock().push("wrapper".to_owned());
        next.clone().run(call).await;
        next.run(call).await
    };
    fixture.app.on(EXECUTE).with(fixture.log.clone()).run(twice).unwrap();
    fixture.app.plugin(dsh_checkpoint_policy::plugin(), ()).unwrap().ready().await.unwrap();
    fixture.call().await;
    assert_eq!(fixture.happened(), ["flush own", "wrapper", "body", "body"]);
}

#[tokio::test]
async fn unloaded_it_flushes_nothing_and_holds_no_session() {
    let fixture = Fixture::new().await;
    fixture.note_flushes();
    fixture.call().await;
    fixture.happened();
    let held = Arc::strong_count(&fixture.session);
    let listeners = fixture.app.listeners(EXECUTE);
    let disposed = fixture.policy.dispose().await;
    assert!(disposed.still_running.is_empty(), "{disposed:?}");
    assert_eq!(Arc::strong_count(&fixture.session), held - 1);
    assert_eq!(fixture.app.listeners(EXECUTE), listeners - 1);
    fixture.call().await;
    assert_eq!(fixture.happened(), ["body"]);
}

#[tokio::test]
async fn a_session_that_ended_is_not_held() {
    let fixture = Fixture::new().await;
    let scope = fixture.app.scope().unwrap();
    let session = fixture.create(scope.context(), "short");
    scope.close().await;
    assert_eq!(Arc::strong_count(&session), 1);
}
