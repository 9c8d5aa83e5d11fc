//! The names under which the crate meets others.

use cordis::Key;

use crate::env::ShellEnv;
use crate::shell::Shell;

/// What runs commands.
///
/// Source: service `shell`.
pub const SHELL: Key<dyn Shell> = Key::new("shell");

/// The variables of the host that commands find.
///
/// Source: service `shellEnv`.
pub const SHELL_ENV: Key<ShellEnv> = Key::new("shellEnv");
