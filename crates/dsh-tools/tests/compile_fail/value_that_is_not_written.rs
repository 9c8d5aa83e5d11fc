//! The value of a body is written as JSON.
use dsh_tools::{ToolError, ToolRun, tool};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Question {
    text: String,
}

#[derive(JsonSchema)]
struct Answer {
    text: String,
}

async fn body(question: Question, _run: ToolRun) -> Result<Answer, ToolError> {
    Ok(Answer { text: question.text })
}

fn main() {
    let _ = tool("answer", "Answers.").run(body);
    //~ `Answer` cannot be the value of a tool
    //~ cannot be written as JSON, or has no schema
    //~ derive `serde::Serialize` and `schemars::JsonSchema` for `Answer`, and let its fields own what they hold
}
