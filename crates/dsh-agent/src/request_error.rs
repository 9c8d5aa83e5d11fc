//! A request to a model that failed.

use cordis::BoxError;
use dsh_llm::{LlmFailure, RetryPolicy};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;

/// A request to a model that failed; see [`REQUEST_ERROR`](crate::REQUEST_ERROR).
#[derive(Clone, Debug)]
pub struct RequestError {
    /// The agent.
    pub agent: Agent,
    /// The number of the turn, from 1.
    pub turn: u64,
    /// The number of the step in its turn, from 1.
    pub step: u64,
    /// The provider that was asked.
    pub provider: String,
    /// Why the answer ended.
    pub failure: LlmFailure,
    /// How the provider's adapter wants failed calls to be tried again; none for a provider without an adapter.
    pub retry_policy: Option<RetryPolicy>,
    /// Cancelled when the turn is.
    pub cancellation: CancellationToken,
}

/// What becomes of a request that failed. An error takes the place of the failure as what the turn ends with.
pub type Recovered = Result<Recovery, BoxError>;

/// What becomes of a request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The turn ends with the failure.
    None,
    /// The same step asks again.
    Retry,
}
