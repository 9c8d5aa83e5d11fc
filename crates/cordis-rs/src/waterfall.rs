//! Waterfalls: each listener wraps what is below it.
//!
//! A dispatch keeps the order of its listeners for its whole life, but none of the listeners themselves: each call takes a
//! count of its own and gives it back when it ends. So removing a listener waits for that listener's calls only.

use crate::{
    BoxFuture, Context, Event, ListenerPanic, Waterfall,
    bucket::Entry,
    call::{Call, next_entry},
    contain::panic_text,
    dispatch::At,
    frames,
    route::Route,
    shared::Shared,
    span,
    sync::{Arc, Weak},
};
use std::{
    fmt,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context as Cx, Poll},
};

/// An asynchronous listener that wraps the rest of a waterfall. The future owns a count of the listener.
pub trait Around<A: 'static, R: 'static>: Entry {
    #[doc(hidden)]
    fn call<'a>(self: Arc<Self>, args: &'a mut A, next: Next<'a, A, R>) -> BoxFuture<'a, R>;
}

/// One dispatch.
struct Chain<'d, A: 'static, R: 'static> {
    shared: &'d Arc<Shared>,
    route: &'d Route<Weak<dyn Around<A, R>>>,
    /// The dispatcher's span: its own step is not the listeners'.
    span: Option<tracing::Span>,
    inner: &'d dyn InnerStep<A, R>,
}

/// The rest of a waterfall. Running it consumes it; dropping it short-circuits.
///
/// A listener that retries says `next.clone().run(args)`: everything below runs again, wrappers included.
#[must_use = "a listener that drops `next` ends the chain"]
pub struct Next<'a, A: 'static, R: 'static> {
    chain: &'a Chain<'a, A, R>,
    at: usize,
}

impl<A, R> fmt::Debug for Next<'_, A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").field("at", &self.at).finish_non_exhaustive()
    }
}

impl<A, R: Send> fmt::Debug for Run<'_, A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.stage {
            Stage::Start(..) => "Run(not started)",
            Stage::Running(_) => "Run(running)",
            Stage::Over => "Run(over)",
        })
    }
}

impl<A, R> Clone for Next<'_, A, R> {
    fn clone(&self) -> Self {
        Next { chain: self.chain, at: self.at }
    }
}

impl<'a, A: Send, R: Send> Next<'a, A, R> {
    /// Runs the rest of the chain.
    ///
    /// # Cancel safety
    /// Dropping the future drops what runs below it at its next await, as for any future.
    #[inline]
    pub fn run<'b>(self, args: &'b mut A) -> Run<'b, A, R>
    where
        'a: 'b,
    {
        Run { stage: Stage::Start(self, args) }
    }
}

/// The future of [`Next::run`]; nothing below starts before its first poll.
#[must_use = "futures do nothing unless awaited"]
pub struct Run<'b, A: 'static, R: Send + 'static> {
    stage: Stage<'b, A, R>,
}

/// Kept small: a listener's future holds one, and short futures are cheap to allocate.
enum Stage<'b, A: 'static, R: Send + 'static> {
    Start(Next<'b, A, R>, &'b mut A),
    Running(Call<'b, R>),
    Over,
}

impl<A, R: Send> Unpin for Run<'_, A, R> {}

impl<A: Send, R: Send> Future for Run<'_, A, R> {
    type Output = R;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Cx<'_>) -> Poll<R> {
        let mut call = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Start(next, args) => next.start(args),
            Stage::Running(call) => call,
            // A finished future polled again is its caller's mistake; it never ends twice.
            Stage::Over => return Poll::Pending,
        };
        let polled = call.poll(cx);
        if polled.is_pending() {
            self.stage = Stage::Running(call);
        }
        polled
    }
}

impl<'b, A: Send, R: Send> Next<'b, A, R> {
    #[inline]
    fn start(&self, args: &'b mut A) -> Call<'b, R> {
        let chain = self.chain;
        let mut at = self.at;
        match next_entry(chain.shared, chain.route, &mut at) {
            None => Call::own(chain.span.as_ref(), chain.inner.call(args)),
            Some(entry) => Call::new(entry, |entry| entry.call(args, Next { chain, at })),
        }
    }
}

/// The dispatcher's own step, below all listeners: an `async Fn(&S, &mut A) -> R` whose future is `Send`.
#[diagnostic::on_unimplemented(
    message = "the innermost step of a waterfall is an `async Fn(&S, &mut A) -> R` whose future is `Send`",
    label = "not usable as the innermost step",
    note = "pass the state as the third argument instead of capturing it: `ctx.waterfall(KEY, &mut args, self, Self::body)`"
)]
pub trait Inner<'a, S: 'a, A: 'a, R: 'a>: Send + Sync {
    #[doc(hidden)]
    type Fut: Future<Output = R> + Send + 'a;
    #[doc(hidden)]
    fn step(&self, on: &'a S, args: &'a mut A) -> Self::Fut;
}

impl<'a, S: 'a, A: 'a, R: 'a, F, Fut> Inner<'a, S, A, R> for F
where
    F: Fn(&'a S, &'a mut A) -> Fut + Send + Sync,
    Fut: Future<Output = R> + Send + 'a,
{
    type Fut = Fut;

    #[inline]
    fn step(&self, on: &'a S, args: &'a mut A) -> Fut {
        self(on, args)
    }
}

trait InnerStep<A, R>: Send + Sync {
    fn call<'b>(&'b self, args: &'b mut A) -> BoxFuture<'b, R>;
}

struct Innermost<'s, S: ?Sized, F> {
    on: &'s S,
    step: F,
}

impl<A, R, S, F> InnerStep<A, R> for Innermost<'_, S, F>
where
    A: Send + 'static,
    R: Send + 'static,
    S: Send + Sync + 'static,
    F: for<'b> Inner<'b, S, A, R>,
{
    fn call<'b>(&'b self, args: &'b mut A) -> BoxFuture<'b, R> {
        Box::pin(self.step.step(self.on, args))
    }
}

impl<'d> At<'d> {
    /// Runs the chain around `inner`, which is given `on` and the arguments; see [`Waterfall`].
    ///
    /// # Errors
    /// A panic of a listener or of `inner`, which unwound through the listeners around it.
    pub fn waterfall<A, R, S, F>(
        self,
        key: Waterfall<A, R>,
        args: &'d mut A,
        on: &'d S,
        inner: F,
    ) -> impl Future<Output = Result<R, ListenerPanic>> + Send + 'd
    where
        A: Send + 'static,
        R: Send + 'static,
        S: Send + Sync + 'static,
        F: AsyncFn(&S, &mut A) -> R,
        F: for<'a> Inner<'a, S, A, R> + 'd, // pass state as the third argument, not by capture
    {
        self.started(key);
        let route = {
            let scope = if key.is_routed() { key.subject(args) } else { self.scope };
            Route::new(self.shared, scope, key)
        };
        let inner = Innermost { on, step: inner };
        let span = span::wanted().then(span::outside);
        async move {
            let chain = Chain { shared: self.shared, route: &route, span, inner: &inner };
            let mut run = Next { chain: &chain, at: 0 }.run(args);
            poll_fn(|cx| {
                frames::forget_panicked();
                match catch_unwind(AssertUnwindSafe(|| Pin::new(&mut run).poll(cx))) {
                    Ok(polled) => polled.map(Ok),
                    Err(payload) => {
                        let culprit = frames::take_panicked();
                        Poll::Ready(Err(self.shared.panic_at(key.name(), culprit, panic_text(payload))))
                    }
                }
            })
            .await
        }
    }
}

impl Context {
    /// Runs the listeners of a waterfall around `inner`, which is given `on` (usually the caller's `self`) and the
    /// arguments; see [`Waterfall`].
    ///
    /// # Errors
    /// A panic of a listener or of `inner`, which unwound through the listeners around it.
    ///
    /// # Cancel safety
    /// Dropping the future drops the running listener at its current await.
    pub fn waterfall<'d, A, R, S, F>(
        &'d self,
        key: Waterfall<A, R>,
        args: &'d mut A,
        on: &'d S,
        inner: F,
    ) -> impl Future<Output = Result<R, ListenerPanic>> + Send + 'd
    where
        A: Send + 'static,
        R: Send + 'static,
        S: Send + Sync + 'static,
        F: AsyncFn(&S, &mut A) -> R,
        F: for<'a> Inner<'a, S, A, R> + 'd, // pass state as the third argument, not by capture
    {
        self.unscoped().waterfall(key, args, on, inner)
    }
}
