//! The hooks of a Codex hook file are run for agents.
//!
//! It is the bridge of [`dsh_hooks::bridge`], as the one for Claude Code is, with another configuration and other words. A
//! hook can deny a call, but neither ask about it nor change its arguments; what it prints at the beginning of a session, or
//! for a message, is told to the model even if it is no JSON.
//!
//! Read `config`, `payload` (what hooks read), then `dialect` (what is Codex's own way).
//!
//! **Architecture Invariant:** a hook that fails, in whatever way, decides nothing. A configuration that cannot be read
//! leaves the plugin loaded, without hooks and with a warning, unless hooks are `required`: then the plugin fails to load.
//!
//! # Examples
//! ```no_run
//! use cordis::App;
//! use dsh_hooks_codex::Config;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let app = App::new()?;
//! // Loads once something provides the service `shell`.
//! let hooks = app.plugin(dsh_hooks_codex::plugin(), Config::new(".codex/hooks.json"))?;
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

use dialect::Codex;

cordis::catalog!(plugin);

/// The plugin's name, which is also that of the source of its messages.
pub(crate) const NAME: &str = "hooks-codex";

/// Runs the hooks of a file for all agents, or for those of the scope that it is mounted in.
///
/// Hooks run with the shell, in the folder of their session. When the plugin is unloaded, running hooks are told to end and
/// waited for. What they had not judged by then does not go on: a call is denied, a message refused, a result withheld.
///
/// Source: plugin `hooks-codex`.
pub fn plugin() -> impl Plugin<Config = Config> {
    define(NAME).needs(SHELL).validate(|config: &Config| Ok(config.check()?)).run(apply)
}

async fn apply(ctx: &Context, shell: Handle<dyn Shell>, config: &Config) -> Result<(), BoxError> {
    let handlers = match config.required {
        true => required_handlers(NAME, &config.config_path, &config.grammar()).await?,
        false => handlers_or_warn(NAME, &config.config_path, &config.grammar()).await,
    };
    mount(ctx, shell, Codex::new(config), handlers, config.options())
}
