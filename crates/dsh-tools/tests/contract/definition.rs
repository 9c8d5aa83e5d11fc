//! Tools of two kinds, registered and called.

use dsh_tools::{CallRequest, ToolDefinition, ToolError, ToolRun, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::fixture::Fixture;

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// Whom to greet.
    name: String,
}

async fn greet(greeting: Greeting, _run: ToolRun) -> Result<String, ToolError> {
    Ok(format!("Good evening, {}.", greeting.name))
}

#[tokio::test(start_paused = true)]
async fn a_tool_of_a_rust_type_and_one_of_a_schema_are_called_in_the_same_way() {
    let fixture = Fixture::new().await;
    fixture.register(tool("greet", "Greets somebody.").run(greet));
    let echo = ToolDefinition::raw("echo", "Gives it back.", json!({ "type": "object" }))
        .run(async |arguments, _run| Ok((*arguments).clone()));
    fixture.register(echo);

    let greeted = fixture.call_with("greet", r#"{"name": "Ada"}"#).await;
    assert_eq!((greeted.text().as_str(), greeted.is_error()), ("Good evening, Ada.", false));
    let echoed = fixture.execute(CallRequest::new("c2", "echo", json!({ "a": [1] }))).await;
    assert_eq!(echoed.value(), Some(&json!({ "a": [1] })));
}
