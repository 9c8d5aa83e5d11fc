//! What all contexts of one app share.

use crate::{
    Context, Event, FiberId, ListenerPanic,
    bucket::Head,
    done::{Done, Then},
    effect::{Record, Undo},
    fiber::FiberCell,
    fibers::Fibers,
    frames::Frame,
    keys,
    meta::{Meta, Report},
    needs::Need,
    runtime::Runtime,
    service::{Key, Slot},
    sync::{Arc, AtomicU64, Mutex, Ordering::*, Weak},
    table::Table,
};
use std::any::Any;

/// A bucket or a service slot, whatever its type.
pub(crate) type AnySlot = Box<dyn Any + Send + Sync>;
pub(crate) type Buckets = Table<AnySlot>;
pub(crate) type Services = Table<AnySlot>;

pub(crate) struct Shared {
    pub(crate) fibers: Mutex<Fibers>,
    /// The listeners that belong to no scope.
    pub(crate) events: Buckets,
    /// The services of contexts that are not isolated.
    pub(crate) services: Services,
    /// The buckets of the host's own events, at hand without a look-up.
    pub(crate) meta: Meta,
    pub(crate) runtime: Runtime,
    pub(crate) root: Arc<FiberCell>,
    /// The number of the last effect; its upper bits are the app's.
    seq: AtomicU64,
}

/// Counts apps, so that two of them in one process have different effect numbers.
static APPS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

type Known = std::collections::HashMap<u64, Weak<Shared>>;

fn known() -> std::sync::MutexGuard<'static, Known> {
    static KNOWN: std::sync::LazyLock<std::sync::Mutex<Known>> = std::sync::LazyLock::new(Default::default);
    KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Drop for Shared {
    fn drop(&mut self) {
        known().remove(&(self.seq.load(Relaxed) >> COUNT_BITS));
    }
}

/// An effect number is the app's, then this many bits of count: enough for a million effects a second for half a year.
/// Kept below the sign bit, which tells prepended listeners.
const COUNT_BITS: u32 = 44;
const APP_BITS: u32 = 63 - COUNT_BITS;

impl Shared {
    pub(crate) fn new(runtime: Runtime) -> Arc<Self> {
        let app: u64 = (APPS.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % ((1 << APP_BITS) - 1)) + 1;
        let events = Table::new(256);
        let meta = Meta::new(&events);
        let mut fibers = Fibers::default();
        let root = fibers.insert_root();
        let shared = Arc::new(Shared {
            fibers: Mutex::new(fibers),
            events,
            services: Table::new(64),
            meta,
            runtime,
            root,
            seq: AtomicU64::new(app << COUNT_BITS),
        });
        known().insert(app, Arc::downgrade(&shared));
        shared
    }

    /// The app that an effect's number belongs to, if it still lives. For rare occasions: apps are kept in one table.
    pub(crate) fn of(effect: u64) -> Option<Arc<Shared>> {
        known().get(&(effect >> COUNT_BITS)).and_then(Weak::upgrade)
    }

    /// The number of a new effect. Under the fiber lock, so numbers and registrations have one order.
    pub(crate) fn next_seq(&self) -> u64 {
        let next = self.seq.load(Relaxed) + 1;
        self.seq.store(next, Relaxed);
        next
    }

    /// Whether a frame belongs to this app.
    pub(crate) fn owns(&self, frame: Frame) -> bool {
        frame.effect >> COUNT_BITS == self.seq.load(Relaxed) >> COUNT_BITS
    }

    pub(crate) fn root_context(self: &Arc<Self>) -> Context {
        Context::new(self.clone(), self.root.clone(), None)
    }

    pub(crate) fn context_of(self: &Arc<Self>, cell: &Arc<FiberCell>) -> Context {
        let view = self.fibers.lock().get(cell.id).and_then(|data| data.view.clone());
        Context::new(self.clone(), cell.clone(), view)
    }

    /// Whose and which effect a frame belongs to.
    pub(crate) fn names_of(&self, frame: Frame) -> (String, String) {
        let fibers = self.fibers.lock();
        let data = fibers.get(frame.fiber);
        let plugin = data.map_or_else(|| "a disposed plugin".into(), |data| data.cell.label());
        let record = data.and_then(|data| data.record(frame.effect));
        (plugin, record.map_or_else(|| "a listener".into(), |record| record.label.to_string()))
    }

    pub(crate) fn label_of(&self, id: FiberId) -> String {
        self.fibers.lock().get(id).map_or_else(|| "a disposed plugin".into(), |data| data.cell.label())
    }

    /// Whether `head`'s listener is to be called now. A `once` is taken out of the list first, so that a dispatch from
    /// inside cannot reach it; a disposal that came first prevents it, one that comes later waits for it.
    #[cold]
    pub(crate) fn begin(self: &Arc<Self>, head: &Head) -> bool {
        if !head.once || !head.live.load(Relaxed) {
            return head.live.load(Relaxed);
        }
        let (done, retired) = {
            let mut fibers = self.fibers.lock();
            let record = fibers.get_mut(head.owner.id).and_then(|data| data.record_mut(head.effect()));
            let Some(Record { undo, .. }) = record else { return false };
            let Undo::Listener(bucket, order) = undo else { return false };
            let Some((done, retired)) = bucket.claim(*order) else { return false };
            *undo = Undo::Claimed(done.clone());
            (done, retired)
        };
        drop(retired);
        // The caller holds the listener, so it has not ended yet.
        let forgotten = done.then(Then::Forget(Arc::downgrade(self), head.owner.id, head.effect()));
        debug_assert!(forgotten.is_ok());
        true
    }

    /// Tells of a failure that has no caller to go to.
    pub(crate) fn report(self: &Arc<Self>, plugin: String, step: &str, message: String) {
        tracing::error!(target: "cordis", plugin = %plugin, step = %step, "{message}");
        if self.meta.error.len() > 0 {
            self.meta.tell_error(self, &Report { plugin, step: step.to_owned(), message });
        }
    }

    #[cold]
    pub(crate) fn report_panic(self: &Arc<Self>, owner: &FiberCell, event: &'static str, message: String) {
        self.report(owner.label(), &format!("ctx.on({event:?})"), format!("panicked: {message}"));
    }

    #[cold]
    pub(crate) fn report_conflict<E: Event>(self: &Arc<Self>, key: E) {
        let message = format!(
            "nobody was told of `{}` as {}: a key of that name with another mode or other types is in use; import the \
             key's constant instead of declaring a second one",
            key.name(),
            key.mode()
        );
        self.report("dispatcher".into(), key.name(), message);
    }

    #[cold]
    pub(crate) fn panic_at(
        &self,
        event: &'static str,
        frame: Option<Frame>,
        message: String,
    ) -> ListenerPanic {
        let frame = frame.filter(|frame| self.owns(*frame));
        let plugin = frame.map_or_else(|| "dispatcher".into(), |frame| self.label_of(frame.fiber));
        ListenerPanic { event, plugin, message }
    }

    /// See [`Fiber::also_needs`](crate::Fiber::also_needs).
    pub(crate) fn add_need<T: ?Sized + Send + Sync + 'static>(&self, id: FiberId, key: Key<T>) -> bool {
        let mut fibers = self.fibers.lock();
        let Some(data) = fibers.get_mut(id).filter(|data| data.fresh && data.plugin.is_some()) else {
            return false;
        };
        let realm = data.view.as_ref().and_then(|view| view.realm(key.name));
        let services = realm.map_or(&self.services, |realm| realm.services());
        let Some(slot) = Slot::<T>::of(services, key.name) else { return false };
        let mut needs: Vec<Need> = std::mem::take(&mut data.needs).into_vec();
        needs.push(Need { slot: slot.clone(), optional: false });
        data.needs = needs.into();
        true
    }

    /// Removes an effect's record: it is over. One that is just being undone is removed by whoever undoes it, with those
    /// who have joined.
    pub(crate) fn forget(&self, fiber: FiberId, effect: u64) {
        let record = self.fibers.lock().forget(fiber, effect);
        drop(record);
    }

    pub(crate) fn tell_status(self: &Arc<Self>, change: &crate::meta::StatusChange) {
        crate::dispatch::At { shared: self, scope: None }.emit(keys::STATUS, change);
    }

    pub(crate) fn done(&self) -> Arc<Done> {
        Done::new(1)
    }
}
