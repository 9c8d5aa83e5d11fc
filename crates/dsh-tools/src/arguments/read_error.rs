//! What a Rust type does not take, in the words of the schema's violations.

use std::fmt::{self, Display};

use serde::de::{self, Expected, Unexpected};

use crate::Schema;
use crate::schema::path::{Step, push};

/// A refusal; the path grows while it goes up.
#[derive(Debug)]
pub(super) struct ReadError {
    what: What,
    /// From the inside out.
    path: Vec<OwnedStep>,
}

#[derive(Debug)]
enum What {
    /// What the value must be or do.
    Must(String),
    Missing(String),
    Undeclared(String),
}

#[derive(Debug)]
enum OwnedStep {
    Key(String),
    Index(usize),
}

impl ReadError {
    pub(super) fn must(what: impl Into<String>) -> Self {
        Self { what: What::Must(what.into()), path: Vec::new() }
    }

    pub(super) fn in_key(mut self, key: &str) -> Self {
        self.path.push(OwnedStep::Key(key.to_owned()));
        self
    }

    pub(super) fn in_index(mut self, index: usize) -> Self {
        self.path.push(OwnedStep::Index(index));
        self
    }

    pub(super) fn text(&self) -> String {
        let mut place = String::new();
        for step in self.path.iter().rev() {
            match step {
                OwnedStep::Key(key) => push(&mut place, Step::Key(key)),
                OwnedStep::Index(index) => push(&mut place, Step::Index(*index)),
            }
        }
        if let What::Missing(name) | What::Undeclared(name) = &self.what {
            push(&mut place, Step::Key(name));
        }
        if place.is_empty() {
            place.push_str(Schema::ARGUMENTS);
        }
        match &self.what {
            What::Must(what) => format!("\"{place}\" must {what}"),
            What::Missing(_) => format!("missing required property \"{place}\""),
            What::Undeclared(_) => {
                format!("\"{place}\" is not a declared property (additionalProperties: false)")
            }
        }
    }
}

impl Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: Display>(message: T) -> Self {
        Self::must(format!("be valid: {message}"))
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::must(format!("be {expected}"))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::must(format!("be {expected}"))
    }

    fn invalid_length(_: usize, expected: &dyn Expected) -> Self {
        Self::must(format!("be {expected}"))
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        let listed: Vec<String> =
            expected.iter().map(|name| serde_json::Value::from(*name).to_string()).collect();
        Self::must(format!("be one of [{}]", listed.join(",")))
    }

    fn unknown_field(field: &str, _: &'static [&'static str]) -> Self {
        Self { what: What::Undeclared(field.to_owned()), path: Vec::new() }
    }

    fn missing_field(field: &'static str) -> Self {
        Self { what: What::Missing(field.to_owned()), path: Vec::new() }
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::must(format!("name `{field}` once, by one of its names"))
    }
}
