//! What a hook answered.

use serde_json::{Map, Value};

use crate::said::{Decision, Said};

/// What a hook answered. An answer without anything in it lets things go on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookOutput {
    /// What it decides, in its own word.
    pub said: Option<Said>,
    /// Why it decides so.
    pub reason: Option<String>,
    /// It wants the agent to stop altogether.
    pub stop: Option<Stop>,
    /// What the user is to be told.
    pub system_message: Option<String>,
    /// What the model is to be told.
    pub additional_context: Option<String>,
    /// The arguments that the tool is to get.
    pub updated_input: Option<Map<String, Value>>,
    /// The point that its own part of the answer was meant for, whether or not it is the right one.
    pub event_name: Option<String>,
    /// What it printed, trimmed and never empty, if it succeeded and printed no object.
    pub plain_stdout: Option<String>,
}

/// A wish that the agent stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stop {
    /// Why.
    pub reason: Option<String>,
}

impl HookOutput {
    /// What it decides.
    #[must_use]
    pub fn decision(&self) -> Option<Decision> {
        self.said.map(Said::decision)
    }
}
