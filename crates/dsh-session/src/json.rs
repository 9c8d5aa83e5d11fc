//! Stricter than serde's derive: an object is an object, and a field that is there is not `null`.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Reads a struct from an object only; a derived `Deserialize` takes an array as well.
pub(crate) fn object<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    if text.trim_start().starts_with('{') {
        serde_json::from_str(text)
    } else {
        Err(serde_json::Error::custom("an object is expected"))
    }
}

/// For a field that holds an object.
pub(crate) fn nested<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<T, D::Error> {
    let raw: &RawValue = Deserialize::deserialize(deserializer)?;
    object(raw.get()).map_err(|error| D::Error::custom(reason(&error)))
}

/// For an optional field: absent or a value, but not `null`.
pub(crate) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
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
