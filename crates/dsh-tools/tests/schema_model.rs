//! The compiled validator against a plain one, on schemas and values made at random.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use dsh_tools::{Schema, read_arguments};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The validator as one would write it down: recursive, without a compiled form.
fn plain(schema: &Value, path: &str, value: &Value) -> Vec<String> {
    let shown = if path.is_empty() { "arguments" } else { path };
    let must = |what: &str| vec![format!("\"{shown}\" must {what}")];
    if let Some(branches) = schema["oneOf"].as_array() {
        let matched = branches.iter().filter(|branch| plain(branch, path, value).is_empty()).count();
        return if matched == 1 {
            vec![]
        } else {
            must(&format!("match exactly one oneOf branch (matched {matched})"))
        };
    }
    let whole = |value: &Value| value.as_f64().is_some_and(|number| number.fract() == 0.0);
    let (fits, text) = match schema["type"].as_str() {
        None => return vec![],
        Some("object") => (value.is_object(), "be an object"),
        Some("array") => (value.is_array(), "be an array"),
        Some("string") => (value.is_string(), "be a string"),
        Some("number") => (value.is_number(), "be a number"),
        Some("integer") => (whole(value), "be an integer"),
        Some("boolean") => (value.is_boolean(), "be a boolean"),
        Some("null") => (value.is_null(), "be null"),
        Some(other) => panic!("{other}"),
    };
    if !fits {
        return must(text);
    }
    if let Some(choices) = schema["enum"].as_array() {
        let same = |choice: &Value| match (choice.as_f64(), value.as_f64()) {
            (Some(choice), Some(value)) => choice == value,
            _ => choice == value,
        };
        return if choices.iter().any(same) {
            vec![]
        } else {
            must(&format!("be one of {}", schema["enum"]))
        };
    }
    match value {
        Value::Array(items) => {
            let item = |(index, item)| plain(&schema["items"], &format!("{path}[{index}]"), item);
            items.iter().enumerate().flat_map(item).collect()
        }
        Value::Object(members) => {
            let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            let empty = Map::new();
            let properties = schema["properties"].as_object().unwrap_or(&empty);
            let required =
                schema["required"].as_array().into_iter().flatten().map(|name| name.as_str().unwrap());
            let mut found: Vec<String> = required
                .filter(|name| !members.contains_key(*name))
                .map(|name| format!("missing required property \"{}\"", below(name)))
                .collect();
            for (name, property) in properties {
                if let Some(value) = members.get(name) {
                    found.extend(plain(property, &below(name), value));
                }
            }
            if schema["additionalProperties"] == json!(false) {
                let extras = members.keys().filter(|name| !properties.contains_key(*name));
                found.extend(extras.map(|name| {
                    format!("\"{}\" is not a declared property (additionalProperties: false)", below(name))
                }));
            }
            found
        }
        _ => vec![],
    }
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"]).prop_map(str::to_owned)
}

fn scalar() -> BoxedStrategy<Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        (-3_i32..4).prop_map(|number| Value::from(f64::from(number) + 0.5)),
        (1_i32..4).prop_map(|number| Value::from(f64::from(number))),
        name().prop_map(Value::from),
    ]
    .boxed()
}

fn value() -> BoxedStrategy<Value> {
    scalar()
        .prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Value::from),
                vec((name(), inner), 0..5).prop_map(|members| members.into_iter().collect()),
            ]
        })
        .boxed()
}

fn leaf_schema() -> BoxedStrategy<Value> {
    prop_oneof![
        Just(json!({})),
        prop::sample::select(vec!["string", "number", "integer", "boolean", "null", "array", "object"])
            .prop_map(|kind| json!({"type": kind})),
        vec(name(), 1..3).prop_map(|names| json!({"type": "string", "enum": names})),
        vec(-3_i64..4, 1..3).prop_map(|numbers| json!({"type": "integer", "enum": numbers})),
    ]
    .boxed()
}

fn schema(unions: bool) -> BoxedStrategy<Value> {
    leaf_schema()
        .prop_recursive(3, 24, 5, move |inner| {
            let list = inner.clone().prop_map(|items| json!({"type": "array", "items": items}));
            let object = (btree_map(name(), (inner.clone(), any::<bool>()), 0..12), any::<Option<bool>>())
                .prop_map(|(properties, open)| {
                    let required: Vec<&String> =
                        properties.iter().filter(|(_, (_, needed))| *needed).map(|(name, _)| name).collect();
                    let mut schema = json!({"type": "object", "required": required});
                    schema["properties"] = properties
                        .iter()
                        .rev()
                        .map(|(name, (schema, _))| (name.clone(), schema.clone()))
                        .collect();
                    if let Some(open) = open {
                        schema["additionalProperties"] = json!(open);
                    }
                    schema
                });
            if unions {
                let union = vec(inner, 2..4).prop_map(|branches| json!({"oneOf": branches}));
                prop_oneof![list, object, union].boxed()
            } else {
                prop_oneof![list, object].boxed()
            }
        })
        .boxed()
}

/// Values that a schema without unions accepts.
fn valid(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(choices) = schema["enum"].as_array() {
        return prop::sample::select(choices.clone()).boxed();
    }
    match schema["type"].as_str() {
        None => value(),
        Some("string") => name().prop_map(Value::from).boxed(),
        Some("number") => (-9_i32..9).prop_map(|number| Value::from(f64::from(number) + 0.5)).boxed(),
        Some("integer") => prop_oneof![any::<i64>().prop_map(Value::from), Just(json!(5.0))].boxed(),
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        Some("array") => vec(valid(&schema["items"]), 0..3).prop_map(Value::from).boxed(),
        Some("object") => {
            let properties = schema["properties"].as_object().cloned().unwrap_or_default();
            let members: Vec<_> = properties
                .iter()
                .map(|(name, property)| {
                    let needed = schema["required"].as_array().unwrap().contains(&json!(name));
                    let there = if needed { Just(true).boxed() } else { any::<bool>().boxed() };
                    (Just(name.clone()), valid(property), there)
                })
                .collect();
            let extra = if schema["additionalProperties"] == json!(false) { 0..1 } else { 0..2 };
            (members, vec(value(), extra), any::<bool>())
                .prop_map(|(members, extra, back)| {
                    let members = members.into_iter().filter(|(_, _, there)| *there);
                    let mut members: Vec<_> = members.map(|(name, value, _)| (name, value)).collect();
                    members.extend(extra.into_iter().map(|value| ("extra".to_owned(), value)));
                    if back {
                        members.reverse();
                    }
                    members.into_iter().collect()
                })
                .boxed()
        }
        _ => Just(Value::Null).boxed(),
    }
}

/// Schemas of objects with required properties, and values that they accept.
fn valid_pair() -> impl Strategy<Value = (Value, Value)> {
    schema(false).prop_flat_map(|mut schema| {
        if schema["type"] == json!("object") && schema.get("required").is_none() {
            schema["required"] = json!([]);
        }
        complete(&mut schema);
        let values = valid(&schema);
        (Just(schema), values)
    })
}

/// Writes out `required` where a leaf left it out.
fn complete(schema: &mut Value) {
    let Value::Object(keywords) = schema else { return };
    if keywords.get("type") == Some(&json!("object")) {
        keywords.entry("required").or_insert(json!([]));
    }
    if let Some(items) = keywords.get_mut("items") {
        complete(items);
    }
    if let Some(Value::Object(properties)) = keywords.get_mut("properties") {
        properties.values_mut().for_each(complete);
    }
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only read")]
struct Typed {
    a: Option<u8>,
    b: Option<Vec<i64>>,
    #[serde(default)]
    c: String,
    d: Option<Shape>,
    e: Value,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code, reason = "only read")]
enum Shape {
    A,
    B(bool),
    C { a: Option<f64> },
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    // spec: tools/T44, tools/T45, tools/T48
    #[test]
    fn any_schema_and_any_value_get_the_same_list_from_both(schema in schema(true), value in value()) {
        let compiled = Schema::new(schema.clone()).unwrap();
        let found = plain(&schema, "", &value);
        prop_assert_eq!(compiled.accepts(&value), found.is_empty());
        prop_assert_eq!(compiled.violations(Schema::ARGUMENTS, &value), found);
    }

    // spec: tools/T39, tools/T40
    #[test]
    fn a_valid_value_passes(pair in valid_pair()) {
        let (schema, value) = pair;
        let compiled = Schema::new(schema).unwrap();
        prop_assert_eq!(compiled.violations(Schema::ARGUMENTS, &value), Vec::<String>::new());
    }

    // spec: tools/T45
    #[test]
    fn a_required_property_that_is_dropped_is_missed(pair in valid_pair(), place in any::<prop::sample::Index>()) {
        let (schema, mut value) = pair;
        let names = schema["required"].as_array().cloned().unwrap_or_default();
        prop_assume!(!names.is_empty());
        let name = place.get(&names).as_str().unwrap();
        value.as_object_mut().unwrap().shift_remove(name);
        let compiled = Schema::new(schema.clone()).unwrap();
        prop_assert_eq!(
            compiled.violations(Schema::ARGUMENTS, &value),
            [format!("missing required property \"{name}\"")]
        );
    }

    // spec: tools/T44
    #[test]
    fn whatever_is_read_was_accepted_or_is_refused_in_the_same_words(
        members in btree_map(name(), value(), 0..11),
    ) {
        let value: Value = members.into_iter().collect();
        let schema = Schema::of::<Typed>().unwrap();
        let found = schema.violations(Schema::ARGUMENTS, &value);
        match read_arguments::<Typed>(&value) {
            // The reader is the more lenient one about `null` alone.
            Ok(_) => prop_assert!(found.is_empty() || value.to_string().contains("null"), "{:?}", found),
            Err(text) if found.is_empty() => {
                prop_assert_eq!(text, "\"a\" must be an integer from 0 to 255");
            }
            Err(text) => prop_assert!(text.contains("must ") || text.starts_with("missing "), "{}", text),
        }
    }

    #[test]
    fn the_check_of_any_value_ends_with_a_schema_or_with_reasons(value in value()) {
        if let Err(error) = Schema::new(value) {
            prop_assert!(!error.violations().is_empty());
        }
    }
}
