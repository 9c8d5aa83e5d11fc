//! A scope's lifetime: a child fiber whose registrations are tied to the scope and end with it.

use crate::{Context, Disposed, Fiber, Inactive, ScopeKey, State, sync::Arc};
use std::{fmt, ops::Deref};

/// Owns everything that is registered through its context, which is visible in that scope only.
///
/// Visibility and lifetime agree because both come from the one context. Closing rolls everything back and waits for
/// quiet; dropping only requests it. Several scopes may be opened for one key: one visibility, separate lifetimes.
///
/// ```
/// use cordis::{App, Emit};
/// use std::sync::{Arc, atomic::{AtomicU32, Ordering}};
///
/// const TURN: Emit<()> = Emit::new("agent/turn");
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), cordis::BoxError> {
/// let app = App::new()?;
/// let (agent, heard) = (app.scope()?, Arc::new(AtomicU32::new(0)));
/// let count = heard.clone();
/// agent.context().on(TURN).run(move |()| { count.fetch_add(1, Ordering::Relaxed); })?;
/// app.at(&agent).emit(TURN, &()); // heard
/// agent.context().emit(TURN, &()); // not heard: a context registers for its scope, it does not dispatch there
/// assert_eq!(heard.load(Ordering::Relaxed), 1);
/// agent.close().await;
/// # Ok(())
/// # }
/// ```
#[must_use = "a scope that is dropped is closed"]
pub struct Scope {
    ctx: Context,
    key: ScopeKey,
}

impl Context {
    /// Opens a scope with an identity of its own.
    ///
    /// # Errors
    /// The context is inactive.
    pub fn scope(&self) -> Result<Scope, Inactive> {
        self.scope_for(&ScopeKey::new())
    }

    /// Opens a scope below `parent`: its listeners hear nothing of the parent's, the parent's hear everything of it, and
    /// its view of layered registries inherits the parent's.
    ///
    /// # Errors
    /// The context is inactive.
    pub fn scope_under(&self, parent: &ScopeKey) -> Result<Scope, Inactive> {
        self.scope_for(&ScopeKey::under(parent))
    }

    /// Opens a scope for an identity that exists.
    ///
    /// # Errors
    /// The context is inactive.
    pub fn scope_for(&self, key: &ScopeKey) -> Result<Scope, Inactive> {
        let tagged = self.scoped(key.clone());
        let view = tagged.view_arc();
        let mut fibers = self.shared().fibers.lock();
        let cell = self.insert(&mut fibers, "open a scope", State::Active, "scope".into(), |data| {
            data.view = view.clone();
        })?;
        // Under the lock: nobody closes it before it is open.
        key.open();
        drop(fibers);
        let ctx = Context::new(self.shared().clone(), cell, view);
        Ok(Scope { ctx, key: key.clone() })
    }
}

impl Scope {
    /// The context that registers for this scope. It sees the services that the context it was opened from sees. It dispatches
    /// at no scope, as all contexts do: dispatch here by `ctx.at(&scope)`.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.ctx
    }

    /// Its identity.
    #[must_use]
    pub fn key(&self) -> &ScopeKey {
        &self.key
    }

    /// The fiber that owns its registrations.
    #[must_use]
    pub fn fiber(&self) -> Fiber {
        self.ctx.fiber()
    }

    /// Rolls back everything that was registered through its context and waits for quiet. Repeated and racing calls wait
    /// for the same end.
    ///
    /// # Cancel safety
    /// Dropping the future stops only the waiting.
    pub async fn close(&self) -> Disposed {
        self.fiber().dispose().await
    }
}

impl Deref for Scope {
    type Target = ScopeKey;

    fn deref(&self) -> &ScopeKey {
        &self.key
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        if self.ctx.cell().state() != State::Disposed {
            self.fiber().cancel();
        }
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({:?}, {:?})", self.key, Arc::as_ptr(self.ctx.cell()))
    }
}
