//! Insertion-ordered tables for the layers of a registry.
//!
//! Source: `NamedEntries` and `AnonymousEntries` of the reference's scope primitive.

use crate::{
    ordered::Ordered,
    sync::{Arc, Mutex},
};
use std::{collections::HashMap, fmt};

/// A table of values with unique names, in the order of their insertion.
///
/// Values are shared, not copied: they are cheap to clone, usually an `Arc`. `E` is the registry's own error for a name
/// that is taken.
pub struct NamedEntries<V, E = Duplicate> {
    table: Arc<Mutex<Table<V>>>,
    taken: Arc<dyn Fn(&str) -> E + Send + Sync>,
}

/// A table of values without names, in the order of their insertion; equal values are separate entries.
pub struct AnonymousEntries<V> {
    table: Arc<Mutex<Table<V>>>,
}

/// The name is taken in this table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is registered already: remove the other one first, or register it in a scope of its own")]
#[non_exhaustive]
pub struct Duplicate {
    /// The name.
    pub name: String,
}

struct Table<V> {
    entries: Ordered<u64, (Option<Arc<str>>, Arc<V>)>,
    names: HashMap<Arc<str>, u64>,
    next: u64,
    /// Counts how often the table was drained: iterators of an older generation end.
    generation: u64,
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Table { entries: Ordered::default(), names: HashMap::new(), next: 0, generation: 0 }
    }
}

impl<V> Table<V> {
    fn insert(&mut self, name: Option<Arc<str>>, value: V) -> u64 {
        self.next += 1;
        if let Some(name) = &name {
            self.names.insert(name.clone(), self.next);
        }
        self.entries.insert(self.next, (name, Arc::new(value)));
        self.next
    }

    fn remove(&mut self, id: u64) -> Option<Arc<V>> {
        let (name, value) = self.entries.remove(id)?;
        if let Some(name) = name {
            self.names.remove(&name);
        }
        if self.entries.is_empty() {
            self.generation += 1;
        }
        Some(value)
    }
}

/// Takes one insertion back; bound to that very insertion, so it does nothing to a later one of the same name.
#[must_use = "an entry is removed by `.undo()`"]
pub struct EntryUndo {
    undo: Box<dyn Fn() + Send + Sync>,
}

impl EntryUndo {
    fn new<V: Send + Sync + 'static>(table: &Arc<Mutex<Table<V>>>, id: u64) -> Self {
        let table = table.clone();
        EntryUndo {
            undo: Box::new(move || {
                let removed = table.lock().remove(id);
                drop(removed);
            }),
        }
    }

    /// Removes the entry; again does nothing.
    pub fn undo(&self) {
        (self.undo)();
    }
}

impl fmt::Debug for EntryUndo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EntryUndo(..)")
    }
}

impl<V: Clone + Send + Sync + 'static> NamedEntries<V> {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::with_error(|name| Duplicate { name: name.to_owned() })
    }
}

impl<V: Clone + Send + Sync + 'static> Default for NamedEntries<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Clone + Send + Sync + 'static, E> NamedEntries<V, E> {
    /// An empty table with the registry's own error for a name that is taken.
    #[must_use]
    pub fn with_error(taken: impl Fn(&str) -> E + Send + Sync + 'static) -> Self {
        NamedEntries { table: Arc::default(), taken: Arc::new(taken) }
    }

    /// Adds an entry at the end.
    ///
    /// # Errors
    /// The name is taken; the table is unchanged.
    pub fn insert(&self, name: impl Into<Arc<str>>, value: V) -> Result<EntryUndo, E> {
        let name = name.into();
        let mut table = self.table.lock();
        if table.names.contains_key(&name) {
            drop(table);
            return Err((self.taken)(&name));
        }
        let id = table.insert(Some(name), value);
        drop(table);
        Ok(EntryUndo::new(&self.table, id))
    }

    /// The value of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<V> {
        let value = {
            let table = self.table.lock();
            let (_, value) = table.entries.get(*table.names.get(name)?)?;
            value.clone()
        };
        // A user's clone may look into this very table.
        Some((*value).clone())
    }

    /// Whether the name is taken.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.table.lock().names.contains_key(name)
    }

    /// The entries in order. Live: what is added meanwhile is visited too, until the table has been drained once.
    pub fn iter(&self) -> impl Iterator<Item = (Arc<str>, V)> + use<V, E> {
        let entries = Entries::new(&self.table);
        entries.filter_map(|(name, value)| Some((name?, value)))
    }

    /// The names in order.
    #[must_use]
    pub fn keys(&self) -> Vec<Arc<str>> {
        self.iter().map(|(name, _)| name).collect()
    }

    /// The values in order.
    #[must_use]
    pub fn values(&self) -> Vec<V> {
        self.iter().map(|(_, value)| value).collect()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.lock().entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<V: Clone + Send + Sync + 'static> AnonymousEntries<V> {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        AnonymousEntries { table: Arc::default() }
    }

    /// Adds an entry at the end.
    pub fn append(&self, value: V) -> EntryUndo {
        let id = self.table.lock().insert(None, value);
        EntryUndo::new(&self.table, id)
    }

    /// The values in order. Live, as for [`NamedEntries::iter`].
    pub fn iter(&self) -> impl Iterator<Item = V> + use<V> {
        Entries::new(&self.table).map(|(_, value)| value)
    }

    /// The values in order.
    #[must_use]
    pub fn values(&self) -> Vec<V> {
        self.iter().collect()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.lock().entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<V: Clone + Send + Sync + 'static> Default for AnonymousEntries<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V, E> fmt::Debug for NamedEntries<V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<Arc<str>> = {
            let table = self.table.lock();
            table.entries.iter().filter_map(|(_, (name, _))| name.clone()).collect()
        };
        f.debug_tuple("NamedEntries").field(&names).finish()
    }
}

impl<V> fmt::Debug for AnonymousEntries<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = self.table.lock().entries.len();
        f.debug_struct("AnonymousEntries").field("len", &len).finish_non_exhaustive()
    }
}

/// A live iterator over one generation of a table.
struct Entries<V> {
    table: Arc<Mutex<Table<V>>>,
    generation: u64,
    last: u64,
}

impl<V> Entries<V> {
    fn new(table: &Arc<Mutex<Table<V>>>) -> Self {
        let generation = table.lock().generation;
        Entries { table: table.clone(), generation, last: 0 }
    }
}

impl<V: Clone> Iterator for Entries<V> {
    type Item = (Option<Arc<str>>, V);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = {
            let table = self.table.lock();
            if table.generation != self.generation {
                return None;
            }
            let (id, (name, value)) = table.entries.after(self.last)?;
            self.last = id;
            (name.clone(), value.clone())
        };
        Some((name, (*value).clone()))
    }
}
