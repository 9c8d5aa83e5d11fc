//! Which of the tools, sources or agents a hook is for.

use std::sync::Arc;

use fancy_regex::{Regex, RegexBuilder};
use thiserror::Error;

use crate::dialect::Dialect;

/// How often a search may go back before it is given up: a pattern must not hold up the agent.
const BACKTRACK_LIMIT: usize = 100_000;

/// Which of the tools, sources or agents a hook is for.
///
/// | pattern | matches |
/// |---|---|
/// | none, `""`, `*` | everything |
/// | of letters, digits, `_` and <code>\|</code> only, Claude Code | exactly one of the names between the bars |
/// | anything else, and everything in Codex | whatever the regular expression is found in |
///
/// So for the tools `Edit`, `MultiEdit`, `Write` and `mcp__gh__a`:
///
/// | pattern | Claude Code | Codex |
/// |---|---|---|
/// | `""`, `*` | all | all |
/// | `Edit` | `Edit` | `Edit`, `MultiEdit` |
/// | <code>Edit\|Write</code> | `Edit`, `Write` | `Edit`, `MultiEdit`, `Write` |
/// | `mcp__gh__.*` | `mcp__gh__a` | `mcp__gh__a` |
/// | `^(?!Bash)` | all | all |
/// | `[` | [refused](InvalidMatcher) | refused |
#[derive(Clone, Debug)]
pub struct Matcher {
    pattern: Option<Arc<str>>,
    kind: Kind,
}

/// A pattern that is no regular expression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invalid {dialect} regex matcher \"{pattern}\"")]
pub struct InvalidMatcher {
    /// Whose hooks they are.
    pub dialect: Dialect,
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

#[derive(Clone, Debug)]
enum Kind {
    All,
    /// The pattern is names with bars between them.
    Names,
    Regex(Arc<Regex>),
}

impl Matcher {
    /// Reads a pattern as its dialect does.
    ///
    /// # Errors
    /// It is no regular expression.
    pub fn new(dialect: Dialect, pattern: Option<&str>) -> Result<Self, InvalidMatcher> {
        let kind = match pattern {
            None | Some("" | "*") => Kind::All,
            Some(pattern) if dialect == Dialect::ClaudeCode && is_names(pattern) => Kind::Names,
            Some(pattern) => Kind::Regex(Arc::new(compile(dialect, pattern)?)),
        };
        Ok(Self { pattern: pattern.map(Into::into), kind })
    }

    /// The pattern as the configuration has it.
    #[must_use]
    pub fn pattern(&self) -> Option<&str> {
        self.pattern.as_deref()
    }

    /// Whether the hook is for this one. A search that goes back too often finds nothing.
    #[must_use]
    pub fn matches(&self, subject: &str) -> bool {
        match &self.kind {
            Kind::All => true,
            Kind::Names => self.pattern().is_some_and(|names| names.split('|').any(|name| name == subject)),
            Kind::Regex(regex) => regex.is_match(subject).unwrap_or_else(|error| {
                tracing::warn!(pattern = regex.as_str(), %error, "the matcher of a hook was given up");
                false
            }),
        }
    }
}

fn is_names(pattern: &str) -> bool {
    pattern.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'|'))
}

fn compile(dialect: Dialect, pattern: &str) -> Result<Regex, InvalidMatcher> {
    // Without its optimiser the engine does what the pattern says, and a name is short.
    RegexBuilder::new(pattern)
        .optimize(false)
        .backtrack_limit(BACKTRACK_LIMIT)
        .build()
        .map_err(|error| InvalidMatcher { dialect, pattern: pattern.to_owned(), reason: error.to_string() })
}
