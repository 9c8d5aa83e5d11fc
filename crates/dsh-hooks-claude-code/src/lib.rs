//! The hooks of a Claude Code settings file are run for agents.
//!
//! A hook is a command line. It reads what is about to happen, or has happened, as JSON, and what it answers is done: a
//! call is denied, asked about or made with other arguments, a message is refused, a result is kept from the model, a turn
//! goes on, the model is told something more.
//!
//! Read `config`, `payload` (what hooks read), then `dialect` (what is Claude Code's own way); the rest is
//! [`dsh_hooks::bridge`].
//!
//! | `matcher` | Edit | MultiEdit | Write | mcp\_\_gh\_\_a |
//! |---|---|---|---|---|
//! | none, `""`, `*` | yes | yes | yes | yes |
//! | `Edit` | yes | no | no | no |
//! | <code>Edit\|Write</code> | yes | no | yes | no |
//! | `mcp__gh__.*` | no | no | no | yes |
//! | `^(?!Bash)` | yes | yes | yes | yes |
//! | `[` | the file has no hooks, and a warning says so ||||
//!
//! **Architecture Invariant:** a hook that fails, in whatever way, decides nothing. A configuration that cannot be read
//! leaves the plugin loaded, without hooks and with a warning, unless hooks are `required`: then the plugin fails to load.
//!
//! # Examples
//! ```no_run
//! use cordis::App;
//! use dsh_hooks_claude_code::Config;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let app = App::new()?;
//! // Loads once something provides the service `shell`.
//! let hooks = app.plugin(dsh_hooks_claude_code::plugin(), Config::new(".claude/settings.json"))?;
//! # Ok(())
//! # }
//! ```

mod config;
mod dialect;
mod payload;

use cordis::{BoxError, Context, Handle, Plugin, define};
use dsh_hooks::bridge::{handlers_or_warn, mount, required_handlers};
use dsh_shell::{SHELL, Shell};

pub use config::Config;

use dialect::ClaudeCode;

cordis::catalog!(plugin);

/// The plugin's name, which is also that of the source of its messages.
pub(crate) const NAME: &str = "hooks-claude-code";

/// Runs the hooks of a file for all agents, or for those of the scope that it is mounted in.
///
/// Hooks run with the shell, in the folder of their session. When the plugin is unloaded, running hooks are told to end and
/// waited for. What they had not judged by then does not go on: a call is denied, a message refused, a result withheld.
///
/// Source: plugin `hooks-claude-code`.
pub fn plugin() -> impl Plugin<Config = Config> {
    define(NAME).needs(SHELL).validate(|config: &Config| Ok(config.check()?)).run(apply)
}

async fn apply(ctx: &Context, shell: Handle<dyn Shell>, config: &Config) -> Result<(), BoxError> {
    let handlers = match config.required {
        true => required_handlers(NAME, &config.config_path, &config.grammar()).await?,
        false => handlers_or_warn(NAME, &config.config_path, &config.grammar()).await,
    };
    mount(ctx, shell, ClaudeCode::new(config), handlers, config.options())
}
