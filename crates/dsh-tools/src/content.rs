//! What a model reads: content blocks made of values, and text made of content blocks.

use dsh_llm::ContentBlock;
use serde_json::Value;

/// What a model reads where there is nothing to read.
const NOTHING: &str = "(the tool ended without giving a result)";

/// A value of any shape for the model: text as it is, nothing as a sentence that says so, the rest as JSON.
pub(crate) fn of_value(value: &Value) -> Vec<ContentBlock> {
    let text = match value {
        Value::Null => NOTHING.to_owned(),
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_else(|error| error.to_string()),
    };
    vec![ContentBlock::text(text)]
}

/// The text blocks joined by line feeds; another block as `[<type> content]`.
pub(crate) fn text_of(content: &[ContentBlock]) -> String {
    let mut text = String::new();
    for (place, block) in content.iter().enumerate() {
        if place > 0 {
            text.push('\n');
        }
        match block {
            ContentBlock::Text { text: more } => text.push_str(more),
            other => {
                text.push('[');
                text.push_str(&kind_of(other));
                text.push_str(" content]");
            }
        }
    }
    text
}

/// The block's `type`.
fn kind_of(block: &ContentBlock) -> String {
    let written = serde_json::to_value(block).ok();
    let kind = written.as_ref().and_then(|block| block.get("type")).and_then(Value::as_str);
    kind.unwrap_or("unknown").to_owned()
}
