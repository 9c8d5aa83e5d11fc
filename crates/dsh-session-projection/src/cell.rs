//! The state of one unit in one session, and how it takes events.

use std::sync::Arc;

use dsh_session::{Event, List};

use crate::registry::Registered;
use crate::unit::{AnyState, UnitError};

/// A state and how much of the log is in it. Cheap to clone; a later one takes its place.
#[derive(Clone)]
pub(crate) struct Cell {
    pub(crate) state: AnyState,
    /// How many events it has taken, which is the number of the next one.
    pub(crate) taken: u64,
    /// The last event that changed it.
    pub(crate) changed_at: Option<u64>,
}

impl Cell {
    pub(crate) fn new(unit: &Registered) -> Result<Self, UnitError> {
        Ok(Self { state: unit.unit.init()?, taken: 0, changed_at: None })
    }

    /// Takes the events that it has not taken yet.
    pub(crate) fn catch_up(&mut self, unit: &Registered, events: &List<Arc<Event>>) -> Result<(), UnitError> {
        let from = usize::try_from(self.taken).unwrap_or(usize::MAX);
        events.from(from).try_for_each(|event| self.take(unit, event))
    }

    pub(crate) fn take(&mut self, unit: &Registered, event: &Event) -> Result<(), UnitError> {
        if let Some(state) = unit.unit.apply(&self.state, event)? {
            self.state = state;
            self.changed_at = Some(event.seq());
        }
        self.taken = event.seq() + 1;
        Ok(())
    }

    /// The last event that is in it, -1 if none is.
    pub(crate) fn seq(&self) -> i64 {
        last_seq(self.taken)
    }
}

/// The number of the last of so many events, -1 if there is none.
pub(crate) fn last_seq(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX) - 1
}
