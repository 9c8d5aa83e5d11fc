//! Which units there are: one per key, for as long as somebody wants it.

use std::any::TypeId;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cordis::Inactive;
use parking_lot::Mutex;
use thiserror::Error;

use crate::unit::{ErasedUnit, Typed, Unit};

/// Why a unit was not registered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// A unit of the key is there whose states are of another version.
    #[error("a unit `{key}` is registered with states of version {registered}, not {version}")]
    Version {
        /// The key.
        key: &'static str,
        /// The version of the unit that is there.
        registered: u32,
        /// The version of the one that is refused.
        version: u32,
    },
    /// A unit of the key is there that is another one.
    #[error("another unit `{key}` is registered: a key belongs to one type")]
    Type {
        /// The key.
        key: &'static str,
    },
    /// The context is inactive.
    #[error(transparent)]
    Inactive(#[from] Inactive),
}

#[derive(Default)]
pub(crate) struct Registry {
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    /// In the order of their registration.
    all: Vec<(Arc<Registered>, usize)>,
    numbers: u64,
}

/// A unit from its first registration to its last release.
pub(crate) struct Registered {
    /// Never used again, so that a later unit of the same key is not taken for this one.
    pub(crate) number: u64,
    pub(crate) unit: Box<dyn ErasedUnit>,
    pub(crate) kind: TypeId,
    live: AtomicBool,
}

impl Registered {
    pub(crate) fn is_live(&self) -> bool {
        self.live.load(Ordering::Acquire)
    }
}

impl Registry {
    pub(crate) fn all(&self) -> Vec<Arc<Registered>> {
        self.entries.lock().all.iter().map(|(entry, _)| entry.clone()).collect()
    }

    pub(crate) fn find<U: Unit>(&self) -> Option<Arc<Registered>> {
        let entries = self.entries.lock();
        let own = |entry: &&(Arc<Registered>, usize)| entry.0.kind == TypeId::of::<U>();
        entries.all.iter().find(own).map(|(entry, _)| entry.clone())
    }

    /// Adds a unit, or counts one more who wants the one that is there.
    pub(crate) fn add<U: Unit>(&self, unit: U) -> Result<Arc<Registered>, RegisterError> {
        let unit: Box<dyn ErasedUnit> = Box::new(Typed(unit));
        let (key, version, kind) = (U::KEY, U::STATE_VERSION, TypeId::of::<U>());
        let mut entries = self.entries.lock();
        let Some((there, count)) = entries.all.iter_mut().find(|(there, _)| there.unit.key() == key) else {
            entries.numbers += 1;
            let live = AtomicBool::new(true);
            let entry = Arc::new(Registered { number: entries.numbers, unit, kind, live });
            entries.all.push((entry.clone(), 1));
            return Ok(entry);
        };
        let registered = there.unit.version();
        let shared = if registered != version {
            Err(RegisterError::Version { key, registered, version })
        } else if there.kind != kind {
            Err(RegisterError::Type { key })
        } else {
            *count += 1;
            Ok(there.clone())
        };
        // The unit that is not needed is dropped without the lock.
        drop(entries);
        shared
    }

    /// Counts one less; whether that was the last one.
    pub(crate) fn release(&self, entry: &Arc<Registered>) -> bool {
        let mut entries = self.entries.lock();
        let Some(place) = entries.all.iter().position(|(there, _)| Arc::ptr_eq(there, entry)) else {
            return false;
        };
        entries.all[place].1 -= 1;
        if entries.all[place].1 > 0 {
            return false;
        }
        // The caller has another count of it, so nothing is dropped here.
        entries.all.remove(place);
        entry.live.store(false, Ordering::Release);
        true
    }
}
