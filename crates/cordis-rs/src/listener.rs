//! How listeners are called, and the bounds that let the compiler prove their futures `Send`.
//!
//! An `AsyncFn` bound alone cannot say that the future is `Send`. The second bound names the future for each lifetime
//! and asks for it; closures that capture by reference fail it, which is why state goes by `.with(..)`.

use crate::{
    BoxFuture, Next,
    bucket::{Entry, Listener},
    sync::Arc,
    waterfall::Around,
};

/// A synchronous listener of payload `P`.
pub trait Observe<P: 'static, R>: Entry {
    #[doc(hidden)]
    fn call(&self, payload: &P) -> R;
}

/// An asynchronous listener of payload `P`. The future owns a count of the listener while it runs.
pub trait Ask<P: 'static, R>: Entry {
    #[doc(hidden)]
    fn call<'a>(self: Arc<Self>, payload: &'a P) -> BoxFuture<'a, R>;
}

/// A listener without state of its own beyond its captures.
pub(crate) struct Plain<F>(pub(crate) F);
/// A listener that is lent its state.
pub(crate) struct Stateful<S, F>(pub(crate) S, pub(crate) F);

impl<P, R, F> Observe<P, R> for Listener<Plain<F>>
where
    P: 'static,
    F: Fn(&P) -> R + Send + Sync + 'static,
{
    #[inline]
    fn call(&self, payload: &P) -> R {
        (self.code().0)(payload)
    }
}

impl<P, R, S, F> Observe<P, R> for Listener<Stateful<S, F>>
where
    P: 'static,
    S: Send + Sync + 'static,
    F: Fn(&S, &P) -> R + Send + Sync + 'static,
{
    #[inline]
    fn call(&self, payload: &P) -> R {
        (self.code().1)(&self.code().0, payload)
    }
}

impl<P, R, F> Ask<P, R> for Listener<Plain<F>>
where
    P: Sync + 'static,
    R: Send + 'static,
    F: for<'a> AskFn<'a, P, R>,
{
    fn call<'a>(self: Arc<Self>, payload: &'a P) -> BoxFuture<'a, R> {
        Box::pin(async move { self.code().0.ask(payload).await })
    }
}

impl<P, R, S, F> Ask<P, R> for Listener<Stateful<S, F>>
where
    P: Sync + 'static,
    R: Send + 'static,
    S: Send + Sync + 'static,
    F: for<'a> AskWith<'a, S, P, R>,
{
    fn call<'a>(self: Arc<Self>, payload: &'a P) -> BoxFuture<'a, R> {
        Box::pin(async move { self.code().1.ask(&self.code().0, payload).await })
    }
}

impl<A, R, F> Around<A, R> for Listener<Plain<F>>
where
    A: Send + 'static,
    R: Send + 'static,
    F: for<'a> AroundFn<'a, A, R>,
{
    fn call<'a>(self: Arc<Self>, args: &'a mut A, next: Next<'a, A, R>) -> BoxFuture<'a, R> {
        Box::pin(async move { self.code().0.around(args, next).await })
    }
}

impl<A, R, S, F> Around<A, R> for Listener<Stateful<S, F>>
where
    A: Send + 'static,
    R: Send + 'static,
    S: Send + Sync + 'static,
    F: for<'a> AroundWith<'a, S, A, R>,
{
    fn call<'a>(self: Arc<Self>, args: &'a mut A, next: Next<'a, A, R>) -> BoxFuture<'a, R> {
        Box::pin(async move { self.code().1.around(&self.code().0, args, next).await })
    }
}

macro_rules! send_fn {
    ($(#[$doc:meta])* $name:ident<$($g:ident),*>::$go:ident($($arg:ident: $ty:ty),*) -> $out:ty) => {
        $(#[$doc])*
        #[diagnostic::on_unimplemented(
            message = "this listener's future is not `Send`, or its arguments do not fit the event",
            label = "not usable as a listener of this event",
            note = "give state by `.with(state)` instead of capturing it: `ctx.on(KEY).with(state).run(async |state, ..| ..)`",
            note = "or box the future yourself: `.run_boxed(|..| Box::pin(async move {{ .. }}))`"
        )]
        pub trait $name<'a, $($g: 'static),*>: Send + Sync + 'static {
            #[doc(hidden)]
            type Fut: Future<Output = $out> + Send + 'a;
            #[doc(hidden)]
            fn $go(&self, $($arg: $ty),*) -> Self::Fut;
        }

        impl<'a, $($g: 'static,)* F, Fut> $name<'a, $($g),*> for F
        where
            F: Fn($($ty),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = $out> + Send + 'a,
        {
            type Fut = Fut;
            #[inline]
            fn $go(&self, $($arg: $ty),*) -> Fut {
                self($($arg),*)
            }
        }
    };
}

send_fn!(
    /// An `async Fn(&P) -> R` whose future is `Send`.
    AskFn<P, R>::ask(payload: &'a P) -> R
);
send_fn!(
    /// An `async Fn(&S, &P) -> R` whose future is `Send`.
    AskWith<S, P, R>::ask(state: &'a S, payload: &'a P) -> R
);
send_fn!(
    /// An `async Fn(&mut A, Next<'_, A, R>) -> R` whose future is `Send`.
    AroundFn<A, R>::around(args: &'a mut A, next: Next<'a, A, R>) -> R
);
send_fn!(
    /// An `async Fn(&S, &mut A, Next<'_, A, R>) -> R` whose future is `Send`.
    AroundWith<S, A, R>::around(state: &'a S, args: &'a mut A, next: Next<'a, A, R>) -> R
);
