//! Where a command runs.

use std::path::{Path, PathBuf};

use dsh_agent::Agent;
use dsh_tools::{ToolError, Workspace};

/// The folder to run in: in the workspace, if there is one, wherever links lead. Without one it is what the call says, beginning
/// in the folder of the session, or that folder; and if there is none either, the shell decides.
pub(crate) fn workdir(
    workspace: Option<&Workspace>,
    agent: Option<&Agent>,
    given: Option<&str>,
) -> Result<Option<PathBuf>, ToolError> {
    match workspace {
        Some(workspace) => in_workspace(workspace, given).map(Some),
        None => Ok(anywhere(agent.and_then(|agent| agent.session().header().cwd.as_deref()), given)),
    }
}

fn anywhere(cwd: Option<&str>, given: Option<&str>) -> Option<PathBuf> {
    let cwd = cwd.map(Path::new);
    match (cwd, given) {
        // What is absolute takes the place of the whole.
        (Some(cwd), Some(given)) => Some(cwd.join(given)),
        (None, Some(given)) => Some(PathBuf::from(given)),
        (cwd, None) => cwd.map(Path::to_owned),
    }
}

fn in_workspace(workspace: &Workspace, given: Option<&str>) -> Result<PathBuf, ToolError> {
    let path = workspace.locate(given.unwrap_or("."))?;
    let shown = path.shown.display();
    let cannot = |error: std::io::Error| ToolError::new(format!("cannot run in \"{shown}\": {error}"));
    let real = path.real.canonicalize().map_err(cannot)?;
    let root = workspace.root().canonicalize().map_err(cannot)?;
    if !real.starts_with(&root) {
        return Err(ToolError::new(format!("cannot run in \"{shown}\": it leads out of the workspace")));
    }
    if !real.is_dir() {
        return Err(ToolError::new(format!("cannot run in \"{shown}\": not a folder")));
    }
    Ok(real)
}
