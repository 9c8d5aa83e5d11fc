//! A body may go on on another thread.
use std::rc::Rc;

use dsh_tools::{ToolError, ToolRun, tool};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Question {
    text: String,
}

async fn body(question: Question, _run: ToolRun) -> Result<String, ToolError> {
    let text = Rc::new(question.text);
    std::future::ready(()).await;
    Ok(text.to_string())
}

fn main() {
    let _ = tool("answer", "Answers.").run(body);
    //~ future cannot be sent between threads safely
    //~ has type `Rc<String>` which is not `Send`
}
