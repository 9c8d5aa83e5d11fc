//! The fiber state machine: what one fiber does next, decided under the fiber lock.

use crate::{
    BoxError, BoxFuture, Context, Fiber, FiberId, State,
    done::{Done, Then},
    effect::Record,
    fiber::FiberCell,
    fibers::{Caught, Data, Fibers, Loaded, Source},
    meta::{ServiceChange, StatusChange},
    needs::{Need, Satisfied},
    plugin::Mounted,
    service::{AnyProvided, Check},
    shared::Shared,
    sync::Arc,
};
use smallvec::SmallVec;
use std::{mem::take, task::Waker};

/// What is to be done outside of the lock before it is decided again.
pub(crate) enum Act {
    /// Nothing, until something changes.
    Rest,
    Again,
    /// Ask these providers whether they count for the fiber.
    Check(Vec<Asked>),
    /// Run the body.
    Load(u32, BoxFuture<'static, Result<(), BoxError>>),
    /// Undo an effect.
    Undo(u64),
    /// Drop the plugin of a fiber that is being disposed.
    Release(Arc<dyn Mounted>),
    /// The fiber has left the table, and its record its parent.
    Gone(Box<Data>, Option<Record>),
    /// The root was emptied and is active again.
    Emptied(Arc<Done>),
}

/// What a change of state leaves to be done outside of the lock.
#[derive(Default)]
pub(crate) struct After {
    pub(crate) wake: Vec<Waker>,
    pub(crate) status: SmallVec<[StatusChange; 1]>,
    pub(crate) services: Vec<ServiceChange>,
    pub(crate) fire: Vec<Arc<Done>>,
    /// Steps that may take too long: what ends them, whose, what.
    pub(crate) watch: Vec<(Arc<Done>, String, String)>,
    /// Errors of fibers that have another now: the effect and the fiber they were of.
    pub(crate) dropped: Vec<(u64, Arc<FiberCell>, Caught)>,
}

impl After {
    /// Gives the fiber another error, or none; the old one is dropped outside of the lock.
    pub(crate) fn drop_error(&mut self, data: &Data, error: Option<Caught>) {
        if let Some(old) = data.cell.set_error(error) {
            self.dropped.push((data.effect, data.cell.clone(), old));
        }
    }
}

/// How the needs of a fiber stand.
enum Met {
    Yes(SmallVec<[Option<Arc<dyn AnyProvided>>; 4]>),
    No,
    /// These have a check that was not asked yet.
    Unchecked(Vec<Asked>),
}

/// A provider's check that is to be asked. It holds the check only: the provider itself may go meanwhile.
pub(crate) struct Asked {
    pub(crate) id: u64,
    pub(crate) service: &'static str,
    pub(crate) owner: Arc<FiberCell>,
    pub(crate) check: Arc<Check>,
}

impl Shared {
    pub(crate) fn decide(self: &Arc<Self>, id: FiberId, after: &mut After) -> Act {
        let mut guard = self.fibers.lock();
        let fibers = &mut *guard;
        let Some(data) = fibers.get_mut(id) else { return Act::Rest };
        match data.state() {
            State::Disposed => rest(data, after),
            State::Pending | State::Failed if data.disposing => {
                if data.effects.is_empty() {
                    return self.dispose(fibers, id, after);
                }
                self.set(data, State::Unloading, after);
                Act::Again
            }
            State::Pending if data.fresh => rest(data, after),
            State::Failed if !data.retry => rest(data, after),
            State::Pending | State::Failed => self.try_load(fibers, id, after),
            State::Loading => match data.loaded.take() {
                None => rest(data, after),
                Some(loaded) => {
                    if let Loaded::Failed(error) = &loaded {
                        after.drop_error(data, Some(Caught::clone(error)));
                    }
                    let stays = matches!(loaded, Loaded::Well) && !data.disposing && !data.restart;
                    // A check that was not asked since leaves things as they are: the active fiber asks it.
                    if stays && !matches!(current(fibers, id), Current::No) {
                        self.activate(fibers, id, after);
                        return Act::Again;
                    }
                    self.start_unload(fibers, id, after);
                    Act::Again
                }
            },
            State::Active => {
                let unload = data.disposing || data.restart;
                match if unload { Current::No } else { current(fibers, id) } {
                    Current::Unchecked(list) => Act::Check(list),
                    Current::No => {
                        self.start_unload(fibers, id, after);
                        Act::Again
                    }
                    Current::Yes => match fibers.get_mut(id) {
                        Some(data) => rest(data, after),
                        None => Act::Rest,
                    },
                }
            }
            State::Unloading => self.unload(fibers, id, after),
        }
    }

    /// The next step of an unload, or what comes after it.
    fn unload(self: &Arc<Self>, fibers: &mut Fibers, id: FiberId, after: &mut After) -> Act {
        let Some(data) = fibers.get_mut(id) else { return Act::Rest };
        if data.busy {
            return rest(data, after);
        }
        if let Some(rare) = &mut data.rare
            && let Some(drain) = &rare.drain
        {
            if drain.then(Then::Enqueue(Arc::downgrade(self), id)).is_ok() {
                return rest(data, after);
            }
            rare.drain = None;
        }
        if let Some(last) = data.effects.last_key() {
            data.busy = true;
            return Act::Undo(last);
        }
        if let Some(rare) = &mut data.rare {
            after.fire.append(&mut rare.drains);
        }
        data.epoch = Box::default();
        let retry = take(&mut data.restart) | take(&mut data.retry);
        if data.disposing {
            return self.dispose(fibers, id, after);
        }
        if data.plugin.is_none() {
            // The root or a scope, restarted.
            self.set(data, State::Active, after);
            return Act::Again;
        }
        if data.cell.has_error() && !retry {
            self.set(data, State::Failed, after);
            return Act::Again;
        }
        self.try_load(fibers, id, after)
    }

    /// Starts the body if the needs are met; otherwise the fiber comes to rest.
    fn try_load(self: &Arc<Self>, fibers: &mut Fibers, id: FiberId, after: &mut After) -> Act {
        let met = if fibers.goes_with_a_parent(id) { Met::No } else { met(fibers, id) };
        let sources = match met {
            Met::Yes(sources) => sources,
            Met::Unchecked(list) => {
                // Asked for again after the checks.
                if let Some(data) = fibers.get_mut(id) {
                    data.retry |= data.cell.has_error();
                }
                return Act::Check(list);
            }
            Met::No => {
                let Some(data) = fibers.get_mut(id) else { return Act::Rest };
                data.retry = false;
                let resting = if data.cell.has_error() { State::Failed } else { State::Pending };
                if data.state() == resting {
                    return rest(data, after);
                }
                self.set(data, resting, after);
                return Act::Again;
            }
        };
        let Some(data) = fibers.get_mut(id) else { return Act::Rest };
        let Some(plugin) = data.plugin.clone() else { return rest(data, after) };
        data.epoch = sources
            .iter()
            .map(|source| match source {
                Some(provided) => Source { id: provided.id(), owner: provided.owner().id },
                None => Source { id: 0, owner: FiberId::default() },
            })
            .collect();
        let ctx = Context::new(self.clone(), data.cell.clone(), data.view.clone());
        let Some(body) = plugin.load(ctx, Satisfied { sources: sources.iter() }) else {
            return rest(data, after);
        };
        data.busy = true;
        data.loaded = None;
        data.load = data.load.wrapping_add(1);
        (data.restart, data.retry, data.cancel) = (false, false, false);
        let number = data.load;
        self.set(data, State::Loading, after);
        Act::Load(number, body)
    }

    fn activate(self: &Arc<Self>, fibers: &mut Fibers, id: FiberId, after: &mut After) {
        let Some(data) = fibers.get_mut(id) else { return };
        after.drop_error(data, None);
        self.set(data, State::Active, after);
        for provided in data.services() {
            provided.set_active(true);
            self.note_service(&*provided, true, after);
            fibers.notify(provided.slot().id());
        }
    }

    fn start_unload(self: &Arc<Self>, fibers: &mut Fibers, id: FiberId, after: &mut After) {
        let Some(data) = fibers.get_mut(id) else { return };
        self.set(data, State::Unloading, after);
        let services = data.services();
        if services.is_empty() {
            return;
        }
        let drain = self.withdraw(fibers, &services, after);
        if let Some(data) = fibers.get_mut(id) {
            data.rare().drain = Some(drain);
        }
    }

    /// Hides services that are about to go and asks their dependants to unload; the result fires when all have.
    pub(crate) fn withdraw(
        self: &Arc<Self>,
        fibers: &mut Fibers,
        services: &[Arc<dyn AnyProvided>],
        after: &mut After,
    ) -> Arc<Done> {
        let drain = self.done();
        for provided in services {
            if provided.is_active() {
                provided.set_active(false);
                self.note_service(&**provided, true, after);
            }
            for dependant in fibers.dependants(provided.slot().id()) {
                let Some(data) = fibers.get_mut(dependant) else { continue };
                let runs = matches!(data.state(), State::Loading | State::Active | State::Unloading);
                if dependant == provided.owner().id || !runs || !data.uses(provided.id()) {
                    continue;
                }
                drain.add();
                data.rare().drains.push(drain.clone());
                if data.state() == State::Loading {
                    self.cancel_load(data, after);
                }
                fibers.enqueue(dependant);
            }
        }
        after.fire.push(drain.clone());
        drain
    }

    /// Has the running body dropped at its next await; one that never awaits is given up after a while.
    pub(crate) fn cancel_load(self: &Arc<Self>, data: &mut Data, after: &mut After) {
        if data.state() != State::Loading || !data.busy || data.cancel {
            return;
        }
        data.cancel = true;
        let (label, number, id) = (data.cell.label(), data.load, data.cell.id);
        let rare = data.rare();
        after.wake.extend(rare.body_waker.take());
        let over = self.done();
        let told = over.then(Then::BodyOver(Arc::downgrade(self), id, number));
        debug_assert!(told.is_ok());
        rare.body_over = Some(over.clone());
        after.watch.push((over, label, "body".into()));
    }

    fn dispose(self: &Arc<Self>, fibers: &mut Fibers, id: FiberId, after: &mut After) -> Act {
        let root_stays = !fibers.shutting_down;
        let Some(data) = fibers.get_mut(id) else { return Act::Rest };
        if data.is_root() && root_stays {
            (data.told, data.disposing) = (false, false);
            let gone = data.gone.take();
            self.set(data, State::Active, after);
            return gone.map_or(Act::Again, Act::Emptied);
        }
        if let Some(plugin) = data.plugin.take() {
            // Its captures and its configuration go first: who disposes now still finds the fiber and waits.
            return Act::Release(plugin);
        }
        self.set(data, State::Disposed, after);
        let Some(data) = fibers.remove(id) else { return Act::Rest };
        let record = fibers.forget(data.parent, data.effect);
        Act::Gone(data, record)
    }

    fn set(self: &Arc<Self>, data: &mut Data, to: State, after: &mut After) {
        let from = data.state();
        if from == to {
            return;
        }
        data.cell.set_state(to);
        after.wake.extend(data.woken());
        if self.meta.status.len() > 0 {
            let fiber = Fiber { shared: self.clone(), cell: data.cell.clone() };
            after.status.push(StatusChange { fiber, from, to });
        }
    }

    pub(crate) fn note_service(&self, provided: &dyn AnyProvided, present: bool, after: &mut After) {
        if self.meta.service.len() > 0 {
            after.services.push(ServiceChange {
                service: provided.slot().name(),
                present,
                available: provided.is_active(),
                provider: provided.owner().label(),
            });
        }
    }
}

impl Fibers {
    /// Has the dependants of a slot look again.
    pub(crate) fn notify(&mut self, slot: u64) {
        for dependant in self.dependants(slot) {
            if let Some(data) = self.get_mut(dependant) {
                data.retry |= data.cell.has_error() && data.state() != State::Loading;
            }
            self.enqueue(dependant);
        }
    }
}

fn rest(data: &mut Data, after: &mut After) -> Act {
    data.advancing = false;
    after.wake.extend(data.woken());
    Act::Rest
}

fn met(fibers: &Fibers, id: FiberId) -> Met {
    let Some(data) = fibers.get(id) else { return Met::No };
    let mut sources = SmallVec::new();
    let mut unchecked = Vec::new();
    for need in &data.needs {
        let provider = others(fibers, data, need);
        let counts = provider.map(|provided| match provided.check() {
            None => Some(true),
            Some(_) => verdict(data, provided.id()),
        });
        match (provider, counts) {
            (Some(provided), Some(Some(true))) => sources.push(Some(provided.clone())),
            (Some(provided), Some(None)) => unchecked.extend(asked(provided)),
            _ if need.optional => sources.push(None),
            _ => return Met::No,
        }
    }
    if unchecked.is_empty() { Met::Yes(sources) } else { Met::Unchecked(unchecked) }
}

fn verdict(data: &Data, provided: u64) -> Option<bool> {
    let verdicts = &data.rare.as_ref()?.verdicts;
    verdicts.iter().find(|(id, _)| *id == provided).map(|(_, counts)| *counts)
}

/// Who provides a need, apart from the fiber itself: what it provides goes with it and cannot keep it waiting or reload it.
fn others<'f>(fibers: &'f Fibers, data: &Data, need: &Need) -> Option<&'f Arc<dyn AnyProvided>> {
    fibers.provider(need.slot.id()).filter(|provided| provided.owner().id != data.cell.id)
}

fn asked(provided: &Arc<dyn AnyProvided>) -> Option<Asked> {
    let (id, service, owner) = (provided.id(), provided.slot().name(), provided.owner().clone());
    provided.check().map(|check| Asked { id, service, owner, check: check.clone() })
}

/// Whether the providers of the last load are still the ones.
enum Current {
    Yes,
    No,
    Unchecked(Vec<Asked>),
}

fn current(fibers: &Fibers, id: FiberId) -> Current {
    let Some(data) = fibers.get(id) else { return Current::No };
    let mut unchecked = Vec::new();
    for (i, need) in data.needs.iter().enumerate() {
        let then = data.epoch.get(i).map_or(0, |source| source.id);
        let now = match others(fibers, data, need) {
            None => 0,
            Some(provided) if provided.check().is_none() => provided.id(),
            Some(provided) => match verdict(data, provided.id()) {
                Some(counts) => {
                    if counts {
                        provided.id()
                    } else {
                        0
                    }
                }
                None => {
                    unchecked.extend(asked(provided));
                    continue;
                }
            },
        };
        if now != then {
            return Current::No;
        }
    }
    if unchecked.is_empty() { Current::Yes } else { Current::Unchecked(unchecked) }
}
