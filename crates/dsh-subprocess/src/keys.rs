//! The name under which the crate meets others.

use cordis::Key;

use crate::process::Subprocess;

/// What starts child processes.
///
/// Source: service `subprocess`.
pub const SUBPROCESS: Key<dyn Subprocess> = Key::new("subprocess");
