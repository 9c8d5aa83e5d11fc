//! The hooks of a run.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cordis::Context;
use dsh_hooks::bridge::{HookFile, read_file};
use dsh_hooks::{Dialect, Handler};

use crate::exit::Failure;
use crate::hooks::coverage::for_nothing;
use crate::hooks::dialect::Reading;
use crate::hooks::lint::Severity;
use crate::visible::visible;

/// A settings file that was read, and whose hooks it holds.
#[derive(Clone, Debug)]
pub(crate) struct Hooks {
    pub(crate) file: PathBuf,
    /// Those that can run.
    handlers: Vec<Handler>,
    reading: Reading,
}

impl Hooks {
    /// Reads it, to refuse now what the plugin would only warn of.
    pub(crate) fn read(file: &Path) -> Result<Self, Failure> {
        let shown = visible(&file.display().to_string());
        let reading = Reading::as_usual(dialect_of(file));
        let text = read_file(file).with_context(|| format!("cannot read the hooks of {shown}"));
        let parsed = text.and_then(|text| {
            HookFile::parse(&text, &reading.grammar())
                .with_context(|| format!("no hook of {shown} can run; `dsh hooks check` says more"))
        });
        let parsed = parsed.map_err(Failure::bad_input)?;
        let file = std::path::absolute(file).with_context(|| format!("cannot find {shown}"))?;
        Ok(Self { file, handlers: parsed.handlers, reading })
    }

    pub(crate) fn count(&self) -> usize {
        self.handlers.len()
    }

    /// What is said of patterns that match none of these tools, though they are meant to. What such a hook is to prevent
    /// happens.
    pub(crate) fn for_nothing(&self, tools: &[String]) -> Vec<String> {
        let mut said: Vec<String> = Vec::new();
        for hook in &self.handlers {
            match for_nothing(self.dialect(), hook, tools) {
                Some((Severity::Warning, text)) if !said.contains(&text) => said.push(text),
                _ => {}
            }
        }
        said
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.reading.dialect
    }

    pub(crate) async fn mount(&self, ctx: &Context) -> anyhow::Result<()> {
        self.reading.mount(ctx, &self.file).await
    }
}

/// Codex keeps its hooks in a folder of its own; other settings are read as those of Claude Code.
fn dialect_of(file: &Path) -> Dialect {
    let of_codex = file.parent().and_then(Path::file_name).is_some_and(|folder| folder == ".codex");
    if of_codex { Dialect::Codex } else { Dialect::ClaudeCode }
}
