//! One running call of an asynchronous listener, and the dispatch modes `serial` and `parallel`.

use crate::{
    BoxError, BoxFuture, Context, Event, Failures, Parallel, Serial,
    bucket::{Entry, Snapshot},
    contain::panic_text,
    dispatch::At,
    error::Failure,
    frames::{self, Frame},
    listener::Ask,
    route::Route,
    shared::Shared,
    span,
    sync::{Arc, Ordering::*, Weak},
};
use futures_util::stream::{FuturesUnordered, Stream};
use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context as Cx, Poll},
};
use tracing::Span;

/// A call's future, polled inside of its frame. The future owns a count of its listener.
pub(crate) struct Call<'a, T> {
    future: BoxFuture<'a, T>,
    frame: Frame,
    span: Option<Box<Span>>,
}

impl<'a, T> Call<'a, T> {
    /// Starts a call of `entry`, which `start` consumes.
    #[inline]
    pub(crate) fn new<L: ?Sized + Entry>(entry: Arc<L>, start: impl FnOnce(Arc<L>) -> BoxFuture<'a, T>) -> Self {
        let head = entry.head().0;
        let frame = Frame { effect: head.effect(), fiber: head.owner.id };
        let span = if span::wanted() { Some(Box::new(span::of(&head.owner))) } else { None };
        Call { future: start(entry), frame, span }
    }
}

impl<T> Future for Call<'_, T> {
    type Output = T;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<T> {
        let this = &mut *self;
        let inside = frames::enter(this.frame);
        let polled = match &this.span {
            None => this.future.as_mut().poll(cx),
            Some(span) => span.in_scope(|| this.future.as_mut().poll(cx)),
        };
        inside.leave();
        polled
    }
}

/// Takes a count of the listener at `at` or of the first one behind it that is still to be called.
#[inline]
pub(crate) fn next_entry<L: ?Sized + Entry>(
    shared: &Arc<Shared>,
    route: &Route<Weak<L>>,
    at: &mut usize,
) -> Option<Arc<L>> {
    loop {
        let (snapshot, entry): (&Snapshot<Weak<L>>, _) = route.get(*at)?;
        *at += 1;
        let Some(entry) = entry.upgrade() else { continue };
        if snapshot.careful.load(Relaxed) && !shared.begin(entry.head().0) {
            continue;
        }
        return Some(entry);
    }
}

/// Starts the next listener's call.
fn next_call<'a, P: Sync + 'static, R: 'static>(
    shared: &Arc<Shared>,
    route: &Route<Weak<dyn Ask<P, R>>>,
    at: &mut usize,
    payload: &'a P,
) -> Option<Call<'a, R>> {
    Some(Call::new(next_entry(shared, route, at)?, |entry| entry.call(payload)))
}

/// Polls foreign code; a panic comes back as its text.
fn poll_contained<F: Future + Unpin>(future: &mut F, cx: &mut Cx<'_>) -> Poll<Result<F::Output, String>> {
    match catch_unwind(AssertUnwindSafe(|| Pin::new(future).poll(cx))) {
        Ok(polled) => polled.map(Ok),
        Err(payload) => {
            frames::take_panicked();
            Poll::Ready(Err(panic_text(payload)))
        }
    }
}

/// What suspended in a `parallel` dispatch, with its place among the listeners.
struct Suspended<'a> {
    place: usize,
    shared: &'a Shared,
    call: Call<'a, Result<(), BoxError>>,
}

impl Future for Suspended<'_> {
    type Output = Option<(usize, Failure)>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        poll_contained(&mut this.call, cx).map(|ended| failure(ended, this.place, this.shared, this.call.frame))
    }
}

fn failure(
    ended: Result<Result<(), BoxError>, String>,
    place: usize,
    shared: &Shared,
    frame: Frame,
) -> Option<(usize, Failure)> {
    let cause = match ended {
        Ok(Ok(())) => return None,
        Ok(Err(error)) => error,
        Err(panic) => format!("panicked: {panic}").into(),
    };
    Some((place, Failure { plugin: shared.label_of(frame.fiber), cause }))
}

impl<'d> At<'d> {
    /// Asks listeners one after another; see [`Serial`].
    ///
    /// # Errors
    /// The first error of a listener, or a [`ListenerPanic`](crate::ListenerPanic).
    pub fn serial<P, R>(
        self,
        key: Serial<P, R>,
        payload: &'d P,
    ) -> impl Future<Output = Result<Option<R>, BoxError>> + Send + 'd
    where
        P: Sync + 'static,
        R: Send + 'static,
    {
        self.started(key);
        let scope = if key.is_routed() { key.subject(payload) } else { self.scope };
        let route = Route::new(self.shared, scope, key);
        let shared = self.shared;
        let (mut at, mut running) = (0, None::<Call<'d, _>>);
        poll_fn(move |cx| {
            loop {
                if let Some(call) = &mut running {
                    match poll_contained(call, cx) {
                        Poll::Pending => return Poll::Pending,
                        Poll::Ready(Ok(Ok(None))) => {}
                        Poll::Ready(Ok(answer)) => {
                            running = None;
                            return Poll::Ready(answer);
                        }
                        Poll::Ready(Err(message)) => {
                            let panic = shared.panic_at(key.name(), Some(call.frame), message);
                            running = None;
                            return Poll::Ready(Err(panic.into()));
                        }
                    }
                }
                running = None;
                match next_call(shared, &route, &mut at, payload) {
                    None => return Poll::Ready(Ok(None)),
                    next => running = next,
                }
            }
        })
    }

    /// Tells all listeners and waits for the last; see [`Parallel`].
    ///
    /// # Errors
    /// All errors and panics, in the order of the listeners.
    pub fn parallel<P>(
        self,
        key: Parallel<P>,
        payload: &'d P,
    ) -> impl Future<Output = Result<(), Failures>> + Send + 'd
    where
        P: Sync + 'static,
    {
        self.started(key);
        let scope = if key.is_routed() { key.subject(payload) } else { self.scope };
        let route = Route::new(self.shared, scope, key);
        let shared = self.shared;
        let mut suspended: Option<FuturesUnordered<Suspended<'d>>> = None;
        let mut failures: Vec<(usize, Failure)> = Vec::new();
        let mut started = false;
        poll_fn(move |cx| {
            if !started {
                started = true;
                let mut at = 0;
                while let Some(mut call) = next_call(shared, &route, &mut at, payload) {
                    match poll_contained(&mut call, cx) {
                        Poll::Ready(ended) => failures.extend(failure(ended, at, shared, call.frame)),
                        Poll::Pending => {
                            let list = suspended.get_or_insert_with(FuturesUnordered::new);
                            list.push(Suspended { place: at, shared, call });
                        }
                    }
                }
            }
            if let Some(list) = &mut suspended {
                loop {
                    match Pin::new(&mut *list).poll_next(cx) {
                        Poll::Pending => return Poll::Pending,
                        Poll::Ready(Some(ended)) => failures.extend(ended),
                        Poll::Ready(None) => break,
                    }
                }
            }
            if failures.is_empty() {
                return Poll::Ready(Ok(()));
            }
            failures.sort_by_key(|(place, _)| *place);
            let causes = failures.drain(..).map(|(_, failure)| failure).collect();
            Poll::Ready(Err(Failures { event: key.name(), causes }))
        })
    }
}

impl Context {
    /// Asks listeners one after another, each awaited; see [`Serial`].
    ///
    /// # Errors
    /// The first error of a listener, or a [`ListenerPanic`](crate::ListenerPanic).
    pub fn serial<'d, P, R>(
        &'d self,
        key: Serial<P, R>,
        payload: &'d P,
    ) -> impl Future<Output = Result<Option<R>, BoxError>> + Send + 'd
    where
        P: Sync + 'static,
        R: Send + 'static,
    {
        self.unscoped().serial(key, payload)
    }

    /// Tells all listeners, starts them in order and waits for the last; see [`Parallel`].
    ///
    /// # Errors
    /// All errors and panics, in the order of the listeners.
    pub fn parallel<'d, P>(
        &'d self,
        key: Parallel<P>,
        payload: &'d P,
    ) -> impl Future<Output = Result<(), Failures>> + Send + 'd
    where
        P: Sync + 'static,
    {
        self.unscoped().parallel(key, payload)
    }
}
