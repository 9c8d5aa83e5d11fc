//! A nested call is checked like any other.

use std::sync::Arc;

use dsh_tools::{ToolDefinition, ToolError, ToolRun};
use serde_json::{Value, json};

use crate::fixture::{Fixture, call, caller};

/// A tool that calls the tool `write`, and gives what the model of that call would read.
fn composite(fixture: &Fixture) -> ToolDefinition {
    let (tools, app) = (fixture.tools.clone(), fixture.app.root());
    let body = move |_: Arc<Value>, run: ToolRun| {
        let (tools, app) = (tools.clone(), app.clone());
        async move {
            let outcome = tools.get()?.execute_nested(&app, &run, call("write")).await;
            Ok::<_, ToolError>(json!(outcome.text()))
        }
    };
    ToolDefinition::raw("composite", "Calls another tool.", json!({ "type": "object" })).run(body)
}

#[tokio::test]
async fn a_nested_call_is_one_of_the_caller_of_the_outer_call() {
    let roles = json!({ "roles": { "writer": ["composite", "write"], "planner": ["composite"] } });
    let fixture = Fixture::new(roles).await;
    fixture.offer(composite(&fixture));
    let written = fixture.execute(call("composite").with(caller("writer"))).await;
    assert_eq!((written.text().as_str(), fixture.runs()), ("done", 1));
    let refused = fixture.execute(call("composite").with(caller("planner"))).await;
    assert_eq!(
        refused.text(),
        "Error: role \"planner\" may not call tool \"write\": it may call composite; \
         if the task needs more, ask the user to have it allowed"
    );
    assert_eq!(fixture.runs(), 1);
}
