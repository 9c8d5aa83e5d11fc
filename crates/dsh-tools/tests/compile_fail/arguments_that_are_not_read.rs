//! The arguments of a body are read from JSON.
use dsh_tools::{ToolError, ToolRun, tool};
use schemars::JsonSchema;

#[derive(JsonSchema)]
struct Question {
    text: String,
}

async fn body(question: Question, _run: ToolRun) -> Result<String, ToolError> {
    Ok(question.text)
}

fn main() {
    let _ = tool("answer", "Answers.").run(body);
    //~ `Question` cannot be the arguments of a tool
    //~ cannot be read from JSON, has no schema, or cannot be sent to another thread
    //~ derive `serde::Deserialize` and `schemars::JsonSchema` for `Question`, and let its fields own what they hold
}
