//! How a turn fails.

use std::error::Error;
use std::sync::Arc;

use cordis::{BoxError, SharedError};
use dsh_llm::{LlmError, LlmFailure, code, error_chain};

/// Why a turn does not go on.
pub(crate) enum Fail {
    /// It was cancelled.
    Cancelled,
    /// Something failed.
    Failed(Failed),
}

/// What failed, for listeners and for the log.
pub(crate) struct Failed {
    pub(crate) error: SharedError,
    pub(crate) facts: LlmFailure,
}

impl Failed {
    /// The facts of a model's failure, or the text of any other one.
    pub(crate) fn of(error: BoxError) -> Self {
        let error: SharedError = Arc::from(error);
        let facts = match error.downcast_ref::<LlmError>().map(LlmError::failure) {
            Some(facts) if facts.check().is_ok() => facts.clone(),
            _ => LlmFailure::new(code::UNKNOWN, error_chain(&*error)),
        };
        Self { error, facts }
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Fail {
    fn from(error: E) -> Self {
        Self::boxed(error.into())
    }
}

impl Fail {
    pub(crate) fn boxed(error: BoxError) -> Self {
        Self::Failed(Failed::of(error))
    }
}
