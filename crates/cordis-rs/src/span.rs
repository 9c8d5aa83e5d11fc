//! The tracing span of a fiber, so that every record of its code carries its name.

use crate::{BoxFuture, fiber::FiberCell};
use std::future::poll_fn;
use tracing::{Span, level_filters::LevelFilter};

/// Whether anybody collects records: without a subscriber a dispatch pays one load for tracing.
#[inline]
pub(crate) fn wanted() -> bool {
    LevelFilter::current() != LevelFilter::OFF
}

/// The fiber's span. At error level: what a plugin reports as an error must not lose its name to a filter.
pub(crate) fn of(cell: &FiberCell) -> Span {
    tracing::error_span!(target: "cordis::plugin", parent: None, "plugin", name = %cell.label())
}

/// A span below that of whoever dispatches, or below none: so that a listener's span around it does not stand for it.
/// (Entering the dispatcher's own span again would not make it the current one.)
#[cold]
pub(crate) fn outside() -> Span {
    tracing::error_span!(target: "cordis::plugin", parent: Span::current().id(), "dispatcher")
}

/// A future that is polled inside of `span`.
#[cold]
pub(crate) fn traced<'a, T: 'a>(span: Span, mut future: BoxFuture<'a, T>) -> BoxFuture<'a, T> {
    Box::pin(poll_fn(move |cx| span.in_scope(|| future.as_mut().poll(cx))))
}

#[cold]
pub(crate) fn within<T>(cell: &FiberCell, run: impl FnOnce() -> T) -> T {
    of(cell).in_scope(run)
}
