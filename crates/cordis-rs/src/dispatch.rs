//! One dispatch: where it is routed, and the modes that run on the caller's stack.

use crate::{
    Announce, Bail, BoxError, Context, Emit, Event, ListenerPanic, ScopeKey,
    bucket::{Entry, Snapshot},
    contain::panic_text,
    fiber::FiberCell,
    frames, keys,
    meta::Dispatched,
    route,
    shared::Shared,
    span,
    sync::{Arc, Ordering::*},
};
use std::{
    fmt,
    ops::ControlFlow::{self, Break, Continue},
    panic::{AssertUnwindSafe, catch_unwind},
};

/// A dispatcher at one scope, from [`Context::at`], or at none.
///
/// Meant for events whose key names no subject. Where the key names one, the subject decides and this scope is not used,
/// so that a per-agent listener cannot be missed by dispatching in the wrong place.
#[derive(Clone, Copy)]
#[must_use = "nothing is dispatched before one of its methods is called"]
pub struct At<'d> {
    pub(crate) shared: &'d Arc<Shared>,
    pub(crate) scope: Option<&'d ScopeKey>,
}

/// A snapshot and how far the dispatch is in it.
type Cursor<'s, L> = (&'s Snapshot<Arc<L>>, usize);

/// What a dispatch does after a listener panicked.
type OnPanic<'f, B> = &'f mut dyn FnMut(&FiberCell, String) -> ControlFlow<B>;

impl<'d> At<'d> {
    /// How many listeners a dispatch of `key` would reach here: unscoped ones, and those of the scope and its ancestors.
    #[must_use]
    pub fn listeners<E: Event>(self, key: E) -> usize {
        route::count(self.shared, self.scope, key)
    }

    /// Tells every listener; see [`Emit`].
    #[inline]
    pub fn emit<P>(self, key: Emit<P>, payload: &P) {
        self.started(key);
        let report = &mut |owner: &FiberCell, text| {
            self.shared.report_panic(owner, key.name(), text);
            Continue(())
        };
        let _: Option<()> = self.each(
            key,
            if key.is_routed() { key.subject(payload) } else { self.scope },
            |listener| {
                listener.call(payload);
                Continue(())
            },
            report,
        );
    }

    /// Tells listeners until one refuses; see [`Announce`].
    ///
    /// # Errors
    /// The first error, or a [`ListenerPanic`].
    pub fn announce<P>(self, key: Announce<P>, payload: &P) -> Result<(), BoxError> {
        self.started(key);
        let stop = &mut |owner: &FiberCell, message| {
            let panic = ListenerPanic { event: key.name(), plugin: owner.label(), message };
            Break(Box::new(panic) as BoxError)
        };
        let scope = if key.is_routed() { key.subject(payload) } else { self.scope };
        let refused = self.each(
            key,
            scope,
            |listener| match listener.call(payload) {
                Ok(()) => Continue(()),
                Err(error) => Break(error),
            },
            stop,
        );
        refused.map_or(Ok(()), Err)
    }

    /// Asks listeners until one answers; see [`Bail`].
    pub fn bail<P, R>(self, key: Bail<P, R>, payload: &P) -> Option<R> {
        self.started(key);
        let report = &mut |owner: &FiberCell, text| {
            self.shared.report_panic(owner, key.name(), text);
            Continue(())
        };
        let scope = if key.is_routed() { key.subject(payload) } else { self.scope };
        self.each(key, scope, |listener| listener.call(payload).map_or(Continue(()), Break), report)
    }

    /// `internal/dispatch`, before each dispatch of an event that is not the host's own.
    #[inline]
    pub(crate) fn started<E: Event>(self, key: E) {
        if self.shared.meta.dispatch.len() > 0 {
            self.tell_started(key);
        }
    }

    #[cold]
    fn tell_started<E: Event>(self, key: E) {
        if !key.name().starts_with("internal/") {
            self.emit(keys::DISPATCH, &Dispatched { event: key.name(), mode: key.mode() });
        }
    }

    /// Calls the listeners in order. One `catch_unwind`, one pin a bucket and one frame for all of them; after a panic
    /// it goes on behind the one that panicked.
    #[inline]
    fn each<E, L, B>(
        self,
        key: E,
        scope: Option<&ScopeKey>,
        call: impl FnMut(&L) -> ControlFlow<B>,
        on_panic: OnPanic<'_, B>,
    ) -> Option<B>
    where
        E: Event<Entry = L, Kept = Arc<L>>,
        L: ?Sized + Entry,
    {
        if scope.is_some() {
            return self.each_scoped(key, scope, call, on_panic);
        }
        let bucket = route::unscoped(self.shared, key)?;
        let pin = bucket.pin();
        self.run(pin.as_deref()?, call, on_panic)
    }

    /// Calls one listener, unless it has gone or was claimed meanwhile.
    #[inline(always)]
    fn call_one<L, B>(
        self,
        snapshot: &Snapshot<Arc<L>>,
        entry: &L,
        traced: bool,
        call: &mut impl FnMut(&L) -> ControlFlow<B>,
    ) -> ControlFlow<B>
    where
        L: ?Sized + Entry,
    {
        if snapshot.careful.load(Relaxed) && !self.shared.begin(entry.head().0) {
            return Continue(());
        }
        if traced { span::within(&entry.head().0.owner, || call(entry)) } else { call(entry) }
    }

    #[inline(never)]
    pub(crate) fn run<L, B>(
        self,
        snapshot: &Snapshot<Arc<L>>,
        mut call: impl FnMut(&L) -> ControlFlow<B>,
        on_panic: OnPanic<'_, B>,
    ) -> Option<B>
    where
        L: ?Sized + Entry,
    {
        let _sync = frames::enter_sync();
        let traced = span::wanted();
        let mut rest = snapshot.items.iter();
        loop {
            let ended = catch_unwind(AssertUnwindSafe(|| {
                for entry in rest.by_ref() {
                    if let Break(answer) = self.call_one(snapshot, entry, traced, &mut call) {
                        return Some(answer);
                    }
                }
                None
            }));
            match ended {
                Ok(answer) => return answer,
                Err(payload) => {
                    let panicked = &snapshot.items[snapshot.items.len() - rest.len() - 1];
                    if let Break(answer) = on_panic(&panicked.head().0.owner, panic_text(payload)) {
                        return Some(answer);
                    }
                }
            }
        }
    }

    #[inline(never)]
    fn each_scoped<E, L, B>(
        self,
        key: E,
        scope: Option<&ScopeKey>,
        mut call: impl FnMut(&L) -> ControlFlow<B>,
        on_panic: OnPanic<'_, B>,
    ) -> Option<B>
    where
        E: Event<Entry = L, Kept = Arc<L>>,
        L: ?Sized + Entry,
    {
        let (first, more) = route::pin(self.shared, scope, key);
        if more.is_empty() {
            return self.run(first.as_ref()?.as_deref()?, call, on_panic);
        }
        let _sync = frames::enter_sync();
        let traced = span::wanted();
        let mut rest: smallvec::SmallVec<[Cursor<'_, L>; 4]> =
            first.iter().chain(&more).filter_map(|pin| Some((pin.as_deref()?, 0))).collect();
        loop {
            let mut current = None;
            let ended = catch_unwind(AssertUnwindSafe(|| {
                loop {
                    let mut next: Option<(i64, usize)> = None;
                    for (place, (snapshot, at)) in rest.iter().enumerate() {
                        if let Some(order) = snapshot.orders.get(*at)
                            && next.is_none_or(|(first, _)| *order < first)
                        {
                            next = Some((*order, place));
                        }
                    }
                    let (snapshot, at) = rest.get_mut(next?.1)?;
                    let entry = &snapshot.items[*at];
                    *at += 1;
                    current = Some(entry);
                    if let Break(answer) = self.call_one(snapshot, entry, traced, &mut call) {
                        return Some(answer);
                    }
                }
            }));
            match (ended, current) {
                (Ok(answer), _) => return answer,
                (Err(_), None) => return None,
                (Err(payload), Some(entry)) => {
                    if let Break(answer) = on_panic(&entry.head().0.owner, panic_text(payload)) {
                        return Some(answer);
                    }
                }
            }
        }
    }
}

impl Context {
    /// Dispatches at `scope`; for events whose key names no subject.
    pub fn at<'d>(&'d self, scope: &'d ScopeKey) -> At<'d> {
        At { shared: self.shared(), scope: Some(scope) }
    }

    /// Dispatches at no scope, wherever this context registers.
    #[inline(always)]
    pub(crate) fn unscoped(&self) -> At<'_> {
        At { shared: self.shared(), scope: None }
    }

    /// Tells the listeners, in order, on this stack; see [`Emit`].
    ///
    /// Where the key names no subject this dispatches at **no scope**, wherever this context registers: listeners of a scope
    /// hear [`ctx.at(&scope).emit(..)`](Context::at). The same goes for all modes.
    #[inline]
    pub fn emit<P>(&self, key: Emit<P>, payload: &P) {
        self.unscoped().emit(key, payload);
    }

    /// Tells listeners, in order, until one refuses; see [`Announce`].
    ///
    /// # Errors
    /// The first error, or a [`ListenerPanic`].
    pub fn announce<P>(&self, key: Announce<P>, payload: &P) -> Result<(), BoxError> {
        self.unscoped().announce(key, payload)
    }

    /// Asks listeners, in order, until one answers; see [`Bail`].
    pub fn bail<P, R>(&self, key: Bail<P, R>, payload: &P) -> Option<R> {
        self.unscoped().bail(key, payload)
    }
}

impl fmt::Debug for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("At").field("scope", &self.scope).finish_non_exhaustive()
    }
}
