//! Values of any depth: looked at, copied and dropped without recursion.

use std::fmt;
use std::ops::{Deref, DerefMut};

use serde_json::{Map, Value};

use super::number;

/// Drops a value of any depth; an ordinary drop of one recurses.
pub fn dismantle(value: Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.into_iter().map(|(_, value)| value)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// Whether a value is lossless JSON: every number fits 64 bits exactly, as an integer or as a float, and none is `-0`.
///
/// What [`parse_arguments`](crate::parse_arguments) gives is; a value that comes another way has to be asked once.
#[must_use]
pub fn is_lossless(value: &Value) -> bool {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Number(number) if !number::is_exact(number.as_str()) => return false,
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    true
}

/// A value that we own, whatever its depth.
pub(crate) struct Deep(Value);

impl Deep {
    pub(crate) fn new(value: Value) -> Self {
        Self(value)
    }

    pub(crate) fn into_value(mut self) -> Value {
        std::mem::take(&mut self.0)
    }
}

impl Deref for Deep {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl DerefMut for Deep {
    fn deref_mut(&mut self) -> &mut Value {
        &mut self.0
    }
}

impl Clone for Deep {
    fn clone(&self) -> Self {
        Self(copy(&self.0))
    }
}

impl fmt::Debug for Deep {
    /// Not the value itself, whose depth has no bound.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Deep(..)")
    }
}

impl Drop for Deep {
    fn drop(&mut self) {
        dismantle(std::mem::take(&mut self.0));
    }
}

/// A container that is being copied.
enum Copying<'a> {
    Array { left: std::slice::Iter<'a, Value>, done: Vec<Value> },
    Object { left: serde_json::map::Iter<'a>, key: &'a str, done: Map<String, Value> },
}

/// Copies a value of any depth.
pub(crate) fn copy(value: &Value) -> Value {
    let mut open: Vec<Copying<'_>> = Vec::new();
    let mut next = value;
    loop {
        let mut copied = match next {
            Value::Array(items) => {
                open.push(Copying::Array { left: items.iter(), done: Vec::with_capacity(items.len()) });
                None
            }
            Value::Object(members) => {
                open.push(Copying::Object { left: members.iter(), key: "", done: Map::new() });
                None
            }
            scalar => Some(scalar.clone()),
        };
        next = loop {
            let Some(top) = open.last_mut() else { return copied.unwrap_or_default() };
            let following = match top {
                Copying::Array { left, done } => {
                    done.extend(copied.take());
                    left.next()
                }
                Copying::Object { left, key, done } => {
                    if let Some(value) = copied.take() {
                        done.insert((*key).to_owned(), value);
                    }
                    left.next().map(|(name, value)| {
                        *key = name;
                        value
                    })
                }
            };
            match following {
                Some(value) => break value,
                None => {
                    copied = open.pop().map(|done| match done {
                        Copying::Array { done, .. } => Value::Array(done),
                        Copying::Object { done, .. } => Value::Object(done),
                    });
                }
            }
        };
    }
}
