//! What a context sees differently from its parent: scope, isolated services, intercepted configuration.

use crate::{Key, ScopeKey, name::Name, shared::Services, sync::Arc, table::Table};
use std::{any::Any, fmt, marker::PhantomData};

/// A place of its own for a service: contexts isolated with the same realm share the service, others do not see it.
#[derive(Clone)]
pub struct Realm(Arc<Services>);

impl Realm {
    /// A new realm, shared with nobody yet.
    #[must_use]
    pub fn new() -> Self {
        Realm(Arc::new(Table::new(1)))
    }

    pub(crate) fn services(&self) -> &Services {
        &self.0
    }
}

impl Default for Realm {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for Realm {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Realm {}

impl fmt::Debug for Realm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Realm({:p})", Arc::as_ptr(&self.0))
    }
}

/// A key of configuration that callers hang on their contexts and a service reads from the context it is called with.
pub struct Intercept<C> {
    pub(crate) name: Name,
    _config: PhantomData<fn() -> C>,
}

impl<C> Copy for Intercept<C> {}

impl<C> Clone for Intercept<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: Send + Sync + 'static> Intercept<C> {
    /// Declares the key.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Intercept { name: Name::new(name), _config: PhantomData }
    }

    /// The key's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name.text
    }
}

impl<C> fmt::Debug for Intercept<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Intercept({:?})", self.name.text)
    }
}

/// Configuration whose levels can be laid over one another.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be resolved from several levels of configuration",
    label = "does not implement `cordis::Merge`",
    note = "implement `Merge` and say how a nearer level is laid over a farther one"
)]
pub trait Merge {
    /// Lays `nearer` over `self`: what it sets wins, what it leaves open stays.
    fn merge(&mut self, nearer: &Self);
}

/// One level of a context's view. Persistent: a changed view is a new value, nobody's context changes under it.
#[derive(Clone, Default)]
pub(crate) struct View {
    pub(crate) scope: Option<ScopeKey>,
    isolates: Vec<(Name, Realm)>,
    intercepts: Vec<(Name, Arc<dyn Any + Send + Sync>)>,
}

impl View {
    #[inline]
    pub(crate) fn realm(&self, name: Name) -> Option<&Realm> {
        self.isolates.iter().find(|(isolated, _)| isolated.is(name)).map(|(_, realm)| realm)
    }

    pub(crate) fn isolated<T: ?Sized>(&self, key: Key<T>, realm: Realm) -> View {
        let mut view = self.clone();
        view.isolates.retain(|(name, _)| !name.is(key.name));
        view.isolates.push((key.name, realm));
        view
    }

    pub(crate) fn intercepted<C: Send + Sync + 'static>(&self, key: Intercept<C>, config: C) -> View {
        let mut view = self.clone();
        view.intercepts.push((key.name, Arc::new(config)));
        view
    }

    pub(crate) fn with_intercepts(&self, more: &[(Name, Arc<dyn Any + Send + Sync>)]) -> View {
        let mut view = self.clone();
        view.intercepts.extend(more.iter().cloned());
        view
    }

    pub(crate) fn scoped(&self, scope: ScopeKey) -> View {
        View { scope: Some(scope), ..self.clone() }
    }

    /// The levels of `key`, farthest first.
    pub(crate) fn levels<C: Send + Sync + 'static>(&self, key: Intercept<C>) -> Vec<Arc<C>> {
        let of_key = self.intercepts.iter().filter(|(name, _)| name.is(key.name));
        of_key.filter_map(|(_, level)| level.clone().downcast().ok()).collect()
    }
}
