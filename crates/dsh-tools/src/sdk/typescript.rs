//! Declarations in TypeScript: two interfaces by the names of the tools, and the object that programs find.

use std::borrow::Cow;

use serde_json::Value;

use crate::schema::number;
use crate::sdk::text::{described, line, quoted};
use crate::sdk::{Declared, Type};

/// How programs are written.
pub(super) const INSTRUCTIONS: &str = "\
`run_code` takes two arguments, and both are required: `code`, the body of an async TypeScript function (only syntax that can be \
erased: types are removed and not checked, and enums, namespaces and parameter properties do not work), and `description`, a few words \
on what the program does. In a program:

- Call a tool as `await tools.name(args)`, or as `await tools[\"odd-name\"](args)` where the name is no identifier. It resolves to the \
tool's value, which is JSON of the declared type. Arguments must be JSON that loses nothing: no `undefined`, no `NaN`, no functions, \
no class instances.
- A call that fails rejects with a `ToolCallError`: `toolName` tells the tool and `message` the reason. Catch it to go on.
- Calls that you start together, with `Promise.all` for instance, overlap where the tools are safe to (most that only read are); those \
that change something run alone, in the order in which you made the calls. Await a call before you make one that depends on it.
- `console.log(...)` and `return` are the program's only output, and you see nothing else of it: print or return just what you need. An \
image in the result of a tool is attached after the run.";

const HEAD: &str =
    "type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue }\n";

const TAIL: &str = "\
type ToolName = keyof ToolOutputMap

declare class ToolCallError extends Error {
  readonly name: \"ToolCallError\";
  readonly toolName: ToolName;
}

declare const tools: {
  [K in ToolName]: (args: ToolArgsMap[K]) => Promise<ToolOutputMap[K]>;
}
";

/// The declarations of tools, in their order.
pub(super) fn declarations(tools: &[Declared<'_>]) -> String {
    let mut text = String::from(HEAD);
    text.push('\n');
    map(&mut text, "ToolArgsMap", tools, |tool| &tool.arguments, |tool| line(tool.description));
    map(&mut text, "ToolOutputMap", tools, |tool| &tool.output, |_| None);
    text.push_str(TAIL);
    text
}

fn map<'t>(
    text: &mut String,
    name: &str,
    tools: &'t [Declared<'t>],
    schema: impl Fn(&'t Declared<'t>) -> &'t Type<'t>,
    description: impl Fn(&'t Declared<'t>) -> Option<String>,
) {
    text.push_str("interface ");
    text.push_str(name);
    if tools.is_empty() {
        text.push_str(" {}\n\n");
        return;
    }
    text.push_str(" {\n");
    for tool in tools {
        if let Some(description) = description(tool) {
            indent(text, 1);
            comment(text, &description);
            text.push('\n');
        }
        indent(text, 1);
        text.push_str(&key(tool.name));
        text.push_str(": ");
        match schema(tool).schema() {
            Some(schema) => write_type(text, schema),
            None => text.push_str("unknown"),
        }
        text.push_str(";\n");
    }
    text.push_str("}\n\n");
}

/// What is still to be written; a stack, so the last comes first.
enum Task<'a> {
    Text(Cow<'a, str>),
    Indent(usize),
    Type(&'a Value, usize),
}

/// Writes the type of a supported schema, one level inside of an interface.
fn write_type(text: &mut String, schema: &Value) {
    let mut open = vec![Task::Type(schema, 1)];
    while let Some(task) = open.pop() {
        match task {
            Task::Text(more) => text.push_str(&more),
            Task::Indent(depth) => indent(text, depth),
            Task::Type(schema, depth) => {
                let mut tasks = type_of(schema, depth);
                tasks.reverse();
                open.append(&mut tasks);
            }
        }
    }
}

fn type_of(schema: &Value, depth: usize) -> Vec<Task<'_>> {
    let one = |text: &'static str| vec![Task::Text(text.into())];
    if let Some(branches) = schema.get("oneOf").and_then(Value::as_array) {
        let mut tasks = Vec::with_capacity(branches.len() * 2);
        for (place, branch) in branches.iter().enumerate() {
            if place > 0 {
                tasks.push(Task::Text(" | ".into()));
            }
            tasks.push(Task::Type(branch, depth));
        }
        return tasks;
    }
    if let Some(value) = schema.get("const") {
        return vec![Task::Text(literal(value).into())];
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<String> = values.iter().map(literal).collect();
        return vec![Task::Text(values.join(" | ").into())];
    }
    match schema.get("type").and_then(Value::as_str) {
        None => one("JsonValue"),
        Some("string") => one("string"),
        Some("number" | "integer") => one("number"),
        Some("boolean") => one("boolean"),
        Some("null") => one("null"),
        Some("array") => match schema.get("items") {
            None => one("JsonValue[]"),
            Some(items) if is_compound(items) => {
                vec![Task::Text("(".into()), Task::Type(items, depth), Task::Text(")[]".into())]
            }
            Some(items) => vec![Task::Type(items, depth), Task::Text("[]".into())],
        },
        Some("object") => object(schema, depth),
        Some(_) => one("unknown"),
    }
}

/// Whether a type is a union or an intersection, which binds weaker than `[]`.
fn is_compound(schema: &Value) -> bool {
    let several = |keyword| schema.get(keyword).and_then(Value::as_array).is_some_and(|all| all.len() > 1);
    several("oneOf")
        || (several("enum") && schema.get("const").is_none())
        || (is_open(schema) && has_properties(schema))
}

fn is_open(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
        && schema.get("additionalProperties") != Some(&Value::Bool(false))
}

fn has_properties(schema: &Value) -> bool {
    schema.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty())
}

fn object(schema: &Value, depth: usize) -> Vec<Task<'_>> {
    let properties = schema.get("properties").and_then(Value::as_object).filter(|all| !all.is_empty());
    let Some(properties) = properties else {
        let values = if is_open(schema) { "Record<string, JsonValue>" } else { "Record<string, never>" };
        return vec![Task::Text(values.into())];
    };
    let required = schema.get("required").and_then(Value::as_array);
    let required: std::collections::HashSet<&str> =
        required.into_iter().flatten().filter_map(Value::as_str).collect();
    let mut tasks = vec![Task::Text("{\n".into())];
    for (name, property) in properties {
        if let Some(description) = described(property) {
            let mut documented = String::new();
            comment(&mut documented, &description);
            documented.push('\n');
            tasks.extend([Task::Indent(depth + 1), Task::Text(documented.into())]);
        }
        let optional = if required.contains(name.as_str()) { "" } else { "?" };
        let head = format!("{}{optional}: ", key(name));
        tasks.extend([Task::Indent(depth + 1), Task::Text(head.into())]);
        tasks.extend([Task::Type(property, depth + 1), Task::Text(";\n".into())]);
    }
    let end = if is_open(schema) { "} & Record<string, JsonValue>" } else { "}" };
    tasks.extend([Task::Indent(depth), Task::Text(end.into())]);
    tasks
}

fn literal(value: &Value) -> String {
    match value {
        Value::Number(value) => number::text(value),
        Value::String(value) => quoted(value),
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Array(_) | Value::Object(_) => "unknown".to_owned(),
    }
}

/// A name as a key: as it is if it is an identifier.
fn key(name: &str) -> Cow<'_, str> {
    let mut bytes = name.bytes();
    let part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$';
    let plain = bytes.next().is_some_and(|first| part(first) && !first.is_ascii_digit()) && bytes.all(part);
    if plain { Cow::Borrowed(name) } else { Cow::Owned(quoted(name)) }
}

/// A description that cannot end its comment.
fn comment(text: &mut String, description: &str) {
    text.push_str("/** ");
    text.push_str(&description.replace("*/", "*\\/"));
    text.push_str(" */");
}

fn indent(text: &mut String, depth: usize) {
    for _ in 0..depth {
        text.push_str("  ");
    }
}
