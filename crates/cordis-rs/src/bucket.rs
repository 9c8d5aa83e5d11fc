//! The listeners of one event in one scope (or in none): a locked ordered list and a snapshot that is built when a
//! dispatch needs it.
//!
//! **Invariants**
//! 1. `live` is false before an entry leaves the list.
//! 2. A snapshot is `careful` from the moment it is retired, or from the start if it holds a `once`: its dispatches then
//!    look at each listener before they call it.
//! 3. Entries and snapshots are dropped outside of all locks.
//! 4. Synchronous events keep `Arc`s in their snapshots, which a dispatch pins for its length: an entry that only its
//!    remover holds is run by nobody. Asynchronous events keep `Weak`s, and each call counts itself: a dispatch that takes
//!    minutes holds up the removal of no listener but those that it is running.
//!
//! **Lock order** the fiber lock → one bucket's list.

use crate::{
    contain::drop_reported,
    done::{Done, DoneSlot},
    effect::Label,
    fiber::FiberCell,
    frames::{is_removing, removing},
    ordered::Ordered,
    shared::Shared,
    sync::{Arc, AtomicBool, AtomicUsize, Mutex, Ordering::*, Swap, SwapGuard, Weak},
};

use std::{fmt, mem::needs_drop};

/// What every listener has, whatever its event.
pub(crate) struct Head {
    pub(crate) live: AtomicBool,
    pub(crate) once: bool,
    /// Its place: the effect's sequence number, negated when prepended.
    pub(crate) order: i64,
    pub(crate) event: &'static str,
    pub(crate) owner: Arc<FiberCell>,
}

impl Head {
    pub(crate) fn effect(&self) -> u64 {
        self.order.unsigned_abs()
    }
}

/// A registered listener.
pub(crate) struct Listener<F: Send + Sync + 'static> {
    pub(crate) head: Head,
    call: Option<F>,
    done: DoneSlot,
}

impl<F: Send + Sync + 'static> Listener<F> {
    pub(crate) fn new(head: Head, call: F) -> Self {
        Listener { head, call: Some(call), done: DoneSlot::default() }
    }

    #[inline(always)]
    pub(crate) fn code(&self) -> &F {
        match &self.call {
            Some(call) => call,
            None => unreachable!("a listener's call is taken only when it is dropped"),
        }
    }
}

impl<F: Send + Sync + 'static> Drop for Listener<F> {
    /// A teardown drops the captures here and now. A dispatch that happens to be the last one inside does not: whatever
    /// its caller holds, a lock for one, must not meet a user's drop. `done` fires after the captures are gone.
    fn drop(&mut self) {
        let Some(call) = self.call.take() else { return };
        if !needs_drop::<F>() {
            return;
        }
        let (owner, event, effect) = (self.head.owner.clone(), self.head.event, self.head.effect());
        let removed = !self.head.live.load(Relaxed);
        drop_captures(effect, owner, removed, move || Label::On(event), call, std::mem::take(&mut self.done));
    }
}

/// Drops what a plugin's code captured, and then `done`: here, or as a task of the app where the code had been `removed`
/// and a caller of it happens to be the last who holds it.
pub(crate) fn drop_captures<F: Send + 'static>(
    effect: u64,
    owner: Arc<FiberCell>,
    removed: bool,
    label: impl FnOnce() -> Label + Send + 'static,
    code: F,
    done: DoneSlot,
) {
    let late = if !removed || is_removing() { None } else { Shared::of(effect) };
    let Some(shared) = late else {
        drop_reported(effect, &owner, label, code);
        return drop(done);
    };
    shared.runtime.spawn(async move {
        drop_reported(effect, &owner, label, code);
        drop(done);
    });
}

/// A listener without the type of its closure. Sealed: it is public only because keys name it.
pub trait Entry: Send + Sync + 'static {
    #[doc(hidden)]
    fn head(&self) -> Seal<'_>;
    #[doc(hidden)]
    fn done(&self) -> SealDone;
}

/// Wraps what [`Entry`] gives, so that no private type is named in public.
#[doc(hidden)]
pub struct Seal<'a>(pub(crate) &'a Head);
#[doc(hidden)]
pub struct SealDone(pub(crate) Arc<Done>);

impl fmt::Debug for Seal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seal({:?} of {})", self.0.event, self.0.owner.label())
    }
}

impl fmt::Debug for SealDone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealDone(..)")
    }
}

impl<F: Send + Sync + 'static> Entry for Listener<F> {
    #[inline]
    fn head(&self) -> Seal<'_> {
        Seal(&self.head)
    }

    fn done(&self) -> SealDone {
        SealDone(self.done.install())
    }
}

/// How a snapshot keeps an entry: see invariant 4.
pub trait Kept<L: ?Sized>: Send + Sync + 'static {
    #[doc(hidden)]
    const PINNED: bool;
    #[doc(hidden)]
    fn keep(entry: &Arc<L>) -> Self;
}

impl<L: ?Sized + Send + Sync + 'static> Kept<L> for Arc<L> {
    const PINNED: bool = true;

    fn keep(entry: &Arc<L>) -> Self {
        entry.clone()
    }
}

impl<L: ?Sized + Send + Sync + 'static> Kept<L> for Weak<L> {
    const PINNED: bool = false;

    fn keep(entry: &Arc<L>) -> Self {
        Arc::downgrade(entry)
    }
}

/// The listeners at one moment, in order.
pub(crate) struct Snapshot<K> {
    pub(crate) items: Vec<K>,
    pub(crate) orders: Box<[i64]>,
    pub(crate) careful: AtomicBool,
}

pub(crate) struct Bucket<L: ?Sized, K> {
    list: Mutex<Ordered<i64, Arc<L>>>,
    snapshot: Swap<Snapshot<K>>,
    len: AtomicUsize,
}

pub(crate) type Retired<K> = Option<Arc<Snapshot<K>>>;

impl<L: ?Sized + Entry, K: Kept<L>> Bucket<L, K> {
    pub(crate) fn new() -> Self {
        Bucket { list: Mutex::default(), snapshot: Swap::empty(), len: AtomicUsize::new(0) }
    }

    /// How many listeners are registered; exact for a caller that is ordered after the registrations.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len.load(Acquire)
    }

    /// Pins the current snapshot for the length of a synchronous dispatch. Holds `None` when nobody listens.
    #[inline(always)]
    pub(crate) fn pin(&self) -> SwapGuard<Snapshot<K>> {
        let guard = self.snapshot.load();
        if guard.is_some() || self.len() == 0 {
            return guard;
        }
        drop(guard);
        SwapGuard::from_inner(self.rebuild())
    }

    /// The current snapshot, to be kept across awaits.
    #[inline]
    pub(crate) fn share(&self) -> Option<Arc<Snapshot<K>>> {
        let shared = self.snapshot.load_full();
        if shared.is_some() || self.len() == 0 {
            return shared;
        }
        self.rebuild()
    }

    /// The snapshot of this moment. Given to the dispatch directly: by the time it looked into the cell again, another
    /// registration could have retired it. It is then careful, so what was removed meanwhile is not called.
    #[cold]
    fn rebuild(&self) -> Option<Arc<Snapshot<K>>> {
        let list = self.list.lock();
        if list.is_empty() {
            return None;
        }
        if let Some(current) = self.snapshot.load_full() {
            return Some(current);
        }
        let (mut items, mut orders, mut careful) =
            (Vec::with_capacity(list.len()), Vec::with_capacity(list.len()), false);
        for (order, entry) in list.iter() {
            careful |= entry.head().0.once;
            items.push(K::keep(entry));
            orders.push(order);
        }
        let fresh = Arc::new(Snapshot { items, orders: orders.into(), careful: AtomicBool::new(careful) });
        let old = self.snapshot.swap(Some(fresh.clone()));
        debug_assert!(old.is_none(), "only a holder of the list's lock fills the cell");
        Some(fresh)
    }

    /// Adds a listener; under the fiber lock, so the caller drops the retired snapshot later.
    #[must_use = "drop it outside of all locks"]
    pub(crate) fn insert(&self, entry: Arc<L>) -> Retired<K> {
        let mut list = self.list.lock();
        list.insert(entry.head().0.order, entry);
        self.len.store(list.len(), Release);
        self.retire()
    }

    fn retire(&self) -> Retired<K> {
        let old = self.snapshot.swap(None)?;
        old.careful.store(true, SeqCst);
        Some(old)
    }

    fn take(&self, order: i64) -> Option<(Arc<L>, Retired<K>)> {
        let mut list = self.list.lock();
        list.get(order)?.head().0.live.store(false, SeqCst);
        let entry = list.remove(order)?;
        self.len.store(list.len(), Release);
        Some((entry, self.retire()))
    }
}

/// What an effect's record needs of a bucket, whatever its event.
pub(crate) trait AnyBucket: Send + Sync {
    /// Takes the listener out. `Some` when a call of it may still be running; its captures are dropped when that fires.
    fn remove(&self, order: i64) -> Option<Arc<Done>>;

    /// A `once` listener is about to run: out of the list first. The caller holds the entry, so nothing drops here
    /// except the snapshot, which it is given to drop outside of the fiber lock.
    fn claim(&self, order: i64) -> Option<(Arc<Done>, Box<dyn Send>)>;
}

impl<L: ?Sized + Entry, K: Kept<L>> AnyBucket for Bucket<L, K> {
    fn remove(&self, order: i64) -> Option<Arc<Done>> {
        let (entry, retired) = self.take(order)?;
        drop(retired);
        // Pinned: counts grow only under the list's lock, so a count of one seen now is exact. Weak: a dispatch may be
        // upgrading this instant, and only our own decrement, ordered with its increment, tells who is last.
        if K::PINNED && Arc::strong_count(&entry) == 1 {
            removing(|| drop(entry));
            return None;
        }
        let done = entry.done().0;
        removing(|| drop(entry));
        (!done.fired()).then_some(done)
    }

    fn claim(&self, order: i64) -> Option<(Arc<Done>, Box<dyn Send>)> {
        let (entry, retired) = self.take(order)?;
        Some((entry.done().0, Box::new(retired)))
    }
}
