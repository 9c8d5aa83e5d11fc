//! The arguments of a call as a caller gives them.

use std::sync::Arc;

use serde_json::{Map, Value};
use thiserror::Error;

use crate::arguments::{ArgumentsError, MAX_DEPTH, parse_arguments};
use crate::schema::Deep;
use crate::schema::{dismantle, is_lossless};

/// Arguments that were read strictly: one value for everyone who looks at them. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments(Arc<Value>);

impl Arguments {
    /// Reads the model's text; see [`parse_arguments`].
    ///
    /// # Errors
    /// See [`ArgumentsError`].
    pub fn parse(text: &str) -> Result<Self, ArgumentsError> {
        parse_arguments(text).map(|value| Self(Arc::new(value)))
    }

    /// Takes a value that a program made; `null` means `{}`, as it does in text.
    ///
    /// # Errors
    /// It is nested deeper than [`MAX_DEPTH`], or has a number that 64 bits would change.
    pub fn new(value: Value) -> Result<Self, LossyArguments> {
        if value.is_null() {
            return Ok(Self(Arc::new(Value::Object(Map::new()))));
        }
        if !is_lossless(&value) || is_deep(&value) {
            dismantle(value);
            return Err(LossyArguments);
        }
        Ok(Self(Arc::new(value)))
    }

    pub(crate) fn value(&self) -> &Arc<Value> {
        &self.0
    }

    pub(crate) fn into_value(self) -> Arc<Value> {
        self.0
    }
}

/// A value that cannot be the arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("tool execution arguments must be losslessly JSON-serializable, in at most {MAX_DEPTH} levels")]
pub struct LossyArguments;

/// Why the arguments of a call could not be read.
#[derive(Debug, Error)]
pub(crate) enum Unreadable {
    #[error("invalid arguments: {0}")]
    Text(#[from] ArgumentsError),
    #[error(transparent)]
    Value(#[from] LossyArguments),
    #[error("invalid arguments: {0}")]
    CutOff(CutOff),
}

/// The answer ended before the call was complete, whatever its arguments look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum CutOff {
    #[error(
        "the answer reached the limit of tokens before they were complete, so the call was not executed; \
         call the tool again with shorter arguments, or split the work into several calls"
    )]
    TokenLimit,
    #[error(
        "the answer broke off before they were complete, so the call was not executed; call the tool again"
    )]
    BrokenOff,
}

/// Whether a value has more levels than text may have.
fn is_deep(value: &Value) -> bool {
    let mut open = vec![(value, 1_usize)];
    while let Some((value, depth)) = open.pop() {
        let inside: &mut dyn Iterator<Item = &Value> = match value {
            Value::Array(items) => &mut items.iter(),
            Value::Object(members) => &mut members.values(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => continue,
        };
        if depth > MAX_DEPTH {
            return true;
        }
        open.extend(inside.map(|value| (value, depth + 1)));
    }
    false
}

/// What a [`CallRequest`](crate::CallRequest) is given as arguments: text, a value, or arguments that were read already.
#[derive(Clone, Debug)]
pub struct GivenArguments(Given);

#[derive(Clone, Debug)]
enum Given {
    Text(String),
    Value(Deep),
    Read(Arguments),
    CutOff(CutOff),
}

impl GivenArguments {
    pub(crate) fn cut_off(why: CutOff) -> Self {
        Self(Given::CutOff(why))
    }

    pub(crate) fn read(self) -> Result<Arguments, Unreadable> {
        match self.0 {
            Given::Text(text) => Ok(Arguments::parse(&text)?),
            Given::Value(value) => Ok(Arguments::new(value.into_value())?),
            Given::Read(arguments) => Ok(arguments),
            Given::CutOff(why) => Err(Unreadable::CutOff(why)),
        }
    }
}

impl From<&str> for GivenArguments {
    fn from(text: &str) -> Self {
        Self(Given::Text(text.to_owned()))
    }
}

impl From<String> for GivenArguments {
    fn from(text: String) -> Self {
        Self(Given::Text(text))
    }
}

impl From<Value> for GivenArguments {
    fn from(value: Value) -> Self {
        Self(Given::Value(Deep::new(value)))
    }
}

impl From<Arguments> for GivenArguments {
    fn from(arguments: Arguments) -> Self {
        Self(Given::Read(arguments))
    }
}
