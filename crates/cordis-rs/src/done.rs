//! `Done`: something that ends once; it wakes its waiters and then runs internal follow-ups.
//!
//! It is allocated only when something really waits. What did not end in time travels with it as a [`Disposed`] report.

use crate::{
    disposed::Disposed,
    fibers::FiberId,
    shared::Shared,
    sync::{Arc, Mutex, Weak},
};
use std::{
    future::poll_fn,
    mem::take,
    task::{Context as Cx, Poll, Waker},
};

/// What happens when a [`Done`] ends. Separate kinds, because a drain that ends must not be taken for an undo that ends.
pub(crate) enum Then {
    /// Counts another `Done` down.
    Fire(Arc<Done>),
    /// Removes an effect's record from its fiber.
    Forget(Weak<Shared>, FiberId, u64),
    /// The teardown step that the fiber waited for is over.
    Landed(Weak<Shared>, FiberId),
    /// Lets the fiber look again.
    Enqueue(Weak<Shared>, FiberId),
    /// The body of that load is over, or given up.
    BodyOver(Weak<Shared>, FiberId, u32),
}

#[derive(Default)]
struct Inner {
    left: usize,
    wakers: Vec<Waker>,
    then: Vec<Then>,
    late: Disposed,
}

pub(crate) struct Done(Mutex<Inner>);

impl Done {
    pub(crate) fn new(left: usize) -> Arc<Done> {
        Arc::new(Done(Mutex::new(Inner { left, ..Inner::default() })))
    }

    /// One that is over already and only carries a report.
    pub(crate) fn over(late: Disposed) -> Arc<Done> {
        Arc::new(Done(Mutex::new(Inner { late, ..Inner::default() })))
    }

    /// One more to wait for; only before the last has ended.
    pub(crate) fn add(&self) {
        self.0.lock().left += 1;
    }

    pub(crate) fn fired(&self) -> bool {
        self.0.lock().left == 0
    }

    /// What was still running when it ended.
    pub(crate) fn report(&self) -> Disposed {
        self.0.lock().late.clone()
    }

    /// Adds to the report before the end.
    pub(crate) fn note(&self, late: Disposed) {
        self.0.lock().late.merge(late);
    }

    /// Registers a follow-up; gives it back when there is nothing to wait for any more.
    pub(crate) fn then(&self, then: Then) -> Result<(), Then> {
        let mut inner = self.0.lock();
        if inner.left == 0 {
            return Err(then);
        }
        inner.then.push(then);
        Ok(())
    }

    /// One of those waited for has ended. More calls than were expected are ignored.
    pub(crate) fn fire(&self) {
        self.end(false, Disposed::default());
    }

    /// As `fire`, and reports what that one left behind.
    pub(crate) fn fire_with(&self, late: Disposed) {
        self.end(false, late);
    }

    /// Waits no longer for whatever is left.
    pub(crate) fn abandon(&self, late: Disposed) {
        self.end(true, late);
    }

    fn end(&self, all: bool, late: Disposed) {
        let (wakers, then, late) = {
            let mut inner = self.0.lock();
            if inner.left == 0 {
                return;
            }
            inner.late.merge(late);
            inner.left = if all { 0 } else { inner.left - 1 };
            if inner.left > 0 {
                return;
            }
            let late = if inner.then.is_empty() { Disposed::default() } else { inner.late.clone() };
            (take(&mut inner.wakers), take(&mut inner.then), late)
        };
        for then in then {
            then.run(&late);
        }
        for waker in wakers {
            waker.wake();
        }
    }

    pub(crate) fn poll(&self, cx: &Cx<'_>) -> Poll<()> {
        let mut inner = self.0.lock();
        if inner.left == 0 {
            return Poll::Ready(());
        }
        if !inner.wakers.iter().any(|w| w.will_wake(cx.waker())) {
            inner.wakers.push(cx.waker().clone());
        }
        Poll::Pending
    }

    pub(crate) async fn wait(&self) {
        poll_fn(|cx| self.poll(cx)).await;
    }
}

impl Then {
    pub(crate) fn run(self, late: &Disposed) {
        match self {
            Then::Fire(done) => done.fire_with(late.clone()),
            Then::Forget(shared, fiber, effect) => {
                if let Some(shared) = shared.upgrade() {
                    shared.forget(fiber, effect);
                }
            }
            Then::Landed(shared, fiber) => {
                if let Some(shared) = shared.upgrade() {
                    shared.landed(fiber, late.clone());
                }
            }
            Then::Enqueue(shared, fiber) => {
                if let Some(shared) = shared.upgrade() {
                    shared.enqueue(fiber);
                }
            }
            Then::BodyOver(shared, fiber, load) => {
                if let Some(shared) = shared.upgrade() {
                    shared.body_over(fiber, load, late.clone());
                }
            }
        }
    }
}

/// The last field of a value that others wait for: dropped after the value itself, so that "done" means "and its captures
/// are gone too". (`Arc::strong_count() == 0` is visible before the value's own drop has ended, so it is no such sign.)
#[derive(Default)]
pub(crate) struct DoneSlot(Mutex<Option<Arc<Done>>>);

impl DoneSlot {
    pub(crate) fn of(done: &Arc<Done>) -> Self {
        DoneSlot(Mutex::new(Some(done.clone())))
    }

    pub(crate) fn install(&self) -> Arc<Done> {
        self.0.lock().get_or_insert_with(|| Done::new(1)).clone()
    }
}

impl Drop for DoneSlot {
    fn drop(&mut self) {
        if let Some(done) = self.0.get_mut().take() {
            done.fire();
        }
    }
}
