//! What a plugin has commands find in their environment.

use std::collections::BTreeMap;
use std::fmt;

use cordis::BoxError;
use dsh_agent::Agent;

/// Variables of a plugin, and their values for an agent.
///
/// # Examples
/// ```
/// use dsh_shell::Contributor;
///
/// Contributor::new("proxy", |_agent| Ok([("HTTPS_PROXY".to_owned(), "http://localhost:1".to_owned())].into()))
///     .variable("HTTPS_PROXY", "Where programs send their requests.");
/// ```
pub struct Contributor {
    pub(crate) name: String,
    pub(crate) variables: Vec<Variable>,
    pub(crate) values: Box<Values>,
}

pub(crate) type Values = dyn Fn(Option<&Agent>) -> Result<BTreeMap<String, String>, BoxError> + Send + Sync;

/// A variable that is declared.
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) description: String,
}

impl Contributor {
    /// A contributor that gives values for an agent, or for nobody; of no variables yet. A variable without a value is
    /// left as it is.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        values: impl Fn(Option<&Agent>) -> Result<BTreeMap<String, String>, BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), variables: Vec::new(), values: Box::new(values) }
    }

    /// Declares a variable: only what is declared may be given.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.variables.push(Variable { name: name.into(), description: description.into() });
        self
    }
}

impl Variable {
    /// Whether the name is one that every shell takes.
    pub(crate) fn is_valid(&self) -> bool {
        let is_first = |char: char| char.is_ascii_alphabetic() || char == '_';
        self.name.starts_with(is_first)
            && self.name.chars().all(|char| is_first(char) || char.is_ascii_digit())
    }

    pub(crate) fn is_described(&self) -> bool {
        !self.description.trim().is_empty()
    }
}

impl fmt::Debug for Contributor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variables: Vec<&str> = self.variables.iter().map(|variable| variable.name.as_str()).collect();
        f.debug_struct("Contributor")
            .field("name", &self.name)
            .field("variables", &variables)
            .finish_non_exhaustive()
    }
}
