//! Guards: the last word before a body runs.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use thiserror::Error;

use crate::call::ToolCall;

/// Looks at a call and gives a reason to refuse it, or none.
///
/// Guards only narrow: one reason is enough, and nothing can overrule it.
pub(crate) type GuardFn = dyn Fn(&ToolCall) -> Option<String> + Send + Sync;

/// A registered guard.
pub(crate) struct Guard {
    pub(crate) owner: String,
    pub(crate) check: Box<GuardFn>,
}

/// A guard that panicked. The call fails; its body does not run.
#[derive(Debug, Error)]
#[error("a guard of `{owner}` panicked: {reason}")]
pub(crate) struct GuardFailure {
    owner: String,
    reason: String,
}

impl Guard {
    pub(crate) fn check(&self, call: &ToolCall) -> Result<Option<String>, GuardFailure> {
        catch_unwind(AssertUnwindSafe(|| (self.check)(call)))
            .map_err(|panic| GuardFailure { owner: self.owner.clone(), reason: panic_text(&*panic) })
    }
}

/// The text that code panicked with.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text").to_owned()
}
