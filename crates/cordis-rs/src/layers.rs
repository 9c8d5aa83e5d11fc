//! Scope-aware storage for registries: a global layer and one for each scope that has something of its own.
//!
//! **Invariants** 1. Reads create no layer. 2. A scope's layer is dropped when all of its tables are empty. 3. An entry's
//! undo is installed before the change is told, so a refused change leaves nothing.
//!
//! Source: `ScopedLayers` of the reference's scope primitive.

use crate::{
    BoxError, Context, Effect, EntryUndo, Inactive, NamedEntries, ScopeKey,
    contain::contained,
    sync::{Arc, Mutex},
};
use std::{borrow::Cow, collections::HashMap, error::Error, fmt};

/// All tables that a registry keeps for one scope, or globally.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a layer of `cordis::Layers`",
    label = "does not implement `cordis::Layer`",
    note = "implement `Layer` and say when all of its tables are empty"
)]
pub trait Layer: Send + Sync + 'static {
    /// Whether nothing is registered in any of its tables.
    fn is_empty(&self) -> bool;
}

/// What takes a layer's change back: a closure, or the [`EntryUndo`] of a table.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot take a layer's change back",
    label = "neither an `EntryUndo` nor a closure",
    note = "return what the table's `insert` or `append` gave, or `move || {{ .. }}`"
)]
pub trait LayerUndo: Send + 'static {
    /// Takes the change back.
    fn undo(self);
}

impl LayerUndo for EntryUndo {
    fn undo(self) {
        EntryUndo::undo(&self);
    }
}

impl<F: FnOnce() + Send + 'static> LayerUndo for F {
    fn undo(self) {
        self();
    }
}

/// A change of a layer was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LayerError<E: Error + 'static> {
    /// See [`Inactive`].
    #[error(transparent)]
    Inactive(#[from] Inactive),
    /// The change itself failed.
    #[error(transparent)]
    Action(E),
    /// It was refused by those who were told; it has been taken back.
    #[error("the change was refused and taken back")]
    Refused(#[source] BoxError),
}

type Make<L> = Box<dyn Fn(Option<&ScopeKey>) -> L + Send + Sync>;
type OnChange = Box<dyn Fn(&Context) -> Result<(), BoxError> + Send + Sync>;

/// The shared store of a scope-aware registry; cheap to clone.
///
/// A view at a scope is the global layer, then its ancestors' farthest first, then its own: nearer shadows farther.
pub struct Layers<L> {
    inner: Arc<Inner<L>>,
}

struct Inner<L> {
    global: Arc<L>,
    scoped: Mutex<HashMap<ScopeKey, Entry<L>>>,
    make: Make<L>,
    on_change: OnChange,
}

struct Entry<L> {
    layer: Arc<L>,
    /// Changes under way; while there are any the layer stays.
    pins: usize,
    /// Counts changes, so that an emptiness seen before one is not taken for one seen after.
    changes: u64,
}

impl<L: Layer> Layers<L> {
    /// A store whose layers `make` makes: the global one now, a scope's when it first has something. `on_change` tells of
    /// each change after it was made; an error of it takes a registration back.
    #[must_use]
    pub fn new(
        make: impl Fn(Option<&ScopeKey>) -> L + Send + Sync + 'static,
        on_change: impl Fn(&Context) -> Result<(), BoxError> + Send + Sync + 'static,
    ) -> Self {
        let global = Arc::new(make(None));
        let (make, on_change) = (Box::new(make), Box::new(on_change));
        let inner = Inner { global, scoped: Mutex::default(), make, on_change };
        Layers { inner: Arc::new(inner) }
    }

    /// The global layer.
    #[must_use]
    pub fn global(&self) -> &L {
        &self.inner.global
    }

    /// The scope's own layer, without its ancestors': so that its own entries are not confused with inherited ones.
    #[must_use]
    pub fn peek(&self, scope: &ScopeKey) -> Option<Arc<L>> {
        self.inner.scoped.lock().get(scope).map(|entry| entry.layer.clone())
    }

    /// The layers along the scope's chain, farthest ancestor first; the global one is not among them.
    #[must_use]
    pub fn chain(&self, scope: &ScopeKey) -> Vec<Arc<L>> {
        let chain = scope.chain();
        let scoped = self.inner.scoped.lock();
        chain.iter().rev().filter_map(|scope| scoped.get(scope).map(|entry| entry.layer.clone())).collect()
    }

    /// One view of a named table: the global entries, then those along the chain. A name that is there already is
    /// overwritten in its place; a new one is appended.
    #[must_use]
    pub fn merge<V, E>(
        &self,
        scope: Option<&ScopeKey>,
        table: impl Fn(&L) -> &NamedEntries<V, E>,
    ) -> Vec<(Arc<str>, V)>
    where
        V: Clone + Send + Sync + 'static,
    {
        let mut view: Vec<(Arc<str>, V)> = table(self.global()).iter().collect();
        let mut places: HashMap<Arc<str>, usize> =
            view.iter().enumerate().map(|(place, (name, _))| (name.clone(), place)).collect();
        for layer in scope.map_or_else(Vec::new, |scope| self.chain(scope)) {
            for (name, value) in table(&layer).iter() {
                match places.get(&name) {
                    Some(place) => view[*place].1 = value,
                    None => {
                        places.insert(name.clone(), view.len());
                        view.push((name, value));
                    }
                }
            }
        }
        view
    }

    /// Changes the layer of the context's scope (the global one without) as an effect of the context, and tells of it.
    /// When the effect is undone the change is taken back, the layer dropped if it is empty, and that is told too.
    ///
    /// # Errors
    /// The context is inactive, `action` failed (nothing has changed), or the change was refused (it was taken back).
    pub fn effect<U, E>(
        &self,
        ctx: &Context,
        label: impl Into<Cow<'static, str>>,
        action: impl FnOnce(&L) -> Result<U, E>,
    ) -> Result<Effect, LayerError<E>>
    where
        U: LayerUndo,
        E: Error + 'static,
    {
        let effect = self.change(ctx, label.into(), true, action)?;
        let told = contained(|| (self.inner.on_change)(ctx));
        if let Err(refused) = told.unwrap_or_else(|panic| Err(format!("panicked: {panic}").into())) {
            effect.cancel();
            return Err(LayerError::Refused(refused));
        }
        Ok(effect)
    }

    /// As [`effect`](Layers::effect), and tells nobody, neither now nor when it is undone.
    ///
    /// # Errors
    /// The context is inactive, or `action` failed.
    pub fn effect_quietly<U, E>(
        &self,
        ctx: &Context,
        label: impl Into<Cow<'static, str>>,
        action: impl FnOnce(&L) -> Result<U, E>,
    ) -> Result<Effect, LayerError<E>>
    where
        U: LayerUndo,
        E: Error + 'static,
    {
        self.change(ctx, label.into(), false, action)
    }

    fn change<U, E>(
        &self,
        ctx: &Context,
        label: Cow<'static, str>,
        told: bool,
        action: impl FnOnce(&L) -> Result<U, E>,
    ) -> Result<Effect, LayerError<E>>
    where
        U: LayerUndo,
        E: Error + 'static,
    {
        ctx.shared().fibers.lock().accepting(ctx, "register in a layer")?;
        let scope = ctx.scope_key().cloned();
        let undo = {
            let pin = self.inner.pin(scope.as_ref());
            action(&pin.layer).map_err(LayerError::Action)?
        };
        let taken_back = TakeBack { inner: self.inner.clone(), scope, undo: Some(undo) };
        let (inner, teller) = (self.inner.clone(), ctx.clone());
        let effect = ctx.effect(label, async move || {
            drop(taken_back);
            if told { (inner.on_change)(&teller) } else { Ok(()) }
        })?;
        Ok(effect)
    }
}

impl<L: Layer> Inner<L> {
    /// The layer of a scope, made if need be, for a change. No lock is held while it is made or changed.
    fn pin(self: &Arc<Self>, scope: Option<&ScopeKey>) -> Pin<'_, L> {
        let Some(scope) = scope else { return Pin { inner: self, scope: None, layer: self.global.clone() } };
        let pin = |entry: &mut Entry<L>| {
            entry.pins += 1;
            entry.changes += 1;
            entry.layer.clone()
        };
        let found = self.scoped.lock().get_mut(scope).map(pin);
        let layer = found.unwrap_or_else(|| {
            let made = Arc::new((self.make)(Some(scope)));
            let mut scoped = self.scoped.lock();
            let fresh = || Entry { layer: made.clone(), pins: 0, changes: 0 };
            pin(scoped.entry(scope.clone()).or_insert_with(fresh))
        });
        Pin { inner: self, scope: Some(scope.clone()), layer }
    }
}

/// A layer that is being changed; dropped, it lets go of a layer that is empty then.
struct Pin<'l, L: Layer> {
    inner: &'l Arc<Inner<L>>,
    scope: Option<ScopeKey>,
    layer: Arc<L>,
}

impl<L: Layer> Drop for Pin<'_, L> {
    fn drop(&mut self) {
        let Some(scope) = &self.scope else { return };
        let changes = {
            let mut scoped = self.inner.scoped.lock();
            let Some(entry) = scoped.get_mut(scope) else { return };
            entry.pins -= 1;
            if entry.pins > 0 {
                return;
            }
            entry.changes
        };
        // Foreign code: outside of the lock, and looked at again under it by the number of changes.
        if !contained(|| self.layer.is_empty()).unwrap_or(false) {
            return;
        }
        let mut scoped = self.inner.scoped.lock();
        let unchanged = scoped.get(scope).is_some_and(|entry| entry.pins == 0 && entry.changes == changes);
        let dropped = if unchanged { scoped.remove_entry(scope) } else { None };
        drop(scoped);
        drop(dropped);
    }
}

/// Takes a change back when dropped, so that it is taken back too when its effect could not be registered.
struct TakeBack<L: Layer, U: LayerUndo> {
    inner: Arc<Inner<L>>,
    scope: Option<ScopeKey>,
    undo: Option<U>,
}

impl<L: Layer, U: LayerUndo> Drop for TakeBack<L, U> {
    fn drop(&mut self) {
        if let Some(undo) = self.undo.take() {
            let _pin = self.inner.pin(self.scope.as_ref());
            undo.undo();
        }
    }
}

impl<L> Clone for Layers<L> {
    fn clone(&self) -> Self {
        Layers { inner: self.inner.clone() }
    }
}

impl<L> fmt::Debug for Layers<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scopes = self.inner.scoped.lock().len();
        f.debug_struct("Layers").field("scopes", &scopes).finish_non_exhaustive()
    }
}
