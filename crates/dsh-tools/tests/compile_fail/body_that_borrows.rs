//! A body outlives the function that registers it.
use dsh_tools::{ToolDefinition, ToolError};
use serde_json::{Value, json};

fn offer(text: &str) -> ToolDefinition {
    ToolDefinition::raw("echo", "Gives it back.", json!({ "type": "object" })).run(move |_, _| {
        let text = text.to_owned();
        async move { Ok::<Value, ToolError>(json!(text)) }
    })
    //~ borrowed data escapes outside of function
}

fn main() {
    let _ = offer("text");
}
