//! The files with long output, which results name and which stay.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tempfile::TempDir;

use crate::exit::say;

/// The folder that they are in. It is removed if there are none.
pub(crate) struct LongOutput(TempDir);

impl LongOutput {
    pub(crate) fn create() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("dsh-output-").tempdir();
        folder.map(Self).context("cannot make a folder for long output")
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Says where the files are, if there are any. Called when nothing writes to them any more.
    pub(crate) fn end(self) {
        if has_files(self.path()) {
            let kept: PathBuf = self.0.keep();
            say(format_args!(
                "the files with the full output are kept: rm -r {} when you have read them",
                kept.display()
            ));
        }
    }
}

/// Whether there are files in a folder, or in the folders in it.
fn has_files(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| if path.is_dir() { has_files(&path) } else { true })
}
