//! The strict parser against the JSON library: it takes the same texts but for those that two readers could read in two ways.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use dsh_tools::{ArgumentsError, is_lossless, parse_arguments};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

fn reason(text: &str) -> String {
    match parse_arguments(text) {
        Err(ArgumentsError::NotJson { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

// spec: cases/T5
#[test]
fn what_is_wrong_is_told_with_its_place() {
    assert_eq!(
        reason("{\"a\": 1,\n\"é\": }"),
        "expected a value at line 2 column 6, but found something else"
    );
    assert_eq!(
        reason("{\"a\": \"cu"),
        "expected the rest of a string, control characters escaped at line 1 column 10, but the text ends"
    );
    assert_eq!(reason("[1, 2"), "expected `,` or `]` at line 1 column 6, but the text ends");
    assert_eq!(reason("[1] 2"), "expected the end of the text at line 1 column 5, but found something else");
}

#[test]
fn each_kind_of_bad_text_is_refused() {
    for text in [
        "[01]",
        "[1.]",
        "[.5]",
        "[+1]",
        "[1e]",
        "[1e+]",
        "[--1]",
        "[-]",
        "[0x1]",
        "[Infinity]",
        "[1,]",
        "[,]",
        "{,}",
        "{1:2}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "[1 2]",
        "tru",
        "nulll",
        "\"\t\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u+123\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "\"\\ud800",
        "\"\\",
        "\"",
        "\u{feff}{}",
        "{}\u{a0}",
        "[1]]",
        "/**/{}",
    ] {
        assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
        assert!(matches!(parse_arguments(text), Err(ArgumentsError::NotJson { .. })), "{text}");
    }
}

#[test]
fn escapes_are_undone_once() {
    let text = r#"["\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\u0000é😀"]"#;
    assert_eq!(parse_arguments(text).unwrap(), json!(["\"\\/\u{8}\u{c}\n\r\té😀\0é😀"]));
}

// spec: cases/T2
#[test]
fn the_key_that_is_given_twice_is_named_as_it_reads() {
    let error = parse_arguments(r#"{"k\u0065y": {"a": [1]}, "key": 2}"#).unwrap_err();
    assert_eq!(error, ArgumentsError::DuplicateKey { key: "key".to_owned() });
}

// spec: cases/T3
#[test]
fn numbers_are_those_of_the_json_library() {
    let text = "[0,-1,18446744073709551615,1.50,1e2,-2.5E-3,123456789012345678]";
    let value = parse_arguments(text).unwrap();
    assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
    assert_eq!(value.to_string(), "[0,-1,18446744073709551615,1.50,1e+2,-2.5e-3,123456789012345678]");
}

fn value() -> BoxedStrategy<Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite, not -0", |it| it.is_finite() && *it != 0.0).prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    scalar
        .prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Value::from),
                vec((".{0,3}", inner), 0..5).prop_map(|members| members.into_iter().collect()),
            ]
        })
        .boxed()
}

// spec: cases/T3
#[test]
fn both_shortest_texts_of_a_float_between_two_decimals_are_kept() {
    for text in ["[1956412737232873.2]", "[1956412737232873.3]", "[-1956412737232873.2]"] {
        let read = parse_arguments(text).unwrap();
        assert!(is_lossless(&read), "{text}");
        assert_eq!(read.to_string(), text);
    }
    for text in ["[1956412737232873.1]", "[1956412737232873.4]"] {
        assert!(parse_arguments(text).is_err(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    // spec: cases/T3
    #[test]
    fn what_was_written_is_read(value in value().prop_filter("not null", |it| !it.is_null())) {
        prop_assert!(is_lossless(&value));
        prop_assert_eq!(parse_arguments(&value.to_string()).unwrap(), value.clone());
        prop_assert_eq!(parse_arguments(&serde_json::to_string_pretty(&value).unwrap()).unwrap(), value);
    }

    #[test]
    fn a_damaged_text_is_taken_by_both_or_by_none(
        value in value(),
        place in any::<prop::sample::Index>(),
        other in prop::sample::select(vec!["", "\"", "\\", ",", ":", "{", "}", "[", "]", "0", "-", ".", "e", " ", "\n", "u", "é"]),
        cut in any::<bool>(),
    ) {
        let mut characters: Vec<char> = value.to_string().chars().collect();
        let at = place.index(characters.len());
        if cut {
            characters.truncate(at);
        } else {
            characters.splice(at..=at, other.chars());
        }
        let text: String = characters.into_iter().collect();
        match (parse_arguments(&text), serde_json::from_str::<Value>(&text)) {
            (Ok(ours), Ok(theirs)) => prop_assert!(ours == theirs || theirs.is_null(), "{}", text),
            (Ok(_), Err(error)) => prop_assert!(text.trim().is_empty(), "{}: {}", text, error),
            (Err(ArgumentsError::NotJson { reason }), Ok(_)) => prop_assert!(false, "{}: {}", text, reason),
            (Err(_), _) => {}
        }
    }

    // spec: cases/T3
    #[test]
    fn a_number_is_kept_exactly_or_refused(text in "-?(0|[1-9][0-9]{0,22})(\\.[0-9]{1,22})?(e[+-]?[0-9]{1,3})?") {
        // What survives a second way through the shortest text of its float is the float itself.
        let Ok(value) = parse_arguments(&text) else { return Ok(()) };
        let float: f64 = text.parse().unwrap();
        prop_assert!(is_lossless(&value));
        prop_assert!(float.is_finite() && !(float == 0.0 && float.is_sign_negative()));
        if text.contains(['.', 'e']) {
            let digits = |text: &str| {
                let mantissa: String = text.split('e').next().unwrap().chars().filter(char::is_ascii_digit).collect();
                mantissa.trim_matches('0').to_owned()
            };
            prop_assert_eq!(digits(&text), digits(&format!("{float:e}")));
        } else {
            prop_assert!(text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok());
        }
    }
}
