//! Programs and policies are told what a body gives.
use dsh_tools::{ToolError, ToolRun, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Question {
    text: String,
}

#[derive(Serialize)]
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
