//! The builder behind `ctx.on(KEY)`: the one verb that registers a listener.

use crate::{
    Announce, Bail, BoxError, BoxFuture, Context, Effect, Emit, Event, ListenError, Next, Parallel, Serial,
    Waterfall,
    bucket::{Head, Listener},
    event::sealed,
    listener::{AroundFn, AroundWith, AskFn, AskWith, Plain, Stateful},
    register::Placing,
    sync::{Arc, AtomicBool},
};
use std::fmt;

/// No state was given: see [`On::with`].
#[doc(hidden)]
#[derive(Debug)]
pub struct Stateless;

/// The state that the listener is lent: see [`On::with`].
#[doc(hidden)]
pub struct With<S>(S);

/// A listener in the making; `.run(..)` registers it.
#[must_use = "a listener is registered only by `.run(..)`"]
pub struct On<'c, K, S = Stateless> {
    ctx: &'c Context,
    key: K,
    placing: Placing,
    state: S,
}

impl<'c, K: Event> On<'c, K> {
    pub(crate) fn new(ctx: &'c Context, key: K) -> Self {
        On { ctx, key, placing: Placing::default(), state: Stateless }
    }

    /// Lends `state` to the listener as its first argument, so that an async listener need capture nothing. Several things
    /// go as a tuple and arrive as one reference: `.with((a, b)).run(async |(a, b), payload| ..)`. The state is dropped with
    /// the listener.
    pub fn with<S: Send + Sync + 'static>(self, state: S) -> On<'c, K, With<S>> {
        On { ctx: self.ctx, key: self.key, placing: self.placing, state: With(state) }
    }
}

impl<'c, K: Event, S> On<'c, K, S> {
    /// Runs before all listeners that are registered now; of several prepended ones the last comes first.
    pub fn prepend(mut self) -> Self {
        self.placing.prepend = true;
        self
    }

    /// Runs at most once. The registration ends before the listener starts, so a dispatch from inside cannot reach it.
    pub fn once(mut self) -> Self {
        self.placing.once = true;
        self
    }

    /// Hears dispatches at every scope, even when registered through a scope's context.
    pub fn global(mut self) -> Self {
        self.placing.global = true;
        self
    }

    fn put<F>(
        ctx: &Context,
        key: K,
        placing: Placing,
        call: F,
        erase: fn(Listener<F>) -> Arc<<K as sealed::Event>::Entry>,
    ) -> Result<Effect, ListenError>
    where
        F: Send + Sync + 'static,
    {
        ctx.register(key, placing, move |order| {
            let (live, once, event) = (AtomicBool::new(true), placing.once, key.name());
            erase(Listener::new(Head { live, once, order, event, owner: ctx.cell().clone() }, call))
        })
    }
}

impl<S> fmt::Debug for With<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("With(..)")
    }
}

impl<K: Event, S> fmt::Debug for On<'_, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Placing { prepend, once, global } = self.placing;
        let plugin = self.ctx.cell().label();
        f.debug_struct("On")
            .field("event", &self.key.name())
            .field("mode", &self.key.mode())
            .field("plugin", &plugin)
            .field("prepend", &prepend)
            .field("once", &once)
            .field("global", &global)
            .finish_non_exhaustive()
    }
}

macro_rules! sync_listeners {
    ($key:ident<$first:ident $(, $more:ident)*> -> $out:ty) => {
        impl<$first: 'static $(, $more: 'static)*> On<'_, $key<$first $(, $more)*>> {
            /// Registers the listener; it lives as long as the context's fiber, or until the effect is disposed.
            ///
            /// # Errors
            /// The context is inactive, or the name is taken by a key of another type.
            pub fn run(
                self,
                listener: impl Fn(&$first) -> $out + Send + Sync + 'static,
            ) -> Result<Effect, ListenError> {
                Self::put(self.ctx, self.key, self.placing, Plain(listener), |l| Arc::new(l))
            }
        }

        impl<$first: 'static $(, $more: 'static)*, S: Send + Sync + 'static>
            On<'_, $key<$first $(, $more)*>, With<S>>
        {
            /// As the plain form; the listener is lent its state first.
            ///
            /// # Errors
            /// As the plain form.
            pub fn run(
                self,
                listener: impl Fn(&S, &$first) -> $out + Send + Sync + 'static,
            ) -> Result<Effect, ListenError> {
                Self::put(self.ctx, self.key, self.placing, Stateful(self.state.0, listener), |l| Arc::new(l))
            }
        }
    };
}

/// What a listener of `emit` gives.
type Nothing = ();

sync_listeners!(Emit<P> -> Nothing);
sync_listeners!(Announce<P> -> Result<(), BoxError>);
sync_listeners!(Bail<P, R> -> Option<R>);

macro_rules! async_listeners {
    ($key:ident<$first:ident $(, $more:ident)*> -> $out:ty) => {
        impl<$first: Sync + 'static $(, $more: Send + 'static)*> On<'_, $key<$first $(, $more)*>> {
            /// Registers an `async` listener that captures nothing (an `async fn` item or an `async` closure).
            ///
            /// # Errors
            /// As for synchronous listeners.
            pub fn run<F>(self, listener: F) -> Result<Effect, ListenError>
            where
                F: AsyncFn(&$first) -> $out,
                F: for<'a> AskFn<'a, $first, $out>, // give state by `.with(state)`, not by capture
            {
                Self::put(self.ctx, self.key, self.placing, Plain(listener), |l| Arc::new(l))
            }

            /// Registers a listener that boxes its own future and so may capture what it likes.
            ///
            /// # Errors
            /// As for synchronous listeners.
            pub fn run_boxed<F>(self, listener: F) -> Result<Effect, ListenError>
            where
                F: for<'a> Fn(&'a $first) -> BoxFuture<'a, $out> + Send + Sync + 'static,
            {
                Self::put(self.ctx, self.key, self.placing, Plain(listener), |l| Arc::new(l))
            }
        }

        impl<$first: Sync + 'static $(, $more: Send + 'static)*, S: Send + Sync + 'static>
            On<'_, $key<$first $(, $more)*>, With<S>>
        {
            /// Registers an `async` listener that is lent its state and captures nothing.
            ///
            /// # Errors
            /// As for synchronous listeners.
            pub fn run<F>(self, listener: F) -> Result<Effect, ListenError>
            where
                F: AsyncFn(&S, &$first) -> $out,
                F: for<'a> AskWith<'a, S, $first, $out>, // give state by `.with(state)`, not by capture
            {
                Self::put(self.ctx, self.key, self.placing, Stateful(self.state.0, listener), |l| Arc::new(l))
            }
        }
    };
}

async_listeners!(Parallel<P> -> Result<(), BoxError>);
async_listeners!(Serial<P, R> -> Result<Option<R>, BoxError>);

impl<A: Send + 'static, R: Send + 'static> On<'_, Waterfall<A, R>> {
    /// Registers an `async` listener that captures nothing (an `async fn` item or an `async` closure).
    ///
    /// # Errors
    /// As for synchronous listeners.
    pub fn run<F>(self, listener: F) -> Result<Effect, ListenError>
    where
        F: AsyncFn(&mut A, Next<'_, A, R>) -> R,
        F: for<'a> AroundFn<'a, A, R>, // give state by `.with(state)`, not by capture
    {
        Self::put(self.ctx, self.key, self.placing, Plain(listener), |l| Arc::new(l))
    }

    /// Registers a listener that boxes its own future and so may capture what it likes.
    ///
    /// # Errors
    /// As for synchronous listeners.
    pub fn run_boxed<F>(self, listener: F) -> Result<Effect, ListenError>
    where
        F: for<'a> Fn(&'a mut A, Next<'a, A, R>) -> BoxFuture<'a, R> + Send + Sync + 'static,
    {
        Self::put(self.ctx, self.key, self.placing, Plain(listener), |l| Arc::new(l))
    }
}

impl<A: Send + 'static, R: Send + 'static, S: Send + Sync + 'static> On<'_, Waterfall<A, R>, With<S>> {
    /// Registers an `async` listener that is lent its state and captures nothing.
    ///
    /// # Errors
    /// As for synchronous listeners.
    pub fn run<F>(self, listener: F) -> Result<Effect, ListenError>
    where
        F: AsyncFn(&S, &mut A, Next<'_, A, R>) -> R,
        F: for<'a> AroundWith<'a, S, A, R>, // give state by `.with(state)`, not by capture
    {
        Self::put(self.ctx, self.key, self.placing, Stateful(self.state.0, listener), |l| Arc::new(l))
    }
}
