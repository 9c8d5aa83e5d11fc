//! The limits of a generated schema that neither the subset nor the reader of the Rust type would check.
//!
//! A type's own limits (the range of an integer, the length of an array) are its reader's. Others come from attributes,
//! which serde does not read: to drop them would leave an author trusting in a check that nobody makes.

use std::mem::discriminant;

use serde_json::{Map, Value};

use super::check::Type;
use super::number::Numeric;
use super::path::{Path, Paths, Step};

/// A generated schema, not yet in the subset.
type Keywords = Map<String, Value>;

/// The patterns of the names that a map of numbers has.
const NUMBER_NAMES: [&str; 2] = [r"^\d+$", r"^-?\d+$"];

/// Everything in a generated schema that restricts values and that nobody would check, in the order of the walk.
pub(super) fn unchecked(schema: &Value) -> Vec<String> {
    let mut paths = Paths::new("schema");
    let mut found = Vec::new();
    let mut open = vec![(schema, paths.root())];
    while let Some((schema, path)) = open.pop() {
        let Value::Object(keywords) = schema else { continue };
        let first = open.len();
        for (keyword, value) in keywords {
            if is_checked(keyword, value, keywords) {
                children(keyword, value, path, &mut paths, &mut open);
            } else {
                found.push(format!(
                    "{}.{keyword} is a limit that nobody checks: check it in the tool's body, or use a type that holds no \
                     other values and whose schema leaves the keyword out",
                    paths.text(path)
                ));
            }
        }
        if let Some(added) = open.get_mut(first..) {
            added.reverse();
        }
    }
    found
}

/// Puts the schemas inside of a keyword onto the stack. Not definitions: only recursion leaves some, and those are written out
/// at the first use too.
fn children<'a>(
    keyword: &'a str,
    value: &'a Value,
    path: Path,
    paths: &mut Paths<'a>,
    open: &mut Vec<(&'a Value, Path)>,
) {
    match (keyword, value) {
        ("properties" | "patternProperties", Value::Object(named)) => {
            let below = paths.key(path, keyword);
            open.extend(named.iter().map(|(name, schema)| (schema, paths.key(below, name))));
        }
        ("oneOf" | "anyOf" | "allOf" | "prefixItems", Value::Array(listed)) => {
            let below = paths.key(path, keyword);
            let listed = listed.iter().enumerate();
            open.extend(listed.map(|(index, schema)| (schema, paths.at(below, Step::Index(index)))));
        }
        ("items" | "additionalProperties" | "unevaluatedProperties", schema) => {
            open.push((schema, paths.key(path, keyword)));
        }
        _ => {}
    }
}

/// Whether a keyword restricts nothing, or is checked by the subset or by the reader of the type.
fn is_checked(keyword: &str, value: &Value, beside: &Keywords) -> bool {
    match keyword {
        "minimum" | "maximum" => is_range_of_integer(keyword, value, beside),
        "minLength" | "maxLength" => is_char(beside),
        "minItems" | "maxItems" => is_length_of_array(beside),
        // A set's reader drops what it has already.
        "uniqueItems" => true,
        "not" => is_not_zero(value, beside),
        "enum" | "const" => is_choice_of_scalars(beside),
        "patternProperties" => value
            .as_object()
            .is_some_and(|patterns| patterns.keys().all(|pattern| NUMBER_NAMES.contains(&pattern.as_str()))),
        // The formats of addresses and times are of types that read them; there is none for this one.
        "format" => value != "email",
        "pattern" | "multipleOf" | "exclusiveMinimum" | "exclusiveMaximum" | "contains" | "minContains"
        | "maxContains" | "minProperties" | "maxProperties" | "propertyNames" | "dependentRequired"
        | "dependentSchemas" | "dependencies" | "additionalItems" | "unevaluatedItems" | "if" | "then"
        | "else" => false,
        // What the subset has, what its reduction rewrites or reports, and annotations.
        _ => true,
    }
}

/// Whether a bound leaves all values of the integer that `format` names, or all but the zero of an unsigned one.
fn is_range_of_integer(keyword: &str, bound: &Value, beside: &Keywords) -> bool {
    let Some((lowest, highest)) = beside.get("format").and_then(Value::as_str).and_then(range) else {
        return false;
    };
    let Value::Number(bound) = bound else { return false };
    match (Numeric::of(bound), keyword) {
        (Some(Numeric::Whole(bound)), "minimum") => bound <= lowest || (lowest == 0 && bound == 1),
        (Some(Numeric::Whole(bound)), _) => bound >= highest,
        (Some(Numeric::Real(_)) | None, _) => false,
    }
}

/// The least and the greatest integer of a format, as far as schemas name them exactly.
fn range(format: &str) -> Option<(i128, i128)> {
    Some(match format {
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "int64" | "int" => (i64::MIN.into(), i64::MAX.into()),
        "int128" => (i128::MIN, i128::MAX),
        "uint8" => (0, u8::MAX.into()),
        "uint16" => (0, u16::MAX.into()),
        "uint32" => (0, u32::MAX.into()),
        "uint64" | "uint" => (0, u64::MAX.into()),
        // No bound below the greatest `u128` leaves all of it.
        "uint128" => (0, i128::MAX),
        _ => return None,
    })
}

/// Whether this is the schema of a type of one character.
fn is_char(keywords: &Keywords) -> bool {
    ["minLength", "maxLength"].iter().all(|keyword| size(keywords, keyword) == Some(1))
}

/// Whether the lengths are those of a tuple, of `[T; N]` or of `[T; 0]`.
fn is_length_of_array(keywords: &Keywords) -> bool {
    let (least, most) = (size(keywords, "minItems"), size(keywords, "maxItems"));
    match keywords.get("prefixItems") {
        Some(Value::Array(places)) => {
            let places = u64::try_from(places.len()).unwrap_or(u64::MAX);
            least.is_none_or(|least| least <= places) && most.is_none_or(|most| most >= places)
        }
        _ if keywords.contains_key("items") => least.is_some() && least == most,
        _ => least.is_none() && most == Some(0),
    }
}

fn size(keywords: &Keywords, keyword: &str) -> Option<u64> {
    keywords.get(keyword).and_then(Value::as_u64)
}

/// Whether this is the zero that a signed `NonZero` integer has not.
fn is_not_zero(value: &Value, beside: &Keywords) -> bool {
    let integer = beside.get("format").and_then(Value::as_str).and_then(range).is_some();
    integer
        && value.as_object().is_some_and(|not| not.len() == 1 && not.get("const") == Some(&Value::from(0)))
}

/// Whether the subset keeps the choices: they are scalars of the types that are named, or of one type.
fn is_choice_of_scalars(keywords: &Keywords) -> bool {
    let scalar = |name: &Value| {
        name.as_str().and_then(Type::named).is_some_and(|kind| !matches!(kind, Type::Object | Type::Array))
    };
    match keywords.get("type") {
        Some(Value::Array(named)) => named.iter().all(scalar),
        Some(name) => scalar(name),
        None => {
            let listed = keywords.get("enum").and_then(Value::as_array).into_iter().flatten();
            let mut values = listed.chain(keywords.get("const"));
            values.next().is_some_and(|first| {
                !first.is_array()
                    && !first.is_object()
                    && values.all(|value| discriminant(value) == discriminant(first))
            })
        }
    }
}
