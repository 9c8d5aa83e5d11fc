//! What a schema may say, and how everything else in it is listed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use dsh_tools::{Schema, SchemaError};
use serde_json::{Value, json};

const OUTSIDE: &str = " is outside of the supported keywords: type, oneOf, properties, required, additionalProperties, items, \
                       enum, const and the annotations description, title, default and examples";

fn found(schema: Value) -> Vec<String> {
    Schema::new(schema).map_or_else(|error| error.violations().to_vec(), |_| Vec::new())
}

/// Values that only a text can hold.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

// spec: tools/T42
#[test]
fn everything_in_the_subset_is_taken() {
    let schema = json!({
        "type": "object",
        "description": "d", "title": "t", "default": {"a": [1]}, "examples": 3,
        "properties": {
            "s": {"type": "string", "enum": ["a", "a", "b"], "const": "b"},
            "n": {"type": "number", "enum": [1, 2.5], "const": 1.0},
            "i": {"type": "integer", "enum": [1, 1e2]},
            "b": {"type": "boolean", "const": true},
            "z": {"type": "null", "enum": [null]},
            "l": {"type": "array", "items": {"oneOf": [{"type": "string"}, {}]}},
            "e": {"type": "array"},
        },
        "required": ["s", "s"],
        "additionalProperties": false,
    });
    assert_eq!(found(schema.clone()), [""; 0]);
    assert_eq!(**Schema::new(schema.clone()).unwrap().raw(), schema);
    assert_eq!(**Schema::any().raw(), json!({}));
}

// spec: tools/T42
#[test]
fn each_violation_has_its_text() {
    let cases = [
        (json!(5), vec!["schema must be a schema object"]),
        (json!(true), vec!["schema must be a schema object"]),
        (json!([]), vec!["schema must be a schema object"]),
        (
            json!({"type": "x"}),
            vec!["schema.type must be one of object/array/string/number/integer/boolean/null"],
        ),
        (
            json!({"type": null}),
            vec!["schema.type must be one of object/array/string/number/integer/boolean/null"],
        ),
        (
            json!({"type": ["string"]}),
            vec!["schema.type must name one type: arrays of types are not supported, oneOf is"],
        ),
        (
            json!({"description": 1, "title": 2}),
            vec!["schema.description must be a string", "schema.title must be a string"],
        ),
        (json!({"type": "string", "oneOf": 3, "enum": 1}), vec!["schema cannot declare both type and oneOf"]),
        (json!({"oneOf": [{}]}), vec!["schema.oneOf must be an array of two or more schemas"]),
        (
            json!({"oneOf": 3, "enum": 1, "items": 2}),
            vec![
                "schema.oneOf must be an array of two or more schemas",
                "schema.items is not supported beside oneOf",
                "schema.enum is not supported beside oneOf",
            ],
        ),
        (
            json!({"const": 1, "enum": [], "items": 1, "additionalProperties": 1, "required": [], "properties": {}}),
            vec![
                "schema.properties requires type or oneOf",
                "schema.required requires type or oneOf",
                "schema.additionalProperties requires type or oneOf",
                "schema.items requires type or oneOf",
                "schema.enum requires type or oneOf",
                "schema.const requires type or oneOf",
            ],
        ),
        (
            json!({"type": "string", "properties": {}, "items": {}, "required": [], "additionalProperties": true}),
            vec![
                "schema.properties is not supported on type \"string\"",
                "schema.required is not supported on type \"string\"",
                "schema.additionalProperties is not supported on type \"string\"",
                "schema.items is not supported on type \"string\"",
            ],
        ),
        (
            json!({"type": "object", "enum": [1], "const": {}, "items": {"type": "q"}}),
            vec![
                "schema.items is not supported on type \"object\"",
                "schema.enum is not supported on type \"object\"",
                "schema.const is not supported on type \"object\"",
            ],
        ),
        (
            json!({"type": "object", "properties": 3, "required": 3}),
            vec![
                "schema.properties must be an object of schemas",
                "schema.required must be an array of strings",
            ],
        ),
        (
            json!({"type": "object", "required": ["a"]}),
            vec!["schema.required names \"a\" which is not in properties"],
        ),
        (json!({"type": "array", "items": [{}]}), vec!["schema.items must be a schema object"]),
        (
            json!({"type": "integer", "enum": [1, 2.5]}),
            vec!["schema.enum must be a non-empty array of integer values"],
        ),
        (
            json!({"type": "number", "enum": []}),
            vec!["schema.enum must be a non-empty array of number values"],
        ),
        (
            json!({"type": "string", "enum": "a"}),
            vec!["schema.enum must be a non-empty array of string values"],
        ),
        (json!({"type": "null", "const": 1}), vec!["schema.const must be a null value"]),
        (
            json!({"type": "string", "enum": [1, "a"], "const": 3}),
            vec![
                "schema.enum must be a non-empty array of string values",
                "schema.const must be a string value",
            ],
        ),
        (
            json!({"type": "string", "enum": ["a"], "const": "b"}),
            vec!["schema.const must be among the values of schema.enum"],
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(found(schema.clone()), expected, "{schema}");
    }
}

// spec: tools/T42
#[test]
fn violations_come_in_the_order_of_the_walk() {
    let schema = json!({
        "type": "object",
        "format": 1,
        "title": 4,
        "properties": {
            "a": {"type": "object", "properties": {"b": {"type": "q"}}, "required": ["m"]},
            "c": {"oneOf": [{"type": "q"}, 6], "const": 1},
            "d": {"type": "array", "items": 5},
        },
        "required": ["z"],
        "additionalProperties": "x",
    });
    let of_type = " must be one of object/array/string/number/integer/boolean/null";
    assert_eq!(
        found(schema),
        [
            format!("schema.format{OUTSIDE}"),
            "schema.title must be a string".to_owned(),
            format!("schema.properties.a.properties.b.type{of_type}"),
            "schema.properties.a.required names \"m\" which is not in properties".to_owned(),
            format!("schema.properties.c.oneOf[0].type{of_type}"),
            "schema.properties.c.oneOf[1] must be a schema object".to_owned(),
            "schema.properties.c.const is not supported beside oneOf".to_owned(),
            "schema.properties.d.items must be a schema object".to_owned(),
            "schema.required names \"z\" which is not in properties".to_owned(),
            "schema.additionalProperties must be a boolean".to_owned(),
        ]
    );
}

// spec: tools/T42, tools/T46
#[test]
fn annotations_and_choices_hold_numbers_that_are_kept_exactly() {
    let schema = parsed(r#"{"default": -0, "foo": 1, "examples": [1e400], "description": -0, "title": "t"}"#);
    assert_eq!(
        found(schema),
        [
            "schema.default annotation must be lossless JSON data".to_owned(),
            format!("schema.foo{OUTSIDE}"),
            "schema.examples annotation must be lossless JSON data".to_owned(),
            "schema.description annotation must be lossless JSON data".to_owned(),
            "schema.description must be a string".to_owned(),
        ]
    );
    assert_eq!(found(parsed(r#"{"type": "number", "const": -0}"#)), ["schema.const must be a number value"]);
    assert_eq!(
        found(parsed(r#"{"type": "integer", "enum": [1e400]}"#)),
        ["schema.enum must be a non-empty array of integer values"]
    );
}

// spec: tools/T42, tools/T76, tools/T77
#[test]
fn the_error_has_one_text_a_code_and_a_name() {
    let error = Schema::new(json!({"oneOf": [{"type": "q"}, 1]})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unsupported JSON schema: schema.oneOf[0].type must be one of \
         object/array/string/number/integer/boolean/null; schema.oneOf[1] must be a schema object"
    );
    assert_eq!((SchemaError::NAME, SchemaError::CODE), ("JsonSchemaError", "UNSUPPORTED_SCHEMA"));
}

// spec: tools/T43
#[test]
fn the_root_can_be_asked_to_be_an_object() {
    assert!(Schema::new(json!({"type": "object"})).unwrap().require_object_root().is_ok());
    for schema in
        [json!({}), json!({"type": "string"}), json!({"oneOf": [{"type": "object"}, {"type": "null"}]})]
    {
        let error = Schema::new(schema).unwrap().require_object_root().unwrap_err();
        let [text] = error.violations() else { panic!("{error}") };
        assert!(text.starts_with("schema.type must be \"object\""), "{text}");
    }
}
