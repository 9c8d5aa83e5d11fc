//! The name under which the crate meets others.

use cordis::Key;

use crate::metrics::Metrics;

/// How many tool calls there were, how they ended, and how long they took.
///
/// Source: ours.
pub const METRICS: Key<Metrics> = Key::new("metrics");
