//! Schemas and values of a depth for which recursion has no stack.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use dsh_tools::{Schema, compile_parameters, compile_value, dismantle, is_lossless};
use serde_json::{Value, json};

const LEVELS: usize = 100_000;

fn nested(levels: usize, core: Value, around: impl Fn(Value) -> Value) -> Value {
    (0..levels).fold(core, |inner, _| around(inner))
}

fn object(key: &str, inner: Value) -> Value {
    Value::Object(serde_json::Map::from_iter([(key.to_owned(), inner)]))
}

fn list(inner: Value) -> Value {
    Value::Array(vec![inner])
}

fn list_schema(inner: Value) -> Value {
    let mut schema = serde_json::Map::from_iter([("type".to_owned(), Value::from("array"))]);
    schema.insert("items".to_owned(), inner);
    Value::Object(schema)
}

fn object_schema(inner: Value) -> Value {
    let mut schema = serde_json::Map::from_iter([("type".to_owned(), Value::from("object"))]);
    schema.insert("additionalProperties".to_owned(), Value::Bool(true));
    schema.insert("properties".to_owned(), object("p", inner));
    Value::Object(schema)
}

fn union_schema(inner: Value) -> Value {
    object("oneOf", Value::Array(vec![json!({"type": "boolean"}), inner]))
}

// spec: tools/T38, cases/T4
#[test]
fn a_deep_schema_is_checked_compiled_asked_and_dropped() {
    let schema = Schema::new(nested(LEVELS, json!({"type": "string"}), list_schema)).unwrap();
    let right = nested(LEVELS, json!("a"), list);
    let wrong = nested(LEVELS, json!(1), list);
    assert!(schema.accepts(&right));
    let expected = format!("\"{}\" must be a string", "[0]".repeat(LEVELS));
    assert!(schema.violations(Schema::ARGUMENTS, &wrong) == [expected]);
    drop(schema);
    dismantle(right);
    dismantle(wrong);
}

// spec: tools/T38, cases/T4
#[test]
fn deep_objects_and_unions_are_no_different() {
    let schema = Schema::new(nested(LEVELS, json!({"type": "string"}), object_schema)).unwrap();
    let value = nested(LEVELS, json!("a"), |inner| object("p", inner));
    assert!(schema.accepts(&value));
    assert!(is_lossless(&value));
    dismantle(value);
    let union = Schema::new(nested(LEVELS, json!({"type": "string"}), union_schema)).unwrap();
    assert!(union.accepts(&json!("a")));
    assert_eq!(
        union.violations(Schema::VALUE, &json!(1)),
        ["\"value\" must match exactly one oneOf branch (matched 0)"]
    );
}

// spec: tools/T38
#[test]
fn a_deep_schema_that_is_refused_is_dropped_too() {
    let error = Schema::new(nested(LEVELS, json!({"type": "q"}), list_schema)).unwrap_err();
    let [text] = error.violations() else { panic!("more than one violation") };
    assert!(text.starts_with("schema.items.items."));
    assert!(Schema::new(nested(LEVELS, json!(1), list)).is_err());
}

// spec: tools/T38
#[test]
fn a_deep_declaration_is_translated() {
    let declaration = nested(LEVELS, json!({"type": "string"}), object_schema);
    let parameters = object("a", declaration);
    let schema = compile_parameters(&parameters).unwrap();
    drop(Schema::new(schema).unwrap());
    dismantle(parameters);
    let union = nested(LEVELS, json!({"type": "string"}), union_schema);
    dismantle(compile_value(&union).unwrap());
    dismantle(union);
}

// spec: tools/T38
#[test]
fn a_deep_declaration_that_is_refused_leaves_nothing_to_recursion() {
    let wrong = nested(LEVELS, json!({"type": "q"}), list_schema);
    assert!(compile_value(&wrong).is_err());
    dismantle(wrong);
    // The first declaration is done when the second is refused.
    let mut first = serde_json::Map::from_iter([("type".to_owned(), Value::from("json"))]);
    first.insert("default".to_owned(), nested(LEVELS, json!("a"), list));
    let mut declarations = serde_json::Map::from_iter([("a".to_owned(), Value::Object(first))]);
    declarations.insert("b".to_owned(), json!(5));
    let declarations = Value::Object(declarations);
    let error = compile_parameters(&declarations).unwrap_err();
    assert_eq!(error.violations(), ["parameters.b must be a value schema object"]);
    dismantle(declarations);
}

// spec: tools/T38
#[test]
fn deep_annotations_are_copied_and_looked_at() {
    let declaration = json!({"type": "json"});
    let Value::Object(mut members) = declaration else { panic!("an object") };
    members.insert("default".to_owned(), nested(LEVELS, json!([1, {"a": "b"}]), list));
    let declaration = Value::Object(members);
    let schema = Schema::new(compile_value(&declaration).unwrap()).unwrap();
    assert!(is_lossless(schema.raw()));
    drop(schema);
    dismantle(declaration);
}

#[test]
fn whoever_keeps_the_raw_schema_has_it_whole() {
    let raw = Schema::new(json!({"type": "array", "items": {"type": "null"}})).unwrap().raw().clone();
    assert_eq!(*raw, json!({"type": "array", "items": {"type": "null"}}));
}
