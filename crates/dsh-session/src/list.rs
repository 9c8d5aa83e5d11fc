//! A list that grows at its end and gives snapshots for next to nothing.

use std::fmt;
use std::sync::Arc;

/// How many items are copied at most when the list grows while a snapshot lives.
const CHUNK: usize = 64;

/// An immutable list, or the growing one that it was taken from. A clone is a snapshot: it costs two counts, and later
/// pushes do not show in it.
pub struct List<T> {
    full: Arc<Vec<Arc<[T]>>>,
    tail: Arc<Vec<T>>,
}

impl<T: Clone> List<T> {
    /// Adds an item.
    pub(crate) fn push(&mut self, item: T) {
        let tail = Arc::make_mut(&mut self.tail);
        if tail.capacity() == 0 {
            tail.reserve_exact(CHUNK);
        }
        tail.push(item);
        if tail.len() == CHUNK {
            let chunk: Arc<[T]> = std::mem::take(tail).into();
            Arc::make_mut(&mut self.full).push(chunk);
        }
    }
}

impl<T> List<T> {
    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.full.len() * CHUNK + self.tail.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item at a place.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&T> {
        match self.full.get(index / CHUNK) {
            Some(chunk) => chunk.get(index % CHUNK),
            None => self.tail.get(index.checked_sub(self.full.len() * CHUNK)?),
        }
    }

    /// The last item.
    #[must_use]
    pub fn last(&self) -> Option<&T> {
        self.get(self.len().checked_sub(1)?)
    }

    /// The items in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + Clone {
        self.full.iter().flat_map(|chunk| chunk.iter()).chain(self.tail.iter())
    }

    /// The items from a place on.
    pub fn from(&self, index: usize) -> impl Iterator<Item = &T> + Clone {
        (index..self.len()).filter_map(|index| self.get(index))
    }
}

impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        Self { full: self.full.clone(), tail: self.tail.clone() }
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { full: Arc::default(), tail: Arc::default() }
    }
}

impl<T: Clone> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list = Self::default();
        for item in items {
            list.push(item);
        }
        list
    }
}

impl<T: fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: PartialEq> PartialEq for List<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}
