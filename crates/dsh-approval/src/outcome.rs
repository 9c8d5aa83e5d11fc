//! What a question came to.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a question came to. Only the first one allows anything.
#[must_use = "whoever asked must not act unless the outcome allows it"]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalOutcome {
    /// The action that asked may be done, once.
    AllowedOnce,
    /// It may not.
    Rejected,
    /// Whoever asked was cancelled, or its turn ended, before there was an answer.
    Cancelled,
    /// There was nobody to answer, or who would have failed.
    Unavailable,
}

impl ApprovalOutcome {
    /// The outcome as the log has it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AllowedOnce => "allowed-once",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
            Self::Unavailable => "unavailable",
        }
    }
}

impl fmt::Display for ApprovalOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
