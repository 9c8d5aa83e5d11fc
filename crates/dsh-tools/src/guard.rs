//! Guards: the last word before a body runs.

use cordis::{Lent, Refused};

use crate::call::ToolCall;
use crate::error::{ErrorInfo, Failure};

/// Looks at a call and gives a reason to refuse it, or none.
///
/// Guards only narrow: one reason is enough, and nothing can overrule it.
pub(crate) type GuardFn = Box<dyn Fn(&ToolCall) -> Option<String> + Send + Sync>;

/// A registered guard.
#[derive(Clone)]
pub(crate) struct Guard(pub(crate) Lent<GuardFn>);

impl Guard {
    /// # Errors
    /// The guard panicked: the call fails and its body does not run. One whose plugin is gone has no say any more.
    pub(crate) fn check(&self, call: &ToolCall) -> Result<Option<String>, GuardFailure> {
        match self.0.call(|guard| guard(call)) {
            Ok(reason) => Ok(reason),
            Err(Refused::Panicked { plugin, reason }) => Err(GuardFailure { plugin, reason }),
            Err(Refused::Gone { .. }) => Ok(None),
            // Whatever else there may be, it has not let the call pass.
            Err(other) => Err(GuardFailure { plugin: self.0.owner(), reason: other.to_string() }),
        }
    }
}

/// A guard that panicked.
#[derive(Debug, thiserror::Error)]
#[error("a guard of `{plugin}` panicked: {reason}")]
pub(crate) struct GuardFailure {
    plugin: String,
    reason: String,
}

/// Why a call does not reach its body.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// A guard gave this reason.
    Denied(String),
    /// A guard broke.
    Broken(GuardFailure),
    /// The scope of the call is closed.
    Closed,
}

impl From<GuardFailure> for Refusal {
    fn from(failure: GuardFailure) -> Self {
        Self::Broken(failure)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Denied(reason) => Self::denied(reason),
            Refusal::Broken(failure) => Self::new(failure.to_string()),
            Refusal::Closed => {
                Self::new("tool call aborted before dispatch: the agent that made it has ended")
                    .coded(ErrorInfo::ABORTED_BEFORE_DISPATCH)
            }
        }
    }
}
