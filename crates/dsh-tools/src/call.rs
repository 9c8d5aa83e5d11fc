//! A call on its way through the pipeline.

use std::sync::Arc;

use cordis::ScopeKey;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::arguments::{ArgumentsError, parse_arguments};

/// What a caller asks for.
#[derive(Clone, Debug)]
pub struct CallRequest {
    /// The call's id, given by the model.
    pub id: String,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The model's text for the arguments.
    pub arguments: String,
    /// The scope of the agent that calls; none for a call of no agent.
    pub scope: Option<ScopeKey>,
    /// Cancels the call.
    pub cancellation: CancellationToken,
}

/// A call on its way through the pipeline, as every listener, guard and body sees it.
///
/// Only the pipeline makes one. Name, arguments and scope are shared and cannot be changed, so a guard and a body
/// never see different ones; a listener can only make the call end sooner ([`ToolCall::limited`]).
#[derive(Debug)]
pub struct ToolCall {
    parts: Arc<Parts>,
    cancellation: CancellationToken,
}

/// What stays the same for the whole life of a call.
#[derive(Debug)]
struct Parts {
    id: String,
    name: String,
    raw: String,
    arguments: Arc<Value>,
    scope: Option<ScopeKey>,
    caller: CancellationToken,
    /// The id of the call whose body made this one.
    parent: Option<String>,
}

impl ToolCall {
    /// Reads the arguments. The call is given in any case, because even a refused one is told to `tools/result`.
    pub(crate) fn new(request: CallRequest, parent: Option<&str>) -> (Self, Result<(), ArgumentsError>) {
        let CallRequest { id, name, arguments: raw, scope, cancellation: caller } = request;
        let (arguments, read) = match parse_arguments(&raw) {
            Ok(arguments) => (arguments, Ok(())),
            Err(error) => (Value::Null, Err(error)),
        };
        let cancellation = caller.clone();
        let parent = parent.map(str::to_owned);
        let parts = Parts { id, name, raw, arguments: Arc::new(arguments), scope, caller, parent };
        (Self { parts: Arc::new(parts), cancellation }, read)
    }

    /// The same call as its caller made it, without what listeners did to its cancellation.
    pub(crate) fn original(&self) -> Self {
        Self { parts: Arc::clone(&self.parts), cancellation: self.parts.caller.clone() }
    }

    /// The same call as it is now.
    pub(crate) fn share(&self) -> Self {
        Self { parts: Arc::clone(&self.parts), cancellation: self.cancellation.clone() }
    }

    /// Whether the caller, or a listener for what is below it, no longer wants the result.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// The call's id, given by the model.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.parts.id
    }

    /// The tool's name, as the model wrote it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.parts.name
    }

    /// The arguments, read once. `null` only in `tools/result` of a call whose arguments were refused.
    #[must_use]
    pub fn arguments(&self) -> &Arc<Value> {
        &self.parts.arguments
    }

    /// The model's text for the arguments.
    #[must_use]
    pub fn raw_arguments(&self) -> &str {
        &self.parts.raw
    }

    /// The scope of the agent that calls; none for a call of no agent.
    #[must_use]
    pub fn scope(&self) -> Option<&ScopeKey> {
        self.parts.scope.as_ref()
    }

    /// The id of the call whose body made this one; none for a call that a model asked for.
    #[must_use]
    pub fn parent_id(&self) -> Option<&str> {
        self.parts.parent.as_deref()
    }

    /// Cancelled when the caller or a listener no longer wants the result.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// The same call below a token of the listener's own, to be handed to `next`: cancelling that token ends what runs
    /// below, while the caller's own cancellation still reaches it. The call itself stays as it is, so a listener
    /// further out may run it again. There is no way to detach a call from its caller.
    #[must_use]
    pub fn limited(&self) -> (ToolCall, CancellationToken) {
        let cancellation = self.cancellation.child_token();
        (ToolCall { parts: self.parts.clone(), cancellation: cancellation.clone() }, cancellation)
    }
}
