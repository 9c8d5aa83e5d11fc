//! A call of a model that fails.

use std::error::Error;
use std::fmt;

use crate::code;
use crate::failure::{InvalidFailure, LlmFailure};

/// The text of a failure that has none of its own.
const NO_MESSAGE: &str = "the call of the model failed";

/// Why a call of a model failed: facts to decide by, and what caused it.
///
/// It prints the message of its facts; the cause is its `source()`.
#[derive(Debug)]
pub struct LlmError {
    failure: Box<LlmFailure>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl LlmError {
    /// A failure with a code of [`code`](crate::code) and a message; an empty one is replaced.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        let (mut code, mut message) = (code.into(), message.into());
        if code.is_empty() {
            code = code::UNKNOWN.to_owned();
        }
        if message.is_empty() {
            message = NO_MESSAGE.to_owned();
        }
        Self { failure: Box::new(LlmFailure::new(code, message)), source: None }
    }

    /// The same failure with what caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The code, to decide by.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.failure.code
    }

    /// The facts.
    #[must_use]
    pub fn failure(&self) -> &LlmFailure {
        &self.failure
    }

    /// The facts alone.
    #[must_use]
    pub fn into_failure(self) -> LlmFailure {
        *self.failure
    }
}

impl TryFrom<LlmFailure> for LlmError {
    type Error = InvalidFailure;

    fn try_from(failure: LlmFailure) -> Result<Self, InvalidFailure> {
        failure.check()?;
        Ok(Self { failure: Box::new(failure), source: None })
    }
}

impl fmt::Display for LlmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.failure.message)
    }
}

impl Error for LlmError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
