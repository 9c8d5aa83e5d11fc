//! A sorted list whose keys are mostly appended or prepended.
//!
//! Insertion at either end is O(1), removal O(log n) amortised (a tombstone; compacted when half are dead), and the
//! newest entry is found at once because teardown runs newest first. Smaller and faster than a `BTreeMap` for the short
//! lists that most plugins have.

use std::collections::VecDeque;

pub(crate) struct Ordered<K, V> {
    items: VecDeque<(K, Option<V>)>,
    live: usize,
}

impl<K, V> Default for Ordered<K, V> {
    fn default() -> Self {
        Ordered { items: VecDeque::new(), live: 0 }
    }
}

impl<K: Ord + Copy, V> Ordered<K, V> {
    pub(crate) fn len(&self) -> usize {
        self.live
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Enters a value; gives the one that the key had.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        if self.items.back().is_none_or(|(k, _)| *k < key) {
            self.items.push_back((key, Some(value)));
        } else if self.items.front().is_none_or(|(k, _)| key < *k) {
            self.items.push_front((key, Some(value)));
        } else {
            let at = self.items.partition_point(|(k, _)| *k < key);
            match self.items.get_mut(at) {
                Some((k, place)) if *k == key => {
                    let old = place.replace(value);
                    self.live += usize::from(old.is_none());
                    return old;
                }
                _ => self.items.insert(at, (key, Some(value))),
            }
        }
        self.live += 1;
        None
    }

    pub(crate) fn get(&self, key: K) -> Option<&V> {
        self.items[self.find(key)?].1.as_ref()
    }

    pub(crate) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        let at = self.find(key)?;
        self.items[at].1.as_mut()
    }

    pub(crate) fn remove(&mut self, key: K) -> Option<V> {
        let at = self.find(key)?;
        let value = self.items[at].1.take()?;
        self.live -= 1;
        if self.live == 0 {
            self.items = VecDeque::new();
            return Some(value);
        }
        while matches!(self.items.back(), Some((_, None))) {
            self.items.pop_back();
        }
        while matches!(self.items.front(), Some((_, None))) {
            self.items.pop_front();
        }
        if self.items.len() > 2 * self.live + 8 {
            self.items.retain(|(_, value)| value.is_some());
        }
        if self.items.capacity() > 64 && self.items.len() * 4 < self.items.capacity() {
            self.items.shrink_to(self.items.len() * 2);
        }
        Some(value)
    }

    pub(crate) fn last_key(&self) -> Option<K> {
        self.items.back().map(|(key, _)| *key)
    }

    /// The first entry behind `key`.
    pub(crate) fn after(&self, key: K) -> Option<(K, &V)> {
        let from = self.items.partition_point(|(k, _)| *k <= key);
        self.items.iter().skip(from).find_map(|(key, value)| Some((*key, value.as_ref()?)))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.items.iter().filter_map(|(key, value)| Some((*key, value.as_ref()?)))
    }

    fn find(&self, key: K) -> Option<usize> {
        let n = self.items.len();
        if n > 0 && self.items[n - 1].0 == key {
            return Some(n - 1);
        }
        self.items.binary_search_by(|(k, _)| k.cmp(&key)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn behaves_as_a_btree_map(ops in prop::collection::vec((any::<bool>(), -40i64..40), 0..300)) {
            let (mut ours, mut model) = (Ordered::default(), BTreeMap::new());
            for (value, (insert, key)) in ops.into_iter().enumerate() {
                if insert {
                    prop_assert_eq!(ours.insert(key, value), model.insert(key, value));
                } else {
                    prop_assert_eq!(ours.remove(key), model.remove(&key));
                }
                prop_assert_eq!(ours.len(), model.len());
                prop_assert_eq!(ours.is_empty(), model.is_empty());
                prop_assert_eq!(ours.last_key(), model.keys().next_back().copied());
                prop_assert!(ours.iter().map(|(k, v)| (k, *v)).eq(model.iter().map(|(k, v)| (*k, *v))));
                prop_assert_eq!(ours.get(key).copied(), model.get(&key).copied());
            }
        }
    }
}
