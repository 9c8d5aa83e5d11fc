//! Work on an agent while it does nothing.

use std::fmt;

use tokio_util::sync::CancellationToken;

/// Work on an agent while it does nothing: no turn begins as long as this lives. Dropping it ends it; what has woken the agent
/// meanwhile begins then.
///
/// Source: `runMaintenance`.
#[must_use = "maintenance ends when this is dropped"]
pub struct Maintenance {
    cancellation: CancellationToken,
    _end: End,
}

/// Runs once, when it is dropped.
struct End(Option<Box<dyn FnOnce() + Send>>);

impl Maintenance {
    /// Maintenance that this token cancels; `end` is run when it is over.
    pub fn new(cancellation: CancellationToken, end: impl FnOnce() + Send + 'static) -> Self {
        Self { cancellation, _end: End(Some(Box::new(end))) }
    }

    /// Cancelled when the agent is.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }
}

impl Drop for End {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            end();
        }
    }
}

impl fmt::Debug for Maintenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Maintenance").field("cancelled", &self.cancellation.is_cancelled()).finish()
    }
}
