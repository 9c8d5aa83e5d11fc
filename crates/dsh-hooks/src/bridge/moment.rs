//! What a hook is told about.

use dsh_agent::SessionSource;
use serde_json::Value;

use crate::point::Point;

/// The type of every agent that works for another one.
pub const AGENT_TYPE: &str = "general-purpose";

/// What happens while the hooks of its point run.
#[derive(Clone, Copy, Debug)]
pub enum Moment<'a> {
    /// A session begins.
    SessionStart {
        /// Whether it is a new one.
        source: SessionSource,
    },
    /// Messages are about to reach the model.
    UserPromptSubmit {
        /// Their text.
        prompt: &'a str,
    },
    /// A tool is about to be called.
    PreToolUse(ToolUse<'a>),
    /// A tool was called, or would have been if the call had not been denied.
    PostToolUse {
        /// Which one, and how.
        tool: ToolUse<'a>,
        /// What the model would read.
        response: &'a str,
    },
    /// The turn is about to end.
    Stop {
        /// Whether it goes on only because a hook of this point wanted it to.
        active: bool,
    },
    /// An agent that works for another one begins.
    SubagentStart {
        /// Its id.
        agent_id: &'a str,
    },
    /// An agent that worked for another one has ended.
    SubagentStop {
        /// Its id.
        agent_id: &'a str,
    },
}

/// A call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolUse<'a> {
    /// The tool's name.
    pub name: &'a str,
    /// The arguments.
    pub input: &'a Value,
    /// The call's id.
    pub id: &'a str,
}

impl<'a> Moment<'a> {
    /// The point whose hooks run.
    #[must_use]
    pub fn point(&self) -> Point {
        match self {
            Self::SessionStart { .. } => Point::SessionStart,
            Self::UserPromptSubmit { .. } => Point::UserPromptSubmit,
            Self::PreToolUse(_) => Point::PreToolUse,
            Self::PostToolUse { .. } => Point::PostToolUse,
            Self::Stop { .. } => Point::Stop,
            Self::SubagentStart { .. } => Point::SubagentStart,
            Self::SubagentStop { .. } => Point::SubagentStop,
        }
    }

    /// The same with other arguments, if a call is about to be made.
    pub(crate) fn with_input<'b>(self, input: &'b Value) -> Moment<'b>
    where
        'a: 'b,
    {
        match self {
            Self::PreToolUse(tool) => Moment::PreToolUse(ToolUse { input, ..tool }),
            other => other,
        }
    }
}
