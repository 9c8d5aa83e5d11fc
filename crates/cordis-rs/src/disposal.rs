//! A disposer at work.
//!
//! It is a task of its own and its limit is watched by another, so one that blocks its thread holds up nobody: neither who
//! disposes, nor the steps after it.

use crate::{
    Disposed,
    chain::chain,
    contain::drop_reported,
    done::{Done, DoneSlot},
    effect::{Disposer, UndoFuture},
    fiber::FiberCell,
    fibers::Data,
    foreign::Foreign,
    frames,
    shared::Shared,
    sync::Arc,
    task::Control,
    teardown::Step,
};
use std::{
    pin::Pin,
    task::{Context as Cx, Poll, Waker},
    time::Duration,
};

/// How long one that was told to stop may take to be dropped, before it counts as blocking its thread.
const DROPPING: Duration = Duration::from_millis(100);

/// Where a disposer begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// On the stack of one who only requests: what does not wait has run when the request returns.
    Here,
    /// In a task: it may block its thread, and nobody who waits is to be blocked with it.
    Task,
}

/// The order of fields matters: what the future holds is dropped before `_done` fires, and the app is there until it has.
struct Disposal {
    future: Option<UndoFuture>,
    started: bool,
    cell: Arc<FiberCell>,
    step: Step,
    foreign: Foreign,
    done: Arc<Done>,
    _done: DoneSlot,
    shared: Arc<Shared>,
}

impl Future for Disposal {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<()> {
        let this = &mut *self;
        this.started = true;
        let Some(future) = &mut this.future else { return Poll::Ready(()) };
        match this.foreign.run(|| future.as_mut().poll(cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(Ok(()))) => {}
            Ok(Poll::Ready(Err(error))) => this.failed(chain(&*error)),
            Err(panic) => this.failed(format!("panicked: {panic}")),
        }
        this.end();
        Poll::Ready(())
    }
}

impl Disposal {
    fn failed(&self, message: String) {
        self.shared.report(self.cell.label(), &self.step.label.to_string(), message);
    }

    fn end(&mut self) {
        let Some(future) = self.future.take() else { return };
        drop_reported(self.step.effect, &self.cell, || self.step.label.clone(), future);
    }
}

impl Drop for Disposal {
    /// Dropped before it could start, because the runtime has gone: what it does up to its first await is done here.
    fn drop(&mut self) {
        if !self.started {
            let _ = Pin::new(&mut *self).poll(&mut Cx::from_waker(Waker::noop()));
        }
        if self.future.is_some() && self.done.report().is_clean() {
            let (plugin, step) = (self.cell.label(), self.step.label.to_string());
            self.done.note(Disposed::late(plugin, step));
            self.failed("its disposer was cut off: the runtime ends".to_owned());
        }
        self.end();
    }
}

impl Shared {
    /// Runs a disposer, for no longer than its limit; `done` ends with it.
    pub(crate) fn dispose_with(
        self: &Arc<Self>,
        step: Step,
        disposer: Disposer,
        done: &Arc<Done>,
        place: Place,
    ) {
        let of = |data: &Data| (data.cell.clone(), data.limit_of(step.effect));
        let found = self.fibers.lock().get(step.fiber).map(of);
        match found {
            Some((cell, limit)) => self.dispose_of(cell, step, disposer, done, place, limit),
            None => done.fire(),
        }
    }

    /// As `dispose_with`, of a plugin that may be gone.
    pub(crate) fn dispose_of(
        self: &Arc<Self>,
        cell: Arc<FiberCell>,
        step: Step,
        disposer: Disposer,
        done: &Arc<Done>,
        place: Place,
        limit: Duration,
    ) {
        let run = disposer.run;
        let mut disposal = Disposal {
            future: Some(Box::pin(async move { run().await })),
            started: false,
            foreign: Foreign::of(&cell, step.effect),
            cell,
            step: step.clone(),
            done: done.clone(),
            _done: DoneSlot::of(done),
            shared: self.clone(),
        };
        let control = Arc::new(Control::default());
        // First: a worker keeps what it spawned last to itself, and that may block it.
        self.watch_disposal(step, limit, done.clone(), control.clone());
        if place == Place::Here {
            let _aside = frames::aside_sync();
            // The caller may be on a thread without a runtime, and disposers may be timers and tasks.
            let _entered = self.runtime.enter();
            let polled =
                frames::starting(|| Pin::new(&mut disposal).poll(&mut Cx::from_waker(Waker::noop())));
            if polled.is_some_and(|polled| polled.is_ready()) {
                return;
            }
        }
        control.arm(self.runtime.spawn_abortable(disposal));
    }

    fn watch_disposal(self: &Arc<Self>, step: Step, limit: Duration, done: Arc<Done>, control: Arc<Control>) {
        let shared = self.clone();
        self.runtime.spawn(async move {
            if shared.runtime.within(limit, done.wait()).await.is_some() {
                return;
            }
            let (plugin, label) = (shared.label_of(step.fiber), step.label.to_string());
            done.note(Disposed::late(plugin.clone(), label.clone()));
            let message = "its disposer did not end within its limit; it is dropped at its next await";
            shared.report_aside(plugin, label, message);
            control.abort();
            if shared.runtime.within(DROPPING, done.wait()).await.is_none() {
                done.abandon(Disposed::default());
            }
        });
    }
}
