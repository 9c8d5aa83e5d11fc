//! One run of a plugin's body.

use crate::{
    BoxError, BoxFuture, FiberId, State,
    contain::{contained, drop_reported},
    decide::{After, Asked},
    disposed::Disposed,
    effect::Label,
    fibers::{Caught, Loaded},
    foreign::Foreign,
    frames,
    shared::Shared,
    sync::Arc,
};
use std::task::{Context as Cx, Poll, Waker};

type Body = BoxFuture<'static, Result<(), BoxError>>;

/// A running body, dropped at its next await when the load is cancelled.
pub(crate) struct Load {
    shared: Arc<Shared>,
    id: FiberId,
    number: u32,
    body: Option<Body>,
    effect: u64,
    foreign: Option<Foreign>,
}

impl Load {
    pub(crate) fn new(shared: Arc<Shared>, id: FiberId, number: u32, body: Body) -> Self {
        let fiber = shared.fibers.lock().get(id).map(|data| (data.effect, data.cell.clone()));
        let foreign = fiber.as_ref().map(|(effect, cell)| Foreign::of(cell, *effect));
        Load { shared, id, number, body: Some(body), effect: fiber.map_or(0, |(effect, _)| effect), foreign }
    }

    pub(crate) fn poll(&mut self, cx: &mut Cx<'_>) -> Poll<()> {
        let (Some(body), Some(foreign)) = (&mut self.body, &self.foreign) else { return Poll::Ready(()) };
        let loaded = if self.shared.is_cancelled(self.id, self.number, None) {
            Loaded::Cancelled
        } else {
            let polled = foreign.run(|| body.as_mut().poll(cx));
            match polled {
                Ok(Poll::Pending) if self.shared.is_cancelled(self.id, self.number, Some(cx.waker())) => {
                    Loaded::Cancelled
                }
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(Ok(()))) => Loaded::Well,
                Ok(Poll::Ready(Err(error))) => Loaded::Failed(Box::new(Caught::new(error))),
                Err(panic) => Loaded::Failed(Box::new(Caught::new(format!("panicked: {panic}").into()))),
            }
        };
        self.end(loaded);
        Poll::Ready(())
    }

    fn end(&mut self, loaded: Loaded) {
        let Some(body) = self.body.take() else { return };
        // What the body held is gone before anybody hears that it has ended.
        let cell = self.shared.fibers.lock().get(self.id).map(|data| data.cell.clone());
        match cell {
            Some(cell) => drop_reported(self.effect, &cell, || Label::Named("body".into()), body),
            None => drop(contained(|| drop(body))),
        }
        let stopped = self.shared.is_cancelled(self.id, self.number, None);
        if let Loaded::Failed(caught) = &loaded
            && !stopped
        {
            self.shared.report(self.shared.label_of(self.id), "body", caught.text.to_string());
        }
        self.shared.load_ended(self.id, self.number, loaded);
    }
}

impl Drop for Load {
    /// The runtime went away in the middle of it: the fiber fails, since trying again would end the same way.
    fn drop(&mut self) {
        if self.body.is_some() {
            let ended = Caught::new("the runtime ended while the plugin was loading".into());
            self.end(Loaded::Failed(Box::new(ended)));
        }
    }
}

impl Shared {
    /// Whether a run is to end; otherwise `waker` will be woken when it is.
    fn is_cancelled(&self, id: FiberId, number: u32, waker: Option<&Waker>) -> bool {
        let mut fibers = self.fibers.lock();
        let Some(data) = fibers.get_mut(id).filter(|data| data.load == number) else { return true };
        if data.cancel {
            return true;
        }
        let old = match (waker, &mut data.rare) {
            (Some(waker), _) => data.rare().body_waker.replace(waker.clone()),
            (None, Some(rare)) => rare.body_waker.take(),
            (None, None) => None,
        };
        drop(fibers);
        drop(old);
        false
    }

    fn load_ended(self: &Arc<Self>, id: FiberId, number: u32, loaded: Loaded) {
        let mut fibers = self.fibers.lock();
        let Some(data) = fibers.get_mut(id) else { return };
        if data.load != number || data.state() != State::Loading || data.loaded.is_some() {
            return;
        }
        data.busy = false;
        // One that was told to stop and gave an error for it, a refused registration for one, has not failed.
        let loaded =
            if data.cancel && matches!(loaded, Loaded::Failed(_)) { Loaded::Cancelled } else { loaded };
        data.loaded = Some(loaded);
        let rare = data.rare.as_mut();
        let (over, waker) = rare.map_or((None, None), |rare| (rare.body_over.take(), rare.body_waker.take()));
        fibers.enqueue(id);
        self.kick(fibers);
        drop(waker);
        if let Some(over) = over {
            over.fire();
        }
    }

    /// A cancelled body has not come back within its limit: it is waited for no longer.
    pub(crate) fn body_over(self: &Arc<Self>, id: FiberId, number: u32, late: Disposed) {
        if late.is_clean() {
            return;
        }
        {
            let mut fibers = self.fibers.lock();
            let Some(data) = fibers.get_mut(id).filter(|data| data.load == number) else { return };
            data.rare().leftovers.merge(late);
        }
        self.load_ended(id, number, Loaded::Cancelled);
    }

    /// Asks availability checks, each seeing the fiber's own context, and remembers what they said.
    pub(crate) fn ask_checks(self: &Arc<Self>, id: FiberId, providers: Vec<Asked>) {
        let fiber = self.fibers.lock().get_mut(id).map(|data| (data.cell.clone(), data.rare().notified));
        let Some((cell, notified)) = fiber else { return };
        let ctx = self.context_of(&cell);
        let mut verdicts = Vec::with_capacity(providers.len());
        for Asked { id, service, owner, check } in providers {
            let counts = contained(|| {
                let _sync = frames::enter_sync();
                (check.ask)(&ctx)
            });
            let counts = counts.unwrap_or_else(|panic| {
                let step = format!("check of ctx.provide({service:?})");
                self.report(owner.label(), &step, format!("panicked: {panic}"));
                false
            });
            drop_reported(id, &owner, || Label::Provide(service), check);
            verdicts.push((id, counts));
        }
        let mut fibers = self.fibers.lock();
        let slots =
            fibers.get(id).map(|data| data.needs.iter().map(|need| need.slot.id()).collect::<Vec<_>>());
        let current: Vec<u64> =
            slots.unwrap_or_default().iter().filter_map(|slot| Some(fibers.provider(*slot)?.id())).collect();
        let Some(data) = fibers.get_mut(id) else { return };
        let rare = data.rare();
        // Asked again when it was notified of a change meanwhile; once, or a check that notifies of itself is asked for ever.
        let again = rare.notified != notified && !rare.asked_again;
        rare.asked_again = again;
        if !again {
            rare.verdicts.retain(|(known, _)| !verdicts.iter().any(|(id, _)| id == known));
            rare.verdicts.append(&mut verdicts);
            rare.verdicts.retain(|(known, _)| current.contains(known));
        }
    }

    /// Asks for another run: of an active fiber, of a failed one, and, for a new configuration, of one that is loading.
    /// False when there is no such fiber any more.
    pub(crate) fn request_reload(self: &Arc<Self>, id: FiberId, reconfigured: bool) -> bool {
        let mut after = After::default();
        {
            let mut fibers = self.fibers.lock();
            let Some(data) = fibers.get_mut(id).filter(|data| !data.disposing) else { return false };
            match data.state() {
                State::Active => data.restart = true,
                State::Loading if reconfigured => {
                    data.restart = true;
                    self.cancel_load(data, &mut after);
                }
                State::Loading => {}
                State::Pending | State::Failed | State::Unloading | State::Disposed => data.retry = true,
            }
            if reconfigured && matches!(data.state(), State::Pending | State::Failed) {
                // A new configuration clears what the old one failed with.
                after.drop_error(data, None);
            }
            fibers.enqueue(id);
            self.kick(fibers);
        }
        self.finish(after);
        true
    }
}
