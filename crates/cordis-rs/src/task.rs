//! Tasks that end with their plugin.

use crate::{
    Context, ContextDisposed, Effect, Inactive,
    contain::drop_reported,
    done::{Done, DoneSlot, Then},
    effect::{Label, Record, Undo},
    foreign::Foreign,
    frames,
    sync::{Arc, Mutex},
};
use std::{
    borrow::Cow,
    future::poll_fn,
    pin::Pin,
    task::{Context as Cx, Poll},
    time::Duration,
};

/// A task's future. The order of fields matters: the future and its captures drop before `_done` fires.
struct Task<F> {
    future: Option<Pin<Box<F>>>,
    ctx: Context,
    effect: u64,
    label: Cow<'static, str>,
    foreign: Foreign,
    _done: DoneSlot,
}

impl<F> Unpin for Task<F> {}

impl<F: Future<Output = ()>> Future for Task<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<()> {
        let this = &mut *self;
        let Some(future) = &mut this.future else { return Poll::Ready(()) };
        let polled = this.foreign.run(|| future.as_mut().poll(cx));
        if let Err(panic) = &polled {
            this.ctx.report(&this.label, format!("panicked: {panic}"));
        }
        if matches!(polled, Ok(Poll::Pending)) {
            return Poll::Pending;
        }
        this.end();
        Poll::Ready(())
    }
}

impl<F> Task<F> {
    fn end(&mut self) {
        let Some(future) = self.future.take() else { return };
        let label = self.label.clone();
        drop_reported(self.effect, self.ctx.cell(), || Label::Named(label), future);
    }
}

impl<F> Drop for Task<F> {
    fn drop(&mut self) {
        self.end();
    }
}

/// Aborts a task whose record may be undone before the task itself is spawned.
#[derive(Default)]
pub(crate) struct Control(Mutex<Abort>);

#[derive(Default)]
struct Abort {
    requested: bool,
    abort: Option<Box<dyn FnOnce() + Send>>,
}

impl Control {
    pub(crate) fn arm(&self, abort: Box<dyn FnOnce() + Send>) {
        let mut state = self.0.lock();
        if state.requested {
            drop(state);
            abort();
        } else {
            state.abort = Some(abort);
        }
    }

    pub(crate) fn abort(&self) {
        let abort = {
            let mut state = self.0.lock();
            state.requested = true;
            state.abort.take()
        };
        if let Some(abort) = abort {
            abort();
        }
    }
}

impl Context {
    /// Runs a future as a task of this context's plugin. Disposing the effect, or unloading the plugin, drops the future
    /// at its next await and waits until it is dropped. A panic is reported and ends only the task.
    ///
    /// # Errors
    /// The context is inactive; the future is dropped.
    pub fn spawn<F>(&self, label: impl Into<Cow<'static, str>>, future: F) -> Result<Effect, Inactive>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let label = label.into();
        let future = Some(Box::pin(future));
        let slot = DoneSlot::default();
        let done = slot.install();
        let control = Arc::new(Control::default());
        let effect = {
            let mut fibers = self.shared().fibers.lock();
            let data = fibers.accepting(self, "spawn a task")?;
            let effect = self.shared().next_seq();
            let undo = Undo::Task(control.clone(), done.clone());
            data.add(effect, Record { undo, label: Label::Named(label.clone()), group: self.group() });
            effect
        };
        let foreign = Foreign::of(self.cell(), effect);
        let task = Task { future, ctx: self.clone(), effect, label, foreign, _done: slot };
        control.arm(self.shared().runtime.spawn_abortable(task));
        let forget = Then::Forget(Arc::downgrade(self.shared()), self.cell().id, effect);
        if let Err(forget) = done.then(forget) {
            forget.run(&crate::Disposed::default());
        }
        Ok(Effect::new(self, effect))
    }

    /// The running task's effect has ended, apart from what it still does.
    pub(crate) fn current_task_is_over(&self, label: &'static str) {
        let Some(frame) = frames::current().pop() else { return };
        let mut fibers = self.shared().fibers.lock();
        if let Some(record) = fibers.get_mut(frame.fiber).and_then(|data| data.record_mut(frame.effect))
            && let Undo::Task(_, done) = &record.undo
        {
            record.undo = Undo::Claimed(done.clone());
            record.label = Label::Over(label);
        }
    }

    /// Waits for `duration`. Registered as an effect while it waits: when the plugin unloads first, it ends at once.
    ///
    /// # Errors
    /// The context was, or went, away.
    pub async fn sleep(&self, duration: Duration) -> Result<(), ContextDisposed> {
        self.until_disposed("ctx.sleep()", Box::pin(crate::timer::sleep(duration))).await
    }

    /// Runs `future` unless the context goes first.
    pub(crate) async fn until_disposed<F>(
        &self,
        label: &'static str,
        mut future: F,
    ) -> Result<F::Output, ContextDisposed>
    where
        F: Future + Unpin,
    {
        let gone = || ContextDisposed { plugin: self.cell().label() };
        let signal = self.signal(label).map_err(|_| gone())?;
        poll_fn(|cx| {
            if signal.told.fired() {
                return Poll::Ready(Err(gone()));
            }
            if let Poll::Ready(output) = Pin::new(&mut future).poll(cx) {
                return Poll::Ready(Ok(output));
            }
            signal.told.poll(cx).map(|()| Err(gone()))
        })
        .await
    }

    /// An effect that is told when the context goes, and that ends when the result is dropped.
    pub(crate) fn signal(&self, label: &'static str) -> Result<Signal, Inactive> {
        let told = Done::new(1);
        let mut fibers = self.shared().fibers.lock();
        let data = fibers.accepting(self, "wait")?;
        let effect = self.shared().next_seq();
        let undo = Undo::Signal(told.clone());
        data.add(effect, Record { undo, label: Label::Named(label.into()), group: self.group() });
        drop(fibers);
        Ok(Signal { ctx: self.clone(), effect, told })
    }
}

/// See [`Context::signal`].
pub(crate) struct Signal {
    ctx: Context,
    effect: u64,
    pub(crate) told: Arc<Done>,
}

impl Drop for Signal {
    fn drop(&mut self) {
        if !self.told.fired() {
            self.ctx.shared().forget(self.ctx.cell().id, self.effect);
        }
    }
}
