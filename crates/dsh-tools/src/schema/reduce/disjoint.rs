//! Whether two schemas certainly accept no value in common.

use serde_json::Value;

use super::Keywords;

/// Looks at the types, at choices of names, and at the properties that tell objects apart, through unions.
pub(super) fn disjoint(one: &Value, other: &Value) -> bool {
    if let Some(branches) = branches(one) {
        return branches.iter().all(|branch| disjoint(branch, other));
    }
    if branches(other).is_some() {
        return disjoint(other, one);
    }
    let (Value::Object(one), Value::Object(other)) = (one, other) else { return false };
    if one.contains_key("$ref") || other.contains_key("$ref") {
        // Recursion is reported at the branch itself.
        return true;
    }
    let (Some(kind), Some(other_kind)) = (kind(one), kind(other)) else { return false };
    match (kind, other_kind) {
        ("number" | "integer", "number" | "integer") => false,
        ("string", "string") => different_names(one, other),
        ("object", "object") => {
            told_apart(one, other)
                || refuses_what_is_required(one, other)
                || refuses_what_is_required(other, one)
        }
        (kind, other_kind) => kind != other_kind,
    }
}

fn branches(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()
}

fn kind(schema: &Keywords) -> Option<&str> {
    schema.get("type").and_then(Value::as_str)
}

/// The strings that a schema leaves, if it lists them.
fn names(schema: &Keywords) -> Option<Vec<&str>> {
    let listed = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    let listed = listed.or_else(|| schema.get("const").map(std::slice::from_ref))?;
    listed.iter().map(Value::as_str).collect()
}

fn different_names(one: &Keywords, other: &Keywords) -> bool {
    match (names(one), names(other)) {
        (Some(one), Some(other)) => !one.iter().any(|name| other.contains(name)),
        _ => false,
    }
}

fn property<'a>(schema: &'a Keywords, name: &str) -> Option<&'a Value> {
    schema.get("properties")?.get(name)
}

fn required(schema: &Keywords) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// A property that both require and that names what each is.
fn told_apart(one: &Keywords, other: &Keywords) -> bool {
    required(one).any(|name| {
        required(other).any(|required| required == name)
            && match (property(one, name), property(other, name)) {
                (Some(Value::Object(one)), Some(Value::Object(other))) => different_names(one, other),
                _ => false,
            }
    })
}

/// A closed object that does not know what the other requires.
fn refuses_what_is_required(closed: &Keywords, other: &Keywords) -> bool {
    closed.get("additionalProperties") == Some(&Value::Bool(false))
        && !closed.contains_key("patternProperties")
        && required(other).any(|name| property(closed, name).is_none())
}
