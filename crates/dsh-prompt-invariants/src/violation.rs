//! What can be wrong with an assembled prompt.

use std::collections::HashSet;

use dsh_prompt::{PromptAssembly, PromptTemplate, is_variable_name};
use thiserror::Error;

/// A rule that a prompt breaks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Violation {
    /// A section has no name.
    #[error("section {place} has no name")]
    UnnamedSection {
        /// Its place, from 0.
        place: usize,
    },
    /// Two sections have one name.
    #[error("two sections are called {name:?}")]
    RepeatedSection {
        /// The name.
        name: String,
    },
    /// A context has no name.
    #[error("context {place} has no name")]
    UnnamedContext {
        /// Its place, from 0.
        place: usize,
    },
    /// Two contexts have one name.
    #[error("two contexts are called {name:?}")]
    RepeatedContext {
        /// The name.
        name: String,
    },
    /// A tool has no name.
    #[error("tool {place} has no name")]
    UnnamedTool {
        /// Its place, from 0.
        place: usize,
    },
    /// A variable has a name that no template can hold.
    #[error("a variable cannot be called {name:?}: no template can name it")]
    VariableName {
        /// The name.
        name: String,
    },
}

/// Checks a prompt: the names of sections, and of contexts, are not empty and not repeated; those of tools are not empty;
/// those of variables are [names of variables](is_variable_name).
///
/// # Errors
/// The first rule that it breaks, in that order.
pub fn check(assembly: &PromptAssembly) -> Result<(), Violation> {
    named_once(
        &assembly.sections,
        |place| Violation::UnnamedSection { place },
        |name| Violation::RepeatedSection { name },
    )?;
    named_once(
        &assembly.contexts,
        |place| Violation::UnnamedContext { place },
        |name| Violation::RepeatedContext { name },
    )?;
    if let Some(place) = assembly.tools.iter().position(|tool| tool.name.is_empty()) {
        return Err(Violation::UnnamedTool { place });
    }
    match assembly.variables.keys().find(|name| !is_variable_name(name)) {
        Some(name) => Err(Violation::VariableName { name: name.clone() }),
        None => Ok(()),
    }
}

fn named_once(
    templates: &[PromptTemplate],
    unnamed: fn(usize) -> Violation,
    repeated: fn(String) -> Violation,
) -> Result<(), Violation> {
    let mut seen = HashSet::new();
    for (place, template) in templates.iter().enumerate() {
        if template.name.is_empty() {
            return Err(unnamed(place));
        }
        if !seen.insert(template.name.as_str()) {
            return Err(repeated(template.name.clone()));
        }
    }
    Ok(())
}
