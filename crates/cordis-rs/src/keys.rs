//! The host's own events. They are dispatched at no scope: a listener registered through a scope's context hears them when it
//! is `global`.

use crate::{
    Announce, Bail, BoxError, Effect, Emit, Fiber, Waterfall,
    meta::{Configuring, Dispatched, Registration, Report, ServiceChange, StatusChange, Updating},
};

/// A plugin was mounted and waits, pending. Told before its needs are looked at, so an observer may add needs
/// ([`Fiber::also_needs`]) or effects ([`Fiber::context`]); one that fails keeps it from being mounted: everything is
/// rolled back and `plugin()` returns the error. Not scope-filtered. Source: `internal/plugin`.
pub const FIBER_CREATED: Announce<Fiber> = Announce::new("internal/plugin");

/// A plugin is about to be unloaded for good; its state is still the old one. Not scope-filtered. A failing observer is
/// reported and stops nothing. Source: `internal/plugin` with a fiber that has lost its uid.
pub const FIBER_DISPOSING: Emit<Fiber> = Emit::new("internal/plugin-disposing");

/// A fiber's state has changed. Told after the change, in the order of the changes of that fiber; not scope-filtered.
/// Source: `internal/status`.
pub const STATUS: Emit<StatusChange> = Emit::new("internal/status");

/// A service became available (its provider is active), is about to go (its provider unloads) or is gone. Not
/// scope-filtered. Source: `internal/service`.
pub const SERVICE: Emit<ServiceChange> = Emit::new("internal/service");

/// A listener is about to be registered. An observer that returns an effect takes the registration over: the listener is
/// dropped and the caller is given that effect. The host's own events are not told. Source: `internal/listener`.
pub const LISTENER: Bail<Registration, Effect> = Bail::new("internal/listener");

/// A dispatch is about to begin; told in every mode, before the listeners are looked at. The host's own events are not
/// told. Source: `internal/dispatch`.
pub const DISPATCH: Emit<Dispatched> = Emit::new("internal/dispatch");

/// A plugin's needs are met and its body is about to start. A listener may replace the configuration by another of the
/// same type; an error makes the fiber fail. Runs as part of the load, so it is cancelled with it. Source:
/// `internal/config`.
pub const CONFIG: Waterfall<Configuring, Result<(), BoxError>> = Waterfall::new("internal/config");

/// An active plugin was given another configuration, which its own validation accepted. A listener that does not call
/// `next` keeps the plugin running as it is; its result is that of `update`. Listeners hear the updates of the fiber that
/// they are registered in, `global` ones all. Source: `internal/update`.
pub const UPDATE: Waterfall<Updating, Result<(), BoxError>> =
    Waterfall::new("internal/update").scoped_by(Updating::scope).of_own_fiber();

/// Something failed that has no caller to go to: a listener of `emit` or `bail`, a body, a task, a disposer. The same is
/// traced at error level. Not scope-filtered; an observer that fails itself is ignored.
pub const ERROR: Emit<Report> = Emit::new("internal/error");
