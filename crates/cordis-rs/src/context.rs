//! A plugin's view of the app: everything it registers through its context is its own and goes with it.

use crate::{
    Effect, Event, Fiber, Handle, Intercept, Key, Merge, MountError, On, Plugin, ProvideError, Realm,
    ScopeKey, State,
    decide::After,
    effect::{Label, Record, Undo},
    fiber::FiberCell,
    fibers::Data,
    keys,
    name::Name,
    needs::{Declared, Need},
    plugin::{Mount, Mounted},
    service::{AnyProvided, Check, Slot},
    shared::{Services, Shared},
    sync::Arc,
    view::View,
};
use std::{borrow::Cow, fmt};

/// A plugin's view of the app; cheap to clone, and worth nothing once its fiber is disposed: it then answers with errors
/// and finds no service.
#[derive(Clone)]
pub struct Context {
    shared: Arc<Shared>,
    cell: Arc<FiberCell>,
    view: Option<Arc<View>>,
    /// The effect that registrations are part of, 0 for none.
    group: u64,
}

impl Context {
    pub(crate) fn new(shared: Arc<Shared>, cell: Arc<FiberCell>, view: Option<Arc<View>>) -> Self {
        Context { shared, cell, view, group: 0 }
    }

    pub(crate) fn in_group(&self, group: u64) -> Self {
        Context { group, ..self.clone() }
    }

    #[inline(always)]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    #[inline(always)]
    pub(crate) fn cell(&self) -> &Arc<FiberCell> {
        &self.cell
    }

    pub(crate) fn group(&self) -> u64 {
        self.group
    }

    /// The fiber that owns what is registered here.
    #[must_use]
    pub fn fiber(&self) -> Fiber {
        Fiber { shared: self.shared.clone(), cell: self.cell.clone() }
    }

    /// The root of the app; what is registered there stays until the app is shut down.
    #[must_use]
    pub fn root(&self) -> Context {
        self.shared.root_context()
    }

    /// The scope that registrations here are tied to; the nearest one wins.
    #[inline]
    #[must_use]
    pub fn scope_key(&self) -> Option<&ScopeKey> {
        self.view.as_ref()?.scope.as_ref()
    }

    /// Begins the registration of a listener: `ctx.on(KEY).run(listener)`.
    pub fn on<K: Event>(&self, key: K) -> On<'_, K> {
        On::new(self, key)
    }

    /// Finds a service whose provider is active, in this context's realm. Never fails; a disposed context finds nothing.
    #[inline]
    #[must_use]
    pub fn get<T: ?Sized + Send + Sync + 'static>(&self, key: Key<T>) -> Option<Handle<T>> {
        if self.cell.state() == State::Disposed {
            return None;
        }
        Slot::find(self.services(key.name), key.name)?.handle(true)
    }

    /// Finds a service even while its provider is still loading or already unloading, such as one's own.
    #[must_use]
    pub fn peek<T: ?Sized + Send + Sync + 'static>(&self, key: Key<T>) -> Option<Handle<T>> {
        if self.cell.state() == State::Disposed {
            return None;
        }
        Slot::find(self.services(key.name), key.name)?.handle(false)
    }

    /// Provides a service. Others see it as soon as this context's plugin is active (and so does its own `get`; `peek` finds
    /// it before); it goes first when the plugin unloads, and its dependants are unloaded before it is gone.
    ///
    /// # Errors
    /// The context is inactive, the service is provided already in this realm, the plugin declared other services only,
    /// or the key's name is in use with another type.
    pub fn provide<T: ?Sized + Send + Sync + 'static>(
        &self,
        key: Key<T>,
        value: Arc<T>,
    ) -> Result<Effect, ProvideError> {
        self.publish(key, value, None)
    }

    /// Provides a service that counts only for those dependants for whom `check` says so. It is asked with the dependant's
    /// context when the dependant is looked at, and again after [`notify`](Context::notify); a panic counts as no. It
    /// decides about needs only: `get` ignores it.
    ///
    /// # Errors
    /// As for [`provide`](Context::provide).
    pub fn provide_when<T: ?Sized + Send + Sync + 'static>(
        &self,
        key: Key<T>,
        value: Arc<T>,
        check: impl Fn(&Context) -> bool + Send + Sync + 'static,
    ) -> Result<Effect, ProvideError> {
        self.publish(key, value, Some(Check::new(check)))
    }

    fn publish<T: ?Sized + Send + Sync + 'static>(
        &self,
        key: Key<T>,
        value: Arc<T>,
        check: Option<Check>,
    ) -> Result<Effect, ProvideError> {
        let service = key.name();
        // Refused before anything else happens: a dead context must not even claim the key's name.
        self.shared.fibers.lock().accepting(self, "provide a service")?;
        let conflict = ProvideError::KeyConflict { service };
        let slot = Slot::<T>::of(self.services(key.name), key.name).ok_or(conflict)?;
        let mut after = After::default();
        let mut guard = self.shared.fibers.lock();
        let fibers = &mut *guard;
        let data = fibers.accepting(self, "provide a service")?;
        let active = data.state() == State::Active;
        let declared = data.plugin.as_ref().map_or(&[][..], |plugin| plugin.provides());
        if !declared.is_empty() && !declared.contains(&service) {
            return Err(ProvideError::Undeclared { service, plugin: self.cell.label() });
        }
        let state = fibers.slots.entry(slot_id(slot)).or_default();
        if let Some(provided) = &state.provided {
            let (owner, plugin) = (provided.owner().label(), self.cell.label());
            return Err(ProvideError::Taken { service, owner, plugin });
        }
        let id = self.shared.next_seq();
        let provided = slot.publish(id, self.cell.clone(), active, check, value) as Arc<dyn AnyProvided>;
        state.provided = Some(provided.clone());
        if active {
            self.shared.note_service(&*provided, true, &mut after);
            fibers.notify(slot_id(slot));
        }
        if let Some(data) = fibers.get_mut(self.cell.id) {
            let undo = Undo::Service(provided);
            data.add(id, Record { undo, label: Label::Provide(service), group: self.group });
        }
        self.shared.kick(guard);
        self.shared.finish(after);
        Ok(Effect::new(self, id))
    }

    /// Has the dependants of a service look again: after what its check depends on has changed.
    pub fn notify<T: ?Sized + Send + Sync + 'static>(&self, key: Key<T>) {
        let Some(slot) = Slot::<T>::find(self.services(key.name), key.name) else { return };
        let mut fibers = self.shared.fibers.lock();
        let slot = slot_id(slot);
        let provided = fibers.provider(slot).map(|provided| provided.id());
        for dependant in fibers.dependants(slot) {
            if let Some(rare) = fibers.get_mut(dependant).and_then(|data| data.rare.as_mut()) {
                rare.notified += 1;
                rare.verdicts.retain(|(id, _)| Some(*id) != provided);
            }
        }
        fibers.notify(slot);
        self.shared.kick(fibers);
    }

    #[inline]
    fn services(&self, name: Name) -> &Services {
        let realm = self.view.as_ref().and_then(|view| view.realm(name));
        realm.map_or(&self.shared.services, |realm| realm.services())
    }

    /// A context in which `key` is a service of its own: what is provided or needed below does not meet what is outside.
    #[must_use]
    pub fn isolate<T: ?Sized>(&self, key: Key<T>) -> Context {
        self.isolate_with(key, &Realm::new())
    }

    /// As [`isolate`](Context::isolate), sharing the service with all contexts isolated with the same realm.
    #[must_use]
    pub fn isolate_with<T: ?Sized>(&self, key: Key<T>, realm: &Realm) -> Context {
        self.viewing(self.view().isolated(key, realm.clone()))
    }

    /// A context that hangs configuration for a service on everything below; levels stack, nearer ones come last.
    #[must_use]
    pub fn intercept<C: Send + Sync + 'static>(&self, key: Intercept<C>, config: C) -> Context {
        self.viewing(self.view().intercepted(key, config))
    }

    /// The levels of configuration that hang on this context, farthest first.
    #[must_use]
    pub fn intercepts<C: Send + Sync + 'static>(&self, key: Intercept<C>) -> Vec<Arc<C>> {
        self.view.as_ref().map_or_else(Vec::new, |view| view.levels(key))
    }

    /// The levels of configuration laid over one another: `base` first, then farthest to nearest, then `head`.
    #[must_use]
    pub fn resolve<C: Merge + Send + Sync + 'static>(
        &self,
        key: Intercept<C>,
        base: C,
        head: Option<&C>,
    ) -> C {
        let mut resolved = base;
        for level in self.intercepts(key) {
            resolved.merge(&level);
        }
        if let Some(head) = head {
            resolved.merge(head);
        }
        resolved
    }

    pub(crate) fn scoped(&self, scope: ScopeKey) -> Context {
        self.viewing(self.view().scoped(scope))
    }

    pub(crate) fn view_arc(&self) -> Option<Arc<View>> {
        self.view.clone()
    }

    fn view(&self) -> View {
        self.view.as_ref().map_or_else(View::default, |view| (**view).clone())
    }

    fn viewing(&self, view: View) -> Context {
        Context { view: Some(Arc::new(view)), ..self.clone() }
    }

    /// Mounts a plugin below this context. Its body runs later, when its needs are met, and never inside of this call;
    /// it is unloaded with this context's plugin. The fiber that is returned is a handle: dropping it unloads nothing.
    ///
    /// # Ordering
    /// Plugins that do not depend on each other have none: where the runtime has several threads they load at the same
    /// time. One that has to come after another needs a service of it.
    ///
    /// # Errors
    /// The context is inactive, a needed key's name is in use with another type, or an observer refused the plugin.
    pub fn plugin<P: Plugin>(&self, plugin: P, config: P::Config) -> Result<Fiber, MountError> {
        self.shared.fibers.lock().accepting(self, "mount a plugin")?;
        let mount = Mount::new(plugin, config);
        let mut declared = Declared { shared: &self.shared, view: self.view.as_deref(), needs: Vec::new() };
        let needs = match mount.declare(&mut declared) {
            Ok(()) => declared.needs,
            Err(conflict) => {
                let plugin = mount.name().into_owned();
                return Err(MountError::KeyConflict { service: conflict.0, plugin });
            }
        };
        let levels = mount.intercepts();
        let view = if levels.is_empty() {
            self.view.clone()
        } else {
            Some(Arc::new(self.view().with_intercepts(&levels)))
        };
        let name = mount.name();
        self.mount(name, Arc::new(mount), needs, view)
    }

    fn mount(
        &self,
        name: Cow<'static, str>,
        plugin: Arc<dyn Mounted>,
        needs: Vec<Need>,
        view: Option<Arc<View>>,
    ) -> Result<Fiber, MountError> {
        let observed = self.shared.meta.created.len() > 0;
        let cell = {
            let mut fibers = self.shared.fibers.lock();
            let cell = self.insert(&mut fibers, "mount a plugin", State::Pending, name, |data| {
                data.plugin = Some(plugin.clone());
                data.needs = needs.into();
                data.view = view;
                data.fresh = observed;
            })?;
            if !observed {
                self.shared.publish_fiber(fibers, &cell);
            }
            cell
        };
        let fiber = Fiber { shared: self.shared.clone(), cell: cell.clone() };
        if observed {
            if let Err(source) = self.announce(keys::FIBER_CREATED, &fiber) {
                fiber.cancel();
                self.shared.help();
                return Err(MountError::Refused { plugin: cell.label(), source });
            }
            self.shared.publish_fiber(self.shared.fibers.lock(), &cell);
        }
        Ok(fiber)
    }

    /// Enters a fiber below this context's, and the record that unloads it.
    pub(crate) fn insert(
        &self,
        fibers: &mut crate::fibers::Fibers,
        action: &'static str,
        state: State,
        name: Cow<'static, str>,
        fill: impl FnOnce(&mut Data),
    ) -> Result<Arc<FiberCell>, crate::Inactive> {
        fibers.accepting(self, action)?;
        let effect = self.shared.next_seq();
        let name = if name.is_empty() { self.cell.name.clone() } else { name };
        let id = fibers.insert(|id, uid| {
            let cell = Arc::new(FiberCell::new(id, uid, name, state));
            let mut data = Box::new(Data::new(cell, self.cell.id, effect));
            fill(&mut data);
            data
        });
        if let Some(parent) = fibers.get_mut(self.cell.id) {
            parent.add(effect, Record { undo: Undo::Child(id), label: Label::Plugin, group: self.group });
        }
        let cell = fibers.get(id).map(|data| data.cell.clone());
        cell.ok_or_else(|| crate::Inactive { action, plugin: self.cell.label() })
    }
}

fn slot_id<T: ?Sized + Send + Sync + 'static>(slot: &Arc<Slot<T>>) -> u64 {
    crate::service::AnyService::id(&**slot)
}

impl Shared {
    /// The fiber's creation is known: its needs count from now on.
    fn publish_fiber(
        self: &Arc<Self>,
        mut fibers: crate::sync::MutexGuard<'_, crate::fibers::Fibers>,
        cell: &FiberCell,
    ) {
        let Some(data) = fibers.get_mut(cell.id) else { return };
        data.fresh = false;
        let slots: smallvec::SmallVec<[u64; 8]> = data.needs.iter().map(|need| need.slot.id()).collect();
        for slot in slots {
            fibers.add_dependant(slot, cell.uid, cell.id);
        }
        fibers.enqueue(cell.id);
        self.kick(fibers);
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context <{}>", self.cell.name)
    }
}
