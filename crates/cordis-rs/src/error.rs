//! One error type per operation. Each names the plugin, the key and what to do.
//!
//! The text leaves the cause to `source()`, so that who prints the whole chain prints each thing once. [`Failures`] has
//! several causes: its text has them all, and it has no `source()`.

use crate::{BoxError, Mode, State, chain::chain, sync::Arc};
use std::{error::Error, fmt};

/// An error that several callers are told of.
pub type SharedError = Arc<dyn Error + Send + Sync>;

/// The context's fiber is unloading, disposed or about to be: nothing can be registered on it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot {action} on inactive context `{plugin}`: its plugin is being unloaded; use a context that is still active"
)]
#[non_exhaustive]
pub struct Inactive {
    /// What was asked for.
    pub action: &'static str,
    /// The owner of the context, as `name#uid`.
    pub plugin: String,
}

impl Inactive {
    /// The reference's code for this error.
    pub const CODE: &'static str = "INACTIVE_EFFECT";
}

/// The provider of the service was unloaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "service `{service}` is gone: its provider was unloaded; declare it as a need to be reloaded with it"
)]
#[non_exhaustive]
pub struct Gone {
    /// The key's name.
    pub service: &'static str,
}

/// A listener could not be registered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// See [`Inactive`].
    #[error(transparent)]
    Inactive(#[from] Inactive),
    /// Another key of this name has another mode or other types.
    #[error(
        "`{plugin}` cannot listen to `{event}` as {mode}: a key of that name with another mode or other types is in use; \
         import the key's constant instead of declaring a second one"
    )]
    KeyConflict {
        /// The event's name.
        event: &'static str,
        /// The mode that was asked for.
        mode: Mode,
        /// Who asked.
        plugin: String,
    },
}

/// A service could not be provided.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProvideError {
    /// See [`Inactive`].
    #[error(transparent)]
    Inactive(#[from] Inactive),
    /// Somebody provides the service where this context would.
    #[error(
        "service `{service}` is already provided by `{owner}`: `{plugin}` can provide it in a context isolated for it"
    )]
    Taken {
        /// The key's name.
        service: &'static str,
        /// Who provides it.
        owner: String,
        /// Who tried to.
        plugin: String,
    },
    /// The plugin declared what it provides, and this is not among it.
    #[error("`{plugin}` did not declare that it provides `{service}`: add `.provides(..)` to its definition")]
    Undeclared {
        /// The key's name.
        service: &'static str,
        /// Who tried to.
        plugin: String,
    },
    /// Another key of this name has another type.
    #[error(
        "service key `{service}` is in use with another type: import its constant instead of declaring a second one"
    )]
    KeyConflict {
        /// The key's name.
        service: &'static str,
    },
}

/// A plugin could not be mounted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// See [`Inactive`].
    #[error(transparent)]
    Inactive(#[from] Inactive),
    /// A needed key has another type elsewhere.
    #[error(
        "`{plugin}` needs `{service}`, whose key is in use with another type: import its constant instead of declaring a second one"
    )]
    KeyConflict {
        /// The key's name.
        service: &'static str,
        /// The plugin's name.
        plugin: String,
    },
    /// An observer of [`FIBER_CREATED`](crate::keys::FIBER_CREATED) refused it; everything was rolled back.
    #[error("`{plugin}` was refused by an observer of its creation")]
    Refused {
        /// The plugin's name.
        plugin: String,
        /// The observer's error.
        source: BoxError,
    },
    /// The configuration could not be read.
    #[error("the configuration of `{plugin}` is invalid")]
    Config {
        /// The plugin's name.
        plugin: String,
        /// What is wrong with it.
        source: BoxError,
    },
}

/// An effect's set-up failed; what it had registered was undone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EffectError {
    /// See [`Inactive`].
    #[error(transparent)]
    Inactive(#[from] Inactive),
    /// The set-up returned an error or panicked.
    #[error("the set-up of effect `{label}` of `{plugin}` failed")]
    Setup {
        /// The effect's label.
        label: String,
        /// The owner.
        plugin: String,
        /// The cause.
        source: BoxError,
    },
}

/// The plugin has failed, or its fiber cannot do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum FiberError {
    /// Its body failed last time; a changed need, `update` or `restart` tries again.
    #[error("plugin `{plugin}` failed")]
    Failed {
        /// Its name, as `name#uid`.
        plugin: String,
        /// The cause; also kept after the fiber was disposed.
        source: SharedError,
    },
    /// The fiber is disposed or about to be.
    #[error("plugin `{plugin}` is {state}: mount it again to use it")]
    Disposed {
        /// Its name, as `name#uid`.
        plugin: String,
        /// Its state.
        state: State,
    },
}

/// A new configuration was not taken over, and the old one is still in force; or the plugin failed with the new one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// The fiber is disposed or about to be.
    #[error("cannot update `{plugin}`: it is {state}; mount it again")]
    Disposed {
        /// Its name, as `name#uid`.
        plugin: String,
        /// Its state.
        state: State,
    },
    /// The root and scopes run no plugin.
    #[error(
        "cannot update `{plugin}`: it runs no plugin and has no configuration; update the fiber that `plugin()` returned"
    )]
    NoPlugin {
        /// Its name.
        plugin: String,
    },
    /// The value is of another type than the plugin's `Config`.
    #[error("cannot update `{plugin}`: its configuration is a `{expected}`, not a `{given}`")]
    Type {
        /// Its name, as `name#uid`.
        plugin: String,
        /// The plugin's `Config`.
        expected: &'static str,
        /// What was given.
        given: &'static str,
    },
    /// The plugin's own validation refused it.
    #[error("cannot update `{plugin}`: invalid configuration")]
    Invalid {
        /// Its name, as `name#uid`.
        plugin: String,
        /// What is wrong with it.
        source: BoxError,
    },
    /// The plugin took the new configuration over and failed with it.
    #[error(transparent)]
    Failed(#[from] FiberError),
    /// A listener of [`UPDATE`](crate::keys::UPDATE) returned an error or panicked.
    #[error("the update of `{plugin}` was refused")]
    Refused {
        /// Its name, as `name#uid`.
        plugin: String,
        /// The cause.
        source: BoxError,
    },
}

/// A scope's parent could not be bound.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScopeError {
    /// It has a parent already.
    #[error("scope {scope} has a parent already: only the holder of its `ParentBinding` can move it")]
    Bound {
        /// The scope's id.
        scope: u64,
    },
    /// The parent is the scope itself or descends from it.
    #[error(
        "scope {scope} cannot have scope {parent} as its parent: that one is, or descends from, the scope itself"
    )]
    Cycle {
        /// The scope's id.
        scope: u64,
        /// The parent's id.
        parent: u64,
    },
}

/// The context went away before the time was up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the context of `{plugin}` has been disposed")]
#[non_exhaustive]
pub struct ContextDisposed {
    /// The owner of the context.
    pub plugin: String,
}

/// There is no tokio runtime to work on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoRuntime {
    /// Called outside of a runtime.
    #[error("no tokio runtime here: call `App::new()` inside `#[tokio::main]` or after `runtime.enter()`")]
    Outside,
    /// The runtime was built without timers.
    #[error("the tokio runtime has no timers: build it with `.enable_time()` or `.enable_all()`")]
    NoTimers,
}

/// A listener, or the innermost step of a waterfall, panicked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a listener of `{event}` of plugin `{plugin}` panicked: {message}")]
#[non_exhaustive]
pub struct ListenerPanic {
    /// The event's name.
    pub event: &'static str,
    /// The listener's owner, as `name#uid`; `dispatcher` for the innermost step.
    pub plugin: String,
    /// The panic's text.
    pub message: String,
}

/// What failed in one `parallel` dispatch, in the order of the listeners; never empty.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failures {
    /// The event's name.
    pub event: &'static str,
    /// Each failing listener.
    pub causes: Vec<Failure>,
}

/// One failing listener of a `parallel` dispatch.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failure {
    /// The listener's owner, as `name#uid`.
    pub plugin: String,
    /// Its error, or the text of its panic.
    pub cause: BoxError,
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} listener(s) of `{}` failed: ", self.causes.len(), self.event)?;
        for (i, failure) in self.causes.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            write!(f, "`{}`: {}", failure.plugin, chain(&*failure.cause))?;
        }
        Ok(())
    }
}

impl Error for Failures {}
