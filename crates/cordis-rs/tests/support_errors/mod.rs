//! What an error says.

use std::error::Error;

/// The texts of an error and of its causes, as a reporter of whole chains prints them.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let causes = std::iter::successors(Some(error), |cause| (*cause).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
