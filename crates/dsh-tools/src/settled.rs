//! A call together with what came of it.

use crate::call::ToolCall;
use crate::decision::PostDecision;
use crate::outcome::{Failure, ToolOutcome};

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

    pub(crate) fn decide(&mut self, decision: PostDecision) {
        match decision {
            PostDecision::Accept => {}
            PostDecision::Replace { content } => self.outcome.content = content,
            PostDecision::Block { feedback } => {
                let denied = self.outcome.is_denied();
                let failure = Failure { message: feedback.clone(), error: None, denied };
                self.outcome = ToolOutcome { content: feedback, failure: Some(failure) };
            }
        }
    }

    pub(crate) fn replace(&mut self, outcome: ToolOutcome) {
        self.outcome = outcome;
    }

    pub(crate) fn into_outcome(self) -> ToolOutcome {
        self.outcome
    }
}
