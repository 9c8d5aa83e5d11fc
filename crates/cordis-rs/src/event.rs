//! Typed event keys: the dispatch mode is the key's type, so a wrong dispatch or a wrong listener does not compile.

use crate::{
    BoxError,
    bucket::{Entry, Kept},
    listener::{Ask, Observe},
    name::Name,
    scope_key::ScopeKey,
    sync::{Arc, Weak},
    waterfall::Around,
};
use std::{fmt, marker::PhantomData};

/// How an event reaches its listeners. It is the type of the event's key; this names it for tools and diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// See [`Emit`].
    Emit,
    /// See [`Announce`].
    Announce,
    /// See [`Bail`].
    Bail,
    /// See [`Parallel`].
    Parallel,
    /// See [`Serial`].
    Serial,
    /// See [`Waterfall`].
    Waterfall,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Emit => "emit",
            Mode::Announce => "announce",
            Mode::Bail => "bail",
            Mode::Parallel => "parallel",
            Mode::Serial => "serial",
            Mode::Waterfall => "waterfall",
        })
    }
}

/// A key of an event. Sealed: its implementations are the six key types of this module.
pub trait Event: Copy + Send + Sync + 'static + sealed::Event {
    /// The event's name.
    fn name(&self) -> &'static str;
    /// How it is dispatched.
    fn mode(&self) -> Mode;
}

pub(crate) mod sealed {
    use super::*;

    pub trait Event {
        #[doc(hidden)]
        type Entry: ?Sized + Entry;
        #[doc(hidden)]
        type Kept: Kept<Self::Entry>;
        #[doc(hidden)]
        fn key(&self) -> Named;
        /// Non-global listeners hear only what happens to their own fiber.
        #[doc(hidden)]
        fn of_own_fiber(&self) -> bool;
    }

    /// Wraps the crate's own name type.
    #[doc(hidden)]
    #[derive(Clone, Copy, Debug)]
    pub struct Named(pub(crate) Name);
}

macro_rules! key {
    ($(#[$doc:meta])* $key:ident<$first:ident $(, $more:ident)*> is $entry:ty, kept by $kept:ident) => {
        $(#[$doc])*
        pub struct $key<$first: 'static $(, $more: 'static)*> {
            name: Name,
            subject: Option<fn(&$first) -> Option<&ScopeKey>>,
            of_own_fiber: bool,
            _types: PhantomData<fn($($more),*)>,
        }

        impl<$first $(, $more)*> Copy for $key<$first $(, $more)*> {}

        impl<$first $(, $more)*> Clone for $key<$first $(, $more)*> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$first: 'static $(, $more: 'static)*> $key<$first $(, $more)*> {
            /// Declares the event. Keys of one name must agree in mode and types: where they do not, the first one that
            /// was listened to stands, `on` with another is refused, and a dispatch of another reaches nobody and is
            /// reported.
            pub const fn new(name: &'static str) -> Self {
                $key { name: Name::new(name), subject: None, of_own_fiber: false, _types: PhantomData }
            }

            /// Names the subject: every dispatch is routed to the scope that `subject` finds in the payload, and to its
            /// ancestors; with `None` it reaches only unscoped and global listeners.
            pub const fn scoped_by(mut self, subject: fn(&$first) -> Option<&ScopeKey>) -> Self {
                self.subject = Some(subject);
                self
            }

            #[allow(dead_code, reason = "only some of the modes have such an event")]
            pub(crate) const fn of_own_fiber(mut self) -> Self {
                self.of_own_fiber = true;
                self
            }

            #[inline(always)]
            pub(crate) fn subject<'p>(&self, payload: &'p $first) -> Option<&'p ScopeKey> {
                self.subject.and_then(|subject| subject(payload))
            }

            #[inline(always)]
            pub(crate) fn is_routed(&self) -> bool {
                self.subject.is_some()
            }
        }

        impl<$first: 'static $(, $more: 'static)*> Event for $key<$first $(, $more)*> {
            fn name(&self) -> &'static str {
                self.name.text
            }

            fn mode(&self) -> Mode {
                Mode::$key
            }
        }

        impl<$first: 'static $(, $more: 'static)*> sealed::Event for $key<$first $(, $more)*> {
            type Entry = $entry;
            type Kept = $kept<$entry>;

            #[inline(always)]
            fn key(&self) -> sealed::Named {
                sealed::Named(self.name)
            }

            fn of_own_fiber(&self) -> bool {
                self.of_own_fiber
            }
        }

        impl<$first: 'static $(, $more: 'static)*> fmt::Debug for $key<$first $(, $more)*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:?})", stringify!($key), self.name.text)
            }
        }
    };
}

key!(
    /// Tells: `Fn(&P)`. Listeners run in order on the dispatcher's stack; a panic is reported and the rest run.
    Emit<P> is dyn Observe<P, ()>, kept by Arc
);
key!(
    /// Tells and may be refused: `Fn(&P) -> Result<(), BoxError>`. The first error or panic stops and is returned.
    Announce<P> is dyn Observe<P, Result<(), BoxError>>, kept by Arc
);
key!(
    /// Asks: `Fn(&P) -> Option<R>`. The first `Some` stops and is returned; a panic is reported and the rest are asked.
    Bail<P, R> is dyn Observe<P, Option<R>>, kept by Arc
);
key!(
    /// Tells, asynchronously: `async Fn(&P) -> Result<(), BoxError>`. All are started in order and run to the end; every
    /// error and panic comes back.
    Parallel<P> is dyn Ask<P, Result<(), BoxError>>, kept by Weak
);
key!(
    /// Asks, asynchronously: `async Fn(&P) -> Result<Option<R>, BoxError>`. One after another; the first `Some`, error or
    /// panic stops and is returned.
    Serial<P, R> is dyn Ask<P, Result<Option<R>, BoxError>>, kept by Weak
);
key!(
    /// Wraps: `async Fn(&mut A, Next<'_, A, R>) -> R`. Each listener decides whether, when and how often what is below it
    /// runs; the dispatcher's own step is innermost.
    Waterfall<A, R> is dyn Around<A, R>, kept by Weak
);
