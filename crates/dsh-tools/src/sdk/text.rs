//! Text inside of declarations: descriptions and quoted names.
//!
//! The declarations are a template of a prompt, in which `{{` begins a variable, so none of them holds two braces in a row.

use serde_json::Value;

/// A description on one line; none if it says nothing.
pub(super) fn line(description: &str) -> Option<String> {
    let mut line = String::with_capacity(description.len());
    for word in description.split(is_blank).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if line.contains("{{") {
        line = apart(&line, "{ ");
    }
    (!line.is_empty()).then_some(line)
}

/// The description of a schema on one line.
pub(super) fn described(schema: &Value) -> Option<String> {
    line(schema.get("description")?.as_str()?)
}

/// A text as both languages quote it.
pub(super) fn quoted(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    if quoted.contains("{{") { apart(&quoted, "\\u007b") } else { quoted }
}

/// Writes each opening brace that another one follows in another way.
fn apart(text: &str, brace: &str) -> String {
    let mut apart = String::with_capacity(text.len() + 8);
    let mut rest = text.chars().peekable();
    while let Some(char) = rest.next() {
        match char {
            '{' if rest.peek() == Some(&'{') => apart.push_str(brace),
            other => apart.push(other),
        }
    }
    apart
}

/// What JavaScript takes for white space.
fn is_blank(char: char) -> bool {
    (char.is_whitespace() && char != '\u{85}') || char == '\u{feff}'
}
