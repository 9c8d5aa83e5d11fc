//! An assembled prompt, before it is rendered.

use std::collections::BTreeMap;

use dsh_llm::ToolSchema;

use crate::context::AssembleContext;

/// What one request tells the model before the conversation, in order. Nobody else has it: it can be changed freely.
///
/// Source: `PromptAssembly`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PromptAssembly {
    /// The sections of the system prompt.
    pub sections: Vec<PromptTemplate>,
    /// The parts of the runtime context.
    pub contexts: Vec<PromptTemplate>,
    /// The tools that are offered.
    pub tools: Vec<ToolSchema>,
    /// What stands for `{{name}}`. A variable without a value is known, and a template that names it cannot be rendered.
    pub variables: BTreeMap<String, Option<String>>,
}

/// A named text whose variables are still names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptTemplate {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl PromptTemplate {
    /// A template.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

/// A prompt on its way through the listeners of [`ASSEMBLE`](crate::ASSEMBLE).
#[derive(Debug)]
pub struct Assembling {
    /// The prompt as the listeners further out left it.
    pub assembly: PromptAssembly,
    pub(crate) context: AssembleContext,
}

impl Assembling {
    /// For whom it is.
    #[must_use]
    pub fn context(&self) -> &AssembleContext {
        &self.context
    }
}
