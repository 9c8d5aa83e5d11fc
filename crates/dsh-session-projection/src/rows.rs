//! States that were set aside, and how they are taken up again.

use std::collections::BTreeMap;
use std::sync::Arc;

use dsh_session::Event;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::cell::Cell;
use crate::projections::Snapshot;
use crate::registry::Registered;

/// A state of each unit, by the unit's key.
pub type Rows = BTreeMap<String, Row>;

/// A unit's state as it is set aside. Detached: later events do not change it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The version of the unit's states.
    pub ver: u32,
    /// The last event that is in it; -1 before the first one.
    pub seq: i64,
    /// The state.
    pub val: Value,
}

/// What rows and the events after them came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// What clients see.
    pub snapshot: Snapshot,
    /// The states now, to be set aside again.
    pub rows: Rows,
}

/// Why states were not taken up again.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// A unit needs events from before the first one that was given: begin again with all of them.
    #[error(
        "the unit `{key}` has no state that the events from {base} on continue: read the log from its beginning"
    )]
    Unusable {
        /// The unit.
        key: &'static str,
        /// The first event that was given.
        base: u64,
    },
    /// A state cannot be read.
    #[error("the state of the unit `{key}` cannot be read: {reason}")]
    Malformed {
        /// The unit.
        key: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The events do not follow each other.
    #[error("expected event {expected}, found {found}")]
    Gap {
        /// The number that should have come.
        expected: u64,
        /// The number that came.
        found: u64,
    },
    /// A unit failed at what it was given.
    #[error("the unit `{key}` failed: {reason}")]
    Failed {
        /// The unit.
        key: &'static str,
        /// How.
        reason: String,
    },
}

/// From which event on a log must be read to continue the rows: one before the first event that some unit still needs. None
/// if there are no units.
pub(crate) fn floor(units: &[Arc<Registered>], rows: &Rows) -> Option<u64> {
    let needed = |unit: &Arc<Registered>| {
        let row = rows.get(unit.unit.key()).filter(|row| row.ver == unit.unit.version());
        row.map_or(0, |row| u64::try_from(row.seq.saturating_add(1)).unwrap_or(0))
    };
    units.iter().map(needed).min().map(|first| first.saturating_sub(1))
}

/// The units' states after `events`, of which the first has the number `base`.
pub(crate) fn restore(
    units: &[Arc<Registered>],
    rows: &Rows,
    events: &[Arc<Event>],
    base: u64,
) -> Result<Restored, RestoreError> {
    for (expected, event) in (base..).zip(events) {
        if event.seq() != expected {
            return Err(RestoreError::Gap { expected, found: event.seq() });
        }
    }
    let mut restored = Restored { snapshot: Snapshot::of(base + events.len() as u64), rows: Rows::new() };
    for unit in units {
        let key = unit.unit.key();
        let failed = |error: crate::unit::UnitError| RestoreError::Failed { key, reason: error.to_string() };
        let mut cell = begin(unit, rows, events.len(), base)?;
        let skipped = usize::try_from(cell.taken.saturating_sub(base)).unwrap_or(usize::MAX);
        for event in events.iter().skip(skipped) {
            cell.take(unit, event).map_err(failed)?;
        }
        restored.snapshot.show(unit, &cell).map_err(failed)?;
        let val = unit.unit.save(&cell.state).map_err(failed)?;
        restored.rows.insert(key.to_owned(), Row { ver: unit.unit.version(), seq: cell.seq(), val });
    }
    Ok(restored)
}

/// Where the unit goes on: after its row if the events continue it, else at the beginning if they begin there.
fn begin(unit: &Registered, rows: &Rows, count: usize, base: u64) -> Result<Cell, RestoreError> {
    let key = unit.unit.key();
    let continued = |row: &&Row| {
        let taken = u64::try_from(row.seq.saturating_add(1)).ok();
        row.ver == unit.unit.version()
            && taken.is_some_and(|taken| (base..=base + count as u64).contains(&taken))
    };
    match rows.get(key).filter(continued) {
        Some(row) => {
            let state = unit.unit.load(&row.val);
            let state = state.map_err(|error| RestoreError::Malformed { key, reason: error.to_string() })?;
            let taken = u64::try_from(row.seq.saturating_add(1)).unwrap_or(0);
            Ok(Cell { state, taken, changed_at: None })
        }
        None if base > 0 => Err(RestoreError::Unusable { key, base }),
        None => Cell::new(unit).map_err(|error| RestoreError::Failed { key, reason: error.to_string() }),
    }
}
