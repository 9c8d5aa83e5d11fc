//! Running foreign code so that its panic stays one failure.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Runs `f`; gives the text of its panic if it has one.
pub(crate) fn contained<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(panic_text)
}

/// The text of a panic. Disposes of the payload, whose own drop may panic too.
pub(crate) fn panic_text(payload: Box<dyn Any + Send>) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panicked with a value that is no text".into());
    let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
    text
}
