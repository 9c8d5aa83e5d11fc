//! The border between Rust values and JSON that every reader of the format keeps exact.

use std::borrow::Cow;
use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};

use crate::error::NotLossless;
use crate::finite::Finite;
use crate::json::{MAX_SAFE, reason};
use crate::text::JsonText;

/// Writes a value as JSON, once: the text that is checked is the text that is kept.
pub(crate) fn text<T: Serialize + ?Sized>(kind: &str, value: &T) -> Result<JsonText, NotLossless> {
    let wrong = |reason| NotLossless { kind: kind.to_owned(), reason };
    let mut bytes = Vec::with_capacity(128);
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Exact);
    value.serialize(Finite(&mut serializer)).map_err(|error| wrong(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|error| wrong(error.to_string()))?;
    Ok(JsonText::own(text))
}

/// Takes JSON text as it is, after a look at every number of it.
pub(crate) fn checked(kind: &str, text: &str) -> Result<JsonText, NotLossless> {
    let wrong = |reason| NotLossless { kind: kind.to_owned(), reason };
    let raw: &serde_json::value::RawValue =
        serde_json::from_str(text).map_err(|error| wrong(reason(&error)))?;
    check_numbers(raw.get()).map_err(wrong)?;
    Ok(JsonText::own(on_one_line(raw.get()).as_ref()))
}

/// JSON text without line breaks, which a log of lines could not hold. Only white space between values can have them.
pub(crate) fn on_one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(['\n', '\r']) {
        return text.into();
    }
    text.chars().filter(|character| !matches!(character, '\n' | '\r')).collect::<String>().into()
}

/// Looks at the numbers of a text that is known to be JSON, from left to right and without a stack.
fn check_numbers(text: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = after_string(bytes, at),
            b'-' | b'0'..=b'9' => {
                let end = bytes[at..]
                    .iter()
                    .position(|byte| !matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'))
                    .map_or(bytes.len(), |length| at + length);
                check_number(&text[at..end])?;
                at = end;
            }
            _ => at += 1,
        }
    }
    Ok(())
}

fn after_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    at
}

fn check_number(text: &str) -> Result<(), String> {
    let value: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    let whole = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if !value.is_finite() {
        Err(format!("the number {text} is beyond what a reader can hold"))
    } else if value == 0.0 && value.is_sign_negative() {
        Err("negative zero is not kept".to_owned())
    } else if whole && value.abs() > MAX_SAFE as f64 {
        Err(format!("the whole number {text} is beyond 2^53 - 1"))
    } else {
        Ok(())
    }
}

/// Writes compact JSON and refuses numbers that are not kept exact.
struct Exact;

fn refused<T>(reason: impl Into<String>) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::InvalidData, reason.into()))
}

macro_rules! whole {
    ($($name:ident: $type:ty,)*) => {
        $(
            fn $name<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: $type) -> io::Result<()> {
                if u128::from(value.unsigned_abs()) > u128::from(MAX_SAFE) {
                    return refused(format!("the whole number {value} is beyond 2^53 - 1"));
                }
                CompactFormatter.$name(writer, value)
            }
        )*
    };
}

impl Formatter for Exact {
    whole! { write_i64: i64, write_i128: i128, }

    fn write_u64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: u64) -> io::Result<()> {
        if value > MAX_SAFE {
            return refused(format!("the whole number {value} is beyond 2^53 - 1"));
        }
        CompactFormatter.write_u64(writer, value)
    }

    fn write_u128<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: u128) -> io::Result<()> {
        if value > u128::from(MAX_SAFE) {
            return refused(format!("the whole number {value} is beyond 2^53 - 1"));
        }
        CompactFormatter.write_u128(writer, value)
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        if value == 0.0 && value.is_sign_negative() {
            return refused("negative zero is not kept");
        }
        // As the reference writes them: `1`, not `1.0`.
        writer.write_all(ryu_js::Buffer::new().format_finite(value).as_bytes())
    }

    fn write_f32<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        if value == 0.0 && value.is_sign_negative() {
            return refused("negative zero is not kept");
        }
        writer.write_all(ryu_js::Buffer::new().format_finite(value).as_bytes())
    }

    fn write_number_str<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: &str) -> io::Result<()> {
        check_number(value).or_else(refused)?;
        CompactFormatter.write_number_str(writer, value)
    }

    fn write_raw_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        check_numbers(fragment).or_else(refused)?;
        CompactFormatter.write_raw_fragment(writer, &on_one_line(fragment))
    }
}
