//! Stricter than serde's derive: an object is an object, and a number is one that every reader keeps exact.

use serde::Deserialize;
use serde::de::Error as _;

/// Reads a struct from an object only; a derived `Deserialize` takes an array as well.
pub(crate) fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    if text.trim_start().starts_with('{') {
        serde_json::from_str(text)
    } else {
        Err(serde_json::Error::custom("an object is expected"))
    }
}

/// What a parser expected, with the column in the line instead of the parser's own line and column.
pub(crate) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    match error.column() {
        0 => text[..end].to_owned(),
        column => format!("{} (column {column})", &text[..end]),
    }
}

/// Whether two values are the same JSON: keys in any order, numbers by their value.
pub(crate) fn same_json(one: &serde_json::Value, two: &serde_json::Value) -> bool {
    use serde_json::Value;

    match (one, two) {
        (Value::Number(one), Value::Number(two)) => one == two || one.as_f64() == two.as_f64(),
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| same_json(one, two))
        }
        (Value::Object(one), Value::Object(two)) => {
            let same = |(key, one)| two.get(key).is_some_and(|two| same_json(one, two));
            one.len() == two.len() && one.iter().all(same)
        }
        (one, two) => one == two,
    }
}

/// The error for a number that some reader of the format would round.
pub(crate) fn check_safe(name: &str, value: Option<u64>) -> Result<(), String> {
    match value {
        Some(value) if value > MAX_SAFE => Err(format!("`{name}` is {value}, more than 2^53 - 1")),
        _ => Ok(()),
    }
}

/// The largest whole number that every reader of the format keeps exact.
pub(crate) const MAX_SAFE: u64 = (1 << 53) - 1;

/// A whole number that is written in any way, `5.0` and `1e3` included; none if it is not whole or not safe.
pub(crate) fn whole(text: &str) -> Option<i64> {
    if let Ok(number) = text.parse::<i64>() {
        return (number.unsigned_abs() <= MAX_SAFE).then_some(number);
    }
    let number: f64 = text.parse().ok()?;
    // In range, so the conversion is exact.
    (number.fract() == 0.0 && number.abs() <= MAX_SAFE as f64).then_some(number as i64)
}
