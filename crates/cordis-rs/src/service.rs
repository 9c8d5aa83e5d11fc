//! Services: a typed key, one act of providing, weak handles and short leases.
//!
//! **Invariants**
//! 1. Each act of providing has its own id; dependants compare ids, never values.
//! 2. A provided value is visible to `get` only while its provider is active.
//! 3. Handles are weak. After removal every `get` fails, even while a lease keeps the value alive.

use crate::{
    Gone,
    contain::drop_reported,
    disposed::Disposed,
    done::{Done, DoneSlot},
    effect::Label,
    fiber::FiberCell,
    name::Name,
    shared::{AnySlot, Services, Shared},
    sync::{Arc, AtomicBool, Ordering::*, Swap, Weak, spin_loop, yield_thread},
};
use std::{any::Any, fmt, marker::PhantomData, ops::Deref};

static NEXT_SLOT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);

/// A named, typed service: the constant that a definition crate exports. `T` may be a trait object.
pub struct Key<T: ?Sized> {
    pub(crate) name: Name,
    _service: PhantomData<fn(&T)>,
}

/// A need that may be absent: see [`Key::optional`].
pub struct Optional<T: ?Sized>(pub(crate) Key<T>);

impl<T: ?Sized> Copy for Key<T> {}

impl<T: ?Sized> Clone for Key<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Optional<T> {}

impl<T: ?Sized> Clone for Optional<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized + Send + Sync + 'static> Key<T> {
    /// Declares the service. Two keys of one name must agree in type: the second to be used is refused.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Key { name: Name::new(name), _service: PhantomData }
    }

    /// The service's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name.text
    }

    /// As a need that does not hold the plugin up; the plugin reloads when the service comes or goes. Two plugins that each
    /// may use what the other provides reload each other without end: let one of them look it up with `get` instead.
    #[must_use]
    pub const fn optional(self) -> Optional<T> {
        Optional(self)
    }
}

impl<T: ?Sized> fmt::Debug for Key<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:?})", self.name.text)
    }
}

impl<T: ?Sized> fmt::Debug for Optional<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Optional({:?})", self.0.name.text)
    }
}

/// The value while it is provided.
struct Held<T: ?Sized> {
    live: AtomicBool,
    value: Arc<T>,
    /// The act of providing, and whose it was: to report a drop that panics.
    id: u64,
    owner: Arc<FiberCell>,
    service: &'static str,
}

/// Whether a provider counts for a dependant, asked with the dependant's context.
pub(crate) struct Check {
    pub(crate) ask: Box<dyn Fn(&crate::Context) -> bool + Send + Sync>,
    /// Dropped last: who waits for it knows that nobody asks any more.
    done: DoneSlot,
}

impl Check {
    pub(crate) fn new(ask: impl Fn(&crate::Context) -> bool + Send + Sync + 'static) -> Self {
        Check { ask: Box::new(ask), done: DoneSlot::default() }
    }
}

/// One act of providing. Nobody but the teardown drops the last count of it: look-ups hold one for nanoseconds, and are
/// waited for.
pub(crate) struct Provided<T: ?Sized> {
    pub(crate) id: u64,
    owner: Arc<FiberCell>,
    active: AtomicBool,
    check: Option<Arc<Check>>,
    slot: Arc<Slot<T>>,
    held: Arc<Held<T>>,
}

/// Where the service of one name in one realm is found.
pub(crate) struct Slot<T: ?Sized> {
    id: u64,
    name: &'static str,
    current: Swap<Provided<T>>,
}

/// What fibers need of a slot, whatever its type.
pub(crate) trait AnyService: Send + Sync {
    fn id(&self) -> u64;
    fn name(&self) -> &'static str;
}

impl<T: ?Sized + Send + Sync + 'static> AnyService for Slot<T> {
    fn id(&self) -> u64 {
        self.id
    }

    fn name(&self) -> &'static str {
        self.name
    }
}

/// What fibers need of an act of providing, whatever its type.
pub(crate) trait AnyProvided: Send + Sync {
    fn id(&self) -> u64;
    fn owner(&self) -> &Arc<FiberCell>;
    fn slot(&self) -> &dyn AnyService;
    fn check(&self) -> Option<&Arc<Check>>;
    fn is_active(&self) -> bool;
    fn set_active(&self, active: bool);
    fn as_any(&self) -> &dyn Any;

    /// Takes the value out of the cell that look-ups read. Under the fiber lock, with the slot's entry: a successor may be
    /// published as soon as it is released. The result is dropped outside of it.
    #[must_use = "drop it outside of the lock"]
    fn unpublish(&self) -> Option<Arc<dyn AnyProvided>>;

    /// Makes all handles fail and drops the value, unless it is leased. Outside of all locks, after `unpublish`.
    fn revoke(self: Arc<Self>) -> Option<Arc<Done>>;
}

impl<T: ?Sized + Send + Sync + 'static> AnyProvided for Provided<T> {
    fn id(&self) -> u64 {
        self.id
    }

    fn owner(&self) -> &Arc<FiberCell> {
        &self.owner
    }

    fn slot(&self) -> &dyn AnyService {
        &*self.slot
    }

    fn check(&self) -> Option<&Arc<Check>> {
        self.check.as_ref()
    }

    fn is_active(&self) -> bool {
        self.active.load(Acquire)
    }

    fn set_active(&self, active: bool) {
        self.active.store(active, Release);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn unpublish(&self) -> Option<Arc<dyn AnyProvided>> {
        self.slot.current.swap(None).map(|published| published as Arc<dyn AnyProvided>)
    }

    fn revoke(self: Arc<Self>) -> Option<Arc<Done>> {
        self.held.live.store(false, SeqCst);
        let (id, name, owner) = (self.id, self.slot.name, self.owner.clone());
        // Look-ups that were inside of the cell leave within nanoseconds, and then the value is ours to drop: on a thread
        // that looks a service up, whatever locks it holds, no user's drop may run.
        wait_for(|| Arc::strong_count(&self) == 1);
        let (held, check) = (self.held.clone(), self.check.clone());
        drop(self);
        let asked = check.and_then(|check| {
            let done = check.done.install();
            drop_reported(id, &owner, || Label::Provide(name), check);
            (!done.fired()).then_some(done)
        });
        // The same for those who have just been refused by a handle; what remains are leases.
        let counted = remaining(&held);
        // With leases out the last of them drops the value; exactly one of all finds itself the last.
        let leases = match Arc::into_inner(held) {
            Some(held) => {
                drop_reported(id, &owner, || Label::Provide(name), held);
                0
            }
            None => counted.max(1),
        };
        let report = if leases > 0 { Disposed::held(name, leases) } else { Disposed::default() };
        match asked {
            Some(done) => {
                done.note(report);
                Some(done)
            }
            None => (leases > 0).then(|| Done::over(report)),
        }
    }
}

fn wait_for(is_so: impl Fn() -> bool) {
    let mut turns = 0u32;
    while !is_so() {
        turns += 1;
        if turns.is_multiple_of(64) { yield_thread() } else { spin_loop() }
    }
}

/// How many others hold the value once those who only looked have left.
fn remaining<T: ?Sized>(held: &Arc<Held<T>>) -> usize {
    for _ in 0..200 {
        if Arc::strong_count(held) == 1 {
            return 0;
        }
        spin_loop();
    }
    Arc::strong_count(held) - 1
}

impl<T: ?Sized + Send + Sync + 'static> Slot<T> {
    /// The slot of `name` among `services`; `None` when the name is in use with another type.
    pub(crate) fn of(services: &Services, name: Name) -> Option<&Arc<Slot<T>>> {
        let make = || {
            let id = NEXT_SLOT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Box::new(Arc::new(Slot::<T> { id, name: name.text, current: Swap::empty() })) as AnySlot
        };
        services.get_or_insert(name, make).downcast_ref()
    }

    #[inline]
    pub(crate) fn find(services: &Services, name: Name) -> Option<&Arc<Slot<T>>> {
        services.get(name)?.downcast_ref()
    }

    /// Publishes a value; the caller has seen to it, under the fiber lock, that there is none.
    pub(crate) fn publish(
        self: &Arc<Self>,
        id: u64,
        owner: Arc<FiberCell>,
        active: bool,
        check: Option<Check>,
        value: Arc<T>,
    ) -> Arc<Provided<T>> {
        let live = AtomicBool::new(true);
        let held = Arc::new(Held { live, value, id, owner: owner.clone(), service: self.name });
        let active = AtomicBool::new(active);
        let check = check.map(Arc::new);
        let provided = Arc::new(Provided { id, owner, active, check, slot: self.clone(), held });
        let old = self.current.swap(Some(provided.clone()));
        debug_assert!(old.is_none(), "one act of providing at a time");
        provided
    }

    #[inline]
    pub(crate) fn handle(&self, strict: bool) -> Option<Handle<T>> {
        let guard = self.current.load();
        let provided = guard.as_ref()?;
        (!strict || provided.is_active()).then(|| provided.handle())
    }
}

impl<T: ?Sized> Provided<T> {
    pub(crate) fn handle(&self) -> Handle<T> {
        Handle { service: self.slot.name, held: Arc::downgrade(&self.held) }
    }
}

/// A weak handle to a service; cheap to clone and to keep.
pub struct Handle<T: ?Sized> {
    service: &'static str,
    held: Weak<Held<T>>,
}

/// Access to a service for as long as it lives. It keeps the value, not its registrations.
///
/// Keep leases short: what one still holds at the provider's teardown is named in [`Disposed::leases`].
pub struct Lease<'h, T: ?Sized + Send + Sync + 'static> {
    /// Taken only when dropped.
    held: Option<Arc<Held<T>>>,
    _handle: PhantomData<&'h ()>,
}

impl<T: ?Sized + Send + Sync + 'static> Drop for Lease<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(held) = self.held.take().and_then(Arc::into_inner) {
            drop_elsewhere(held);
        }
    }
}

/// The service is gone and this was the last count of its value: the value is dropped as a task of its app, so that no
/// user's drop meets the locks of whoever happened to be last.
#[cold]
fn drop_elsewhere<T: ?Sized + Send + Sync + 'static>(held: Held<T>) {
    let (id, service, owner) = (held.id, held.service, held.owner.clone());
    let drop_now = move || drop_reported(id, &owner, || Label::Provide(service), held);
    match Shared::of(id) {
        Some(shared) => shared.runtime.spawn(async move { drop_now() }),
        None => drop_now(),
    }
}

impl<T: ?Sized + Send + Sync + 'static> Handle<T> {
    /// Takes a lease.
    ///
    /// # Errors
    /// The service was removed since; a plugin that declares it as a need is reloaded then.
    #[inline]
    pub fn get(&self) -> Result<Lease<'_, T>, Gone> {
        match self.held.upgrade() {
            Some(held) if held.live.load(Acquire) => Ok(Lease { held: Some(held), _handle: PhantomData }),
            held => Err(self.gone(held)),
        }
    }

    #[cold]
    fn gone(&self, held: Option<Arc<Held<T>>>) -> Gone {
        if let Some(held) = held.and_then(Arc::into_inner) {
            drop_elsewhere(held);
        }
        Gone { service: self.service }
    }

    /// The service's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.service
    }

    /// Whether both come from one act of providing.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.held.ptr_eq(&other.held)
    }
}

impl<T: ?Sized> Clone for Handle<T> {
    fn clone(&self) -> Self {
        Handle { service: self.service, held: self.held.clone() }
    }
}

impl<T: ?Sized> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle({:?})", self.service)
    }
}

impl<T: ?Sized + Send + Sync + 'static> Deref for Lease<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match &self.held {
            Some(held) => &held.value,
            None => unreachable!("a lease's value is taken only when it is dropped"),
        }
    }
}

impl<T: ?Sized + Send + Sync + fmt::Debug + 'static> fmt::Debug for Lease<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
