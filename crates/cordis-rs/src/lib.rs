//! A plugin host: everything is a plugin, plugins meet through services and typed events, and every registration is a
//! reversible effect owned by the plugin that made it.
//!
//! A plugin is an `async fn` that is given a [`Context`]. What it registers there (listeners, services, effects, tasks,
//! child plugins) goes when its [`Fiber`] is disposed, newest first, and when `dispose().await` returns nothing of it runs
//! any more. Plugins that need a service start when it is there and are reloaded when it changes.
//!
//! Five minutes: [a plugin](#a-plugin), [services](#services), [events](#events), [scopes](#scopes), [unloading](#unloading),
//! [when something goes wrong](#when-something-goes-wrong), [where to look](#where-to-look).
//!
//! # Why
//!
//! A program that is extended while it runs has two troubles. What an extension registered has to be found again and taken
//! back when it goes, in the right order, while other threads use it. And extensions that know one another cannot be
//! replaced. Here the host does the first, and keys instead of calls are for the second. Nobody writes a clean-up list, a flag that
//! says "stop", or code for the case that a service is half gone.
//!
//! # A plugin
//!
//! [`define`] makes one of a function. Mounting it gives a [`Fiber`]: the plugin, mounted once. The body runs later, never inside
//! of that call.
//!
//! ```
//! use cordis::{App, BoxError, Context, Emit, Plugin, State, define};
//!
//! /// Somebody came in; the payload is their name.
//! const ARRIVED: Emit<String> = Emit::new("door/arrived");
//!
//! struct Config {
//!     greeting: &'static str,
//! }
//!
//! fn plugin() -> impl Plugin<Config = Config> {
//!     define("door").run(apply)
//! }
//!
//! async fn apply(ctx: &Context, _needs: (), config: &Config) -> Result<(), BoxError> {
//!     println!("the light goes on");
//!     ctx.effect("light", async || println!("the light goes off"))?;
//!     ctx.on(ARRIVED).with(config.greeting).run(|greeting, name| println!("{greeting}, {name}!"))?;
//!     Ok(())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! let app = App::new()?;
//! let door = app.plugin(plugin(), Config { greeting: "Hello" })?;
//! assert_eq!(door.ready().await?, State::Active); // the light goes on
//! app.emit(ARRIVED, &"Ada".into()); // Hello, Ada!
//! door.update(Config { greeting: "Good evening" }).await?; // off, on
//! app.emit(ARRIVED, &"Ada".into()); // Good evening, Ada!
//!
//! assert!(door.dispose().await.is_clean()); // the light goes off
//! assert_eq!(app.listeners(ARRIVED), 0);
//! # Ok(())
//! # }
//! ```
//!
//! # Services
//!
//! A [`Key`] names a service and has its type; `dyn Trait` will do. What a plugin declares as a need is what its body is given: a
//! [`Handle`], which is weak and may be kept. Its plugin waits until the service is there, is unloaded before it goes, and is
//! loaded again with the next one.
//!
//! ```
//! use cordis::{App, BoxError, Context, Handle, Key, State, define};
//! use std::sync::Arc;
//!
//! trait Translator: Send + Sync {
//!     fn translate(&self, word: &str) -> String;
//! }
//!
//! const TRANSLATOR: Key<dyn Translator> = Key::new("translator");
//!
//! async fn guide(ctx: &Context, translator: Handle<dyn Translator>, _config: &()) -> Result<(), BoxError> {
//!     println!("bread is {}", translator.get()?.translate("bread")); // `get` lends it for a moment
//!     ctx.effect("goodbye", async || println!("the guide leaves"))?;
//!     Ok(())
//! }
//!
//! # struct French;
//! # impl Translator for French {
//! #     fn translate(&self, _: &str) -> String { "pain".into() }
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! let app = App::new()?;
//! let guide = app.plugin(define("guide").needs(TRANSLATOR).run(guide), ())?;
//! assert_eq!(guide.ready().await?, State::Pending);
//! assert_eq!(
//!     app.check()[0].to_string(),
//!     "`guide#1` waits for service `translator`: nothing provides it; mount a plugin that does"
//! );
//!
//! let french = app.provide(TRANSLATOR, Arc::new(French))?;
//! assert_eq!(guide.ready().await?, State::Active); // bread is pain
//! let kept = app.get(TRANSLATOR).ok_or("it is there")?;
//! french.dispose().await; // the guide leaves first
//! assert_eq!(guide.state(), State::Pending);
//! assert!(kept.get().is_err()); // gone, and says so
//! # Ok(())
//! # }
//! ```
//!
//! # Events
//!
//! The type of an event's key is how it is dispatched. A listener of another shape, or a dispatch in another mode, does not compile.
//!
//! | key | asks | a listener gives | the dispatch gives |
//! |---|---|---|---|
//! | [`Emit`] | "it has happened" | nothing | nothing; all are told |
//! | [`Announce`] | "any objection?" | `Result<(), BoxError>` | the first error |
//! | [`Bail`] | "who knows?" | `Option<R>` | the first answer |
//! | [`Parallel`] | "all of you, to the end" | `Result<(), BoxError>`, async | every error |
//! | [`Serial`] | "one after another, until one can" | `Result<Option<R>, BoxError>`, async | the first answer or error |
//! | [`Waterfall`] | "do it, each around the next" | `R`, async, may run [`Next`] | what comes out of the outermost |
//!
//! Listeners run in the order of registration, prepended ones first. An async listener is an `async fn` or an `async` closure
//! that captures nothing, and is lent its state by [`with`](On::with).
//!
//! ```
//! use cordis::{App, BoxError, Next, Waterfall};
//!
//! /// What so many of something cost.
//! const PRICE: Waterfall<u32, u32> = Waterfall::new("shop/price");
//!
//! async fn discount(percent: &u32, count: &mut u32, next: Next<'_, u32, u32>) -> u32 {
//!     next.run(count).await * (100 - percent) / 100 // leave `next` out, and nothing below runs
//! }
//!
//! struct Till;
//!
//! impl Till {
//!     async fn full(&self, count: &mut u32) -> u32 {
//!         *count * 7
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! let app = App::new()?;
//! let sale = app.on(PRICE).with(20).run(discount)?;
//! assert_eq!(app.waterfall(PRICE, &mut 10, &Till, Till::full).await?, 56);
//! sale.dispose().await;
//! assert_eq!(app.waterfall(PRICE, &mut 10, &Till, Till::full).await?, 70);
//! # Ok(())
//! # }
//! ```
//!
//! # Scopes
//!
//! A [`Scope`] ties registrations to one of many: a customer, a session, an agent. What is registered through its context is met only
//! by what happens there or below, and closing it rolls all of it back. A plugin does not notice where it is mounted.
//!
//! ```
//! use cordis::{App, BoxError, Emit, ScopeKey};
//!
//! struct Order {
//!     customer: ScopeKey,
//! }
//!
//! /// The key knows its subject, so no dispatch can forget the scope.
//! const ORDERED: Emit<Order> = Emit::new("shop/ordered").scoped_by(|order| Some(&order.customer));
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! let app = App::new()?;
//! let (ada, bob) = (app.scope()?, app.scope()?);
//! app.on(ORDERED).run(|_| println!("somebody has ordered"))?;
//! ada.context().on(ORDERED).run(|_| println!("Ada has ordered"))?;
//! app.emit(ORDERED, &Order { customer: ada.key().clone() }); // both
//! app.emit(ORDERED, &Order { customer: bob.key().clone() }); // the first
//! ada.close().await;
//! assert_eq!(app.at(&ada).listeners(ORDERED), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Unloading
//!
//! When [`Fiber::dispose`] returns, no listener, service, task, timer or child of the plugin is left, none of its code runs on any
//! thread, and what its closures captured has been dropped. Steps are undone newest first, each awaited; dependants go before what
//! they depend on. Code that is inside of what it disposes only requests it, so nobody waits for himself. What did not end within
//! its limit, and values that others still lease, are named in the [`Disposed`] that is returned.
//!
//! No lock is held while a plugin's code runs: any of it may register, dispose, provide, emit or unload anything, itself included.
//!
//! # When something goes wrong
//!
//! One failure stays one failure. A body that fails is rolled back, and its fiber says why; a listener that panics is reported, and
//! the next one is called. What has no caller to go to is traced, and told to [`keys::ERROR`]. A plugin that has failed tries
//! again with another configuration, by [`Fiber::restart`], or when a service that it needs changes.
//!
//! ```
//! use cordis::{App, BoxError, Context, Emit, define, keys};
//!
//! const TICK: Emit<u32> = Emit::new("tick");
//!
//! async fn doomed(ctx: &Context, _needs: (), _config: &()) -> Result<(), BoxError> {
//!     ctx.on(TICK).run(|_| println!("never heard"))?;
//!     Err("no licence".into())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! let app = App::new()?;
//! app.on(keys::ERROR).run(|report| eprintln!("{report}"))?; // `body` of `doomed#1`: no licence
//! let doomed = app.plugin(define("doomed").run(doomed), ())?;
//! assert_eq!(doomed.ready().await.unwrap_err().to_string(), "plugin `doomed#1` failed");
//! assert_eq!(app.listeners(TICK), 0);
//! print!("{}", app.inspect()); // what there is, as a tree
//! # Ok(())
//! # }
//! ```
//!
//! # Where to look
//!
//! | for | see |
//! |---|---|
//! | the root, and what a plugin registers through | [`App`], [`Context`] |
//! | plugins | [`define`], [`Plugin`], [`Fiber`], [`State`] |
//! | services | [`Key`], [`Handle`], [`Lease`], [`Context::provide`], [`Context::isolate`] |
//! | listeners and dispatch | [`Context::on`], [`Context::emit`], [`Context::waterfall`], [`Context::at`] |
//! | one registration, and groups of them | [`Effect`], [`Context::effect`], [`Context::effect_with`], [`Context::effects`] |
//! | tasks and time | [`Context::spawn`], [`Context::sleep`], [`Context::interval`], [`Context::timeout`] |
//! | code that others call later | [`Context::lend`], [`Lent`] |
//! | scopes, and registries that see them | [`Scope`], [`ScopeKey`], [`Layers`] |
//! | the host's own events, and what there is | [`keys`], [`Context::inspect`], [`App::check`] |
//!
//! In the repository, `docs/guide` goes on from here, page by page; `docs/cookbook` has recipes, `docs/architecture.md` says where
//! everything is, and `examples/examples` holds programs that print their proof.
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
