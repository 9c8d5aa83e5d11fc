//! Whose hooks they are: the two plugins that run hooks, as one.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use cordis::Context;
use dsh_hooks::bridge::Grammar;
use dsh_hooks::{DEFAULT_TIMEOUT, Dialect};

use crate::app::mount;
use crate::cli::WrittenFor;

/// How hooks are read and run.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) dialect: Dialect,
    plugin_root: Option<String>,
    timeout_ms: Option<NonZeroU64>,
}

impl Reading {
    pub(crate) fn of(args: &WrittenFor, timeout_ms: Option<NonZeroU64>) -> Self {
        Self { dialect: args.dialect.into(), plugin_root: args.plugin_root.clone(), timeout_ms }
    }

    /// With nothing set: as the plugins of a run read settings.
    pub(crate) fn as_usual(dialect: Dialect) -> Self {
        Self { dialect, plugin_root: None, timeout_ms: None }
    }

    /// What settings look like.
    pub(crate) fn grammar(&self) -> Grammar {
        match self.dialect {
            Dialect::ClaudeCode => self.claude_code(Path::new("")).grammar(),
            Dialect::Codex => self.codex(Path::new("")).grammar(),
        }
    }

    /// The variables that hooks find, besides those of the shell.
    pub(crate) fn variables(&self) -> &'static [&'static str] {
        match self.dialect {
            Dialect::ClaudeCode if self.plugin_root.is_some() => {
                &["CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT"]
            }
            Dialect::ClaudeCode => &["CLAUDE_PROJECT_DIR"],
            Dialect::Codex => &[],
        }
    }

    /// The files that settings are in, below the workspace and below the user's home.
    pub(crate) fn places(&self) -> (&'static [&'static str], &'static [&'static str]) {
        match self.dialect {
            Dialect::ClaudeCode => {
                (&[".claude/settings.json", ".claude/settings.local.json"], &[".claude/settings.json"])
            }
            Dialect::Codex => (&[".codex/hooks.json"], &[".codex/hooks.json"]),
        }
    }

    /// How long a hook may run that has no timeout.
    pub(crate) fn timeout_ms(&self) -> u64 {
        let default = || u64::try_from(DEFAULT_TIMEOUT.as_millis()).unwrap_or(u64::MAX);
        self.timeout_ms.map_or_else(default, NonZeroU64::get)
    }

    /// Mounts the plugin that runs the hooks of a file.
    pub(crate) async fn mount(&self, ctx: &Context, file: &Path) -> anyhow::Result<()> {
        match self.dialect {
            Dialect::ClaudeCode => {
                mount(ctx, dsh_hooks_claude_code::plugin(), self.claude_code(file)).await?
            }
            Dialect::Codex => mount(ctx, dsh_hooks_codex::plugin(), self.codex(file)).await?,
        };
        Ok(())
    }

    fn claude_code(&self, file: &Path) -> dsh_hooks_claude_code::Config {
        let mut config = dsh_hooks_claude_code::Config::new(PathBuf::from(file));
        config.plugin_root.clone_from(&self.plugin_root);
        config.default_timeout_ms = self.timeout_ms.unwrap_or(config.default_timeout_ms);
        config
    }

    fn codex(&self, file: &Path) -> dsh_hooks_codex::Config {
        let mut config = dsh_hooks_codex::Config::new(PathBuf::from(file));
        config.default_timeout_ms = self.timeout_ms.unwrap_or(config.default_timeout_ms);
        config
    }
}

/// How long a hook may run whatever its timeout is: the shell that runs it allows no more.
pub(crate) fn max_timeout_ms() -> u64 {
    dsh_shell_local::Config::default().max_timeout_ms
}
