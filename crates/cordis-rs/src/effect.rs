//! Effects: reversible registrations, their records and the handle to one.

use crate::{
    BoxError, BoxFuture, Context, Disposed, EffectError, FiberId, Inactive,
    bucket::AnyBucket,
    disposal::Place,
    done::Done,
    fiber::FiberCell,
    foreign::Foreign,
    frames::{self, Frame},
    ordered::Ordered,
    service::AnyProvided,
    shared::Shared,
    sync::{Arc, Mutex},
    task::Control,
    teardown::Step,
    waits::Target,
};
use std::{borrow::Cow, fmt, future::poll_fn, pin::pin, task::Poll, time::Duration};

/// How long one step of a teardown may take before it is given up, unless its effect says otherwise.
pub const DEFAULT_LIMIT: Duration = Duration::from_secs(10);

pub(crate) type UndoFuture = BoxFuture<'static, Result<(), BoxError>>;

/// A disposer that has not run yet.
#[doc(hidden)]
pub struct Disposer {
    pub(crate) run: Box<dyn FnOnce() -> UndoFuture + Send>,
}

impl fmt::Debug for Disposer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Disposer(..)")
    }
}

/// What undoes an effect.
pub(crate) enum Undo {
    Listener(Arc<dyn AnyBucket>, i64),
    Child(FiberId),
    Service(Arc<dyn AnyProvided>),
    Run(Box<Disposer>),
    Group(Box<Group>),
    /// A task: aborted, then waited for until its future is dropped.
    Task(Arc<Control>, Arc<Done>),
    /// Something that only waits to be told.
    Signal(Arc<Done>),
    /// Over as a registration, and still running: a `once` listener, the callback of a timeout.
    Claimed(Arc<Done>),
    /// Being undone; everybody waits for the same end.
    Wait(Arc<Done>),
    /// Being started to be undone on some thread; who comes meanwhile leaves a `Done` here.
    Busy(Option<Arc<Done>>),
}

/// An effect that is made of other effects.
pub(crate) struct Group {
    pub(crate) children: Ordered<u64, ()>,
    /// Present while the set-up runs.
    pub(crate) setup: Option<Arc<Setup>>,
}

/// The set-up of a group, shared between it and the group's teardown.
pub(crate) struct Setup {
    pub(crate) over: Arc<Done>,
    /// Its result, when the teardown began before the set-up had ended.
    pub(crate) late: Mutex<Option<Disposer>>,
}

pub(crate) struct Record {
    pub(crate) undo: Undo,
    pub(crate) label: Label,
    /// The effect that it is part of, 0 for none.
    pub(crate) group: u64,
}

/// What an effect is called in `inspect()`.
#[derive(Clone)]
pub(crate) enum Label {
    On(&'static str),
    Provide(&'static str),
    Plugin,
    Named(Cow<'static, str>),
    /// A timer that has run out and whose callback still runs: no longer listed, waited for all the same.
    Over(&'static str),
}

impl Label {
    pub(crate) fn is_over(&self) -> bool {
        matches!(self, Label::Over(_))
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::On(event) => write!(f, "ctx.on({event:?})"),
            Label::Provide(service) => write!(f, "ctx.provide({service:?})"),
            Label::Plugin => f.write_str("ctx.plugin()"),
            Label::Named(name) => f.write_str(name),
            Label::Over(name) => f.write_str(name),
        }
    }
}

/// A handle to one registration. Dropping it keeps the registration, which ends with its plugin at the latest.
#[derive(Clone)]
pub struct Effect {
    shared: Arc<Shared>,
    cell: Arc<FiberCell>,
    id: u64,
}

impl Effect {
    pub(crate) fn new(ctx: &Context, id: u64) -> Self {
        Effect { shared: ctx.shared().clone(), cell: ctx.cell().clone(), id }
    }

    /// Undoes the effect and waits until nothing of it runs any more. Everybody who disposes it waits for the same end.
    ///
    /// Called from code that this very disposal waits for (the listener itself, its task or disposer, a dependant of the
    /// service), and from any synchronous listener, it only requests, and says so ([`Disposed::requested`]).
    ///
    /// # Cancel safety
    /// Dropping the future stops only the waiting.
    pub async fn dispose(&self) -> Disposed {
        let Some(done) = self.shared.undo(self.cell.id, self.id, Place::Task) else {
            return Disposed::default();
        };
        self.shared.help();
        self.shared.end_of(&done, Target::Effect(self.cell.id, self.id)).await
    }

    /// Requests what [`dispose`](Effect::dispose) does and waits for nothing. What can be undone at once is undone on this
    /// stack, disposers up to their first await included: hold no lock that one of them takes.
    pub fn cancel(&self) {
        self.shared.undo(self.cell.id, self.id, Place::Here);
    }

    /// Gives the teardown of this effect another limit than [`DEFAULT_LIMIT`]: its disposer, or what still runs of it. The
    /// limit of an effect made of others is the one of each wait for its set-up; its parts have their own. Once the
    /// teardown has begun it stays as it is.
    pub fn with_limit(self, limit: Duration) -> Self {
        let mut fibers = self.shared.fibers.lock();
        if let Some(data) = fibers.get_mut(self.cell.id) {
            data.set_limit(self.id, limit);
        }
        drop(fibers);
        self
    }

    /// Whether it is still registered and not being undone.
    #[must_use]
    pub fn is_live(&self) -> bool {
        let fibers = self.shared.fibers.lock();
        let record = fibers.get(self.cell.id).and_then(|data| data.record(self.id));
        record.is_some_and(|record| !matches!(record.undo, Undo::Claimed(_) | Undo::Wait(_) | Undo::Busy(_)))
    }
}

impl fmt::Debug for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Effect({} of {})", self.id, self.cell.label())
    }
}

/// How a disposer ends: with nothing, or with a result whose error is reported.
pub trait Outcome: sealed::Outcome {}

mod sealed {
    use super::BoxError;

    pub trait Outcome: Send + 'static {
        fn outcome(self) -> Result<(), BoxError>;
    }

    impl Outcome for () {
        fn outcome(self) -> Result<(), BoxError> {
            Ok(())
        }
    }

    impl<E: Into<BoxError> + Send + 'static> Outcome for Result<(), E> {
        fn outcome(self) -> Result<(), BoxError> {
            self.map_err(Into::into)
        }
    }
}

impl Outcome for () {}

impl<E: Into<BoxError> + Send + 'static> Outcome for Result<(), E> {}

/// What the set-up of an effect leaves to be done: nothing, or an async disposer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot undo an effect",
    label = "neither `()` nor an async disposer",
    note = "end the set-up with `Ok(())` or with `Ok(async move || {{ .. }})`"
)]
pub trait Cleanup: Send + 'static + sealed_cleanup::Cleanup {}

mod sealed_cleanup {
    use super::Disposer;

    pub trait Cleanup {
        fn disposer(self) -> Option<Disposer>;
    }
}

impl sealed_cleanup::Cleanup for () {
    fn disposer(self) -> Option<Disposer> {
        None
    }
}

impl Cleanup for () {}

impl<F, Fut> sealed_cleanup::Cleanup for F
where
    F: FnOnce() -> Fut + Send + 'static,
    Fut: Future<Output: Outcome> + Send + 'static,
{
    fn disposer(self) -> Option<Disposer> {
        Some(Disposer::new(self))
    }
}

impl<F, Fut> Cleanup for F
where
    F: FnOnce() -> Fut + Send + 'static,
    Fut: Future<Output: Outcome> + Send + 'static,
{
}

impl Disposer {
    pub(crate) fn new<F, Fut>(undo: F) -> Self
    where
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future<Output: Outcome> + Send + 'static,
    {
        let run = Box::new(move || {
            let future = undo();
            Box::pin(async move { sealed::Outcome::outcome(future.await) }) as UndoFuture
        });
        Disposer { run }
    }
}

impl Context {
    /// Registers what undoes something that the plugin did; `undo` runs once, when the effect is disposed or the plugin
    /// unloads, as a task of its own, within [`DEFAULT_LIMIT`] unless [`Effect::with_limit`] says otherwise. One that is late
    /// is named in [`Disposed::still_running`]: it is dropped at its next await, or left alone if it blocks its thread. That
    /// needs another thread: where every thread of the runtime is blocked, that holds everything up.
    ///
    /// # Errors
    /// The context is inactive; `undo` is dropped without being run. Where the thing itself may be refused, do it inside
    /// of [`effect_with`](Context::effect_with).
    pub fn effect<F, Fut>(&self, label: impl Into<Cow<'static, str>>, undo: F) -> Result<Effect, Inactive>
    where
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future<Output: Outcome> + Send + 'static,
    {
        self.add_effect(label.into(), Disposer::new(undo))
    }

    fn add_effect(&self, label: Cow<'static, str>, disposer: Disposer) -> Result<Effect, Inactive> {
        let mut fibers = self.shared().fibers.lock();
        let data = match fibers.accepting(self, "create an effect") {
            Ok(data) => data,
            Err(inactive) => {
                drop(fibers);
                return Err(inactive);
            }
        };
        let id = self.shared().next_seq();
        let undo = Undo::Run(Box::new(disposer));
        data.add(id, Record { undo, label: Label::Named(label), group: self.group() });
        drop(fibers);
        Ok(Effect::new(self, id))
    }

    /// Makes an effect out of others. What `setup` registers through the context it is given belongs to the effect and is
    /// undone with it, newest first; the disposer that it may return is run before them.
    ///
    /// A teardown that begins during the set-up waits for its end and then undoes all of it, so that nothing acquired is
    /// lost.
    ///
    /// # Errors
    /// The context is inactive, or the set-up failed or panicked: then what it had registered is undone already.
    ///
    /// # Cancel safety
    /// Dropping the future ends the set-up at its current await and requests the undoing of what it had registered.
    pub async fn effect_with<F, Fut, C>(
        &self,
        label: impl Into<Cow<'static, str>>,
        setup: F,
    ) -> Result<Effect, EffectError>
    where
        F: FnOnce(Context) -> Fut,
        Fut: Future<Output = Result<C, BoxError>>,
        C: Cleanup,
    {
        let label = label.into();
        let running = self.begin_group(label.clone())?;
        let inside = self.in_group(running.id);
        let foreign = Foreign::of(self.cell(), running.id);
        let mut future = pin!(async { setup(inside).await });
        let ended = poll_fn(|cx| match foreign.run(|| future.as_mut().poll(cx)) {
            Ok(polled) => polled.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        })
        .await;
        let failed =
            |source| EffectError::Setup { label: label.to_string(), plugin: self.cell().label(), source };
        match ended {
            Ok(Ok(cleanup)) => Ok(running.complete(sealed_cleanup::Cleanup::disposer(cleanup))),
            Ok(Err(error)) => {
                let _ = running.complete(None).dispose().await;
                Err(failed(error))
            }
            Err(panic) => {
                let _ = running.complete(None).dispose().await;
                Err(failed(format!("panicked: {panic}").into()))
            }
        }
    }

    /// As [`effect_with`](Context::effect_with), for a set-up that waits for nothing.
    ///
    /// # Errors
    /// The context is inactive, or the set-up failed: then the undoing of what it had registered is requested, newest
    /// first; what can be undone at once is undone. So it is when the set-up panics, and the panic goes on to the caller.
    pub fn effects<E: From<Inactive>>(
        &self,
        label: impl Into<Cow<'static, str>>,
        setup: impl FnOnce(&Context) -> Result<(), E>,
    ) -> Result<Effect, E> {
        let running = self.begin_group(label.into())?;
        let inside = frames::enter(Frame { effect: running.id, fiber: self.cell().id });
        let made = setup(&self.in_group(running.id));
        inside.leave();
        made.map(|()| running.complete(None))
    }

    fn begin_group(&self, label: Cow<'static, str>) -> Result<Running<'_>, Inactive> {
        let setup = Arc::new(Setup { over: Done::new(1), late: Mutex::default() });
        let mut fibers = self.shared().fibers.lock();
        let data = fibers.accepting(self, "create an effect")?;
        let id = self.shared().next_seq();
        let group = Group { children: Ordered::default(), setup: Some(setup.clone()) };
        let undo = Undo::Group(Box::new(group));
        data.add(id, Record { undo, label: Label::Named(label), group: self.group() });
        drop(fibers);
        Ok(Running { ctx: self, id, setup: Some(setup) })
    }
}

/// A set-up under way; dropped early it undoes what there is.
struct Running<'c> {
    ctx: &'c Context,
    id: u64,
    setup: Option<Arc<Setup>>,
}

impl Running<'_> {
    fn complete(mut self, cleanup: Option<Disposer>) -> Effect {
        self.end(cleanup);
        Effect::new(self.ctx, self.id)
    }

    /// Hands the disposer to the group, or to the teardown that waits for it.
    fn end(&mut self, cleanup: Option<Disposer>) {
        let Some(setup) = self.setup.take() else { return };
        let shared = self.ctx.shared();
        let mut fibers = shared.fibers.lock();
        let mut data = fibers.get_mut(self.ctx.cell().id);
        let open = match data.as_mut().and_then(|data| data.record_mut(self.id)) {
            Some(Record { undo: Undo::Group(group), .. }) => {
                group.setup = None;
                data
            }
            _ => None,
        };
        match (open, cleanup) {
            (Some(data), Some(cleanup)) => {
                let id = shared.next_seq();
                let label = Label::Named("cleanup".into());
                data.add(id, Record { undo: Undo::Run(Box::new(cleanup)), label, group: self.id });
            }
            (None, Some(cleanup)) => *setup.late.lock() = Some(cleanup),
            (_, None) => {}
        }
        drop(fibers);
        let given_up = setup.over.fired();
        setup.over.fire();
        if given_up && let Some(cleanup) = setup.late.lock().take() {
            // The teardown has gone on without it: what was acquired is undone all the same.
            let label = Label::Named("cleanup".into());
            let step = Step { fiber: self.ctx.cell().id, effect: self.id, label };
            let cell = self.ctx.cell().clone();
            shared.dispose_of(cell, step, cleanup, &Done::new(1), Place::Task, DEFAULT_LIMIT);
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if self.setup.is_some() {
            self.end(None);
            self.ctx.shared().undo(self.ctx.cell().id, self.id, Place::Here);
        }
    }
}
