//! What a schema says about values.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use dsh_tools::{Schema, is_lossless};
use serde_json::{Value, json};

fn schema(schema: Value) -> Schema {
    Schema::new(schema).unwrap()
}

fn found(raw: Value, value: &Value) -> Vec<String> {
    let schema = schema(raw);
    let found = schema.violations(Schema::ARGUMENTS, value);
    assert_eq!(schema.accepts(value), found.is_empty(), "{value}");
    found
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

// spec: tools/T44
#[test]
fn each_type_has_its_text() {
    let cases = [
        ("string", "be a string", json!(5), json!("")),
        ("boolean", "be a boolean", json!(0), json!(false)),
        ("null", "be null", json!(0), json!(null)),
        ("object", "be an object", json!([]), json!({})),
        ("array", "be an array", json!({}), json!([])),
        ("number", "be a number", json!("1"), json!(1.5)),
        ("integer", "be an integer", json!(5.5), json!(5)),
    ];
    for (kind, text, wrong, right) in cases {
        assert_eq!(found(json!({"type": kind}), &wrong), [format!("\"arguments\" must {text}")]);
        assert_eq!(found(json!({"type": kind}), &right), [""; 0]);
    }
}

// spec: tools/T44, tools/T46
#[test]
fn numbers_are_taken_by_their_value() {
    for text in ["5.0", "1e2", "1e300", "-5", "18446744073709551615", "9007199254740993"] {
        assert_eq!(found(json!({"type": "integer"}), &parsed(text)), [""; 0], "{text}");
        assert_eq!(found(json!({"type": "number"}), &parsed(text)), [""; 0], "{text}");
    }
    for text in ["-0", "-0.0", "1e400", "-1e400"] {
        assert_eq!(
            found(json!({"type": "number"}), &parsed(text)),
            ["\"arguments\" must be a finite JSON number"]
        );
        assert_eq!(found(json!({"type": "integer"}), &parsed(text)), ["\"arguments\" must be an integer"]);
    }
    assert_eq!(found(json!({"type": "number", "enum": [1]}), &parsed("1.0")), [""; 0]);
    assert_eq!(
        found(json!({"type": "integer", "const": 9_007_199_254_740_993_u64}), &parsed("9007199254740992")),
        ["\"arguments\" must be 9007199254740993"]
    );
}

// spec: tools/T44
#[test]
fn choices_are_written_as_json() {
    let choose = |schema: &str, value: Value| found(parsed(schema), &value);
    let both = r#"{"type":"string","enum":["é\n\"","b"],"const":"b"}"#;
    assert_eq!(choose(both, json!("c")), [r#""arguments" must be one of ["é\n\"","b"]"#]);
    assert_eq!(choose(both, json!("é\n\"")), [r#""arguments" must be "b""#]);
    assert_eq!(choose(both, json!(1)), [r#""arguments" must be a string"#]);
    assert_eq!(choose(both, json!("b")), [""; 0]);
    assert_eq!(
        choose(r#"{"type":"number","enum":[1,2.50,1e21]}"#, json!(3)),
        ["\"arguments\" must be one of [1,2.5,1e+21]"]
    );
}

// spec: tools/T44, tools/T45
#[test]
fn an_object_lists_what_is_missing_then_its_properties_then_the_extras() {
    let raw = json!({
        "type": "object",
        "properties": {
            "a": {"type": "object", "properties": {"x": {"type": "string"}, "y": {}}, "required": ["y"], "additionalProperties": false},
            "b": {"type": "array", "items": {"type": "object", "properties": {"q": {"type": "number"}, "r": {}}, "required": ["r"]}},
            "c": {"type": "string"},
            "d": {}, "e": {},
        },
        "required": ["e", "d"],
        "additionalProperties": false,
    });
    let value = json!({"q": 1, "c": 4, "a": {"z": 1, "x": 1}, "b": [{"q": "a"}, 3, {}], "r": 2});
    assert_eq!(
        found(raw, &value),
        [
            "missing required property \"e\"",
            "missing required property \"d\"",
            "missing required property \"a.y\"",
            "\"a.x\" must be a string",
            "\"a.z\" is not a declared property (additionalProperties: false)",
            "missing required property \"b[0].r\"",
            "\"b[0].q\" must be a number",
            "\"b[1]\" must be an object",
            "missing required property \"b[2].r\"",
            "\"c\" must be a string",
            "\"q\" is not a declared property (additionalProperties: false)",
            "\"r\" is not a declared property (additionalProperties: false)",
        ]
    );
}

// spec: tools/T44
#[test]
fn paths_begin_with_the_root_if_it_has_a_name() {
    let list = schema(json!({"type": "array", "items": {"type": "string"}}));
    assert_eq!(list.violations(Schema::ARGUMENTS, &json!([1])), ["\"[0]\" must be a string"]);
    assert_eq!(list.violations(Schema::VALUE, &json!([1])), ["\"value[0]\" must be a string"]);
    assert_eq!(list.violations(Schema::VALUE, &json!(1)), ["\"value\" must be an array"]);
    let object = schema(
        json!({"type": "object", "properties": {"": {"type": "object", "properties": {"b": {"type": "null"}}}, "a.b": {"type": "null"}}}),
    );
    let value = json!({"": {"b": 1}, "a.b": 1});
    assert_eq!(object.violations(Schema::ARGUMENTS, &value), ["\"b\" must be null", "\"a.b\" must be null"]);
}

// spec: tools/T44, tools/T46
#[test]
fn exactly_one_branch_has_to_match() {
    let raw = json!({"oneOf": [{"type": "number"}, {"type": "integer"}]});
    assert_eq!(
        found(raw.clone(), &json!(1)),
        ["\"arguments\" must match exactly one oneOf branch (matched 2)"]
    );
    assert_eq!(
        found(raw.clone(), &json!("a")),
        ["\"arguments\" must match exactly one oneOf branch (matched 0)"]
    );
    assert_eq!(found(raw, &json!(1.5)), [""; 0]);
    let three = json!({"oneOf": [{}, {}, {"type": "array", "items": {"oneOf": [{"type": "null"}, {"type": "string"}]}}]});
    assert_eq!(
        found(three, &json!([null, "a"])),
        ["\"arguments\" must match exactly one oneOf branch (matched 3)"]
    );
}

// spec: tools/T40, tools/T48
#[test]
fn objects_are_open_and_defaults_are_never_filled_in() {
    let raw = json!({"type": "object", "properties": {"a": {"type": "string", "default": "x"}}});
    let value = json!({"z": {"y": [1]}});
    assert_eq!(found(raw, &value), [""; 0]);
    assert_eq!(value, json!({"z": {"y": [1]}}));
}

// spec: tools/T40
#[test]
fn a_property_of_a_long_list_is_found_in_any_order() {
    let properties: serde_json::Map<_, _> =
        (0..40).map(|index| (format!("p{index}"), json!({"type": "integer"}))).collect();
    let raw = json!({"type": "object", "properties": properties, "additionalProperties": false});
    let value: Value = (0..40).rev().map(|index| (format!("p{index}"), json!(index))).collect();
    assert_eq!(found(raw.clone(), &value), [""; 0]);
    assert_eq!(found(raw, &json!({"p3": "x", "p40": 1})).len(), 2);
}

// spec: tools/T47, tools/T52, cases/T3
#[test]
fn lossless_json_is_told_from_what_64_bits_would_change() {
    for text in
        ["[1, {\"a\": 0.1}]", "18446744073709551615", "-9223372036854775808", "1e300", "5e-324", "null"]
    {
        assert!(is_lossless(&parsed(text)), "{text}");
    }
    for text in ["[{\"a\": -0}]", "-0.0", "1e400", "18446744073709551616", "0.1000000000000000055", "1e-400"]
    {
        assert!(!is_lossless(&parsed(text)), "{text}");
    }
    assert!(!is_lossless(&json!({"a": [-0.0]})));
}
