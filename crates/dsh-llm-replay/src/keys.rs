//! The name under which the crate meets others.

use cordis::Key;

use crate::replay::Replay;

/// What is being played, and what of it was not asked for.
pub const REPLAY: Key<Replay> = Key::new("llmReplay");
