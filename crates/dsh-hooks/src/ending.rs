//! What ended a hook.

use std::fmt;
use std::time::Duration;

/// What ended a hook that was not left to end by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its time was over.
    TimeLimit {
        /// How long it was allowed to run.
        limit: Duration,
    },
    /// Nobody needed its answer any more.
    Cancelled,
    /// Somebody else killed it.
    Signal {
        /// The signal's name, if it is known.
        name: Option<String>,
    },
    /// It did not run.
    NotRun {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimeLimit { limit } => {
                write!(f, "the hook was ended by its time limit of {} ms", limit.as_millis())
            }
            Self::Cancelled => f.write_str("the hook was cancelled"),
            Self::Signal { name } => {
                write!(f, "the hook was killed by {}", name.as_deref().unwrap_or("an unknown signal"))
            }
            Self::NotRun { reason } => f.write_str(reason),
        }
    }
}
