//! The strict reading of a call's arguments: one text, one value, for everyone who looks at them.

use std::fmt;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};
use thiserror::Error;

/// How deep arguments may be nested.
pub const MAX_DEPTH: usize = 128;

/// serde_json marks its own exact numbers and raw texts with these keys; as data they would be read in two ways.
const RESERVED_KEYS: [&str; 2] = ["$serde_json::private::Number", "$serde_json::private::RawValue"];

/// Why the text of a call's arguments is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ArgumentsError {
    /// The text is not JSON; it may have been cut off.
    #[error("not valid JSON: {reason}")]
    NotJson {
        /// What the parser expected, and where.
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
    check_depth(text)?;
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| not_json(&error))?;
    match value(raw)? {
        Value::Null => Ok(Value::Object(Map::new())),
        value => Ok(value),
    }
}

/// Counts brackets outside strings; the parsers below recurse and rely on it.
fn check_depth(text: &str) -> Result<(), ArgumentsError> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(ArgumentsError::TooDeep);
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

fn value(raw: &RawValue) -> Result<Value, ArgumentsError> {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'{') => {
            let members = parse(text, Members)?;
            let mut map = Map::new();
            for (key, raw) in members {
                if RESERVED_KEYS.contains(&key.as_str()) {
                    return Err(ArgumentsError::ReservedKey { key });
                }
                if map.contains_key(&key) {
                    return Err(ArgumentsError::DuplicateKey { key });
                }
                map.insert(key, value(raw)?);
            }
            Ok(Value::Object(map))
        }
        Some(b'[') => parse(text, Items)?.into_iter().map(value).collect::<Result<_, _>>().map(Value::Array),
        Some(b'-' | b'0'..=b'9') => number(text).map(Value::Number),
        _ => serde_json::from_str(text).map_err(|error| not_json(&error)),
    }
}

fn parse<'de, V: Visitor<'de>>(text: &'de str, visitor: V) -> Result<V::Value, ArgumentsError> {
    serde_json::Deserializer::from_str(text).deserialize_any(visitor).map_err(|error| not_json(&error))
}

fn not_json(error: &serde_json::Error) -> ArgumentsError {
    ArgumentsError::NotJson { reason: error.to_string() }
}

/// The members of one object, their values unread.
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

/// The items of one array, unread.
struct Items;

impl<'de> Visitor<'de> for Items {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(items)
    }
}

/// Takes a number whose value an `i64`, a `u64` or an `f64` holds without change; `-0` is none.
fn number(text: &str) -> Result<Number, ArgumentsError> {
    let lossy = || ArgumentsError::LossyNumber { number: shorten(text) };
    let exact = match text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        false => text != "-0" && (text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok()),
        true => text.parse::<f64>().is_ok_and(|float| {
            float.is_finite()
                && !(float == 0.0 && float.is_sign_negative())
                && Decimal::of(text) == Decimal::of(&format!("{float:e}"))
        }),
    };
    if exact { text.parse().map_err(|_| lossy()) } else { Err(lossy()) }
}

fn shorten(text: &str) -> String {
    if text.len() <= 40 { text.to_owned() } else { format!("{}…", &text[..40]) }
}

/// A decimal number without the freedom of writing it: `0.digits * 10^exponent`.
#[derive(PartialEq, Eq)]
struct Decimal {
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// `None` if the exponent does not fit, which no number that can be kept has.
    fn of(text: &str) -> Option<Self> {
        let text = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let leading = digits.iter().take_while(|digit| **digit == b'0').count();
        let trailing = digits.iter().rev().take_while(|digit| **digit == b'0').count();
        if leading == digits.len() {
            return Some(Self { digits: Vec::new(), exponent: 0 });
        }
        let exponent = exponent.parse::<i64>().ok()?;
        let point = i64::try_from(whole.len()).ok()? - i64::try_from(leading).ok()?;
        Some(Self {
            digits: digits[leading..digits.len() - trailing].to_vec(),
            exponent: exponent.checked_add(point)?,
        })
    }
}
