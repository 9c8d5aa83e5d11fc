//! What a plugin contributes to prompts, as errors name it.

use std::fmt;

/// Something that a plugin contributes to prompts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contribution {
    /// The section of this name.
    Section(String),
    /// The context of this name.
    Context(String),
    /// The variable of this name.
    Variable(String),
    /// A provider of tools.
    Tools,
    /// A suppressor of the runtime context.
    Suppressor,
}

impl fmt::Display for Contribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Section(name) => write!(f, "section {name:?}"),
            Self::Context(name) => write!(f, "context {name:?}"),
            Self::Variable(name) => write!(f, "variable {name:?}"),
            Self::Tools => f.write_str("a provider of tools"),
            Self::Suppressor => f.write_str("a suppressor of the runtime context"),
        }
    }
}
