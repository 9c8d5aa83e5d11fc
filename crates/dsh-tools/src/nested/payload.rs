//! The events that a session's log has of nested calls.

use std::sync::Arc;

use dsh_llm::ContentBlock;
use dsh_session::Payload;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A nested call is about to be judged and run. Not part of the conversation; between `tool/call` and `tool/result` of the
/// outermost call.
///
/// Source: event `tool/code-dispatch-start`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeDispatchStart {
    /// The call that a model asked for.
    pub root_call_id: String,
    /// The call whose body made this one.
    pub parent_call_id: String,
    /// The nested call.
    pub sub_call_id: String,
    /// The tool.
    pub name: String,
    /// What it was called with.
    pub arguments: Arc<Value>,
}

/// A nested call has come to its end. Not part of the conversation; exactly one for each [`CodeDispatchStart`].
///
/// Source: event `tool/code-dispatch`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeDispatch {
    /// The call that a model asked for.
    pub root_call_id: String,
    /// The call whose body made this one.
    pub parent_call_id: String,
    /// The nested call.
    pub sub_call_id: String,
    /// The tool.
    pub name: String,
    /// What it was called with.
    pub arguments: Arc<Value>,
    /// Whether it failed.
    pub is_error: bool,
    /// What came of it, or what [`CODE_DISPATCH_LOG`](crate::CODE_DISPATCH_LOG) made of that.
    pub content: Vec<ContentBlock>,
}

impl Payload for CodeDispatchStart {
    const TYPE: &'static str = "tool/code-dispatch-start";
}

impl Payload for CodeDispatch {
    const TYPE: &'static str = "tool/code-dispatch";
}
