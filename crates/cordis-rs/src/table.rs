//! A table from key names to values that are never removed: reads take no lock and touch no shared counter.
//!
//! **Invariants** 1. A node is immutable once linked. 2. Nodes live as long as the table. So the table grows with the
//! number of different keys and never with the number of registrations.

use crate::{name::Name, sync::OnceLock};

type Link<V> = OnceLock<Box<Node<V>>>;

struct Node<V> {
    name: Name,
    value: V,
    kids: OnceLock<Box<[Link<V>; 16]>>,
}

/// A hash trie with `roots` first links (a power of two) and 16 links a node.
pub(crate) struct Table<V> {
    roots: Box<[Link<V>]>,
}

impl<V> Table<V> {
    pub(crate) fn new(roots: usize) -> Self {
        debug_assert!(roots.is_power_of_two());
        Table { roots: (0..roots).map(|_| OnceLock::new()).collect() }
    }

    #[inline]
    pub(crate) fn get(&self, name: Name) -> Option<&V> {
        let (mut link, mut rest) = self.root(name.hash);
        loop {
            let node = link.get()?;
            if node.name.is(name) {
                return Some(&node.value);
            }
            link = &node.kids.get()?[(rest & 15) as usize];
            rest = rest.rotate_right(4);
        }
    }

    pub(crate) fn get_or_insert(&self, name: Name, make: impl Fn() -> V) -> &V {
        let (mut link, mut rest) = self.root(name.hash);
        loop {
            let node = link.get_or_init(|| Box::new(Node { name, value: make(), kids: OnceLock::new() }));
            if node.name.is(name) {
                return &node.value;
            }
            let kids = node.kids.get_or_init(|| Box::new(std::array::from_fn(|_| OnceLock::new())));
            link = &kids[(rest & 15) as usize];
            rest = rest.rotate_right(4);
        }
    }

    #[inline]
    fn root(&self, hash: u64) -> (&Link<V>, u64) {
        let n = self.roots.len();
        (&self.roots[hash as usize & (n - 1)], hash.rotate_right(n.trailing_zeros()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_equal_hashes_keep_their_own_values() {
        let table = Table::new(1);
        let names: Vec<Name> = (0..40)
            .map(|i| Name { text: Box::leak(format!("k{i}").into_boxed_str()), hash: i % 2 })
            .collect();
        for (i, name) in names.iter().enumerate() {
            table.get_or_insert(*name, || i);
        }
        for (i, name) in names.iter().enumerate() {
            assert_eq!(table.get(*name), Some(&i));
        }
        assert_eq!(table.get(Name { text: "absent", hash: 0 }), None);
    }
}
