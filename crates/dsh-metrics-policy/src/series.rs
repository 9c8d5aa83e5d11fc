//! What a call is counted as.

use std::fmt;

use dsh_tools::ToolOutcome;
use serde::Serialize;

/// The tool that a call is counted under.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolLabel {
    /// A tool that was offered to the caller.
    Named(String),
    /// All names that no tool had for the caller.
    Unknown,
    /// All that came when there was no room for another row.
    Other,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CallCode {
    /// With a value.
    Success,
    /// A policy, a guard or whoever was asked refused it.
    Denied,
    /// With a failure that has no code.
    Failed,
    /// With a failure of this code; a cancelled call has `ABORTED` or `ABORTED_BEFORE_DISPATCH`.
    Coded(String),
    /// Any of them, when there was no room for another row.
    Other,
}

impl CallCode {
    /// What an outcome is counted as.
    #[must_use]
    pub fn of(outcome: &ToolOutcome) -> Self {
        match outcome.as_failure() {
            None => Self::Success,
            Some(failure) if failure.is_denied() => Self::Denied,
            Some(failure) => failure.info().map_or(Self::Failed, |info| Self::Coded(info.code.to_string())),
        }
    }
}

impl fmt::Display for ToolLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => write!(f, "{}", name.escape_debug()),
            Self::Unknown => f.write_str("(unknown)"),
            Self::Other => f.write_str("(other)"),
        }
    }
}

impl fmt::Display for CallCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Success => f.write_str("success"),
            Self::Denied => f.write_str("denied"),
            Self::Failed => f.write_str("failed"),
            Self::Coded(code) => write!(f, "{}", code.escape_debug()),
            Self::Other => f.write_str("(other)"),
        }
    }
}
