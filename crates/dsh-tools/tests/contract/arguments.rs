//! The strict reading of a call's arguments.

use dsh_tools::{ArgumentsError, MAX_DEPTH, parse_arguments};
use serde_json::json;

fn refused(text: &str) -> ArgumentsError {
    match parse_arguments(text) {
        Ok(value) => panic!("{text} was taken as {value}"),
        Err(error) => error,
    }
}

// spec: cases/T1
#[test]
fn nothing_white_space_and_null_mean_an_empty_object() {
    for text in ["", "  ", "\n\t", "null", " null "] {
        assert_eq!(parse_arguments(text).unwrap(), json!({}), "{text:?}");
    }
}

// spec: cases/T2
#[test]
fn a_key_given_twice_is_refused_wherever_it_is() {
    let key = |key: &str| ArgumentsError::DuplicateKey { key: key.to_owned() };
    assert_eq!(refused(r#"{"path":"safe","path":"/etc/passwd"}"#), key("path"));
    assert_eq!(refused(r#"{"a":[{"b":{"c":1,"\u0063":1}}]}"#), key("c"));
    assert!(parse_arguments(r#"{"a":{"a":1},"b":{"a":1}}"#).is_ok());
}

// spec: cases/T3
#[test]
fn whole_numbers_up_to_64_bits_stay_exact() {
    for text in
        ["2512292042121000001", "9007199254740993", "18446744073709551615", "-9223372036854775808", "0"]
    {
        let value = parse_arguments(&format!("{{\"n\":{text}}}")).unwrap();
        assert_eq!(value["n"].to_string(), text);
    }
    assert_eq!(
        parse_arguments(r#"{"n":9007199254740993}"#).unwrap()["n"].as_i64(),
        Some(9_007_199_254_740_993)
    );
}

// spec: cases/T3
#[test]
fn numbers_that_would_be_rounded_are_refused() {
    for text in [
        "18446744073709551616",
        "-9223372036854775809",
        "1e400",
        "-1e400",
        "1e-400",
        "1e99999999999999999999",
        "0.1000000000000000055",
        "9007199254740993.0",
        "-0",
        "-0.0",
        "-0e5",
    ] {
        let error = refused(&format!("[{{\"n\":{text}}}]"));
        assert_eq!(error, ArgumentsError::LossyNumber { number: text.to_owned() });
    }
}

#[test]
fn the_way_a_number_is_written_does_not_matter() {
    for text in
        ["0.1", "0.10", "1.0", "1e2", "1E+2", "100e-2", "1e300", "5e-324", "123456789.125", "0.0", "0e9"]
    {
        assert!(parse_arguments(&format!("{{\"n\":{text}}}")).is_ok(), "{text}");
    }
}

// spec: cases/T4
#[test]
fn nesting_is_limited_and_never_crashes() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(parse_arguments(&nested(127)).is_ok());
    assert!(parse_arguments(&nested(MAX_DEPTH)).is_ok());
    assert_eq!(refused(&nested(129)), ArgumentsError::TooDeep);
    assert_eq!(refused(&nested(100_000)), ArgumentsError::TooDeep);
    assert_eq!(refused(&"[".repeat(100_000)), ArgumentsError::TooDeep);
    assert_eq!(refused(&r#"{"a":"#.repeat(100_000)), ArgumentsError::TooDeep);
}

#[test]
fn brackets_in_strings_are_no_nesting() {
    let text = format!(r#"{{"a":"\"{}\\"}}"#, "[{".repeat(1_000));
    assert!(parse_arguments(&text).is_ok());
}

// spec: cases/T5
#[test]
fn text_that_was_cut_off_is_refused() {
    for text in
        [r#"{"command": "ec"#, r#"{"command""#, "{", r#"{"a":1} {"#, r#"{"a":1,}"#, "{'a':1}", "NaN", "tru"]
    {
        assert!(matches!(refused(text), ArgumentsError::NotJson { .. }), "{text}");
    }
}

#[test]
fn a_lone_surrogate_is_refused() {
    assert!(matches!(refused(r#"{"a":"\ud800"}"#), ArgumentsError::NotJson { .. }));
    assert_eq!(parse_arguments(r#"{"a":"\ud83d\ude00"}"#).unwrap(), json!({"a": "😀"}));
}

#[test]
fn an_object_that_the_json_library_would_read_as_a_number_is_refused() {
    let error = refused(r#"{"a":{"$serde_json::private::Number":"1"}}"#);
    assert!(matches!(error, ArgumentsError::ReservedKey { .. }));
}

#[test]
fn any_other_value_is_kept_as_it_is() {
    let text = r#"{"s":"a\nb","t":true,"f":false,"n":null,"l":[1,[]],"o":{"__proto__":{}}}"#;
    assert_eq!(parse_arguments(text).unwrap(), serde_json::from_str::<serde_json::Value>(text).unwrap());
    assert_eq!(parse_arguments("[1]").unwrap(), json!([1]));
}
