//! One running call of an asynchronous listener, and the dispatch modes `serial` and `parallel`.

use crate::{
    BoxError, BoxFuture, Context, Event, Failures, FiberId, Parallel, Serial,
    bucket::{Entry, Snapshot},
    contain::{contained, panic_text},
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
    future::{pending, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context as Cx, Poll},
};

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

/// A running call, polled inside of its listener's frame. The future owns a count of the listener.
pub(crate) struct Call<'a, R: Send + 'a> {
    future: BoxFuture<'a, R>,
    frame: Frame,
}

impl<'a, R: Send + 'a> Drop for Call<'a, R> {
    /// What a call holds is a user's and may panic when a suspended call is dropped.
    #[inline]
    fn drop(&mut self) {
        // A future of nothing needs no memory.
        let future = std::mem::replace(&mut self.future, Box::pin(pending()));
        if let Err(panic) = contained(|| drop(future)) {
            report_dropped(self.frame, panic);
        }
    }
}

#[cold]
fn report_dropped(frame: Frame, panic: String) {
    if let Some(shared) = Shared::of(frame.effect) {
        let (plugin, step) = shared.names_of(frame);
        shared.report(plugin, &step, format!("panicked when its call was dropped: {panic}"));
    }
}

impl<'a, R: Send + 'a> Call<'a, R> {
    /// Starts a call of `entry`, which `start` consumes.
    #[inline]
    pub(crate) fn new<L: ?Sized + Entry>(
        entry: Arc<L>,
        start: impl FnOnce(Arc<L>) -> BoxFuture<'a, R>,
    ) -> Self {
        let head = entry.head().0;
        let frame = Frame { effect: head.effect(), fiber: head.owner.id };
        if span::wanted() {
            let span = span::of(&head.owner);
            return Call { future: span::traced(span, start(entry)), frame };
        }
        Call { future: start(entry), frame }
    }

    /// A step of the dispatcher itself, which belongs to no listener.
    #[inline]
    pub(crate) fn own(span: Option<&tracing::Span>, future: BoxFuture<'a, R>) -> Self {
        let future = match span {
            None => future,
            Some(span) => span::traced(span.clone(), future),
        };
        Call { future, frame: Frame { effect: 0, fiber: FiberId::default() } }
    }

    #[inline]
    pub(crate) fn poll(&mut self, cx: &mut Cx<'_>) -> Poll<R> {
        let inside = frames::enter(self.frame);
        let polled = self.future.as_mut().poll(cx);
        inside.leave();
        polled
    }
}

/// Starts the next listener's call.
#[inline]
fn next_call<'a, P: Sync + 'static, R: Send + 'static>(
    shared: &Arc<Shared>,
    route: &Route<Weak<dyn Ask<P, R>>>,
    at: &mut usize,
    payload: &'a P,
) -> Option<Call<'a, R>> {
    Some(Call::new(next_entry(shared, route, at)?, |entry| entry.call(payload)))
}

/// Polls foreign code; a panic comes back as its text.
#[inline]
fn poll_contained<'a, R: Send + 'a>(call: &mut Call<'a, R>, cx: &mut Cx<'_>) -> Poll<Result<R, String>> {
    match catch_unwind(AssertUnwindSafe(|| call.poll(cx))) {
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
        poll_contained(&mut this.call, cx)
            .map(|ended| failure(ended, this.place, this.shared, this.call.frame.fiber))
    }
}

fn failure(
    ended: Result<Result<(), BoxError>, String>,
    place: usize,
    shared: &Shared,
    owner: FiberId,
) -> Option<(usize, Failure)> {
    let cause = match ended {
        Ok(Ok(())) => return None,
        Ok(Err(error)) => error,
        Err(panic) => format!("panicked: {panic}").into(),
    };
    Some((place, Failure { plugin: shared.label_of(owner), cause }))
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
        let (mut at, mut suspended, mut ended) = (0, None::<Call<'d, _>>, false);
        poll_fn(move |cx| {
            loop {
                // A finished future polled again is its caller's mistake; it never ends twice.
                if ended {
                    return Poll::Pending;
                }
                // Kept on the stack while it has not suspended: most calls never do.
                let next = suspended.take().or_else(|| next_call(shared, &route, &mut at, payload));
                let Some(mut call) = next else {
                    ended = true;
                    return Poll::Ready(Ok(None));
                };
                match poll_contained(&mut call, cx) {
                    Poll::Ready(Ok(Ok(None))) => {}
                    Poll::Ready(Ok(answer)) => {
                        ended = true;
                        return Poll::Ready(answer);
                    }
                    Poll::Ready(Err(message)) => {
                        ended = true;
                        let panic = shared.panic_at(key.name(), Some(call.frame), message);
                        return Poll::Ready(Err(panic.into()));
                    }
                    Poll::Pending => {
                        suspended = Some(call);
                        return Poll::Pending;
                    }
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
                        Poll::Ready(Ok(Ok(()))) => {}
                        Poll::Ready(ended) => failures.extend(failure(ended, at, shared, call.frame.fiber)),
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
