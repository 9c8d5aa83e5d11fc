//! What the tests of scopes, layers, timers and tasks share: a log that several owners write to.

use std::sync::{Arc, Mutex};

/// Lines in the order in which they were written.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn say(&self, line: impl ToString) {
        self.0.lock().unwrap().push(line.to_string());
    }

    /// The lines since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}
