//! A plugin host: everything is a plugin, plugins meet through services and typed events, and every registration is a
//! reversible effect owned by the plugin that made it.
//!
//! A plugin is an `async fn` that is given a [`Context`]. What it registers there (listeners, services, effects, tasks,
//! child plugins) goes when its [`Fiber`] is disposed, newest first, and when `dispose().await` returns nothing of it runs
//! any more. Plugins that need a service start when it is there and are reloaded when it changes.
//!
//! ```
//! use cordis::{App, BoxError, Context, Emit, Handle, Key, State, define};
//! use std::sync::Arc;
//!
//! const GREETING: Key<String> = Key::new("greeting");
//! const ARRIVED: Emit<String> = Emit::new("door/arrived");
//!
//! async fn door(ctx: &Context, greeting: Handle<String>, _config: &()) -> Result<(), BoxError> {
//!     let greeting = greeting.get()?.clone();
//!     ctx.on(ARRIVED).run(move |name| println!("{greeting}, {name}"))?;
//!     Ok(())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! let app = App::new()?;
//! let fiber = app.plugin(define("door").needs(GREETING).run(door), ())?;
//! assert_eq!(fiber.ready().await?, State::Pending);
//!
//! app.provide(GREETING, Arc::new("good evening".to_owned()))?;
//! assert_eq!(fiber.ready().await?, State::Active);
//! app.emit(ARRIVED, &"Ada".to_owned()); // good evening, Ada
//!
//! assert!(fiber.dispose().await.is_clean());
//! assert_eq!(app.listeners(ARRIVED), 0);
//! # Ok(())
//! # }
//! ```
//!
//! Where to look: [`App`] is the root and derefs to its [`Context`], through which everything is registered. [`define`] makes
//! a [`Plugin`] of a function, and mounting it gives a [`Fiber`]. A [`Key`] names a service, whose users get a [`Handle`];
//! [`Emit`], [`Announce`], [`Bail`], [`Parallel`], [`Serial`] and [`Waterfall`] name events, and their type is how they are
//! dispatched. An [`Effect`] is one registration, a [`Scope`] a place that registrations can be tied to, [`Layers`] a registry
//! that sees scopes. [`keys`] has the host's own events; [`Context::inspect`] shows what there is.
//!
//! Features: `catalog` (compiled-in plugins by name, configured by JSON), `log` (the recent trace records for plugins to read),
//! `testing` (helpers for the tests of plugin authors).

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]
#![warn(missing_debug_implementations)]

mod contain;
mod name;
#[cfg(not(cordis_shuttle))]
mod nudge;
mod ordered;
mod runtime;
mod sync;
mod table;

mod event;
mod listener;
mod on;

mod bucket;
mod call;
mod dispatch;
mod register;
mod route;
mod waterfall;

mod disposed;
mod done;
mod effect;
mod foreign;
mod frames;
mod lend;
mod waits;

mod needs;
mod service;
mod view;

mod decide;
mod disposal;
mod fiber;
mod fibers;
mod load;
mod plugin;
mod pump;
mod shared;
mod teardown;

mod entries;
mod layers;
mod scope;
mod scope_key;

mod app;
mod context;
mod registry;
mod task;
mod timer;

mod chain;
mod error;
mod inspect;
pub mod keys;
pub mod meta;
mod span;

#[cfg(feature = "catalog")]
pub mod catalog;
#[cfg(feature = "log")]
pub mod log;
#[cfg(feature = "testing")]
pub mod testing;

pub use app::{App, Unmet};
pub use chain::chain;
pub use context::Context;
pub use dispatch::At;
pub use disposed::{Disposed, HeldService, StillRunning};
pub use effect::{Cleanup, DEFAULT_LIMIT, Effect, Outcome};
pub use entries::{AnonymousEntries, Duplicate, EntryUndo, NamedEntries};
pub use error::{
    ContextDisposed, EffectError, Failure, Failures, FiberError, Gone, Inactive, ListenError, ListenerPanic,
    MountError, NoRuntime, ProvideError, ScopeError, SharedError, UpdateError,
};
pub use event::{Announce, Bail, Emit, Event, Mode, Parallel, Serial, Waterfall};
pub use fiber::{Fiber, State};
pub use fibers::FiberId;
pub use inspect::{Below, EffectNode, FiberNode, Inspection, NeedNode};
pub use layers::{Layer, LayerError, LayerUndo, Layers};
pub use lend::{Lent, LentCall, Refused};
pub use needs::Needs;
pub use on::On;
pub use plugin::{Apply, Define, FnPlugin, Plugin, PluginId, define};
pub use registry::{MountedPlugin, Registry};
pub use scope::Scope;
pub use scope_key::{ParentBinding, ScopeKey};
pub use service::{Handle, Key, Lease, Optional};
pub use timer::{Debounce, Throttle, Ticks};
pub use view::{Intercept, Merge, Realm};
pub use waterfall::{Next, Run};

/// Any error, at the points where plugins of different authors meet.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A boxed future that may borrow for `'a`.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
