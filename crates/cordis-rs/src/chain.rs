//! What an error says, causes included.

use crate::contain::contained;
use std::error::Error;

/// The text of an error and of its causes in one line, for where only one text is shown: `outer: inner: innermost`. A cause
/// that the text shows already is not repeated.
///
/// An error leaves to its cause what that says, so that who prints a whole chain prints each thing once; alone it is half of
/// what there is to tell. Of a chain without an end the beginning is given, and of an error that panics when it is shown, that.
///
/// # Examples
/// ```
/// use cordis::{BoxError, FiberError};
///
/// let cause: BoxError = "the port is taken".into();
/// let failed = FiberError::Failed { plugin: "web#1".into(), source: cause.into() };
/// assert_eq!(cordis::chain(&failed), "plugin `web#1` failed: the port is taken");
/// ```
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    contained(|| joined(error))
        .unwrap_or_else(|panic| format!("an error that panics when it is shown: {panic}"))
}

fn joined(error: &dyn Error) -> String {
    let mut text = error.to_string();
    // A chain of a foreign type may lead back into itself.
    for cause in std::iter::successors(error.source(), |cause| (*cause).source()).take(64) {
        let more = format!(": {cause}");
        // Many types show their cause themselves.
        if !text.contains(&more) {
            text.push_str(&more);
        }
    }
    text
}
