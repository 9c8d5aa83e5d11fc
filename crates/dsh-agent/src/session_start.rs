//! How an agent's session begins.

use serde::{Deserialize, Serialize};

use crate::agent::Agent;

/// An agent's session begins; see [`SESSION_START`](crate::SESSION_START).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStart {
    /// The agent.
    pub agent: Agent,
    /// Whether it is a new one.
    pub source: SessionSource,
}

/// Whether a session is a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SessionSource {
    /// It is, whether or not it was given a past.
    Startup,
    /// It was stored, and goes on.
    Resume,
}

impl SessionSource {
    /// The source's name, as in the log and in what hooks are told.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Resume => "resume",
        }
    }
}
