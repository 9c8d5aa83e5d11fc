//! The declarations of tools for programs: pure functions of the tools to text, the same text for the same tools.
//!
//! Read this file for what all languages share, then `typescript` and `python`.
//!
//! **Architecture Invariant:** rendering is total. A schema outside of the supported subset is declared as a type that says
//! nothing, and no walk recurses.

mod python;
mod text;
mod typescript;

use std::borrow::Cow;

use serde_json::Value;

use crate::code_mode::Flavour;
use crate::registered::RegisteredTool;
use crate::schema::{copy, dismantle, is_supported};

/// A tool as programs see it.
pub(crate) struct Declared<'a> {
    name: &'a str,
    description: &'a str,
    arguments: Type<'a>,
    output: Type<'a>,
}

/// The schema of a value; none if it is not of the supported subset.
struct Type<'a>(Option<Cow<'a, Value>>);

impl<'a> Declared<'a> {
    pub(crate) fn of(tool: &'a RegisteredTool) -> Self {
        let schema = tool.schema();
        // A copy without recursion: the parameters are kept as members.
        let members = schema.parameters.iter().map(|(key, value)| (key.clone(), copy(value)));
        let parameters = Value::Object(members.collect());
        Self {
            name: &schema.name,
            description: &schema.description,
            arguments: Type::of(Cow::Owned(parameters)),
            output: Type(Some(Cow::Borrowed(tool.output()))),
        }
    }
}

impl<'a> Type<'a> {
    fn of(schema: Cow<'a, Value>) -> Self {
        let mut made = Self(Some(schema));
        if !made.schema().is_some_and(is_supported) {
            made.clear();
        }
        made
    }

    fn schema(&self) -> Option<&Value> {
        self.0.as_deref()
    }

    fn clear(&mut self) {
        if let Some(Cow::Owned(schema)) = self.0.take() {
            dismantle(schema);
        }
    }
}

impl Drop for Type<'_> {
    /// Schemas may be of any depth.
    fn drop(&mut self) {
        self.clear();
    }
}

/// The section on programs: how they are written, and the tools that they can call, by name.
pub(crate) fn text<'a>(flavour: Flavour, tools: impl Iterator<Item = Declared<'a>>) -> String {
    let mut tools: Vec<Declared<'a>> = tools.collect();
    tools.sort_by(|one, other| one.name.encode_utf16().cmp(other.name.encode_utf16()));
    let (instructions, language, declarations) = match flavour {
        Flavour::TypeScript => (typescript::INSTRUCTIONS, "ts", typescript::declarations(&tools)),
        Flavour::Python => (python::INSTRUCTIONS, "python", python::declarations(&tools)),
    };
    format!(
        "## Writing code for `run_code`\n\n{instructions}\n\nThese tools can be called:\n\n```{language}\n{declarations}```"
    )
}
