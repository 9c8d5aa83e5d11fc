//! What a Rust type does not take, in the words of the schema.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::collections::BTreeMap;
use std::num::NonZeroU8;

use dsh_tools::{dismantle, read_arguments};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::value::RawValue;
use serde_json::{Number, Value, json};

fn refused<T: DeserializeOwned>(text: &str) -> String {
    match read_arguments::<T>(&serde_json::from_str(text).unwrap()) {
        Ok(_) => panic!("{text} was read"),
        Err(error) => error,
    }
}

fn read<T: DeserializeOwned>(text: &str) -> T {
    read_arguments(&serde_json::from_str(text).unwrap()).unwrap()
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only read")]
struct Arguments {
    list: Vec<Item>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[allow(dead_code, reason = "only read")]
struct Item {
    small: u8,
    #[serde(default)]
    kind: Option<Kind>,
    #[serde(default)]
    pair: Option<(u8, bool)>,
    #[serde(default)]
    by_number: BTreeMap<u8, String>,
    #[serde(default)]
    non_zero: Option<NonZeroU8>,
}

#[derive(Debug, PartialEq, Deserialize)]
enum Kind {
    Plain,
    Held { n: i8 },
}

// spec: tools/T44
#[test]
fn each_refusal_names_the_place() {
    let item = |rest: &str| refused::<Arguments>(&format!("{{\"list\":[{{\"small\":1}},{{{rest}}}]}}"));
    assert_eq!(item(r#""small":300"#), "\"list[1].small\" must be an integer from 0 to 255");
    assert_eq!(item(r#""small":-1"#), "\"list[1].small\" must be an integer from 0 to 255");
    assert_eq!(item(r#""small":1e300"#), "\"list[1].small\" must be an integer from 0 to 255");
    assert_eq!(item(r#""small":5.5"#), "\"list[1].small\" must be an integer");
    assert_eq!(item(r#""small":"5""#), "\"list[1].small\" must be an integer");
    assert_eq!(item(r#""kind":"Plain""#), "missing required property \"list[1].small\"");
    assert_eq!(item(r#""small":1,"kind":"Other""#), r#""list[1].kind" must be one of ["Plain","Held"]"#);
    assert_eq!(
        item(r#""small":1,"kind":{"Held":{"n":200}}"#),
        "\"list[1].kind.Held.n\" must be an integer from -128 to 127"
    );
    assert_eq!(item(r#""small":1,"kind":{"Held":5}"#), "\"list[1].kind.Held\" must be an object");
    assert_eq!(
        item(r#""small":1,"kind":"Held""#),
        "\"list[1].kind\" must be an object with the key \"Held\""
    );
    assert_eq!(item(r#""small":1,"kind":{"Plain":1}"#), "\"list[1].kind.Plain\" must be null");
    assert_eq!(
        item(r#""small":1,"kind":{}"#),
        "\"list[1].kind\" must be an object with the variant's name as its only key"
    );
    assert_eq!(item(r#""small":1,"pair":[1]"#), "\"list[1].pair\" must be an array of 2 items");
    assert_eq!(item(r#""small":1,"pair":[1,true,2]"#), "\"list[1].pair\" must be an array of 2 items");
    assert_eq!(item(r#""small":1,"pair":[1,2]"#), "\"list[1].pair[1]\" must be a boolean");
    assert_eq!(
        item(r#""small":1,"by_number":{"300":"x"}"#),
        "\"list[1].by_number\" must have keys from 0 to 255"
    );
    assert_eq!(
        item(r#""small":1,"by_number":{"+5":"x"}"#),
        "\"list[1].by_number\" must have keys from 0 to 255"
    );
    assert_eq!(item(r#""small":1,"by_number":{"5":1}"#), "\"list[1].by_number.5\" must be a string");
    assert_eq!(item(r#""small":1,"non_zero":0"#), "\"list[1].non_zero\" must be a nonzero u8");
    assert_eq!(refused::<Arguments>(r#"{"list":{}}"#), "\"list\" must be an array");
    assert_eq!(
        refused::<Arguments>(r#"{"list":[],"x":1}"#),
        "\"x\" is not a declared property (additionalProperties: false)"
    );
    assert_eq!(refused::<Arguments>("[]"), "\"arguments\" must be an object");
    assert_eq!(refused::<Vec<()>>("[null,1]"), "\"[1]\" must be null");
    assert_eq!(refused::<char>("\"ab\""), "\"arguments\" must be a character");
}

// spec: tools/T46, cases/T3
#[test]
fn a_number_is_never_changed_on_its_way() {
    assert_eq!(read::<u64>("18446744073709551615"), u64::MAX);
    assert_eq!(read::<i64>("9007199254740993"), 9_007_199_254_740_993);
    assert_eq!(read::<i64>("-5.0"), -5);
    assert_eq!(read::<u32>("1e2"), 100);
    assert_eq!(read::<i128>("-7"), -7);
    assert_eq!(read::<f64>("5"), 5.0);
    assert_eq!(read::<f32>("0.1"), 0.1);
    assert_eq!(
        refused::<f64>("9007199254740993"),
        "\"arguments\" must be a number that a 64-bit float holds exactly"
    );
    assert_eq!(refused::<f32>("1e300"), "\"arguments\" must be a number that a 32-bit float holds");
    assert_eq!(refused::<f64>("-0"), "\"arguments\" must be a number");
    assert_eq!(refused::<Value>("[1e400]"), "\"[0]\" must be a finite JSON number");
}

#[test]
fn any_value_is_read_as_it_is() {
    let text = r#"{"s":"a\nb","t":true,"n":null,"l":[1,-2,0.5,18446744073709551615],"o":{"__proto__":{}}}"#;
    assert_eq!(read::<Value>(text), serde_json::from_str::<Value>(text).unwrap());
    assert_eq!(read::<Number>("1.5"), Number::from_f64(1.5).unwrap());
    assert_eq!(read::<Box<RawValue>>(r#"{"a":[1,"x"]}"#).get(), r#"{"a":[1,"x"]}"#);
    assert_eq!(read::<Value>("[5.0,1e2]"), json!([5, 100]));
}

#[test]
fn what_a_type_objects_to_is_told_with_the_place() {
    #[derive(Debug, Deserialize)]
    #[serde(try_from = "String")]
    struct Even;
    impl TryFrom<String> for Even {
        type Error = String;
        fn try_from(text: String) -> Result<Self, String> {
            if text.len().is_multiple_of(2) { Ok(Self) } else { Err("the length is odd".to_owned()) }
        }
    }
    assert_eq!(refused::<Vec<Even>>(r#"["ab","abc"]"#), "\"[1]\" must be valid: the length is odd");
}

// spec: cases/T4
#[test]
fn a_value_that_is_too_deep_for_a_type_is_refused() {
    let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    assert!(read_arguments::<Value>(&deep(128)).is_ok());
    let deeper = deep(100_000);
    let error = read_arguments::<Value>(&deeper).unwrap_err();
    assert!(error.ends_with("must be nested at most 128 levels deep"), "{error}");
    assert!(read_arguments::<Vec<IgnoredAny>>(&deeper).is_ok());
    dismantle(deeper);
}
