//! A body may be run on another thread than the one that read its arguments.
use std::rc::Rc;

use dsh_tools::{ToolError, ToolRun, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

#[derive(Deserialize, JsonSchema)]
struct Question {
    #[serde(deserialize_with = "shared")]
    #[schemars(with = "String")]
    text: Rc<str>,
}

fn shared<'de, D: Deserializer<'de>>(from: D) -> Result<Rc<str>, D::Error> {
    String::deserialize(from).map(Rc::from)
}

fn main() {
    let _ = tool("answer", "Answers.")
        .run_blocking(|question: Question, _run: ToolRun| Ok::<_, ToolError>(question.text.to_string()));
    //~ `Question` cannot be the arguments of a tool
    //~ cannot be read from JSON, has no schema, or cannot be sent to another thread
    //~ derive `serde::Deserialize` and `schemars::JsonSchema` for `Question`, and let its fields own what they hold
}
