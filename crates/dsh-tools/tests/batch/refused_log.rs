//! A log that does not take what a batch writes.

use cordis::BoxError;
use dsh_session::APPENDING;
use dsh_tools::{BatchError, ModelCall, ToolOutcome};

use crate::world::{World, texts};

/// Refuses the event of this type for this call.
fn refuse(world: &World, kind: &'static str, call: &'static str) {
    let refuse = move |about: &dsh_session::Appending| -> Result<(), BoxError> {
        let is_it = about.event.kind() == kind && about.event.data().get().contains(&format!("\"{call}\""));
        if is_it { Err("the disk is full".into()) } else { Ok(()) }
    };
    world.app.on(APPENDING).run(refuse).unwrap();
}

fn refusal(error: &BatchError) -> String {
    match error {
        BatchError::Append { kind, call, source, .. } => format!("{kind} {call} {source}"),
        other => panic!("{other}"),
    }
}

// spec: tools/T92, agent-loop/S83
#[tokio::test(start_paused = true)]
async fn a_call_that_cannot_be_logged_is_not_made_and_what_runs_is_drained() {
    let world = World::new().await;
    world.timed("quick", true);
    world.watch();
    refuse(&world, "tool/call", "c2");
    let batch =
        world.batch(&[("c1", "quick", r#"{"ms": 50}"#), ("c2", "quick", "{}"), ("c3", "quick", "{}")]);
    let error = world.run(batch).await.unwrap_err();
    let session = world.session.id();
    assert_eq!(refusal(&error), format!("tool/call c2 session `{session}`: `tool/call` was refused"));
    assert_eq!(
        error.to_string(),
        format!("`tool/call` of call `c2` was not taken by the log of session `{session}`")
    );
    // The body of the first one had its time and was told; a result that nobody logged in order is not made up.
    assert_eq!(world.told.all(), ["c1 policy", "c1 judged", "c1 enter", "c1 leave", "c1 result"]);
    assert_eq!(world.log(), ["call c1"]);
}

// spec: tools/T92, agent-loop/S83
#[tokio::test(start_paused = true)]
async fn after_a_result_that_cannot_be_logged_nothing_is_started() {
    let world = World::new().await;
    world.timed("quick", true);
    world.watch();
    refuse(&world, "tool/result", "c1");
    let calls = [("c1", "quick", "{}"), ("c2", "quick", r#"{"ms": 50}"#), ("c3", "quick", "{}")];
    let error = world.run(world.batch(&calls)).await.unwrap_err();
    assert!(refusal(&error).starts_with("tool/result c1 "), "{error}");
    assert_eq!(world.log(), ["call c1", "call c2"]);
    world.told.place("c2 leave");
    world.told.place("c2 result");
    assert!(!world.told.all().iter().any(|it| it.starts_with("c3")));
}

#[tokio::test(start_paused = true)]
async fn a_call_without_an_id_is_refused_and_costs_no_other_call_anything() {
    let world = World::new().await;
    world.timed("quick", true);
    let mut batch = world.batch(&[]);
    batch.calls = ["c1", "", "c3"].map(|id| ModelCall::new(id, "quick", "{}")).into();
    let outcomes = world.run(batch).await.unwrap();
    let codes: Vec<Option<&str>> = outcomes.iter().map(ToolOutcome::code).collect();
    assert_eq!(codes, [None, Some("INVALID_ARGS"), None]);
    assert_eq!(world.log(), ["call c1", "result c1: quick", "call c3", "result c3: quick"]);
}

#[tokio::test]
async fn an_empty_batch_is_no_work() {
    let world = World::new().await;
    assert_eq!(texts(&world.run(world.batch(&[])).await.unwrap()), [""; 0]);
    assert!(world.log().is_empty());
}
