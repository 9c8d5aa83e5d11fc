//! A call together with what came of it.

use crate::call::ToolCall;
use crate::outcome::ToolOutcome;

/// A call together with what came of it. Only the pipeline makes one, and nobody can change it.
#[derive(Debug)]
pub struct Settled {
    call: ToolCall,
    outcome: ToolOutcome,
}

impl Settled {
    pub(crate) fn new(call: ToolCall, outcome: ToolOutcome) -> Self {
        Self { call, outcome }
    }

    /// The call.
    #[must_use]
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// What came of it so far; in `tools/result`, what the caller gets.
    #[must_use]
    pub fn outcome(&self) -> &ToolOutcome {
        &self.outcome
    }

    pub(crate) fn into_parts(self) -> (ToolCall, ToolOutcome) {
        (self.call, self.outcome)
    }
}
