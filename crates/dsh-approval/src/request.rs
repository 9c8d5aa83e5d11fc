//! A question as its answerers see it.

use std::sync::Arc;

use dsh_agent::Agent;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// A question: may this agent do this, once?
///
/// Listeners read it. One that changes it changes what those below it are shown, and nothing else: what is logged, and
/// when the question is over, was settled before.
#[derive(Clone, Debug)]
pub struct ApprovalRequest {
    /// Who wants to act. Its open turn takes the question and the outcome.
    pub agent: Agent,
    /// The tool that would act.
    pub tool_name: String,
    /// The call that asks.
    pub call_id: Option<String>,
    /// Why it asks, for whoever answers.
    pub reason: Option<String>,
    /// What exactly the tool would be given, for whoever answers; the log has it in the call.
    pub arguments: Option<Arc<Value>>,
    /// Ends the question: it is cancelled at once, and what is answered later does not count.
    pub cancellation: CancellationToken,
}

impl ApprovalRequest {
    /// A question that nothing cancels, of no call and without a reason.
    pub fn new(agent: &Agent, tool_name: impl Into<String>) -> Self {
        Self {
            agent: agent.clone(),
            tool_name: tool_name.into(),
            call_id: None,
            reason: None,
            arguments: None,
            cancellation: CancellationToken::new(),
        }
    }

    /// Of this call.
    #[must_use]
    pub fn of_call(mut self, call_id: impl Into<String>) -> Self {
        self.call_id = Some(call_id.into());
        self
    }

    /// For this reason.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// With these arguments.
    #[must_use]
    pub fn with_arguments(mut self, arguments: Arc<Value>) -> Self {
        self.arguments = Some(arguments);
        self
    }

    /// Over as soon as this is cancelled.
    #[must_use]
    pub fn until(mut self, cancellation: CancellationToken) -> Self {
        self.cancellation = cancellation;
        self
    }
}
