//! When a hook runs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// When a hook runs: what the agent is about to do, or has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Point {
    /// A session begins.
    SessionStart,
    /// A message of the user is about to reach the model.
    UserPromptSubmit,
    /// A tool is about to be called.
    PreToolUse,
    /// A tool was called.
    PostToolUse,
    /// The turn is about to end.
    Stop,
    /// An agent that works for this one begins.
    SubagentStart,
    /// An agent that worked for this one has ended.
    SubagentStop,
}

impl Point {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::Stop,
        Self::SubagentStart,
        Self::SubagentStop,
    ];

    /// The point of this name, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|point| point.as_str() == name)
    }

    /// The name, which configurations, payloads and logs have.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::Stop => "Stop",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
