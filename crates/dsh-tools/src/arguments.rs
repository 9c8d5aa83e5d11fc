//! The strict reading of a call's arguments: one text, one value, for everyone who looks at them.

mod keys;
mod parse;
mod read;
mod read_error;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use thiserror::Error;

/// How deep arguments may be nested.
pub const MAX_DEPTH: usize = 128;

/// Why the text of a call's arguments is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ArgumentsError {
    /// The text is not JSON; it may have been cut off.
    #[error("not valid JSON: {reason}")]
    NotJson {
        /// What was expected, and where.
        reason: String,
    },
    /// An object names one key twice, so two readers could see two values.
    #[error("the key \"{key}\" is given twice")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// A number would change if it were kept in 64 bits.
    #[error("the number {number} cannot be kept exactly")]
    LossyNumber {
        /// The number as written.
        number: String,
    },
    /// A key that the JSON library uses for itself.
    #[error("the key \"{key}\" is reserved")]
    ReservedKey {
        /// The key.
        key: String,
    },
    /// The value is nested too deeply.
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

/// Reads the arguments of a call. Nothing at all, white space and `null` mean `{}`.
///
/// # Errors
/// Whatever two readers could understand in two ways is refused: a key given twice, a number that 64 bits (as an
/// integer or as a float) would change, a lone surrogate; so is nesting beyond [`MAX_DEPTH`].
pub fn parse_arguments(text: &str) -> Result<Value, ArgumentsError> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    match parse::parse(text)? {
        Value::Null => Ok(Value::Object(Map::new())),
        value => Ok(value),
    }
}

/// Reads arguments that the schema has accepted into the Rust type that it was derived from.
///
/// Integers are taken by their value, so `5`, `5.0` and `5e0` are one for this reader as for the schema. A number that the
/// type would change (300 for a `u8`, an integer for which a float has too few bits) is refused. Where a type reads by
/// looking ahead (internally tagged, untagged and flattened types) the path in an error ends there.
///
/// # Errors
/// One text like those of [`Schema::violations`](crate::Schema::violations), `"<path>" must be …`.
pub fn read_arguments<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    T::deserialize(read::Reader::new(value)).map_err(|error| error.text())
}
