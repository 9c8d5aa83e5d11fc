//! Undoing effects: one step at a time, outside of the caller's future, so that a dropped `dispose` loses nothing.

use crate::{
    DEFAULT_LIMIT, Disposed, FiberId,
    decide::After,
    dispatch::At,
    disposal::Place,
    done::{Done, Then},
    effect::{Group, Label, Record, Undo},
    frames, keys,
    meta::ServiceChange,
    service::AnyProvided,
    shared::Shared,
    sync::Arc,
};
use std::{
    task::{Context as Cx, Poll, Waker},
    time::Duration,
};

/// Whose step it is and what it is called.
#[derive(Clone)]
pub(crate) struct Step {
    pub(crate) fiber: FiberId,
    pub(crate) effect: u64,
    pub(crate) label: Label,
}

impl Shared {
    /// Begins the unloading of a fiber for good, or joins the one under way; `None` when it is gone already.
    pub(crate) fn request_dispose(self: &Arc<Self>, id: FiberId) -> Option<Arc<Done>> {
        let gone = self.begin_dispose(id);
        self.kick(self.fibers.lock());
        gone
    }

    /// As `request_dispose`, for one who works the queue off next: it wakes nobody else up for that.
    pub(crate) fn begin_dispose(self: &Arc<Self>, id: FiberId) -> Option<Arc<Done>> {
        let mut fibers = self.fibers.lock();
        let data = fibers.get_mut(id)?;
        let gone = data.gone.get_or_insert_with(|| self.done()).clone();
        if std::mem::replace(&mut data.told, true) {
            return Some(gone);
        }
        // As at their creation, observers are told of plugins: not of scopes, nor of the root.
        if data.plugin.is_some() && self.meta.disposing.len() > 0 {
            let fiber = crate::Fiber { shared: self.clone(), cell: data.cell.clone() };
            drop(fibers);
            // Told while the state is still the old one.
            At { shared: self, scope: None }.emit(keys::FIBER_DISPOSING, &fiber);
            fibers = self.fibers.lock();
        }
        let mut after = After::default();
        if let Some(data) = fibers.get_mut(id) {
            data.disposing = true;
            // A fiber without a plugin that has a view is a scope's; the root has none.
            if data.plugin.is_none()
                && let Some(scope) = data.view.as_ref().and_then(|view| view.scope.as_ref())
            {
                scope.close();
            }
            self.cancel_load(data, &mut after);
        }
        fibers.enqueue(id);
        drop(fibers);
        self.finish(after);
        Some(gone)
    }

    /// Undoes one effect, or joins its undoing; `None` when it is over. The record stays until then.
    pub(crate) fn undo(self: &Arc<Self>, fiber: FiberId, effect: u64, place: Place) -> Option<Arc<Done>> {
        let (undo, label, running) = {
            let mut fibers = self.fibers.lock();
            let record = fibers.get_mut(fiber)?.record_mut(effect)?;
            match &mut record.undo {
                Undo::Wait(done) => return Some(done.clone()),
                Undo::Busy(join) => return Some(join.get_or_insert_with(|| Done::new(1)).clone()),
                undo => {
                    // A disposer may block: who comes meanwhile already waits for what its limit ends.
                    let running = matches!(undo, Undo::Run(_)).then(|| Done::new(1));
                    let state = running.clone().map_or(Undo::Busy(None), Undo::Wait);
                    (std::mem::replace(undo, state), record.label.clone(), running)
                }
            }
        };
        let step = Step { fiber, effect, label };
        let undo = match (undo, running) {
            (Undo::Run(disposer), Some(done)) => {
                let forgets = done.then(Then::Forget(Arc::downgrade(self), fiber, effect));
                debug_assert!(forgets.is_ok(), "it has not begun");
                self.dispose_with(step, *disposer, &done, place);
                return Some(done);
            }
            (undo, _) => undo,
        };
        let under_way = self.start(step, undo, place);
        let report = under_way.as_ref().filter(|done| done.fired()).map(|done| done.report());
        let mut fibers = self.fibers.lock();
        let data = fibers.get_mut(fiber);
        match under_way {
            Some(done) if report.is_none() => {
                let join =
                    data.and_then(|data| data.record_mut(effect)).and_then(|record| match std::mem::replace(
                        &mut record.undo,
                        Undo::Wait(done.clone()),
                    ) {
                        Undo::Busy(join) => join,
                        _ => None,
                    });
                drop(fibers);
                for then in [Some(Then::Forget(Arc::downgrade(self), fiber, effect)), join.map(Then::Fire)] {
                    if let Some(then) = then
                        && let Err(then) = done.then(then)
                    {
                        then.run(&done.report());
                    }
                }
                Some(done)
            }
            under_way => {
                let record = data.and_then(|data| data.remove(effect));
                drop(fibers);
                if let Some(Record { undo: Undo::Busy(Some(join)), .. }) = record {
                    join.fire_with(report.unwrap_or_default());
                }
                under_way
            }
        }
    }

    /// Undoes as much as can be undone now; `Some` when something is to be waited for, or to be reported.
    fn start(self: &Arc<Self>, step: Step, undo: Undo, place: Place) -> Option<Arc<Done>> {
        match undo {
            Undo::Listener(bucket, order) => {
                let done = bucket.remove(order)?;
                self.watch_step(&done, &step);
                Some(done)
            }
            Undo::Child(fiber) => self.request_dispose(fiber),
            Undo::Service(provided) => self.remove_service(step, provided),
            Undo::Run(_) | Undo::Busy(_) => None,
            Undo::Group(group) => self.undo_group(step, *group, place),
            Undo::Task(control, done) => {
                control.abort();
                if done.fired() {
                    return None;
                }
                self.watch_step(&done, &step);
                Some(done)
            }
            Undo::Signal(done) => {
                done.fire();
                None
            }
            Undo::Claimed(done) => {
                self.watch_step(&done, &step);
                Some(done)
            }
            Undo::Wait(done) => Some(done),
        }
    }

    /// Hides the service, waits for its dependants to unload, then takes it away.
    fn remove_service(self: &Arc<Self>, step: Step, provided: Arc<dyn AnyProvided>) -> Option<Arc<Done>> {
        let mut after = After::default();
        let drain = self.withdraw(&mut self.fibers.lock(), std::slice::from_ref(&provided), &mut after);
        self.kick(self.fibers.lock());
        self.finish(after);
        if drain.fired() {
            let done = self.revoke(provided);
            if let Some(done) = &done {
                self.watch_step(done, &step);
            }
            return done;
        }
        let (shared, of) = (self.clone(), step.clone());
        self.drive(async move {
            drain.wait().await;
            match shared.revoke(provided) {
                Some(done) => {
                    shared.watch_step(&done, &of);
                    done.wait().await;
                    done.report()
                }
                None => Disposed::default(),
            }
        })
    }

    fn revoke(self: &Arc<Self>, provided: Arc<dyn AnyProvided>) -> Option<Arc<Done>> {
        let published = {
            let mut fibers = self.fibers.lock();
            (fibers.unpublish(provided.slot().id(), provided.id()), provided.unpublish())
        };
        drop(published);
        let mut after = After::default();
        self.note_service(&*provided, false, &mut after);
        let done = provided.revoke();
        self.finish(after);
        done
    }

    /// Waits for the set-up if it still runs, then undoes what it made, newest first.
    fn undo_group(self: &Arc<Self>, step: Step, group: Group, place: Place) -> Option<Arc<Done>> {
        let Group { mut children, setup } = group;
        let shared = self.clone();
        self.drive(async move {
            let mut steps = Steps { place, report: Disposed::default() };
            if let Some(setup) = setup {
                shared.watch_step(&setup.over, &step);
                steps.wait(setup.over.clone()).await;
                let late = setup.late.lock().take();
                if let Some(disposer) = late {
                    let done = Done::new(1);
                    shared.dispose_with(step.clone(), disposer, &done, steps.place);
                    steps.wait(done).await;
                }
            }
            while let Some(child) = children.last_key() {
                children.remove(child);
                if let Some(done) = shared.undo(step.fiber, child, steps.place) {
                    steps.wait(done).await;
                }
            }
            steps.report
        })
    }

    /// Runs a step: here if it never suspends, as a task of its own otherwise.
    fn drive(self: &Arc<Self>, future: impl Future<Output = Disposed> + Send + 'static) -> Option<Arc<Done>> {
        let mut future = Box::pin(future);
        match frames::starting(|| future.as_mut().poll(&mut Cx::from_waker(Waker::noop()))) {
            Some(Poll::Ready(report)) if report.is_clean() => return None,
            Some(Poll::Ready(report)) => return Some(Done::over(report)),
            Some(Poll::Pending) | None => {}
        }
        let done = Done::new(1);
        let mut ends = EndsWith { done: done.clone(), report: Disposed::default(), _shared: self.clone() };
        self.runtime.spawn(async move { ends.with(future.await) });
        Some(done)
    }

    /// Ends `done` by force when the limit is up.
    pub(crate) fn watch(self: &Arc<Self>, done: Arc<Done>, plugin: String, step: String, limit: Duration) {
        if done.fired() {
            return;
        }
        let shared = self.clone();
        self.runtime.spawn(async move {
            if shared.runtime.within(limit, done.wait()).await.is_none() {
                let message = "is still running past its limit; it is not waited for";
                shared.report_aside(plugin.clone(), step.clone(), message);
                done.abandon(Disposed::late(plugin, step));
            }
        });
    }

    /// Tells of a step in a task of its own: an observer that blocks does not hold up what is to go on.
    pub(crate) fn report_aside(self: &Arc<Self>, plugin: String, step: String, message: &'static str) {
        let shared = self.clone();
        self.runtime.spawn(async move { shared.report(plugin, &step, message.into()) });
    }

    fn watch_step(self: &Arc<Self>, done: &Arc<Done>, step: &Step) {
        let limit =
            self.fibers.lock().get(step.fiber).map_or(DEFAULT_LIMIT, |data| data.limit_of(step.effect));
        self.watch(done.clone(), self.label_of(step.fiber), step.label.to_string(), limit);
    }

    pub(crate) fn tell_service(self: &Arc<Self>, change: &ServiceChange) {
        At { shared: self, scope: None }.emit(keys::SERVICE, change);
    }
}

/// The steps of a group's teardown.
struct Steps {
    place: Place,
    report: Disposed,
}

impl Steps {
    async fn wait(&mut self, done: Arc<Done>) {
        if !done.fired() {
            // From here on it is a task that goes on.
            self.place = Place::Task;
            done.wait().await;
        }
        self.report.merge(done.report());
    }
}

/// Fires when dropped, so that a step ends even when its task is dropped with its runtime.
struct EndsWith {
    done: Arc<Done>,
    report: Disposed,
    /// What follows finds the app only while somebody holds it.
    _shared: Arc<Shared>,
}

impl EndsWith {
    fn with(&mut self, report: Disposed) {
        self.report = report;
    }
}

impl Drop for EndsWith {
    fn drop(&mut self) {
        self.done.fire_with(std::mem::take(&mut self.report));
    }
}
