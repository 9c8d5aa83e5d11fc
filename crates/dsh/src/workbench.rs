//! The tools that work in a folder, and what they stand on: processes, the shell, and jobs.

use std::path::{Path, PathBuf};

use cordis::Context;

use crate::app::mount;

/// Where the tools work.
#[derive(Debug)]
pub(crate) struct Workbench<'a> {
    /// The folder, an absolute path.
    pub(crate) workspace: &'a Path,
    /// The path under which the agent knows it, if not under its own.
    pub(crate) shown_as: Option<PathBuf>,
    /// Where files with long output are kept while the tools are there; in the folder for temporary files if absent.
    pub(crate) spill_root: Option<PathBuf>,
    /// Whether these files stay.
    pub(crate) keep_spill_files: bool,
}

impl<'a> Workbench<'a> {
    /// Everything as usual.
    pub(crate) fn new(workspace: &'a Path) -> Self {
        Self { workspace, shown_as: None, spill_root: None, keep_spill_files: false }
    }

    /// Mounts it all. When it is unmounted nothing that commands have started is left.
    pub(crate) async fn mount(self, ctx: &Context) -> anyhow::Result<()> {
        let Self { workspace, shown_as, spill_root, keep_spill_files } = self;
        let subprocess = dsh_subprocess_local::Config { spill_root, keep_spill_files, ..Default::default() };
        mount(ctx, dsh_subprocess_local::plugin(), subprocess).await?;
        mount(ctx, dsh_shell_local::plugin(), dsh_shell_local::Config::default()).await?;
        mount(ctx, dsh_shell::plugin(), dsh_shell::Config::default()).await?;
        mount(ctx, dsh_jobs_local::plugin(), dsh_jobs_local::Config::default()).await?;
        let bash =
            dsh_tool_bash::Config { shown_as: shown_as.clone(), ..dsh_tool_bash::Config::new(workspace) };
        mount(ctx, dsh_tool_bash::plugin(), bash).await?;
        let fs = dsh_tool_fs::Config { shown_as, ..dsh_tool_fs::Config::new(workspace) };
        mount(ctx, dsh_tool_fs::plugin(), fs).await?;
        mount(ctx, dsh_tool_jobs::plugin(), dsh_tool_jobs::Config::default()).await?;
        Ok(())
    }
}
