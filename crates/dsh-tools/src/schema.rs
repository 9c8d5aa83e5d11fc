//! The check of a call's arguments against the tool's parameters.

use serde_json::{Map, Number, Value};

/// Everything that the arguments violate: first what is missing, then the properties in the schema's order.
///
/// Looks at the root object, the types of its properties and their `enum`; what is nested deeper is left to the tool.
/// Keys that the schema does not name are fine.
pub(crate) fn violations(parameters: &Value, arguments: &Value) -> Vec<String> {
    let Value::Object(arguments) = arguments else {
        return vec!["\"arguments\" must be an object".to_owned()];
    };
    let empty = Map::new();
    let properties = parameters.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required =
        parameters.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let missing = required
        .filter(|name| !arguments.contains_key(*name))
        .map(|name| format!("missing required property \"{name}\""));
    let wrong = properties.iter().filter_map(|(name, schema)| violation(name, schema, arguments.get(name)?));
    missing.chain(wrong).collect()
}

fn violation(name: &str, schema: &Value, value: &Value) -> Option<String> {
    let (fits, expected) = match schema.get("type").and_then(Value::as_str)? {
        "string" => (value.is_string(), "a string"),
        "number" => (value.is_number(), "a number"),
        "integer" => (value.as_number().is_some_and(is_integer), "an integer"),
        "boolean" => (value.is_boolean(), "a boolean"),
        "array" => (value.is_array(), "an array"),
        "object" => (value.is_object(), "an object"),
        "null" => (value.is_null(), "null"),
        _ => return None,
    };
    if !fits {
        return Some(format!("\"{name}\" must be {expected}"));
    }
    let choices = schema.get("enum")?;
    let known = choices.as_array().is_some_and(|choices| choices.contains(value));
    (!known).then(|| format!("\"{name}\" must be one of {choices}"))
}

fn is_integer(number: &Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}
