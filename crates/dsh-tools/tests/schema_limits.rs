//! Limits of Rust types: a type's own are its reader's, any other is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::Ipv4Addr;
use std::num::{NonZeroI8, NonZeroI64, NonZeroU8, NonZeroU32, NonZeroUsize};

use dsh_tools::{Schema, read_arguments};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const REMEDY: &str = " is a limit that nobody checks: check it in the tool's body, or use a type that holds no other \
                      values and whose schema leaves the keyword out";

fn refused<T: JsonSchema>() -> Vec<String> {
    let violations = Schema::of::<T>().unwrap_err().violations().to_vec();
    assert_eq!(Schema::of_written::<T>().unwrap_err().violations(), violations);
    violations
}

fn limits(places: &[&str]) -> Vec<String> {
    places.iter().map(|place| format!("schema{place}{REMEDY}")).collect()
}

#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema counts")]
struct Limited {
    #[schemars(range(min = 1, max = 5))]
    count: i32,
    #[schemars(regex(pattern = "^a"), length(min = 2))]
    text: String,
    #[schemars(length(max = 3))]
    list: Vec<u8>,
    #[schemars(range(max = 1.0))]
    ratio: Option<f64>,
    #[schemars(email)]
    mail: String,
    #[schemars(contains("x"))]
    name: Option<String>,
}

#[test]
fn a_limit_that_the_reader_does_not_check_is_refused_with_its_place_and_a_remedy() {
    assert_eq!(
        refused::<Limited>(),
        limits(&[
            ".properties.count.minimum",
            ".properties.count.maximum",
            ".properties.text.minLength",
            ".properties.text.pattern",
            ".properties.list.maxItems",
            ".properties.ratio.maximum",
            ".properties.mail.format",
            ".properties.name.pattern",
        ])
    );
}

#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema counts")]
struct Tight {
    #[schemars(range(min = 2))]
    low: u8,
    #[schemars(range(max = 254))]
    high: u8,
    #[schemars(range(max = 99))]
    index: NonZeroU32,
    #[schemars(range(min = 1))]
    signed: i64,
    #[schemars(range(min = 1.5))]
    half: u64,
    #[schemars(length(min = 1))]
    some: BTreeSet<String>,
    #[schemars(length(equal = 2))]
    two: String,
    #[schemars(inner(range(max = 9)))]
    digits: Vec<u8>,
}

#[test]
fn a_limit_narrower_than_the_types_own_is_refused() {
    assert_eq!(
        refused::<Tight>(),
        limits(&[
            ".properties.low.minimum",
            ".properties.high.maximum",
            ".properties.index.maximum",
            ".properties.signed.minimum",
            ".properties.half.minimum",
            ".properties.some.minItems",
            ".properties.two.minLength",
            ".properties.two.maxLength",
            ".properties.digits.items.maximum",
        ])
    );
}

#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema counts")]
struct One {
    #[schemars(range(max = 9))]
    n: u8,
}

#[derive(JsonSchema)]
#[serde(tag = "kind")]
#[allow(dead_code, reason = "only its schema counts")]
enum Kinds {
    A(One),
    B { list: Vec<One> },
}

#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema counts")]
struct Hidden {
    mixed: (One, String),
    by_name: BTreeMap<String, One>,
    by_number: HashMap<u16, One>,
    maybe: Option<One>,
    kinds: Kinds,
}

#[test]
fn limits_are_found_where_the_subset_leaves_the_inside_open() {
    assert_eq!(
        refused::<Hidden>(),
        limits(&[
            ".properties.mixed.prefixItems[0].properties.n.maximum",
            ".properties.by_name.additionalProperties.properties.n.maximum",
            r".properties.by_number.patternProperties.^\d+$.properties.n.maximum",
            ".properties.maybe.properties.n.maximum",
            ".properties.kinds.oneOf[0].properties.n.maximum",
            ".properties.kinds.oneOf[1].properties.list.items.properties.n.maximum",
        ])
    );
}

#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema counts")]
struct Tree {
    #[schemars(range(max = 9))]
    n: u8,
    children: BTreeMap<String, Tree>,
}

#[test]
fn the_limits_of_a_recursive_type_are_found_once() {
    assert_eq!(refused::<Tree>(), limits(&[".properties.n.maximum"]));
}

#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema counts")]
struct Extended {
    #[schemars(extend("multipleOf" = 5))]
    step: u8,
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    ratio: f64,
    #[schemars(extend("minProperties" = 1, "propertyNames" = {"pattern": "^a"}))]
    map: BTreeMap<String, u8>,
    #[schemars(extend("contains" = {"const": 1}))]
    list: Vec<u8>,
    #[schemars(extend("not" = {"const": "a"}))]
    other: String,
    #[schemars(extend("enum" = [[1], [2]]))]
    pairs: Vec<u8>,
    #[schemars(extend("const" = {"a": 1}))]
    fixed: Value,
    #[schemars(extend("minimum" = "three"))]
    odd: u8,
}

#[test]
fn restricting_keywords_that_were_written_by_hand_are_refused() {
    assert_eq!(
        refused::<Extended>(),
        limits(&[
            ".properties.step.multipleOf",
            ".properties.ratio.exclusiveMinimum",
            ".properties.ratio.exclusiveMaximum",
            ".properties.map.minProperties",
            ".properties.map.propertyNames",
            ".properties.list.contains",
            ".properties.other.not",
            ".properties.pairs.enum",
            ".properties.fixed.const",
            ".properties.odd.minimum",
        ])
    );
}

#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema counts")]
struct Noted {
    /// A path.
    #[schemars(extend("x-widget" = "file", "format" = "path", "examples" = ["/a"], "deprecated" = true, "$comment" = "-"))]
    path: String,
    #[schemars(extend("enum" = ["a", "b"]))]
    choice: String,
}

#[test]
fn annotations_restrict_nothing_and_choices_are_checked_by_the_schema() {
    let schema = Schema::of::<Noted>().unwrap();
    assert_eq!(
        **schema.raw(),
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "A path.", "examples": ["/a"]},
                "choice": {"type": "string", "enum": ["a", "b"]},
            },
            "required": ["path", "choice"],
        })
    );
    assert_eq!(
        schema.violations(Schema::ARGUMENTS, &json!({"path": "", "choice": "c"})),
        [r#""choice" must be one of ["a","b"]"#]
    );
}

#[derive(Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
struct Natural {
    integers: (i8, i16, i32, i64, isize, u8, u16, u32, u64, usize),
    big: Option<(i128, u128)>,
    positive: (NonZeroU8, NonZeroU32, NonZeroUsize),
    not_zero: Vec<NonZeroI8>,
    maybe: Option<u8>,
    maybe_not_zero: Option<NonZeroI64>,
    letter: char,
    letters: Vec<Option<char>>,
    array: [u8; 3],
    none: [u8; 0],
    pair: Pair,
    set: BTreeSet<u8>,
    by_letter: BTreeMap<char, i8>,
    address: Ipv4Addr,
    #[schemars(range(min = 0, max = 300))]
    wider: u8,
}

#[derive(Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
struct Pair(u8, String);

#[test]
fn the_limits_of_a_type_are_left_to_its_reader_which_checks_them() {
    let natural = Natural {
        integers: (-128, -1, -1, -1, -1, 255, 1, 1, 1, 1),
        big: None,
        positive: (NonZeroU8::MIN, NonZeroU32::MIN, NonZeroUsize::MIN),
        not_zero: vec![NonZeroI8::MIN],
        maybe: Some(0),
        maybe_not_zero: Some(NonZeroI64::MIN),
        letter: 'é',
        letters: vec![None, Some('a')],
        array: [1, 2, 3],
        none: [],
        pair: Pair(1, "a".to_owned()),
        set: BTreeSet::from([1]),
        by_letter: BTreeMap::from([('a', 1)]),
        address: Ipv4Addr::LOCALHOST,
        wider: 7,
    };
    let mut value = serde_json::to_value(&natural).unwrap();
    assert!(Schema::of_written::<Natural>().unwrap().accepts(&value));
    value.as_object_mut().unwrap().shift_remove("big");
    let schema = Schema::of::<Natural>().unwrap();
    assert_eq!(schema.violations(Schema::ARGUMENTS, &value), [""; 0]);
    assert_eq!(read_arguments::<Natural>(&value).unwrap(), natural);
    for (name, wrong) in [
        ("positive", json!([0, 1, 1])),
        ("not_zero", json!([0])),
        ("maybe", json!(256)),
        ("maybe_not_zero", json!(0)),
        ("letter", json!("ab")),
        ("array", json!([1, 2])),
        ("none", json!([1])),
        ("pair", json!([1])),
        ("address", json!("1.2.3")),
    ] {
        let mut value = value.clone();
        value[name] = wrong;
        assert!(schema.accepts(&value), "{name}");
        assert!(read_arguments::<Natural>(&value).is_err(), "{name}");
    }
}
