//! Arguments as a text that is the same for the same arguments, whatever the order of their keys.

use serde_json::{Number, Value};

/// JSON without white space, with the keys of every object sorted by their UTF-16 units, and numbers as JavaScript writes
/// them.
pub(crate) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value);
    text
}

/// Arguments are nested in few levels, so this may recurse.
fn write(text: &mut String, value: &Value) {
    match value {
        Value::Null | Value::Bool(_) => text.push_str(&value.to_string()),
        Value::Number(number) => write_number(text, number),
        Value::String(string) => write_string(text, string),
        Value::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                write(text, item);
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            text.push('{');
            for (place, (key, member)) in members.into_iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                write_string(text, key);
                text.push(':');
                write(text, member);
            }
            text.push('}');
        }
    }
}

/// Numbers are kept as they were written, so that one may be there in several forms.
fn write_number(text: &mut String, number: &Number) {
    if let Some(integer) = number.as_i64() {
        text.push_str(&integer.to_string());
    } else if let Some(integer) = number.as_u64() {
        text.push_str(&integer.to_string());
    } else {
        match number.as_f64().filter(|float| float.is_finite()) {
            Some(float) => text.push_str(ryu_js::Buffer::new().format_finite(float)),
            None => text.push_str(&number.to_string()),
        }
    }
}

fn write_string(text: &mut String, string: &str) {
    text.push_str(&Value::from(string).to_string());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

    use super::*;

    fn of(text: &str) -> String {
        canonical(&serde_json::from_str(text).unwrap())
    }

    // spec: timeout-jobs-hooks/J13
    #[test]
    fn keys_are_sorted_at_every_depth_and_items_are_not() {
        let text = r#"{ "b": [ { "d": 1, "c": [2, 1] }, null ], "a": { "z": true, "y": "x" } }"#;
        assert_eq!(of(text), r#"{"a":{"y":"x","z":true},"b":[{"c":[2,1],"d":1},null]}"#);
        assert_eq!(of(r#"{"\uff41":1,"\ud83d\ude00":2}"#), "{\"😀\":2,\"ａ\":1}");
    }

    #[test]
    fn numbers_have_one_form() {
        assert_eq!(
            of("[1.0, 1e2, 0.10, -5, 1e21, 18446744073709551615]"),
            "[1,100,0.1,-5,1e+21,18446744073709551615]"
        );
    }

    #[test]
    fn strings_are_escaped_as_json() {
        assert_eq!(of(r#"["\u0022\n\u0001\u00e9/"]"#), r#"["\"\n\u0001é/"]"#);
    }
}
