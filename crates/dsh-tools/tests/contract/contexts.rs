//! Messages that join the conversation after a result, and the end of the turn.

use std::sync::Arc;

use cordis::Next;
use dsh_tools::{EXECUTE, PostDecision, ToolCall, ToolError, ToolOutcome};
use parking_lot::Mutex;
use serde_json::json;

use crate::fixture::{Fixture, around, contexts, message, tool};

// spec: tools/T65, tools/T68, tools/T85
#[tokio::test]
async fn those_of_the_body_come_first_then_those_of_the_wrapper_then_those_of_the_policy() {
    let defers = async |run: dsh_tools::ToolRun| {
        run.defer_context(message("body 1"));
        run.defer_context(message("body 2"));
        Ok(json!("x"))
    };
    let fixture = Fixture::with(tool("t", defers)).await;
    let wrapper =
        ToolOutcome::success("y").with_context(message("wrapper 1")).with_context(message("wrapper 2"));
    fixture.turns(move |_| wrapper.clone());
    fixture.reviews(PostDecision::accept().with_context(message("post")));
    let outcome = fixture.call("t").await;
    assert_eq!(outcome.value(), Some(&json!("y")));
    assert_eq!(contexts(&outcome), ["body 1", "body 2", "wrapper 1", "wrapper 2", "post"]);
}

// spec: tools/T65, tools/T67, tools/T85
#[tokio::test]
async fn a_failing_body_keeps_its_messages_and_does_not_end_the_turn() {
    let fails = async |run: dsh_tools::ToolRun| {
        run.defer_context(message("kept"));
        run.conclude_turn();
        Err(ToolError::new("it fails"))
    };
    let fixture = Fixture::with(tool("t", fails)).await;
    fixture.reviews(PostDecision::accept().with_context(message("post")));
    let outcome = fixture.call("t").await;
    assert_eq!((outcome.text().as_str(), outcome.concludes_turn()), ("Error: it fails", false));
    assert_eq!(contexts(&outcome), ["kept", "post"]);
}

// spec: tools/T59, tools/T68
#[tokio::test]
async fn a_policy_can_add_one_to_a_denial() {
    let fixture = Fixture::with(tool("t", async |_| Ok(json!(1)))).await;
    fixture.guard(|_| Some("no".to_owned()));
    fixture.reviews(PostDecision::accept().with_context(message("post")));
    let outcome = fixture.call("t").await;
    assert!(outcome.is_denied());
    assert_eq!(contexts(&outcome), ["post"]);
}

// spec: tools/T65
#[tokio::test]
async fn those_of_a_call_whose_wrapper_breaks_are_lost() {
    let defers = async |run: dsh_tools::ToolRun| {
        run.defer_context(message("lost"));
        Ok(json!("x"))
    };
    let fixture = Fixture::with(tool("t", defers)).await;
    let breaks = async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| -> ToolOutcome {
        let _ = next.run(call).await;
        panic!("after the body")
    };
    fixture.app.on(EXECUTE).run(breaks).unwrap();
    let outcome = fixture.call("t").await;
    assert!(outcome.is_error());
    assert_eq!(contexts(&outcome), Vec::<String>::new());
}

// spec: tools/T85
#[tokio::test]
async fn those_of_both_runs_of_a_body_are_on_the_result() {
    let defers = async |run: dsh_tools::ToolRun| {
        run.defer_context(message("again"));
        Ok(json!("x"))
    };
    let fixture = Fixture::with(tool("t", defers)).await;
    let twice = async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
        let _ = next.clone().run(call).await;
        next.run(call).await
    };
    fixture.app.on(EXECUTE).run(twice).unwrap();
    assert_eq!(contexts(&fixture.call("t").await), ["again", "again"]);
}

// spec: tools/T65, tools/T67
#[tokio::test]
async fn those_of_a_run_that_goes_on_elsewhere_are_dropped_once_the_body_started_over() {
    let (fixture, runs) = (Fixture::new().await, Arc::new(Mutex::new(Vec::new())));
    let keeps = Arc::clone(&runs);
    fixture.register(tool("t", move |run| {
        run.defer_context(message("while it ran"));
        keeps.lock().push(run);
        async { Ok(json!("x")) }
    }));
    let again = around::<ToolCall, ToolOutcome, _>(move |call, next| {
        let runs = Arc::clone(&runs);
        Box::pin(async move {
            let _ = next.clone().run(call).await;
            call.start_over();
            let first = runs.lock().remove(0);
            first.defer_context(message("too late"));
            first.conclude_turn();
            let outcome = next.run(call).await;
            first.defer_context(message("later still"));
            let second = runs.lock().remove(0);
            second.defer_context(message("after it"));
            outcome
        })
    });
    fixture.app.on(EXECUTE).run_boxed(again).unwrap();
    let outcome = fixture.call("t").await;
    assert_eq!(contexts(&outcome), ["while it ran", "after it"]);
    assert!(!outcome.concludes_turn(), "nor does the turn end because the dropped run wished it");
}
