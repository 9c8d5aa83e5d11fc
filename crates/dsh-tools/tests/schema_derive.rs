//! Schemas of Rust types, and the reading of what they accept.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::collections::{BTreeMap, HashMap};

use dsh_tools::{Schema, read_arguments};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

fn raw<T: JsonSchema>() -> Value {
    (**Schema::of::<T>().unwrap().raw()).clone()
}

fn refused<T: JsonSchema>() -> Vec<String> {
    Schema::of::<T>().unwrap_err().violations().to_vec()
}

/// Where to look.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Search {
    /// What to look for.
    pattern: String,
    /// How many results at most.
    #[serde(default)]
    max_results: u8,
    /// Only this kind.
    kind: Option<Kind>,
    around: Option<Range>,
    exact: Option<bool>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    File,
    Directory,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Range {
    start: Box<i64>,
    ratio: f64,
}

#[test]
fn a_struct_becomes_an_object_with_its_documentation() {
    assert_eq!(
        raw::<Search>(),
        json!({
            "type": "object",
            "description": "Where to look.",
            "properties": {
                "pattern": {"type": "string", "description": "What to look for."},
                "maxResults": {"type": "integer", "description": "How many results at most.", "default": 0},
                "kind": {"type": "string", "enum": ["file", "directory"], "description": "Only this kind."},
                "around": {
                    "type": "object",
                    "properties": {"start": {"type": "integer"}, "ratio": {"type": "number"}},
                    "required": ["start", "ratio"],
                    "additionalProperties": false,
                },
                "exact": {"type": "boolean"},
            },
            "required": ["pattern"],
        })
    );
}

#[test]
fn what_the_schema_accepts_is_read() {
    let schema = Schema::of::<Search>().unwrap();
    let value: Value = serde_json::from_str(
        r#"{"pattern": "x", "maxResults": 1e2, "kind": "file", "around": {"start": 5.0, "ratio": 2}, "more": 1}"#,
    )
    .unwrap();
    assert_eq!(schema.violations(Schema::ARGUMENTS, &value), [""; 0]);
    assert_eq!(
        read_arguments::<Search>(&value).unwrap(),
        Search {
            pattern: "x".to_owned(),
            max_results: 100,
            kind: Some(Kind::File),
            around: Some(Range { start: Box::new(5), ratio: 2.0 }),
            exact: None,
        }
    );
}

#[test]
fn null_is_refused_where_a_property_may_be_left_out() {
    let schema = Schema::of::<Search>().unwrap();
    assert_eq!(
        schema.violations(Schema::ARGUMENTS, &json!({"pattern": "x", "exact": null})),
        ["\"exact\" must be a boolean"]
    );
    assert!(schema.accepts(&json!({"pattern": "x"})));
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Collections {
    list: Vec<String>,
    gaps: Vec<Option<Kind>>,
    pair: (u8, u8),
    mixed: (u8, String),
    map: BTreeMap<String, u8>,
    by_number: HashMap<u16, bool>,
    any: Value,
    maybe: Option<Value>,
    nested: Vec<Vec<Range>>,
    letter: char,
}

#[test]
fn collections_keep_what_the_subset_can_say() {
    let range = json!({
        "type": "object",
        "properties": {"start": {"type": "integer"}, "ratio": {"type": "number"}},
        "required": ["start", "ratio"],
        "additionalProperties": false,
    });
    assert_eq!(
        raw::<Collections>(),
        json!({
            "type": "object",
            "properties": {
                "list": {"type": "array", "items": {"type": "string"}},
                "gaps": {
                    "type": "array",
                    "items": {"oneOf": [{"type": "string", "enum": ["file", "directory"]}, {"type": "null"}]},
                },
                "pair": {"type": "array", "items": {"type": "integer"}},
                "mixed": {"type": "array"},
                "map": {"type": "object"},
                "by_number": {"type": "object"},
                "any": {},
                "maybe": {},
                "nested": {"type": "array", "items": {"type": "array", "items": range}},
                "letter": {"type": "string"},
            },
            "required": ["list", "gaps", "pair", "mixed", "map", "by_number", "any", "nested", "letter"],
        })
    );
    let value = json!({
        "list": ["a"], "gaps": ["file", null], "pair": [1, 2], "mixed": [3, "x"], "map": {"k": 4}, "by_number": {"7": true},
        "any": {"deep": [1.5, null]}, "maybe": null, "nested": [[{"start": 1, "ratio": 0.5}], []], "letter": "é",
    });
    assert!(Schema::of::<Collections>().unwrap().accepts(&value));
    assert_eq!(
        read_arguments::<Collections>(&value).unwrap(),
        Collections {
            list: vec!["a".to_owned()],
            gaps: vec![Some(Kind::File), None],
            pair: (1, 2),
            mixed: (3, "x".to_owned()),
            map: BTreeMap::from([("k".to_owned(), 4)]),
            by_number: HashMap::from([(7, true)]),
            any: json!({"deep": [1.5, null]}),
            maybe: None,
            nested: vec![vec![Range { start: Box::new(1), ratio: 0.5 }], vec![]],
            letter: 'é',
        }
    );
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
enum Outer {
    Nothing,
    One(u8),
    Two(u8, String),
    Named { range: Option<Range> },
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tagged {
    /// Nothing to say.
    Empty,
    Count {
        n: u8,
    },
    Range(Range),
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    A(u8),
    B,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Either {
    Text(String),
    Number(i64),
    List(Vec<String>),
}

#[test]
fn enums_with_data_are_told_apart_by_one_of() {
    assert_eq!(
        raw::<Outer>(),
        json!({"oneOf": [
            {"type": "string", "enum": ["Nothing"]},
            {"type": "object", "properties": {"One": {"type": "integer"}}, "required": ["One"], "additionalProperties": false},
            {"type": "object", "properties": {"Two": {"type": "array"}}, "required": ["Two"], "additionalProperties": false},
            {
                "type": "object",
                "properties": {"Named": {"type": "object", "properties": {"range": {
                    "type": "object",
                    "properties": {"start": {"type": "integer"}, "ratio": {"type": "number"}},
                    "required": ["start", "ratio"],
                    "additionalProperties": false,
                }}}},
                "required": ["Named"],
                "additionalProperties": false,
            },
        ]})
    );
    let outer = Schema::of::<Outer>().unwrap();
    for (value, read) in [
        (json!("Nothing"), Outer::Nothing),
        (json!({"One": 1}), Outer::One(1)),
        (json!({"Two": [1, "a"]}), Outer::Two(1, "a".to_owned())),
        (json!({"Named": {}}), Outer::Named { range: None }),
    ] {
        assert!(outer.accepts(&value), "{value}");
        assert_eq!(read_arguments::<Outer>(&value).unwrap(), read);
    }
    let either = Schema::of::<Either>().unwrap();
    for (value, read) in [
        (json!("a"), Either::Text("a".to_owned())),
        (serde_json::from_str("5.0").unwrap(), Either::Number(5)),
        (json!(["a"]), Either::List(vec!["a".to_owned()])),
    ] {
        assert!(either.accepts(&value), "{value}");
        assert_eq!(read_arguments::<Either>(&value).unwrap(), read);
    }
}

#[test]
fn tags_are_constants() {
    assert_eq!(
        raw::<Tagged>(),
        json!({"oneOf": [
            {
                "type": "object",
                "description": "Nothing to say.",
                "properties": {"type": {"type": "string", "const": "empty"}},
                "required": ["type"],
            },
            {
                "type": "object",
                "properties": {"n": {"type": "integer"}, "type": {"type": "string", "const": "count"}},
                "required": ["type", "n"],
            },
            {
                "type": "object",
                "properties": {
                    "start": {"type": "integer"},
                    "ratio": {"type": "number"},
                    "type": {"type": "string", "const": "range"},
                },
                "required": ["type", "start", "ratio"],
                "additionalProperties": false,
            },
        ]})
    );
    let tagged = Schema::of::<Vec<Option<Tagged>>>().unwrap();
    let value: Value =
        serde_json::from_str(r#"[{"type": "count", "n": 5.0}, null, {"type": "empty"}]"#).unwrap();
    assert!(tagged.accepts(&value));
    assert_eq!(
        read_arguments::<Vec<Option<Tagged>>>(&value).unwrap(),
        [Some(Tagged::Count { n: 5 }), None, Some(Tagged::Empty)]
    );
    let adjacent = Schema::of::<Adjacent>().unwrap();
    assert!(adjacent.accepts(&json!({"t": "B"})) && adjacent.accepts(&json!({"t": "A", "c": 1})));
    assert!(!adjacent.accepts(&json!({"t": "C"})));
}

/// How sure.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(dead_code, reason = "only its schema counts")]
enum Documented {
    /// There is no doubt.
    QuiteSure,
    Unsure,
    /// It may be anything.
    Guess,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema counts")]
enum Single {
    Only { n: u8 },
}

#[test]
fn names_with_documentation_are_still_one_enum() {
    assert_eq!(
        raw::<Documented>(),
        json!({
            "type": "string",
            "enum": ["unsure", "quite-sure", "guess"],
            "description": "How sure.\n\"quite-sure\": There is no doubt.\n\"guess\": It may be anything.",
        })
    );
    assert_eq!(raw::<Single>()["properties"]["Only"]["required"], json!(["n"]));
}

#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema counts")]
struct Tree {
    name: String,
    children: Vec<Tree>,
    parent: Option<Box<Tree>>,
}

#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema counts")]
struct Holder {
    tree: Tree,
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema counts")]
enum Ambiguous {
    Whole(i64),
    Real(f64),
}

#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema counts")]
struct Flattened {
    name: String,
    #[serde(flatten)]
    tagged: Tagged,
}

#[test]
fn what_cannot_be_expressed_names_the_place_and_a_remedy() {
    let recursive = " is recursive: break the recursion with a field of type `serde_json::Value`";
    assert_eq!(
        refused::<Holder>(),
        [
            format!("schema.properties.tree.properties.children.items{recursive}"),
            format!("schema.properties.tree.properties.parent{recursive}"),
        ]
    );
    assert_eq!(refused::<Tree>().len(), 2);
    assert_eq!(
        refused::<Vec<Ambiguous>>(),
        ["schema.items.anyOf cannot be expressed: one value may match both [0] and [1]; give the enum a tag"]
    );
    assert_eq!(
        refused::<Flattened>(),
        ["schema has fields beside an enum's variants: give the flattened enum a field of its own"]
    );
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Renamed {
    #[serde(flatten)]
    range: Open,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Open {
    start: u8,
}

#[test]
fn flattened_structs_and_maps_are_written_out() {
    assert_eq!(
        raw::<Renamed>(),
        json!({"type": "object", "properties": {"start": {"type": "integer"}}, "required": ["start"]})
    );
    let value: Value = serde_json::from_str(r#"{"start": 5.0, "x": [1]}"#).unwrap();
    assert_eq!(
        read_arguments::<Renamed>(&value).unwrap(),
        Renamed { range: Open { start: 5 }, rest: BTreeMap::from([("x".to_owned(), json!([1]))]) }
    );
}

fn three() -> Option<u8> {
    Some(3)
}

#[derive(Deserialize, JsonSchema)]
#[serde(default)]
#[derive(Default)]
#[allow(dead_code, reason = "only its schema counts")]
struct Defaults {
    none: Option<u8>,
    kind: Option<Shade>,
    #[serde(default = "three")]
    some: Option<u8>,
    /// Seen.
    boxed: Option<Box<Open>>,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema counts")]
enum Shade {
    Dark,
    Light(u8),
}

#[test]
fn a_default_of_null_is_left_out_with_the_null() {
    assert_eq!(
        raw::<Defaults>(),
        json!({
            "type": "object",
            "properties": {
                "none": {"type": "integer"},
                "kind": {"oneOf": [
                    {"type": "string", "enum": ["Dark"]},
                    {
                        "type": "object",
                        "properties": {"Light": {"type": "integer"}},
                        "required": ["Light"],
                        "additionalProperties": false,
                    },
                ]},
                "some": {"type": "integer", "default": 3},
                "boxed": {
                    "type": "object",
                    "description": "Seen.",
                    "properties": {"start": {"type": "integer"}},
                    "required": ["start"],
                },
            },
        })
    );
}
