//! Looking at the logs of a store: each is where its header says, none is there twice, and all are of one encoding.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use dsh_session::SessionHeader;
use dsh_session_jsonl::{Compression, project_folder, session_folder};

use super::checked::{Checked, Verdict};
use super::log;

/// What was seen of a store so far.
pub(super) struct Store<'r> {
    root: &'r Path,
    /// The first log of each id.
    ids: HashMap<String, PathBuf>,
    plain: usize,
    compressed: usize,
}

impl<'r> Store<'r> {
    pub(super) fn new(root: &'r Path) -> Self {
        Self { root, ids: HashMap::new(), plain: 0, compressed: 0 }
    }

    pub(super) fn look(&mut self, path: PathBuf) -> Checked {
        let mut checked = log::look(path.clone());
        match path.extension().is_some_and(|end| end == "zstd") {
            true => self.compressed += 1,
            false => self.plain += 1,
        }
        let Some(header) = checked.header.clone() else { return checked };
        if let Some(expected) = self.expected(&header).filter(|expected| !is_in(&path, expected)) {
            checked.misplace(format!("its header belongs into `{}`", expected.display()));
        }
        match self.ids.get(&header.id) {
            Some(first) => {
                checked.misplace(format!("the id `{}` is that of `{}` too", header.id, first.display()));
            }
            None => drop(self.ids.insert(header.id, path)),
        }
        checked
    }

    /// The folder that the log of a session is looked for in.
    fn expected(&self, header: &SessionHeader) -> Option<PathBuf> {
        let project = project_folder(header.cwd.as_deref()).ok()?;
        Some(self.root.join(project).join(session_folder(&header.id).ok()?))
    }

    /// What is wrong with all logs together.
    pub(super) fn mixed(&self) -> Vec<Checked> {
        if self.plain == 0 || self.compressed == 0 {
            return Vec::new();
        }
        let (plain, compressed) = (self.plain, self.compressed);
        let problem = format!(
            "{plain} plain and {compressed} compressed, where a store holds one kind: move the others into another folder"
        );
        vec![Checked::wrong(self.root.display().to_string(), Verdict::Mixed, problem)]
    }
}

/// Whether a log is the one of this folder. On a file system that ignores case a folder has many names.
fn is_in(log: &Path, folder: &Path) -> bool {
    let is_named = [Compression::Zstd, Compression::None]
        .iter()
        .any(|kind| log.file_name().is_some_and(|name| name == kind.file_name()));
    let Some(parent) = log.parent().filter(|_| is_named) else { return false };
    if parent == folder {
        return true;
    }
    matches!((fs::canonicalize(parent), fs::canonicalize(folder)), (Ok(one), Ok(two)) if one == two)
}
