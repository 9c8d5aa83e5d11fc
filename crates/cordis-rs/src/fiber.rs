//! One mounted plugin: its state, and the handle to it.

use crate::{
    Disposed, FiberError, UpdateError,
    contain::drop_reported,
    effect::Label,
    error::SharedError,
    fibers::{Caught, FiberId},
    keys,
    meta::Updating,
    scope_key::ScopeKey,
    shared::Shared,
    sync::{Arc, AtomicU8, Mutex, OnceLock, Ordering::*},
    waits::Target,
};
use serde::Serialize;
use std::{
    any::{Any, type_name},
    borrow::Cow,
    fmt,
    future::poll_fn,
    task::{Context as Cx, Poll},
};

/// Where a fiber stands. The numbers are those of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum State {
    /// Waiting for a need.
    Pending = 0,
    /// Its body runs.
    Loading = 1,
    /// Its body has ended well; its services are visible.
    Active = 2,
    /// Its body failed; what it had registered is undone.
    Failed = 3,
    /// Gone for good.
    Disposed = 4,
    /// Its registrations are being undone.
    Unloading = 5,
}

impl State {
    fn from_number(n: u8) -> State {
        match n {
            0 => State::Pending,
            1 => State::Loading,
            2 => State::Active,
            3 => State::Failed,
            5 => State::Unloading,
            _ => State::Disposed,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Pending => "pending",
            State::Loading => "loading",
            State::Active => "active",
            State::Failed => "failed",
            State::Disposed => "disposed",
            State::Unloading => "unloading",
        })
    }
}

/// What outlives the fiber in the hands of its users. The state is written under the fiber lock only.
pub(crate) struct FiberCell {
    pub(crate) id: FiberId,
    pub(crate) uid: u64,
    pub(crate) name: Cow<'static, str>,
    state: AtomicU8,
    rare: OnceLock<Box<RareCell>>,
}

/// What most fibers never have.
#[derive(Default)]
struct RareCell {
    error: Mutex<Option<Caught>>,
    /// Holds the listeners that hear only what happens to this fiber.
    local: OnceLock<ScopeKey>,
}

impl FiberCell {
    pub(crate) fn new(id: FiberId, uid: u64, name: Cow<'static, str>, state: State) -> Self {
        FiberCell { id, uid, name, state: AtomicU8::new(state as u8), rare: OnceLock::new() }
    }

    #[inline]
    pub(crate) fn state(&self) -> State {
        State::from_number(self.state.load(Acquire))
    }

    pub(crate) fn set_state(&self, state: State) {
        self.state.store(state as u8, Release);
    }

    pub(crate) fn error(&self) -> Option<SharedError> {
        self.rare.get()?.error.lock().as_ref().map(|caught| caught.error.clone())
    }

    pub(crate) fn error_text(&self) -> Option<String> {
        self.rare.get()?.error.lock().as_ref().map(|caught| caught.text.to_string())
    }

    pub(crate) fn has_error(&self) -> bool {
        self.rare.get().is_some_and(|rare| rare.error.lock().is_some())
    }

    /// Gives the old error, to be dropped outside of all locks.
    #[must_use = "drop it outside of all locks"]
    pub(crate) fn set_error(&self, error: Option<Caught>) -> Option<Caught> {
        if error.is_none() && self.rare.get().is_none() {
            return None;
        }
        std::mem::replace(&mut *self.rare.get_or_init(Box::default).error.lock(), error)
    }

    /// The name for people: `name#uid`, or `root`.
    pub(crate) fn label(&self) -> String {
        if self.uid == 0 { self.name.to_string() } else { format!("{}#{}", self.name, self.uid) }
    }

    pub(crate) fn local(&self) -> &ScopeKey {
        self.rare.get_or_init(Box::default).local.get_or_init(ScopeKey::new)
    }

    pub(crate) fn local_if_used(&self) -> Option<&ScopeKey> {
        self.rare.get()?.local.get()
    }
}

/// A mounted plugin. A handle: cheap to clone, and dropping it unloads nothing.
#[derive(Clone)]
pub struct Fiber {
    pub(crate) shared: Arc<Shared>,
    pub(crate) cell: Arc<FiberCell>,
}

impl Fiber {
    /// Its plugin's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.cell.name
    }

    /// Its number: counted up from 1, never used twice; 0 is the root.
    #[must_use]
    pub fn uid(&self) -> u64 {
        self.cell.uid
    }

    /// What errors, reports and traces call it: `name#uid`, which is one fiber's alone; `root` for the root.
    #[must_use]
    pub fn label(&self) -> String {
        self.cell.label()
    }

    /// Where it stands now.
    #[must_use]
    pub fn state(&self) -> State {
        self.cell.state()
    }

    /// Why it failed last; kept after disposal, cleared by a load that ends well.
    #[must_use]
    pub fn error(&self) -> Option<SharedError> {
        self.cell.error()
    }

    /// Waits until it neither loads nor unloads, and tells where it stands: Active, Pending for want of a need, or
    /// Disposed. Called from inside of what it would wait for, it does not wait.
    ///
    /// # Errors
    /// Its body failed; the cause is kept even after disposal.
    ///
    /// # Cancel safety
    /// Dropping the future stops only the waiting.
    pub async fn ready(&self) -> Result<State, FiberError> {
        self.shared.help();
        let waiter = Waiter::new(self);
        let (state, error) = poll_fn(|cx| self.poll_settled(&waiter, cx)).await;
        match error {
            Some(source) => Err(FiberError::Failed { plugin: self.cell.label(), source }),
            None => Ok(state),
        }
    }

    /// What it is settled as, seen at one moment.
    fn poll_settled(&self, waiter: &Waiter<'_>, cx: &mut Cx<'_>) -> Poll<(State, Option<SharedError>)> {
        let seen = {
            let mut fibers = self.shared.fibers.lock();
            let seen = (self.cell.state(), self.error());
            match fibers.get_mut(self.cell.id) {
                None => return Poll::Ready((State::Disposed, seen.1)),
                Some(data) if data.is_settled() => return Poll::Ready(seen),
                Some(data) => data.wait(waiter.id, cx),
            }
            seen
        };
        if self.shared.would_wait_for_caller(Target::Fiber(self.cell.id)) {
            return Poll::Ready(seen);
        }
        Poll::Pending
    }

    /// Waits until its state is `state`, for ever if need be. A state that has passed by the time it looks again is missed.
    pub async fn until(&self, state: State) {
        self.shared.help();
        let waiter = Waiter::new(self);
        poll_fn(|cx| {
            let mut fibers = self.shared.fibers.lock();
            if self.cell.state() == state {
                return Poll::Ready(());
            }
            if let Some(data) = fibers.get_mut(self.cell.id) {
                data.wait(waiter.id, cx);
            }
            Poll::Pending
        })
        .await;
    }

    /// Gives it another configuration and reloads it; waits until it is settled again.
    ///
    /// The configuration is checked first; while it is refused the plugin runs on with the old one. Listeners of
    /// [`UPDATE`](keys::UPDATE) wrap the change and may keep it from happening. Of updates during a load the last wins.
    ///
    /// # Errors
    /// It was refused, or the plugin failed with it.
    pub async fn update<C: Send + Sync + 'static>(&self, config: C) -> Result<(), UpdateError> {
        self.update_any(Arc::new(config), type_name::<C>()).await
    }

    async fn update_any(
        &self,
        config: Arc<dyn Any + Send + Sync>,
        given: &'static str,
    ) -> Result<(), UpdateError> {
        let plugin = {
            let fibers = self.shared.fibers.lock();
            fibers.get(self.cell.id).filter(|data| !data.disposing).and_then(|data| data.plugin.clone())
        };
        let disposed = || UpdateError::Disposed { plugin: self.cell.label(), state: self.state() };
        let Some(plugin) = plugin else {
            let bare = self.shared.fibers.lock().get(self.cell.id).is_some_and(|data| data.plugin.is_none());
            let plugin = self.cell.label();
            return Err(if bare { UpdateError::NoPlugin { plugin } } else { disposed() });
        };
        plugin.accepts(&*config, given, self.cell.label())?;
        if self.state() == crate::State::Active && self.is_update_heard() {
            let context = self.shared.root_context();
            let mut updating = Updating { fiber: self.clone(), config };
            let on = (self.clone(), updating.config.clone());
            let step = async |(fiber, checked): &(Fiber, Arc<dyn Any + Send + Sync>),
                              updating: &mut Updating| {
                fiber.take_over(&updating.config, checked)
            };
            let result = context.waterfall(keys::UPDATE, &mut updating, &on, step).await;
            let refused = |source| UpdateError::Refused { plugin: self.cell.label(), source };
            result.map_err(|panic| refused(panic.into()))?.map_err(refused)?;
        } else {
            self.take_over(&config, &config).map_err(|_| disposed())?;
        }
        self.ready().await?;
        Ok(())
    }

    fn is_update_heard(&self) -> bool {
        self.shared.meta.update.len() > 0 || self.cell.local_if_used().is_some()
    }

    /// Puts the configuration in force and asks for a reload; `checked` is the one that was checked already.
    fn take_over(
        &self,
        config: &Arc<dyn Any + Send + Sync>,
        checked: &Arc<dyn Any + Send + Sync>,
    ) -> Result<(), crate::BoxError> {
        let plugin = {
            let fibers = self.shared.fibers.lock();
            let data = fibers.get(self.cell.id).filter(|data| !data.disposing);
            data.and_then(|data| data.plugin.clone())
        };
        let gone = || FiberError::Disposed { plugin: self.cell.label(), state: self.state() };
        let plugin = plugin.ok_or_else(gone)?;
        // A listener of `internal/update` may have put another value in.
        if !Arc::ptr_eq(config, checked) {
            plugin.accepts(&**config, "value of another type", self.cell.label())?;
        }
        let old = plugin.configure(config.clone());
        let effect = self.shared.fibers.lock().get(self.cell.id).map_or(0, |data| data.effect);
        drop_reported(effect, &self.cell, || Label::Named("configuration".into()), old);
        self.shared.request_reload(self.cell.id, true);
        Ok(())
    }

    /// Unloads and loads again, or tries again after a failure; waits until it is settled. During a load it only waits.
    ///
    /// # Errors
    /// It is disposed, or its body failed.
    pub async fn restart(&self) -> Result<State, FiberError> {
        let state = self.state();
        if state == State::Disposed || !self.shared.request_reload(self.cell.id, false) {
            return Err(FiberError::Disposed { plugin: self.cell.label(), state });
        }
        self.ready().await
    }

    /// Unloads it for good: its registrations, services, tasks and child plugins, newest first, each awaited. When this
    /// returns nothing of it runs any more and what its closures captured is dropped; exceptions of its own and its child
    /// plugins are in the result ([`Disposed`]), those of dependants are reported to [`ERROR`](keys::ERROR).
    ///
    /// All callers wait for the same end. Called from code that this very unload waits for (its body, one of its
    /// listeners or tasks, a dependant or child), it only requests, and says so ([`Disposed::requested`]). The root is emptied and stays usable.
    ///
    /// # Cancel safety
    /// Dropping the future stops only the waiting.
    pub async fn dispose(&self) -> Disposed {
        let Some(gone) = self.shared.begin_dispose(self.cell.id) else { return Disposed::default() };
        self.shared.help();
        self.shared.end_of(&gone, Target::Fiber(self.cell.id)).await
    }

    /// Requests what [`dispose`](Fiber::dispose) does and returns at once.
    pub fn cancel(&self) {
        self.shared.request_dispose(self.cell.id);
    }

    /// Adds a need before the plugin first starts: from an observer of [`FIBER_CREATED`](keys::FIBER_CREATED).
    ///
    /// Returns whether it was added: afterwards, or when the key's name is in use with another type, it is not.
    pub fn also_needs<T: ?Sized + Send + Sync + 'static>(&self, key: crate::Key<T>) -> bool {
        self.shared.add_need(self.cell.id, key)
    }

    /// The context that the plugin's body is given, for observers that attach effects to its fiber.
    #[must_use]
    pub fn context(&self) -> crate::Context {
        self.shared.context_of(&self.cell)
    }
}

/// Somebody who waits for a change of a fiber; taken out when the wait is over or abandoned.
struct Waiter<'f> {
    fiber: &'f Fiber,
    id: u64,
}

impl<'f> Waiter<'f> {
    fn new(fiber: &'f Fiber) -> Self {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        Waiter { fiber, id: NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed) }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut fibers = self.fiber.shared.fibers.lock();
        let waker = fibers.get_mut(self.fiber.cell.id).and_then(|data| data.leave(self.id));
        drop(fibers);
        drop(waker);
    }
}

impl PartialEq for Fiber {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.cell, &other.cell)
    }
}

impl Eq for Fiber {}

/// As [`Fiber::label`].
impl fmt::Display for Fiber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.cell.label())
    }
}

impl fmt::Debug for Fiber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fiber({}, {})", self.cell.label(), self.state())
    }
}
