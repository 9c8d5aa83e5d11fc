//! The arguments of a body are its own.
use dsh_tools::{ToolError, ToolRun, tool};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Question<'a> {
    text: &'a str,
}

async fn body(question: Question<'static>, _run: ToolRun) -> Result<String, ToolError> {
    Ok(question.text.to_owned())
}

fn main() {
    let _ = tool("answer", "Answers.").run(body);
    //~ implementation of `_serde::Deserialize` is not general enough
}
