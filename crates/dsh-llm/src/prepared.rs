//! A call whose model is looked up already.

use std::sync::Arc;

use crate::call::{AdapterDefaults, CallConfig};
use crate::code;
use crate::error::LlmError;
use crate::info::ModelInfo;
use crate::llm::Llm;
use crate::pinned::Pinned;
use crate::request::ModelRequest;
use crate::retry::RetryPolicy;
use crate::stream::ModelStream;

/// A call whose model is looked up already; see [`Llm::prepare`]. It is made once: streaming consumes it, and a second stream
/// does not compile.
///
/// ```compile_fail,E0382
/// # use dsh_llm::{LlmError, ModelRequest, PreparedCall};
/// fn twice(call: PreparedCall, request: ModelRequest) -> Result<(), LlmError> {
///     let first = call.stream(request.clone())?;
///     let second = call.stream(request)?;
/// #   drop((first, second));
///     Ok(())
/// }
/// ```
///
/// ```
/// # use dsh_llm::{LlmError, ModelRequest, PreparedCall};
/// fn once(call: PreparedCall, request: ModelRequest) -> Result<(), LlmError> {
///     let first = call.stream(request.clone())?;
/// #   drop(first);
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct PreparedCall {
    llm: Llm,
    pinned: Arc<Pinned>,
}

impl PreparedCall {
    pub(crate) fn new(llm: Llm, pinned: Arc<Pinned>) -> Self {
        Self { llm, pinned }
    }

    /// The config with every default filled in: what the request must say.
    #[must_use]
    pub fn config(&self) -> &CallConfig {
        self.pinned.config()
    }

    /// Which fields of the config the adapter chose.
    #[must_use]
    pub fn adapter_defaults(&self) -> AdapterDefaults {
        self.pinned.resolved.defaults
    }

    /// How failed calls are tried again, as it was when the adapter was registered.
    #[must_use]
    pub fn retry_policy(&self) -> &RetryPolicy {
        &self.pinned.route.retry_policy
    }

    /// What is known of the model.
    #[must_use]
    pub fn info(&self) -> &ModelInfo {
        &self.pinned.info
    }

    /// Asks the model. A listener of [`STREAM`](crate::STREAM) that changes the config has another model looked up.
    ///
    /// # Errors
    /// The request's config is another one than [`config`](Self::config).
    pub fn stream(self, request: ModelRequest) -> Result<ModelStream, LlmError> {
        if request.config != *self.config() {
            let message = "the request has another config than the call that was prepared: take `config()`";
            return Err(LlmError::new(code::INVALID_PREPARED_CALL, message));
        }
        Ok(self.llm.open(request, Some(self.pinned)))
    }
}
