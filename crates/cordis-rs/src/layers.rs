//! Scope-aware storage for registries: a global layer and one for each scope that has something of its own.
//!
//! **Invariants** 1. Reads create no layer. 2. A scope's layer is dropped when all of its tables are empty. 3. An entry's
//! undo is installed before the change is told, so a refused change leaves nothing.
//!
//! Source: `ScopedLayers` of the reference's scope primitive.

use crate::{
    BoxError, Context, Effect, EntryUndo, Inactive, NamedEntries, ScopeKey,
    sync::{Arc, Mutex, RwLock},
};
use std::{borrow::Cow, collections::HashMap, error::Error};

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
    #[error("the change was refused and taken back: {0}")]
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
    scoped: RwLock<HashMap<ScopeKey, Arc<L>>>,
    /// Changes of scoped layers take turns, so that none is dropped while another fills it.
    changing: Mutex<()>,
    make: Make<L>,
    on_change: OnChange,
}

impl<L: Layer> Layers<L> {
    /// A store whose layers `make` makes: the global one now, a scope's when it first has something. `on_change` tells of
    /// each change after it was made; an error of it takes a registration back.
    pub fn new(
        make: impl Fn(Option<&ScopeKey>) -> L + Send + Sync + 'static,
        on_change: impl Fn(&Context) -> Result<(), BoxError> + Send + Sync + 'static,
    ) -> Self {
        let global = Arc::new(make(None));
        let (make, on_change) = (Box::new(make), Box::new(on_change));
        let inner = Inner { global, scoped: RwLock::default(), changing: Mutex::default(), make, on_change };
        Layers { inner: Arc::new(inner) }
    }

    /// The global layer.
    pub fn global(&self) -> &L {
        &self.inner.global
    }

    /// The scope's own layer, without its ancestors': so that its own entries are not confused with inherited ones.
    pub fn peek(&self, scope: &ScopeKey) -> Option<Arc<L>> {
        self.inner.scoped.read().get(scope).cloned()
    }

    /// The layers along the scope's chain, farthest ancestor first; the global one is not among them.
    pub fn chain(&self, scope: &ScopeKey) -> Vec<Arc<L>> {
        let scoped = self.inner.scoped.read();
        scope.chain().iter().rev().filter_map(|scope| scoped.get(scope).cloned()).collect()
    }

    /// One view of a named table: the global entries, then those along the chain. A name that is there already is
    /// overwritten in its place; a new one is appended.
    pub fn merge<V, E>(
        &self,
        scope: Option<&ScopeKey>,
        table: impl Fn(&L) -> &NamedEntries<V, E>,
    ) -> Vec<(Arc<str>, V)>
    where
        V: Clone + Send + 'static,
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
        if let Err(refused) = (self.inner.on_change)(ctx) {
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
            let _turn = self.inner.changing.lock();
            let layer = self.inner.layer(scope.as_ref());
            let undo = action(&layer);
            drop(layer);
            if undo.is_err() {
                self.inner.drop_if_empty(scope.as_ref());
            }
            undo.map_err(LayerError::Action)?
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
    fn layer(&self, scope: Option<&ScopeKey>) -> Arc<L> {
        let Some(scope) = scope else { return self.global.clone() };
        if let Some(layer) = self.scoped.read().get(scope) {
            return layer.clone();
        }
        let layer = Arc::new((self.make)(Some(scope)));
        self.scoped.write().insert(scope.clone(), layer.clone());
        layer
    }

    fn drop_if_empty(&self, scope: Option<&ScopeKey>) {
        let Some(scope) = scope else { return };
        let empty = self.scoped.read().get(scope).is_some_and(|layer| layer.is_empty());
        let dropped = if empty { self.scoped.write().remove_entry(scope) } else { None };
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
        let _turn = self.inner.changing.lock();
        if let Some(undo) = self.undo.take() {
            undo.undo();
        }
        self.inner.drop_if_empty(self.scope.as_ref());
    }
}

impl<L> Clone for Layers<L> {
    fn clone(&self) -> Self {
        Layers { inner: self.inner.clone() }
    }
}
