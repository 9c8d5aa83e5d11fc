//! What the log holds of retries. None of it is part of the conversation.

use dsh_llm::LlmFailure;
use dsh_llm::open::present;
use dsh_session::Payload;
use serde::{Deserialize, Serialize};

/// A request failed and will be made again after a wait, in the same step. A turn that is cancelled in the wait leaves one
/// without an [`LlmRetryStarted`].
///
/// Source: event type `llm/retry`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LlmRetry {
    /// The same for all retries of one step under one policy.
    pub retry_id: String,
    /// The turn.
    pub turn: u64,
    /// The step.
    pub step: u64,
    /// The provider that was asked.
    pub provider: String,
    /// Whether there is an end to it.
    pub mode: RetryMode,
    /// The policy, as [`policy_key`](crate::policy_key) writes it.
    pub policy_key: String,
    /// Which retry of the step it is, from 1.
    pub retry: u32,
    /// How many there may be; absent without an end.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub max_retries: Option<u32>,
    /// How long the wait is, in ms.
    pub delay_ms: f64,
    /// Why the request failed.
    pub failure: LlmFailure,
}

/// The wait is over, and the request is made again.
///
/// Source: event type `llm/retry-started`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LlmRetryStarted {
    /// That of the retry.
    pub retry_id: String,
    /// The turn.
    pub turn: u64,
    /// The step.
    pub step: u64,
    /// Which retry of the step it is.
    pub retry: u32,
}

/// Whether there is an end to the retries of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RetryMode {
    /// So many, for failures that may pass.
    Normal,
    /// Whatever fails, without end.
    Always,
}

impl Payload for LlmRetry {
    const TYPE: &'static str = "llm/retry";
}

impl Payload for LlmRetryStarted {
    const TYPE: &'static str = "llm/retry-started";
}
