//! The reduction of a generated schema to the subset: rewrites each node from the root down.
//!
//! A rewrite either keeps the meaning, widens it (a keyword of which the subset knows nothing goes, and the reader of the
//! Rust type is the stricter one, which `limits` has made sure of), or is reported. It never narrows.

use serde_json::{Map, Value};

use super::check::{ANNOTATIONS, CONSTRAINTS, Type};
use super::deep::copy;
use super::path::{Step, push};

mod disjoint;
mod unions;

/// A schema, not yet in the subset.
type Keywords = Map<String, Value>;

/// Rewrites a schema in place; gives what cannot be expressed, with the place and a remedy.
pub(super) fn reduce(schema: &mut Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(schema, "schema".to_owned())];
    while let Some((schema, path)) = open.pop() {
        match node(schema) {
            Ok(()) => children(schema, &path, &mut open),
            Err(problem) => found.push(format!("{path}{problem}")),
        }
    }
    found
}

/// Puts what is nested onto the stack, so that the first comes first.
fn children<'a>(schema: &'a mut Value, path: &str, open: &mut Vec<(&'a mut Value, String)>) {
    let Value::Object(keywords) = schema else { return };
    let first = open.len();
    for (keyword, value) in keywords {
        let mut below = |steps: &[Step<'_>], schema| {
            let mut place = path.to_owned();
            for step in steps {
                push(&mut place, *step);
            }
            open.push((schema, place));
        };
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, schema) in properties {
                    below(&[Step::Key("properties"), Step::Key(name)], schema);
                }
            }
            ("oneOf", Value::Array(branches)) => {
                for (index, schema) in branches.iter_mut().enumerate() {
                    below(&[Step::Key("oneOf"), Step::Index(index)], schema);
                }
            }
            ("items", schema) => below(&[Step::Key("items")], schema),
            _ => {}
        }
    }
    if let Some(added) = open.get_mut(first..) {
        added.reverse();
    }
}

/// Rewrites one schema object; what is nested follows later.
fn node(schema: &mut Value) -> Result<(), String> {
    match schema {
        Value::Bool(true) => *schema = Value::Object(Keywords::new()),
        Value::Bool(false) => return Err(" accepts nothing: leave the field out of the type".to_owned()),
        _ => {}
    }
    let Value::Object(keywords) = schema else { return Err(" must be a schema object".to_owned()) };
    if keywords.contains_key("$ref") {
        return Err(" is recursive: break the recursion with a field of type `serde_json::Value`".to_owned());
    }
    unions::all_of(keywords)?;
    unions::any_of(keywords)?;
    infer_type(keywords);
    unions::types(keywords)?;
    unions::one_of(keywords)?;
    // A schema that was lifted into its place may bring alternatives of its own.
    if ["$ref", "anyOf", "allOf"].iter().any(|keyword| keywords.contains_key(*keyword))
        || keywords.get("type").is_some_and(Value::is_array)
    {
        return node(schema);
    }
    if keywords.contains_key("oneOf") {
        keywords.retain(|keyword, _| keyword == "oneOf" || ANNOTATIONS.contains(&keyword.as_str()));
        return Ok(());
    }
    let kind = keywords.get("type").and_then(Value::as_str).and_then(Type::named);
    match kind {
        Some(Type::Object) => object(keywords),
        Some(Type::Array) => array(keywords),
        _ => {}
    }
    keywords.retain(|keyword, _| {
        let keyword = keyword.as_str();
        ANNOTATIONS.contains(&keyword)
            || keyword == "type"
            || (CONSTRAINTS.contains(&keyword) && kind.is_some_and(|kind| kind.takes(keyword)))
    });
    Ok(())
}

/// Names the type where only the other keywords tell it.
fn infer_type(keywords: &mut Keywords) {
    if keywords.contains_key("type") || keywords.contains_key("oneOf") {
        return;
    }
    let listed = match keywords.get("enum") {
        Some(Value::Array(listed)) => listed.as_slice(),
        _ => &[],
    };
    let mut values = keywords.get("const").into_iter().chain(listed);
    let kind = match values.next() {
        Some(first) => {
            let kind = type_of(first);
            values.all(|value| type_of(value) == kind).then_some(kind)
        }
        None if ["properties", "required", "additionalProperties"]
            .iter()
            .any(|it| keywords.contains_key(*it)) =>
        {
            Some("object")
        }
        None if ["items", "prefixItems"].iter().any(|it| keywords.contains_key(*it)) => Some("array"),
        None => None,
    };
    if let Some(kind) = kind {
        keywords.insert("type".to_owned(), Value::from(kind));
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn object(keywords: &mut Keywords) {
    let closed = ["additionalProperties", "unevaluatedProperties"]
        .iter()
        .any(|keyword| keywords.get(*keyword) == Some(&Value::Bool(false)));
    keywords.shift_remove("additionalProperties");
    if closed && !keywords.contains_key("patternProperties") {
        keywords.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    let names: Vec<String> = match keywords.get("properties") {
        Some(Value::Object(properties)) => properties.keys().cloned().collect(),
        _ => Vec::new(),
    };
    let mut required = match keywords.shift_remove("required") {
        Some(Value::Array(required)) => required,
        _ => Vec::new(),
    };
    required.retain(|name| name.as_str().is_some_and(|name| names.iter().any(|known| known == name)));
    if let Some(Value::Object(properties)) = keywords.get_mut("properties") {
        for (name, property) in properties {
            let needed = required.iter().any(|required| required.as_str() == Some(name));
            if !needed && let Value::Object(property) = property {
                unions::without_null(property);
            }
        }
    }
    if !required.is_empty() {
        keywords.insert("required".to_owned(), Value::Array(required));
    }
}

/// A tuple becomes an array of the one schema that all its items share, or of any items.
fn array(keywords: &mut Keywords) {
    let items = match keywords.shift_remove("prefixItems") {
        Some(Value::Array(mut places)) => {
            keywords.shift_remove("items");
            let first = places.pop();
            first.filter(|first| places.iter().all(|place| place == first))
        }
        _ => keywords.shift_remove("items"),
    };
    if let Some(items @ Value::Object(_)) = items {
        keywords.insert("items".to_owned(), items);
    }
}

/// The keywords of a schema that are not annotations, copied.
fn constraints(keywords: &Keywords) -> Keywords {
    keywords
        .iter()
        .filter(|(keyword, _)| !ANNOTATIONS.contains(&keyword.as_str()))
        .map(|(keyword, value)| (keyword.clone(), copy(value)))
        .collect()
}
