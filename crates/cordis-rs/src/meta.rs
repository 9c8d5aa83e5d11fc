//! The payloads of the host's own events.

use crate::{
    BoxError, Context, Effect, Fiber, Mode, ScopeKey, State,
    bucket::{Bucket, Kept},
    dispatch::At,
    keys,
    listener::Observe,
    register::bucket_of,
    shared::{AnySlot, Buckets, Shared},
    sync::{Arc, Weak},
    waterfall::Around,
};
use std::{any::Any, fmt, ops::ControlFlow::Continue};

/// A fiber's state has changed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StatusChange {
    /// Whose.
    pub fiber: Fiber,
    /// What it was.
    pub from: State,
    /// What it is.
    pub to: State,
}

/// A service came, is about to go, or went.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServiceChange {
    /// The key's name.
    pub service: &'static str,
    /// Whether there is a value still or already; false after removal.
    pub present: bool,
    /// Whether `get` gives it: its provider is active.
    pub available: bool,
    /// Who provides it, as `name#uid`.
    pub provider: String,
}

/// A listener is about to be registered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Registration {
    /// The event's name.
    pub event: &'static str,
    /// The event's mode.
    pub mode: Mode,
    /// Whether it goes first.
    pub prepend: bool,
    /// Whether it runs at most once.
    pub once: bool,
    /// Whether it hears every scope.
    pub global: bool,
    /// Who registers it.
    pub fiber: Fiber,
}

/// A dispatch is about to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dispatched {
    /// The event's name.
    pub event: &'static str,
    /// The event's mode.
    pub mode: Mode,
}

/// A plugin is about to be activated; a listener may give it another configuration of the same type.
#[derive(Clone)]
#[non_exhaustive]
pub struct Configuring {
    /// Which.
    pub fiber: Fiber,
    /// The configuration as it was given, or as the last listener left it.
    pub config: Arc<dyn Any + Send + Sync>,
}

/// An active plugin is about to be given another configuration; without `next` it keeps the old one.
#[derive(Clone)]
#[non_exhaustive]
pub struct Updating {
    /// Which.
    pub fiber: Fiber,
    /// The new configuration, checked already.
    pub config: Arc<dyn Any + Send + Sync>,
}

/// A failure that has no caller to go to: a listener of `emit` or `bail`, a body, a task or a disposer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Whose, as `name#uid`.
    pub plugin: String,
    /// Which of its effects, or `body`.
    pub step: String,
    /// What happened.
    pub message: String,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` of `{}`: {}", self.step, self.plugin, self.message)
    }
}

impl Updating {
    pub(crate) fn scope(&self) -> Option<&ScopeKey> {
        self.fiber.cell.local_if_used()
    }
}

impl fmt::Debug for Configuring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Configuring({:?})", self.fiber)
    }
}

impl fmt::Debug for Updating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Updating({:?})", self.fiber)
    }
}

type Observers<P, R = ()> = Arc<Bucket<dyn Observe<P, R>, Arc<dyn Observe<P, R>>>>;
type Wrappers<A, R> = Arc<Bucket<dyn Around<A, R>, Weak<dyn Around<A, R>>>>;

/// The buckets of the host's own events: whether anybody listens is one load.
pub(crate) struct Meta {
    pub(crate) created: Observers<Fiber, Result<(), BoxError>>,
    pub(crate) disposing: Observers<Fiber>,
    pub(crate) status: Observers<StatusChange>,
    pub(crate) service: Observers<ServiceChange>,
    pub(crate) listener: Observers<Registration, Option<Effect>>,
    pub(crate) dispatch: Observers<Dispatched>,
    pub(crate) error: Observers<Report>,
    pub(crate) config: Wrappers<Configuring, Result<(), BoxError>>,
    pub(crate) update: Wrappers<Updating, Result<(), BoxError>>,
}

impl Meta {
    pub(crate) fn new(events: &Buckets) -> Self {
        Meta {
            created: bucket(events, keys::FIBER_CREATED),
            disposing: bucket(events, keys::FIBER_DISPOSING),
            status: bucket(events, keys::STATUS),
            service: bucket(events, keys::SERVICE),
            listener: bucket(events, keys::LISTENER),
            dispatch: bucket(events, keys::DISPATCH),
            error: bucket(events, keys::ERROR),
            config: bucket(events, keys::CONFIG),
            update: bucket(events, keys::UPDATE),
        }
    }

    /// Tells the observers of failures. What fails while they are told is traced only: that could go on for ever.
    pub(crate) fn tell_error(&self, shared: &Arc<Shared>, report: &Report) {
        let Some(_telling) = crate::frames::tell() else { return };
        let pin = self.error.pin();
        let Some(snapshot) = pin.as_deref() else { return };
        let tell = |observer: &dyn Observe<Report, ()>| {
            observer.call(report);
            Continue(())
        };
        let _: Option<()> = At { shared, scope: None }.run(snapshot, tell, &mut |_, _| Continue(()));
    }
}

fn bucket<E: crate::Event>(events: &Buckets, key: E) -> Arc<Bucket<E::Entry, E::Kept>>
where
    E::Kept: Kept<E::Entry>,
{
    let name = key.key().0;
    let make = || Box::new(Arc::new(Bucket::<E::Entry, E::Kept>::new())) as AnySlot;
    let made = bucket_of::<E>(events.get_or_insert(name, make)).cloned();
    made.unwrap_or_else(|| Arc::new(Bucket::new()))
}

impl Context {
    /// Tells the observers of failures, and the trace, of one that has no caller to go to.
    pub fn report(&self, step: &str, message: impl fmt::Display) {
        self.shared().report(self.cell().label(), step, message.to_string());
    }
}
