//! What a model reads of a program's result.

use serde_json::{Map, Value};

use crate::schema::number;

/// What it reads where there is nothing to read.
const NOTHING: &str = "(run_code completed with no output)";

/// The containers whose depth is this or more are written without blanks.
const COMPACT_FROM: usize = 5;

/// The value of `run_code` for the model: what was printed, then what was returned.
pub(crate) fn rendered(value: &Value) -> String {
    let logs = value.get("logs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let printed: Vec<&str> = logs.iter().filter_map(Value::as_str).collect();
    let mut text = printed.join("\n");
    let returned = match value.get("result") {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => pretty(other),
    };
    if !text.is_empty() && !returned.is_empty() {
        text.push('\n');
    }
    text.push_str(&returned);
    if text.is_empty() { NOTHING.to_owned() } else { text }
}

/// The members of a container that are still to be written.
enum Left<'a> {
    Items(std::slice::Iter<'a, Value>),
    Members(serde_json::map::Iter<'a>),
}

struct Open<'a> {
    left: Left<'a>,
    first: bool,
}

/// JSON with two blanks for each level, without recursion: values may be of any depth.
fn pretty(value: &Value) -> String {
    let mut text = String::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    write(&mut text, &mut open, value);
    while let Some(depth) = open.len().checked_sub(1) {
        let Some(container) = open.last_mut() else { break };
        let compact = depth >= COMPACT_FROM;
        let next = match &mut container.left {
            Left::Items(items) => items.next().map(|value| (None, value)),
            Left::Members(members) => members.next().map(|(key, value)| (Some(key), value)),
        };
        let close = match &container.left {
            Left::Items(_) => ']',
            Left::Members(_) => '}',
        };
        let first = std::mem::replace(&mut container.first, false);
        let Some((key, value)) = next else {
            open.pop();
            if !compact {
                line(&mut text, depth);
            }
            text.push(close);
            continue;
        };
        if !first {
            text.push(',');
        }
        if !compact {
            line(&mut text, depth + 1);
        }
        if let Some(key) = key {
            text.push_str(&quoted(key));
            text.push_str(if compact { ":" } else { ": " });
        }
        write(&mut text, &mut open, value);
    }
    text
}

/// Writes a scalar or an empty container, or opens a container.
fn write<'a>(text: &mut String, open: &mut Vec<Open<'a>>, value: &'a Value) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(value) => text.push_str(&number::text(value)),
        Value::String(value) => text.push_str(&quoted(value)),
        Value::Array(items) if items.is_empty() => text.push_str("[]"),
        Value::Object(members) if members.is_empty() => text.push_str("{}"),
        Value::Array(items) => {
            text.push('[');
            open.push(Open { left: Left::Items(items.iter()), first: true });
        }
        Value::Object(members) => {
            text.push('{');
            open.push(Open { left: Left::Members(Map::iter(members)), first: true });
        }
    }
}

fn line(text: &mut String, depth: usize) {
    text.push('\n');
    for _ in 0..depth {
        text.push_str("  ");
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
