//! The right way to write what the other cases get wrong. It must compile.
//@ compiles
use dsh_tools::{ToolDefinition, ToolError, ToolRun, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Question {
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct Answer {
    text: String,
}

async fn answer(question: Question, _run: ToolRun) -> Result<Answer, ToolError> {
    Ok(Answer { text: question.text })
}

fn main() {
    let _ = tool("answer", "Answers.").run(answer);
    let _ = tool("answer", "Answers.").with(7).run(async |_seven, question: Question, run| answer(question, run).await);
    let _ = tool("answer", "Answers.").run_blocking(|question: Question, _run: ToolRun| Ok(Answer { text: question.text }));
    let raw = ToolDefinition::raw("raw", "Answers.", serde_json::json!({ "type": "object" }));
    let _ = raw.run(async |arguments, _run| Ok((*arguments).clone()));
}
