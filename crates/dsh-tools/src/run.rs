//! What a body may know and do while it serves a call.

use cordis::{Context, ScopeKey};
use dsh_agent::Agent;
use dsh_llm::Message;
use tokio_util::sync::CancellationToken;

use crate::call::{CallToken, Parent, ToolCall};
use crate::keys::OUTPUT;
use crate::progress::RunNumber;
use crate::run_context::RunContext;

/// One run of a body: what it may know of the call that it serves, and what it may do besides giving a value.
///
/// Once a listener has the body [start over](ToolCall::start_over), what an earlier run still writes, defers or concludes is no
/// part of the call any more; [`OUTPUT`] tells what it writes all the same.
#[derive(Debug)]
pub struct ToolRun {
    call: ToolCall,
    number: RunNumber,
    ctx: Context,
}

/// A piece of output that a body wrote while it ran; see [`OUTPUT`].
#[derive(Debug)]
pub struct ToolOutput {
    call: ToolCall,
    text: String,
}

impl ToolOutput {
    /// The call.
    #[must_use]
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// The piece, never empty.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl ToolRun {
    pub(crate) fn new(call: ToolCall, ctx: Context) -> Self {
        let number = call.progress().run();
        Self { call, number, ctx }
    }

    /// The call's id.
    #[must_use]
    pub fn call_id(&self) -> &str {
        self.call.id()
    }

    /// The identity of this execution.
    #[must_use]
    pub fn token(&self) -> CallToken {
        self.call.token()
    }

    /// The agent that calls, if one does.
    #[must_use]
    pub fn agent(&self) -> Option<&Agent> {
        self.call.agent()
    }

    /// The scope of the agent that calls, if one does.
    #[must_use]
    pub fn scope(&self) -> Option<&ScopeKey> {
        self.call.scope()
    }

    /// What travels with the call and is never shown to the model.
    #[must_use]
    pub fn context(&self) -> &RunContext {
        self.call.context()
    }

    /// Cancelled when the caller or a listener no longer wants the result. A body stops soon after.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        self.call.cancellation()
    }

    /// Whether the result is no longer wanted; what a blocking body looks at between two steps.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.call.is_cancelled()
    }

    /// Writes a piece of output while the body runs. [`OUTPUT`] tells it at once, and if the body fails, by a timeout or a
    /// cancellation for instance, what was written is in the result (its beginning and its end where it is long). It is no
    /// part of a success, which is the value that the body gives, nor of what becomes of a call whose listeners break: policies
    /// have not seen it then.
    pub fn write(&self, text: impl Into<String>) {
        let text = text.into();
        if text.is_empty() {
            return;
        }
        self.call.progress().write(self.number, &text);
        self.ctx.emit(OUTPUT, &ToolOutput { call: self.call.share(), text });
    }

    /// Has a message of the user join the conversation right after the result, whether the call succeeds or fails.
    pub fn defer_context(&self, message: Message) {
        self.call.progress().defer(self.number, message);
    }

    /// Asks that the turn end with this result, should the call succeed.
    pub fn conclude_turn(&self) {
        self.call.progress().conclude(self.number);
    }

    pub(crate) fn ctx(&self) -> &Context {
        &self.ctx
    }

    pub(crate) fn call(&self) -> &ToolCall {
        &self.call
    }

    pub(crate) fn number(&self) -> RunNumber {
        self.number
    }

    pub(crate) fn as_parent(&self) -> Parent {
        self.call.as_parent()
    }
}
