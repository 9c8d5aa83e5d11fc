//! JSON as text that is shared and never changed.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// One JSON value as text: a piece of a log that was read, or a text of its own. Cheap to clone.
///
/// What an event holds is kept as it came, so it is written again byte for byte, whatever a reader makes of it.
#[derive(Clone)]
pub struct JsonText {
    whole: Arc<str>,
    start: usize,
    end: usize,
}

impl JsonText {
    /// A piece of a text that is JSON already.
    pub(crate) fn part(whole: &Arc<str>, range: Range<usize>) -> Self {
        debug_assert!(whole.get(range.clone()).is_some(), "within the text");
        Self { whole: whole.clone(), start: range.start, end: range.end }
    }

    /// A text that is JSON already.
    pub(crate) fn own(text: impl Into<Arc<str>>) -> Self {
        let whole = text.into();
        Self { start: 0, end: whole.len(), whole }
    }

    /// The text.
    #[must_use]
    pub fn get(&self) -> &str {
        self.whole.get(self.start..self.end).unwrap_or_default()
    }
}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl PartialEq for JsonText {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for JsonText {}
