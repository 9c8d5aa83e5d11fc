//! Where calls are counted.
//!
//! **Invariants** 1. `rows` is never less than the rows that count towards the bound: a place is taken before a row is
//! added, and given back after one is removed. 2. Nothing but this module's own code runs while a row is locked.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;

use crate::durations::Durations;
use crate::series::{CallCode, ToolLabel};
use crate::snapshot::{Series, Snapshot};

/// How many tool calls there were, how they ended, and how long they took; see [`METRICS`](crate::METRICS).
#[derive(Debug)]
pub struct Metrics {
    counted: DashMap<(ToolLabel, CallCode), Counted>,
    rows: AtomicUsize,
    max_rows: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    calls: u64,
    durations: Option<Durations>,
}

impl Counted {
    fn add(&mut self, took: Option<Duration>) {
        self.calls += 1;
        match (&mut self.durations, took) {
            (_, None) => {}
            (Some(durations), Some(took)) => durations.add(took),
            (none, Some(took)) => *none = Some(Durations::of(took)),
        }
    }
}

impl Metrics {
    pub(crate) fn new(max_rows: NonZeroUsize) -> Self {
        Self { counted: DashMap::new(), rows: AtomicUsize::new(0), max_rows: max_rows.get() }
    }

    /// What was counted so far, or since the last reset. Calls that end meanwhile may be in it or not, each as a whole.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let row = |row: dashmap::mapref::multiple::RefMulti<'_, (ToolLabel, CallCode), Counted>| {
            let ((tool, code), Counted { calls, durations }) = (row.key().clone(), *row.value());
            Series { tool, code, calls, durations }
        };
        let mut series: Vec<_> = self.counted.iter().map(row).collect();
        series.sort_unstable_by(|one, other| (&one.tool, &one.code).cmp(&(&other.tool, &other.code)));
        Snapshot { series }
    }

    /// Begins anew, with room for as many rows as in the beginning. Calls that end meanwhile may be counted before or after it.
    pub fn reset(&self) {
        self.counted.retain(|row, _| {
            if !is_overflow(row) {
                self.rows.fetch_sub(1, Ordering::Relaxed);
            }
            false
        });
    }

    /// Counts a call.
    pub(crate) fn count(&self, tool: ToolLabel, code: CallCode, took: Option<Duration>) {
        let row = (tool, code);
        if let Some(mut counted) = self.counted.get_mut(&row) {
            counted.add(took);
            return;
        }
        let (row, is_new) = match self.take_place() {
            true => (row, true),
            false => ((ToolLabel::Other, CallCode::Other), false),
        };
        match self.counted.entry(row) {
            Entry::Occupied(mut there) => {
                there.get_mut().add(took);
                // Another call has added the row meanwhile.
                if is_new {
                    self.rows.fetch_sub(1, Ordering::Relaxed);
                }
            }
            Entry::Vacant(free) => free.insert(Counted::default()).add(took),
        }
    }

    fn take_place(&self) -> bool {
        let one_more = |rows| (rows < self.max_rows).then_some(rows + 1);
        self.rows.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }
}

fn is_overflow((tool, code): &(ToolLabel, CallCode)) -> bool {
    (tool, code) == (&ToolLabel::Other, &CallCode::Other)
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
