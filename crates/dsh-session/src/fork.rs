//! Where a session may be forked.

use thiserror::Error;

use crate::events::Events;
use crate::store::CreateError;

/// Why a session cannot be forked there. The parent is as it was.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ForkError {
    /// The child's id is taken.
    #[error("a session `{id}` is live already: choose another id for the fork")]
    AlreadyExists {
        /// The id.
        id: String,
    },
    /// There is no such session.
    #[error("there is no live session `{id}` to fork")]
    NotFound {
        /// The id.
        id: String,
    },
    /// The session is not in the store any more.
    #[error("session `{id}` is not live: it cannot be forked")]
    NotLive {
        /// The id.
        id: String,
    },
    /// There is no event of that number.
    #[error("session `{id}` has no event {boundary}: it ends before {len}")]
    InvalidBoundary {
        /// The session.
        id: String,
        /// The number.
        boundary: u64,
        /// How many events there are.
        len: u64,
    },
    /// A turn is open there.
    #[error(
        "session `{id}` cannot be forked at {boundary}: turn is open since {since}; fork at a closed turn, before {since}"
    )]
    OpenTurn {
        /// The session.
        id: String,
        /// The number.
        boundary: u64,
        /// The event that opened the turn.
        since: u64,
    },
    /// The child could not be created.
    #[error(transparent)]
    Create(#[from] CreateError),
}

impl ForkError {
    /// The reference's code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::AlreadyExists { .. } | Self::Create(CreateError::Exists { .. }) => "SESSION_ALREADY_EXISTS",
            Self::NotFound { .. } => "SESSION_NOT_FOUND",
            Self::NotLive { .. } => "SESSION_NOT_LIVE",
            Self::InvalidBoundary { .. } => "INVALID_BOUNDARY",
            Self::OpenTurn { .. } => "OPEN_TURN",
            Self::Create(_) => "SESSION_NOT_CREATED",
        }
    }
}

/// The events up to `boundary`, itself included; all of them without one.
///
/// # Errors
/// There is no such event, or a turn is open there.
pub fn prefix(id: &str, events: &Events, boundary: Option<u64>) -> Result<Events, ForkError> {
    let len = events.len() as u64;
    let count = match boundary {
        None => len,
        Some(boundary) if boundary < len => boundary + 1,
        Some(boundary) => return Err(ForkError::InvalidBoundary { id: id.to_owned(), boundary, len }),
    };
    let inherited = events.first_n(usize::try_from(count).unwrap_or(usize::MAX));
    let turns = inherited.iter().rev().find(|event| matches!(event.kind(), "turn/start" | "turn/end"));
    match turns.filter(|event| event.kind() == "turn/start") {
        None => Ok(inherited),
        Some(open) => Err(ForkError::OpenTurn { id: id.to_owned(), boundary: count - 1, since: open.seq() }),
    }
}
