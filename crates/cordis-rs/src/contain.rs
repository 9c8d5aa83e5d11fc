//! Running foreign code so that its panic stays one failure.

use crate::{effect::Label, fiber::FiberCell, shared::Shared, span};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Runs `f`; gives the text of its panic if it has one.
pub(crate) fn contained<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(panic_text)
}

/// Drops a user's value; a panic of it is reported with its owner's name. `effect` tells the app.
pub(crate) fn drop_reported<T>(effect: u64, owner: &FiberCell, label: impl FnOnce() -> Label, value: T) {
    let dropped =
        contained(|| if span::wanted() { span::within(owner, || drop(value)) } else { drop(value) });
    if let Err(panic) = dropped
        && let Some(shared) = Shared::of(effect)
    {
        shared.report(owner.label(), &label().to_string(), format!("panicked when it was dropped: {panic}"));
    }
}

/// The text of a panic. Disposes of the payload, whose own drop may panic too, and so on: the third is let go.
pub(crate) fn panic_text(payload: Box<dyn Any + Send>) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panicked with a value that is no text".into());
    let mut payload = payload;
    for _ in 0..3 {
        match catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            Ok(()) => return text,
            Err(next) => payload = next,
        }
    }
    std::mem::forget(payload);
    text
}
