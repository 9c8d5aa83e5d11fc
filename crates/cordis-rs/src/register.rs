//! Placing a listener: which bucket it goes to, and the record that undoes it.

use crate::{
    Context, Effect, Event, ListenError, Mode,
    bucket::{AnyBucket, Bucket},
    effect::{Label, Record, Undo},
    event::sealed,
    keys,
    meta::Registration,
    shared::{AnySlot, Buckets},
    sync::Arc,
};

/// Where and how a listener is placed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Placing {
    pub(crate) prepend: bool,
    pub(crate) once: bool,
    pub(crate) global: bool,
}

pub(crate) type BucketOf<K> = Arc<Bucket<<K as sealed::Event>::Entry, <K as sealed::Event>::Kept>>;

impl Context {
    pub(crate) fn register<K: Event>(
        &self,
        key: K,
        placing: Placing,
        make: impl FnOnce(i64) -> Arc<K::Entry>,
    ) -> Result<Effect, ListenError> {
        // Refused before anything else happens: a dead context must not even claim the key's name.
        self.shared().fibers.lock().accepting(self, "register a listener")?;
        if let Some(replaced) = self.ask_observers(key.name(), key.mode(), placing) {
            return Ok(replaced);
        }
        let bucket = self.bucket_for(key, placing.global)?;
        let (effect, retired) = {
            let mut fibers = self.shared().fibers.lock();
            let data = fibers.accepting(self, "register a listener")?;
            let id = self.shared().next_seq();
            let order = if placing.prepend { -(id as i64) } else { id as i64 };
            let undo = Undo::Listener(bucket.clone() as Arc<dyn AnyBucket>, order);
            data.add(id, Record { undo, label: Label::On(key.name()), group: self.group() });
            (id, bucket.insert(make(order)))
        };
        drop(retired);
        Ok(Effect::new(self, effect))
    }

    /// How many listeners of `key` are registered where this context would register one.
    #[must_use]
    pub fn listeners<K: Event>(&self, key: K) -> usize {
        self.events(key.of_own_fiber(), false)
            .get(key.key().0)
            .and_then(bucket_of::<K>)
            .map_or(0, |b| b.len())
    }

    fn bucket_for<K: Event>(&self, key: K, global: bool) -> Result<BucketOf<K>, ListenError> {
        let name = key.key().0;
        let make = || Box::new(Arc::new(Bucket::<K::Entry, K::Kept>::new())) as AnySlot;
        // The unscoped bucket fixes what the name means, for all scopes.
        let everywhere = bucket_of::<K>(self.shared().events.get_or_insert(name, make));
        let here = everywhere.and_then(|everywhere| {
            let events = self.events(key.of_own_fiber(), global);
            if std::ptr::eq(events, &self.shared().events) {
                return Some(everywhere);
            }
            bucket_of::<K>(events.get_or_insert(name, make))
        });
        here.cloned().ok_or_else(|| ListenError::KeyConflict {
            event: name.text,
            mode: key.mode(),
            plugin: self.cell().label(),
        })
    }

    fn events(&self, of_own_fiber: bool, global: bool) -> &Buckets {
        if global {
            &self.shared().events
        } else if of_own_fiber {
            self.cell().local().events()
        } else {
            self.scope_key().map_or(&self.shared().events, |scope| scope.events())
        }
    }

    /// `internal/listener`: an observer may take the registration over.
    fn ask_observers(&self, event: &'static str, mode: Mode, placing: Placing) -> Option<Effect> {
        if self.shared().meta.listener.len() == 0 || event.starts_with("internal/") {
            return None;
        }
        let Placing { prepend, once, global } = placing;
        self.bail(keys::LISTENER, &Registration { event, mode, prepend, once, global, fiber: self.fiber() })
    }
}

#[inline]
pub(crate) fn bucket_of<K: Event>(slot: &AnySlot) -> Option<&BucketOf<K>> {
    slot.downcast_ref()
}
