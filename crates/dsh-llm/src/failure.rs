//! How a call of a model fails.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::open::present;

/// The facts of a failure: what people read, and what code decides by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LlmFailure {
    /// For people; never empty.
    pub message: String,
    /// For code, such as `RATE_LIMIT`; never empty.
    pub code: String,
    /// The HTTP status, 100 to 599.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub status: Option<u16>,
    /// When the provider says to come back; more than 0 and finite.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub provider_retry_after_ms: Option<f64>,
    /// The provider's name for the request; never empty.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub request_id: Option<String>,
}

/// A fact of a failure is out of its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidFailure {
    /// There is no message.
    #[error("a failure needs a message")]
    Message,
    /// There is no code.
    #[error("a failure needs a code")]
    Code,
    /// The status is none of HTTP.
    #[error("a status is 100 to 599")]
    Status,
    /// The delay is not positive and finite.
    #[error("a retry delay is more than 0 and finite")]
    Delay,
    /// The request id is empty.
    #[error("a request id is not empty")]
    RequestId,
}

impl LlmFailure {
    /// A failure with nothing but a code and a message.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: code.into(),
            status: None,
            provider_retry_after_ms: None,
            request_id: None,
        }
    }

    /// Checks the bounds of every fact.
    ///
    /// # Errors
    /// The first fact that is out of its bounds.
    pub fn check(&self) -> Result<(), InvalidFailure> {
        if self.message.is_empty() {
            return Err(InvalidFailure::Message);
        }
        if self.code.is_empty() {
            return Err(InvalidFailure::Code);
        }
        if self.status.is_some_and(|status| !(100..=599).contains(&status)) {
            return Err(InvalidFailure::Status);
        }
        if self.provider_retry_after_ms.is_some_and(|delay| !(delay.is_finite() && delay > 0.0)) {
            return Err(InvalidFailure::Delay);
        }
        match self.request_id.as_deref() {
            Some("") => Err(InvalidFailure::RequestId),
            _ => Ok(()),
        }
    }
}
