//! The identity of a scope and its place among other scopes.

use crate::{
    ScopeError,
    shared::Buckets,
    sync::{Arc, AtomicBool, AtomicUsize, Mutex, OnceLock, Ordering::*, Swap},
    table::Table,
};
use std::fmt;

static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);

/// Binding and rebinding take turns, so that two of them cannot close a cycle together.
#[cfg(not(cordis_shuttle))]
static LINKS: Mutex<()> = Mutex::new(());
#[cfg(cordis_shuttle)]
shuttle::lazy_static! { static ref LINKS: Mutex<()> = Mutex::new(()); }

/// An identity that registrations and dispatches can be tied to; compared by identity, cheap to clone.
///
/// A scope may have one parent. Dispatches at a scope are heard by listeners of that scope and of its ancestors; views of
/// a [`Layers`](crate::Layers) registry inherit from ancestors. The relation is read at each dispatch and each look-up,
/// so a rebinding counts at once. A child keeps its parent's identity alive, never the reverse.
///
/// Source: `ScopeKey` of the reference's scope primitive.
#[derive(Clone)]
pub struct ScopeKey(Arc<Inner>);

struct Inner {
    id: u64,
    /// The parent once it is final, that is when its binding is gone: lent to a dispatch without a count.
    settled: OnceLock<ScopeKey>,
    /// Whether there is a parent that may still change.
    movable: AtomicBool,
    parent: Swap<ScopeKey>,
    bound: Mutex<bool>,
    /// Whether it is, or was, anybody's parent: a scope that never was cannot close a cycle.
    has_children: AtomicBool,
    events: Buckets,
    /// How many scopes are open for it.
    open: AtomicUsize,
    /// Whether one ever was.
    opened: AtomicBool,
}

/// The capability to move a scope to another parent; only the one who bound it has it.
#[must_use = "without its binding a scope's parent is final"]
#[derive(Debug)]
pub struct ParentBinding {
    child: ScopeKey,
}

impl ScopeKey {
    /// A new identity without a parent.
    #[must_use]
    pub fn new() -> Self {
        ScopeKey(Arc::new(Inner {
            id: NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed),
            settled: OnceLock::new(),
            movable: AtomicBool::new(false),
            parent: Swap::empty(),
            bound: Mutex::default(),
            has_children: AtomicBool::new(false),
            events: Table::new(4),
            open: AtomicUsize::new(0),
            opened: AtomicBool::new(false),
        }))
    }

    /// A new identity below `parent`, for good.
    #[must_use]
    pub fn under(parent: &ScopeKey) -> Self {
        let key = ScopeKey::new();
        *key.0.bound.lock() = true;
        parent.0.has_children.store(true, Relaxed);
        let first = key.0.settled.set(parent.clone());
        debug_assert!(first.is_ok(), "a new scope has no parent");
        key
    }

    /// A number that no other scope of this process has.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// The parent, if one is bound.
    #[must_use]
    pub fn parent(&self) -> Option<ScopeKey> {
        if self.0.movable.load(Acquire)
            && let Some(parent) = self.0.parent.load_full()
        {
            return Some((*parent).clone());
        }
        self.0.settled.get().cloned()
    }

    /// Visits this scope and its ancestors, nearest first.
    #[inline]
    pub(crate) fn visit(&self, mut see: impl FnMut(&ScopeKey)) {
        let mut at = self;
        loop {
            see(at);
            // Looked at again after `movable`: the parent may settle in between.
            let settled = at.0.settled.get();
            if settled.is_none() && at.0.movable.load(Acquire) {
                break;
            }
            match settled.or_else(|| at.0.settled.get()) {
                Some(parent) => at = parent,
                None => return,
            }
        }
        // From a scope that may still move on, each step holds what it stands on.
        let mut above = at.parent();
        while let Some(scope) = above {
            see(&scope);
            above = scope.parent();
        }
    }

    /// This scope, its parent, and so on to the farthest ancestor.
    #[must_use]
    pub fn chain(&self) -> Vec<ScopeKey> {
        std::iter::successors(Some(self.clone()), ScopeKey::parent).collect()
    }

    /// Whether it, or an ancestor, had a [`Scope`](crate::Scope) and has none that is open any more: from the moment when the
    /// last one begins to close, before anything that was registered there is undone. An identity for which no scope was
    /// ever opened is not closed.
    ///
    /// Whoever acts in the name of a scope asks this after having asked what the scope's registrations say, guards for
    /// instance: what they said then was still complete.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        let mut closed = false;
        self.visit(|scope| closed |= scope.0.opened.load(SeqCst) && scope.0.open.load(SeqCst) == 0);
        closed
    }

    /// A scope is opened for it.
    pub(crate) fn open(&self) {
        self.0.open.fetch_add(1, SeqCst);
        self.0.opened.store(true, SeqCst);
    }

    /// One of its scopes begins to close.
    pub(crate) fn close(&self) {
        self.0.open.fetch_sub(1, SeqCst);
    }

    /// Binds the parent, once.
    ///
    /// # Errors
    /// A parent is bound already, or `parent` is this scope or one of its descendants.
    pub fn bind_parent(&self, parent: &ScopeKey) -> Result<ParentBinding, ScopeError> {
        let mut bound = self.0.bound.lock();
        if *bound {
            return Err(ScopeError::Bound { scope: self.id() });
        }
        self.link(parent)?;
        *bound = true;
        Ok(ParentBinding { child: self.clone() })
    }

    pub(crate) fn events(&self) -> &Buckets {
        &self.0.events
    }

    fn link(&self, parent: &ScopeKey) -> Result<(), ScopeError> {
        let turn = LINKS.lock();
        if self == parent || (self.0.has_children.load(Relaxed) && parent.chain().contains(self)) {
            return Err(ScopeError::Cycle { scope: self.id(), parent: parent.id() });
        }
        parent.0.has_children.store(true, Relaxed);
        let old = self.0.parent.swap(Some(Arc::new(parent.clone())));
        self.0.movable.store(true, Release);
        drop(turn);
        // With the last of an old parent its listeners' captures may go.
        drop(old);
        Ok(())
    }
}

impl ParentBinding {
    /// Moves the scope to another parent; the next dispatch and the next look-up follow it.
    ///
    /// # Errors
    /// `parent` is the scope itself or one of its descendants; the old link stays.
    pub fn rebind(&self, parent: &ScopeKey) -> Result<(), ScopeError> {
        self.child.link(parent)
    }
}

impl Drop for ParentBinding {
    /// Nobody can move the scope any more.
    fn drop(&mut self) {
        let inner = &self.child.0;
        if let Some(parent) = inner.parent.load_full() {
            let first = inner.settled.set((*parent).clone());
            debug_assert!(first.is_ok(), "a scope has one binding");
            // Readers that saw it movable find the settled parent when they find no other.
            drop(inner.parent.swap(None));
            inner.movable.store(false, Release);
        }
    }
}

impl Default for ScopeKey {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for ScopeKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for ScopeKey {}

impl std::hash::Hash for ScopeKey {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.id.hash(state);
    }
}

impl fmt::Debug for ScopeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScopeKey({})", self.0.id)
    }
}

impl Inner {
    fn unlink(&mut self, into: &mut Vec<ScopeKey>) {
        into.extend(self.settled.take());
        into.extend(self.parent.swap(None).and_then(Arc::into_inner));
    }
}

impl Drop for Inner {
    /// Unlinks the ancestors one by one: a chain of any length is dropped without recursion.
    fn drop(&mut self) {
        let mut todo: Vec<ScopeKey> = Vec::new();
        self.unlink(&mut todo);
        while let Some(ScopeKey(inner)) = todo.pop() {
            if let Some(mut inner) = Arc::into_inner(inner) {
                inner.unlink(&mut todo);
            }
        }
    }
}
