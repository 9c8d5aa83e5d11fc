//! The short form of schemas and what it is translated into.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use dsh_tools::{Schema, compile_parameters, compile_value};
use serde_json::{Value, json};

fn text(schema: &Value) -> String {
    serde_json::to_string(schema).unwrap()
}

fn refused(declarations: &Value) -> String {
    let error = compile_parameters(declarations).unwrap_err();
    error.to_string().strip_prefix("unsupported JSON schema: ").unwrap().to_owned()
}

// spec: tools/T34, tools/T35, tools/T36
#[test]
fn parameters_become_an_open_object_with_the_required_names_in_order() {
    let cases = [
        (json!({}), r#"{"type":"object","properties":{}}"#),
        (
            json!({"b": {"required": true, "default": 1, "type": "string", "description": "d"}, "a": {"type": "null", "const": null, "required": true}}),
            r#"{"type":"object","properties":{"b":{"type":"string","description":"d","default":1},"a":{"type":"null","const":null}},"required":["b","a"]}"#,
        ),
        (
            json!({"a": {"const": 1, "enum": [1], "examples": [2], "default": 3, "title": "t", "description": "d", "type": "number"}}),
            r#"{"type":"object","properties":{"a":{"type":"number","description":"d","title":"t","default":3,"examples":[2],"enum":[1],"const":1}}}"#,
        ),
        (
            json!({"a": {"properties": {"x": {"type": "boolean", "required": true}, "y": {"type": "integer"}}, "title": "t", "type": "object", "additionalProperties": false}}),
            r#"{"type":"object","properties":{"a":{"type":"object","title":"t","additionalProperties":false,"properties":{"x":{"type":"boolean"},"y":{"type":"integer"}},"required":["x"]}}}"#,
        ),
        (
            json!({"a": {"type": "object", "additionalProperties": true}, "l": {"type": "array"}}),
            r#"{"type":"object","properties":{"a":{"type":"object","additionalProperties":true},"l":{"type":"array"}}}"#,
        ),
        (
            json!({"a": {"items": {"type": "json", "description": "x"}, "type": "array", "title": "t"}}),
            r#"{"type":"object","properties":{"a":{"type":"array","title":"t","items":{"description":"x"}}}}"#,
        ),
        (
            json!({"a": {"required": true, "title": "t", "oneOf": [{"type": "string"}, {"type": "null"}], "description": "d"}}),
            r#"{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"null"}],"description":"d","title":"t"}},"required":["a"]}"#,
        ),
        (
            json!({"__proto__": {"type": "string", "required": true}}),
            r#"{"type":"object","properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}"#,
        ),
    ];
    for (declarations, expected) in cases {
        let schema = compile_parameters(&declarations).unwrap();
        assert_eq!(text(&schema), expected);
        Schema::new(schema).unwrap().require_object_root().unwrap();
    }
}

// spec: tools/T34
#[test]
fn a_single_value_can_be_declared() {
    assert_eq!(text(&compile_value(&json!({"type": "json"})).unwrap()), "{}");
    assert_eq!(
        text(&compile_value(&json!({"type": "object", "additionalProperties": false})).unwrap()),
        r#"{"type":"object","additionalProperties":false}"#
    );
    let error = compile_value(&json!({"type": "string", "required": true})).unwrap_err();
    assert_eq!(error.violations(), ["schema.required is not supported by the value schema DSL"]);
    let error = compile_value(&json!([])).unwrap_err();
    assert_eq!(error.violations(), ["schema must be a value schema object"]);
}

// spec: tools/T35, tools/T37
#[test]
fn each_error_of_an_author_has_its_text() {
    let kinds = " must be string/number/integer/boolean/null/array/object/json, or oneOf for alternatives";
    let unknown = |path: &str| format!("{path}.type{kinds}");
    let cases = [
        (json!(5), "parameters must be an object of value schemas".to_owned()),
        (json!({"a": 5}), "parameters.a must be a value schema object".to_owned()),
        (
            json!({"a": {"type": "string", "foo": 1, "required": false}}),
            "parameters.a.required must be true when present".to_owned(),
        ),
        (
            json!({"a": {"type": "x", "oneOf": [], "required": "x"}}),
            "parameters.a.required must be true when present".to_owned(),
        ),
        (
            json!({"a": {"type": "x", "oneOf": []}}),
            "parameters.a cannot declare both type and oneOf".to_owned(),
        ),
        (
            json!({"a": {"foo": 1, "oneOf": 3}}),
            "parameters.a.foo is not supported by the value schema DSL".to_owned(),
        ),
        (
            json!({"a": {"oneOf": 3}}),
            "parameters.a.oneOf must be an array of two or more value schemas".to_owned(),
        ),
        (
            json!({"a": {"oneOf": [{"type": "string"}]}}),
            "schema.properties.a.oneOf must be an array of two or more schemas".to_owned(),
        ),
        (
            json!({"a": {"oneOf": [{"type": "string", "required": true}, {"type": "null"}]}}),
            "parameters.a.oneOf[0].required is not supported by the value schema DSL".to_owned(),
        ),
        (json!({"a": {}}), unknown("parameters.a")),
        (json!({"a": {"type": ["string"]}}), unknown("parameters.a")),
        (json!({"a": {"type": "array", "items": {"type": "q"}}}), unknown("parameters.a.items")),
        (
            json!({"a": {"type": "object", "foo": 1}}),
            "parameters.a.foo is not supported by the value schema DSL".to_owned(),
        ),
        (
            json!({"a": {"type": "json", "enum": [1]}}),
            "parameters.a.enum is not supported by the value schema DSL".to_owned(),
        ),
        (
            json!({"a": {"type": "object"}}),
            "parameters.a.additionalProperties must be explicitly true or false".to_owned(),
        ),
        (
            json!({"a": {"type": "object", "additionalProperties": "x", "properties": {"z": 5}}}),
            "parameters.a.additionalProperties must be explicitly true or false".to_owned(),
        ),
        (
            json!({"a": {"type": "object", "additionalProperties": true, "properties": 5}}),
            "parameters.a.properties must be an object of value schemas".to_owned(),
        ),
        (
            json!({"a": {"type": "object", "additionalProperties": true, "properties": {"y": {"type": "q"}}}, "b": 6}),
            unknown("parameters.a.properties.y"),
        ),
        (
            json!({"a": {"type": "string", "enum": 5}}),
            "parameters.a.enum must be a non-empty array of scalar values".to_owned(),
        ),
    ];
    for (declarations, expected) in cases {
        assert_eq!(refused(&declarations), expected, "{declarations}");
    }
}

// spec: tools/T37, tools/T42
#[test]
fn what_only_the_schema_shows_is_all_listed() {
    let declarations = json!({
        "a": {"type": "string", "enum": []},
        "b": {"type": "integer", "const": 1.5, "description": 5},
    });
    assert_eq!(
        refused(&declarations),
        "schema.properties.a.enum must be a non-empty array of string values; \
         schema.properties.b.description must be a string; schema.properties.b.const must be a integer value"
    );
}
