//! From an assembly to what the model reads.

use dsh_llm::Section;
use thiserror::Error;

use crate::assemble::quoted;
use crate::assembly::{PromptAssembly, PromptTemplate};
use crate::contribution::Contribution;
use crate::interpolate::interpolate;

/// Stands before the parts of the runtime context.
const PREAMBLE: &str =
    "This is the runtime context as it is now. It takes the place of every earlier snapshot of it.";

/// A template could not be rendered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what} cannot be rendered")]
pub struct RenderError {
    /// The section or the context.
    pub what: Contribution,
    /// Why.
    #[source]
    pub source: RenderFailure,
}

/// What is wrong with a template.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RenderFailure {
    /// Double braces that hold no name.
    #[error(
        "the double braces at byte {at} hold no name of a variable: write `{{{{name}}}}`, in lower case and without blanks"
    )]
    Malformed {
        /// Where they open, in bytes.
        at: usize,
    },
    /// Nobody registered the variable.
    #[error("there is no variable {variable:?}; registered are {}", quoted(.registered))]
    Unknown {
        /// The name.
        variable: String,
        /// The names that are registered, sorted.
        registered: Vec<String>,
    },
    /// The variable has no value in this assembly.
    #[error("the variable {variable:?} has no value here")]
    NoValue {
        /// The name.
        variable: String,
    },
}

impl PromptAssembly {
    /// The system prompt: the sections with their variables' values, those that are empty then left out, a blank line
    /// between two. Empty if nothing is left.
    ///
    /// # Errors
    /// A section's template is malformed, or names a variable that is unknown or has no value.
    ///
    /// Source: `renderPrompt`.
    pub fn render_prompt(&self) -> Result<String, RenderError> {
        let sections = rendered(self, &self.sections, Contribution::Section)?;
        Ok(joined(sections.iter()))
    }

    /// The parts of the runtime context with their variables' values; those that are empty then are left out.
    ///
    /// # Errors
    /// As for [`render_prompt`](Self::render_prompt).
    ///
    /// Source: `renderContextSections`.
    pub fn render_contexts(&self) -> Result<Vec<Section>, RenderError> {
        rendered(self, &self.contexts, Contribution::Context)
    }

    /// The snapshot of the runtime context: its parts, [joined](join_contexts).
    ///
    /// # Errors
    /// As for [`render_prompt`](Self::render_prompt).
    ///
    /// Source: `renderContextSnapshot`.
    pub fn render_context_snapshot(&self) -> Result<String, RenderError> {
        Ok(join_contexts(&self.render_contexts()?))
    }
}

/// One text of rendered contexts: a line that says what they are, then their texts, a blank line between two. Empty
/// without contexts.
///
/// Source: `joinContextSections`.
#[must_use]
pub fn join_contexts(contexts: &[Section]) -> String {
    if contexts.is_empty() {
        return String::new();
    }
    format!("{PREAMBLE}\n\n{}", joined(contexts.iter()))
}

fn joined<'s>(sections: impl Iterator<Item = &'s Section>) -> String {
    sections.map(|section| section.text.as_str()).collect::<Vec<_>>().join("\n\n")
}

fn rendered(
    assembly: &PromptAssembly,
    templates: &[PromptTemplate],
    what: fn(String) -> Contribution,
) -> Result<Vec<Section>, RenderError> {
    let mut sections = Vec::with_capacity(templates.len());
    for PromptTemplate { name, text } in templates {
        let text = interpolate(text, &assembly.variables)
            .map_err(|source| RenderError { what: what(name.clone()), source })?;
        if !text.is_empty() {
            sections.push(Section { name: name.clone(), text });
        }
    }
    Ok(sections)
}
