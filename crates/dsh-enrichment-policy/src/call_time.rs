//! When a call began.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// When a call began, right before its policies were asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallTime {
    started_at: SystemTime,
    started: Instant,
}

impl CallTime {
    pub(crate) fn now() -> Self {
        Self { started_at: SystemTime::now(), started: Instant::now() }
    }

    /// The time of day; it may be off by what the system's clock is.
    #[must_use]
    pub fn started_at(&self) -> SystemTime {
        self.started_at
    }

    /// How long ago it was, by a clock that nobody sets.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}
