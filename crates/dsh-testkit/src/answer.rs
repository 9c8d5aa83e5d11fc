//! The bytes of an answer.

use serde_json::{Value, json};

use crate::script::{Done, LineEnd, Step};

/// How many characters of arguments are in one piece.
const ARGUMENT_CHARS: usize = 24;

/// The body of a step; `number` tells its made up ids from those of other steps.
pub(crate) fn body(step: &Step, model: &Value, number: usize) -> Vec<u8> {
    if let Some(raw) = &step.raw {
        return raw.clone().into_bytes();
    }
    if step.status.is_some_and(|status| status != 200) {
        return step.body.as_ref().map(Value::to_string).unwrap_or_default().into_bytes();
    }
    let mut text = if step.bom { "\u{feff}".to_owned() } else { String::new() };
    for delta in deltas(step, number) {
        push(&mut text, step, &event(model, &delta, None, None));
    }
    push(&mut text, step, &last(step, model));
    let space = if step.no_space { "" } else { " " };
    let end = end(step);
    text.push_str(&match step.done {
        Done::Full => format!("data:{space}[DONE]{end}{end}"),
        Done::NoBlankLine => format!("data:{space}[DONE]{end}"),
        Done::NoLineEnd => format!("data:{space}[DONE]"),
        Done::Missing => String::new(),
    });
    text.into_bytes()
}

fn deltas(step: &Step, number: usize) -> Vec<Value> {
    let mut deltas = Vec::new();
    for (text, key) in [(&step.reasoning, "reasoning_content"), (&step.text, "content")] {
        let pieces = pieces(text, step.chunk.unwrap_or(usize::MAX));
        deltas.extend(pieces.into_iter().map(|piece| json!({ "role": "assistant", key: piece })));
    }
    for (index, call) in step.calls.iter().enumerate() {
        let id = call.id.clone().unwrap_or_else(|| format!("call_{number}_{index}"));
        let head = json!({ "index": index, "id": id, "type": "function", "function": { "name": call.name, "arguments": "" } });
        deltas.push(json!({ "tool_calls": [head] }));
        let arguments = match &call.arguments {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        let tail = |piece| json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] });
        deltas.extend(pieces(&arguments, ARGUMENT_CHARS).into_iter().map(tail));
    }
    deltas
}

fn last(step: &Step, model: &Value) -> Value {
    let natural = if step.calls.is_empty() { "stop" } else { "tool_calls" };
    let finish = step.finish.as_deref().unwrap_or(natural);
    let usage = || json!({ "prompt_tokens": 50, "completion_tokens": 12, "total_tokens": 62 });
    let usage = step.usage.clone().unwrap_or_else(usage);
    event(model, &json!({}), Some(finish).filter(|finish| !finish.is_empty()), Some(usage))
}

fn event(model: &Value, delta: &Value, finish: Option<&str>, usage: Option<Value>) -> Value {
    let mut event = json!({
        "id": "mock", "object": "chat.completion.chunk", "created": 1, "model": model,
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
    });
    if let Some(usage) = usage.filter(|usage| !usage.is_null()) {
        event["usage"] = usage;
    }
    event
}

fn push(text: &mut String, step: &Step, event: &Value) {
    let (end, space) = (end(step), if step.no_space { "" } else { " " });
    let data = if step.split_data { format!("{event:#}") } else { event.to_string() };
    if step.comments {
        text.push_str(&format!(": an event comes{end}"));
    }
    for line in data.lines() {
        text.push_str(&format!("data:{space}{line}{end}"));
        if step.comments {
            text.push_str(&format!(":{end}"));
        }
    }
    text.push_str(end);
}

fn end(step: &Step) -> &'static str {
    match step.line_end {
        LineEnd::Lf => "\n",
        LineEnd::Crlf => "\r\n",
        LineEnd::Cr => "\r",
    }
}

/// A text in pieces of so many characters; nothing for an empty one.
fn pieces(text: &str, chars: usize) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(chars.min(all.len()).max(1)).map(|piece| piece.iter().collect()).collect()
}
