//! The queue of fibers that have something to do, and who works it off.
//!
//! `advance` takes one fiber as far as it can go and never waits: what it waits for puts the fiber back on the queue. So
//! a chain of any length is worked off without recursion, and a plugin with nothing to do owns no task. The queue is
//! worked off by a task that is spawned when it fills, or earlier by somebody who waits for a fiber.
//!
//! **Invariants**
//! 1. A fiber that something has changed for is in the queue, or is being advanced by a thread that looks at it once more.
//! 2. While the queue is not empty, somebody works it off or a task that will is spawned (`pump_spawned`); nobody goes away
//!    from a full queue without seeing to that.
//! 3. Before code runs here that may block this thread (a body's first poll, what an undoing drops or tells), the worker
//!    gives up its part (`leave`): another takes the queue over, and for a body the fiber too.
//! 4. No lock is held while what was decided is carried out.

use crate::{
    FiberId, State,
    contain::{contained, drop_reported},
    decide::{Act, After},
    disposal::Place,
    disposed::Disposed,
    done::Then,
    effect::{Label, Undo},
    fibers::Fibers,
    frames,
    load::Load,
    shared::Shared,
    sync::{Arc, MutexGuard},
};
use std::{
    future::poll_fn,
    task::{Context as Cx, Poll, Waker},
};

/// How many fibers a pump takes on before it lets other tasks run.
const TURN: usize = 256;
/// How many fibers one who waits takes on at a time.
const HELP: usize = 64;

impl Shared {
    pub(crate) fn enqueue(self: &Arc<Self>, id: FiberId) {
        let mut fibers = self.fibers.lock();
        fibers.enqueue(id);
        self.kick(fibers);
    }

    /// Sees to it that the queue is worked off.
    pub(crate) fn kick(self: &Arc<Self>, mut fibers: MutexGuard<'_, Fibers>) {
        if fibers.queue.is_empty() || fibers.pump_spawned {
            return;
        }
        fibers.pump_spawned = true;
        drop(fibers);
        let mut pump = Pump(Some(self.clone()));
        self.runtime.spawn(poll_fn(move |cx| pump.poll(cx)));
    }

    /// Works instead of waiting for another thread to wake up. Not inside of foreign code: that is somebody's time.
    pub(crate) fn help(self: &Arc<Self>) {
        if frames::any() {
            self.kick(self.fibers.lock());
            return;
        }
        let _entered = self.runtime.enter();
        while !self.work(HELP, Role::Helper) {
            self.kick(self.fibers.lock());
            // Where the runtime is gone nobody else will.
            if self.fibers.lock().pump_spawned {
                return;
            }
        }
    }

    /// Works off up to `turns` fibers; whether the queue was empty then.
    fn work(self: &Arc<Self>, turns: usize, role: Role) -> bool {
        let mut fibers = self.fibers.lock();
        for _ in 0..turns {
            let Some(id) = fibers.queue.pop_front() else { break };
            let Some(data) = fibers.get_mut(id) else { continue };
            data.queued = false;
            if data.advancing {
                continue;
            }
            data.advancing = true;
            drop(fibers);
            let aside = frames::aside();
            self.advance(id, role);
            drop(aside);
            fibers = self.fibers.lock();
        }
        let empty = fibers.queue.is_empty();
        let quiet = if empty { std::mem::take(&mut fibers.quiet) } else { Vec::new() };
        drop(fibers);
        for waker in quiet {
            waker.wake();
        }
        empty
    }

    fn advance(self: &Arc<Self>, id: FiberId, role: Role) {
        loop {
            let mut after = After::default();
            let act = self.decide(id, &mut after);
            self.finish(after);
            match act {
                Act::Rest => return,
                Act::Again => {}
                Act::Check(provided) => self.ask_checks(id, provided),
                Act::Load(number, future) => {
                    // The body may block this thread: until it comes back, others may advance the fiber, to give it up.
                    self.leave(Some(id), role);
                    let mut load = Load::new(self.clone(), id, number, future);
                    if load.poll(&mut Cx::from_waker(Waker::noop())).is_pending() {
                        self.runtime.spawn(poll_fn(move |cx| load.poll(cx)));
                    }
                    return;
                }
                Act::Undo(effect) => {
                    // Disposers are tasks, but what a listener captured and a service's value are dropped here.
                    self.leave(None, role);
                    match self.undo(id, effect, Place::Task) {
                        None => self.landed_here(id, effect, Disposed::default()),
                        Some(done) => {
                            if done.then(Then::Landed(Arc::downgrade(self), id)).is_err() {
                                self.landed_here(id, effect, done.report());
                            }
                        }
                    }
                }
                Act::Release(plugin) => {
                    let fiber = self.fibers.lock().get(id).map(|data| (data.effect, data.cell.clone()));
                    if let Some((effect, cell)) = fiber {
                        drop_reported(effect, &cell, || Label::Plugin, plugin);
                    }
                }
                Act::Gone(data, record) => {
                    let gone = data.gone.clone();
                    let leftovers = data.rare.as_ref().map(|rare| rare.leftovers.clone()).unwrap_or_default();
                    drop((data, record));
                    if let Some(gone) = gone {
                        gone.fire_with(leftovers);
                    }
                    return;
                }
                Act::Emptied(gone) => {
                    let leftovers = {
                        let mut fibers = self.fibers.lock();
                        let rare = fibers.get_mut(id).and_then(|data| data.rare.as_mut());
                        rare.map(|rare| std::mem::take(&mut rare.leftovers)).unwrap_or_default()
                    };
                    gone.fire_with(leftovers);
                }
            }
        }
    }

    /// Before foreign code runs here, which may hold this thread up: somebody else is to work off what is queued.
    fn leave(self: &Arc<Self>, fiber: Option<FiberId>, role: Role) {
        let mut fibers = self.fibers.lock();
        if let Some(data) = fiber.and_then(|id| fibers.get_mut(id)) {
            data.advancing = false;
        }
        if role == Role::Pump {
            fibers.pump_spawned = false;
        }
        if fibers.queue.is_empty() {
            return;
        }
        self.kick(fibers);
        // A worker keeps the task that it spawned last to itself and runs it next; a later one pushes the pump out to where
        // other workers find it.
        self.runtime.spawn(async {});
    }

    /// Does what `decide` left to be done outside of the lock, in order.
    pub(crate) fn finish(self: &Arc<Self>, after: After) {
        for (effect, cell, caught) in after.dropped {
            drop_reported(effect, &cell, || Label::Named("error of its body".into()), caught);
        }
        for change in after.status {
            self.tell_status(&change);
        }
        for change in after.services {
            self.tell_service(&change);
        }
        for done in after.fire {
            done.fire();
        }
        for (done, plugin, step) in after.watch {
            self.watch(done, plugin, step, crate::DEFAULT_LIMIT);
        }
        for waker in after.wake {
            waker.wake();
        }
    }

    /// The teardown's current step is over, on this thread.
    fn landed_here(self: &Arc<Self>, id: FiberId, effect: u64, late: Disposed) {
        let mut fibers = self.fibers.lock();
        let Some(data) = fibers.get_mut(id) else { return };
        data.busy = false;
        if !late.is_clean() {
            data.rare().leftovers.merge(late);
        }
        // Another thread may be about to remove the record of what has just ended.
        let ended = matches!(data.record(effect).map(|record| &record.undo), Some(Undo::Wait(done) | Undo::Claimed(done)) if done.fired());
        let record = if ended { data.remove(effect) } else { None };
        drop(fibers);
        drop(record);
    }

    /// The teardown's current step is over; the fiber goes on.
    pub(crate) fn landed(self: &Arc<Self>, id: FiberId, late: Disposed) {
        let mut fibers = self.fibers.lock();
        let Some(data) = fibers.get_mut(id) else { return };
        data.busy = false;
        if !late.is_clean() {
            data.rare().leftovers.merge(late);
        }
        fibers.enqueue(id);
        self.kick(fibers);
    }

    /// Waits until nothing loads, unloads or is about to.
    pub(crate) async fn quiet(self: &Arc<Self>) {
        self.help();
        poll_fn(|cx| {
            let mut fibers = self.fibers.lock();
            let idle = fibers.queue.is_empty()
                && fibers.iter().all(|data| {
                    let moves = matches!(data.state(), State::Loading | State::Unloading);
                    !(moves || data.busy || data.advancing || data.fresh || data.disposing)
                });
            if idle {
                return Poll::Ready(());
            }
            if !fibers.quiet.iter().any(|waker| waker.will_wake(cx.waker())) {
                fibers.quiet.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}

/// Who works the queue off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The task that was spawned for it.
    Pump,
    /// Somebody who waits.
    Helper,
}

/// The task that works the queue off.
struct Pump(Option<Arc<Shared>>);

impl Pump {
    fn poll(&mut self, cx: &mut Cx<'_>) -> Poll<()> {
        let Some(shared) = self.0.clone() else { return Poll::Ready(()) };
        shared.work(TURN, Role::Pump);
        {
            let mut fibers = shared.fibers.lock();
            if fibers.queue.is_empty() {
                fibers.pump_spawned = false;
                drop(fibers);
                self.0 = None;
                return Poll::Ready(());
            }
            fibers.pump_spawned = true;
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Pump {
    /// The runtime went away: what is queued is worked off here, since those who wait sleep and nobody else will come.
    fn drop(&mut self) {
        if let Some(shared) = self.0.take() {
            // It stays marked as spawned meanwhile: a second one would be dropped as well, inside of this one.
            let worked_off = contained(|| while !shared.work(TURN, Role::Helper) {});
            shared.fibers.lock().pump_spawned = false;
            drop(worked_off);
        }
    }
}
