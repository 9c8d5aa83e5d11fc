//! The folder that an agent's tools work in, and where a path that the agent names lies in it.

use std::path::{Component, Path, PathBuf};

use thiserror::Error;

/// The folder that an agent's tools work in.
///
/// The agent may know the folder under another path than the one that it has here. Pure: no file is looked at, so
/// whoever opens a path still has to see where its links lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    root: PathBuf,
    shown_as: PathBuf,
}

/// A configuration names a folder that could mean different ones at different times.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`workspace` must be an absolute path, not `{}`", workspace.display())]
pub struct RelativeWorkspace {
    /// The path.
    pub workspace: PathBuf,
}

/// The agent named a path that is not in its workspace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("\"{path}\" is outside the workspace \"{}\"", workspace.display())]
pub struct OutsideWorkspace {
    /// The path as the agent wrote it.
    pub path: String,
    /// The workspace as the agent knows it.
    pub workspace: PathBuf,
}

/// A path in the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspacePath {
    /// Where it is.
    pub real: PathBuf,
    /// How the agent is told about it.
    pub shown: PathBuf,
}

impl Workspace {
    /// A workspace at `root`, which the agent knows as `shown_as` (or as `root`).
    ///
    /// The configuration of a tool that works in a workspace calls the two `workspace` and `shownAs`.
    ///
    /// # Errors
    /// Refuses a `root` that is not absolute.
    pub fn new(root: impl Into<PathBuf>, shown_as: Option<&Path>) -> Result<Self, RelativeWorkspace> {
        let root = root.into();
        if !root.is_absolute() {
            return Err(RelativeWorkspace { workspace: root });
        }
        let shown_as = shown_as.map_or_else(|| root.clone(), Path::to_owned);
        Ok(Self { root, shown_as })
    }

    /// Where it is.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Finds a path that the agent names: relative to the workspace, or absolute under either of its names.
    ///
    /// # Errors
    /// Refuses a path that leads out of the workspace, be it for a moment.
    pub fn locate(&self, path: &str) -> Result<WorkspacePath, OutsideWorkspace> {
        let given = Path::new(path);
        let below = if given.is_absolute() {
            given.strip_prefix(&self.shown_as).or_else(|_| given.strip_prefix(&self.root)).ok()
        } else {
            Some(given)
        };
        match below.and_then(without_dots) {
            Some(below) => {
                Ok(WorkspacePath { real: join(&self.root, &below), shown: join(&self.shown_as, &below) })
            }
            None => Err(OutsideWorkspace { path: path.to_owned(), workspace: self.shown_as.clone() }),
        }
    }
}

/// Joining nothing would append a separator.
fn join(root: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { root.to_owned() } else { root.join(below) }
}

/// The path without `.` and `..`; none if it climbs above its start.
fn without_dots(path: &Path) -> Option<PathBuf> {
    let mut below = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => below.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !below.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(below)
}
