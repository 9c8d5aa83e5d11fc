//! The temporary folder that a replay runs in.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder of our own, removed at the end.
#[derive(Debug)]
pub(crate) struct Folder {
    outer: Option<TempDir>,
    workspace: PathBuf,
}

impl Folder {
    pub(crate) fn create() -> io::Result<Self> {
        let outer = tempfile::Builder::new().prefix("dsh-replay-").tempdir()?;
        // One level down: a command that steps out by `..` is still in a folder that is removed.
        let workspace = outer.path().canonicalize()?.join("workspace");
        fs::create_dir(&workspace)?;
        Ok(Self { outer: Some(outer), workspace })
    }

    /// All that is removed at the end.
    pub(crate) fn outer(&self) -> &Path {
        self.workspace.parent().unwrap_or(&self.workspace)
    }

    pub(crate) fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Removes the folder with all that commands have left in it, also what they made unwritable.
    ///
    /// # Errors
    /// Fails if something cannot be removed; what can be is gone.
    pub(crate) fn remove(mut self) -> io::Result<()> {
        match self.outer.take() {
            Some(outer) => remove(&outer.keep()),
            None => Ok(()),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(outer) = self.outer.take() {
            let _ = remove(&outer.keep());
        }
    }
}

/// Removes a folder, also what is unwritable in it.
///
/// # Errors
/// Fails if something cannot be removed; what can be is gone.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    if fs::remove_dir_all(path).is_ok() {
        return Ok(());
    }
    open_up(path);
    fs::remove_dir_all(path)
}

/// Makes every folder below `path` one that we can empty.
fn open_up(path: &Path) {
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let _ = fs::set_permissions(&folder, fs::Permissions::from_mode(0o700));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        folders.extend(
            entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::Folder;

    #[test]
    fn a_folder_goes_even_if_parts_of_it_are_unwritable() {
        let folder = Folder::create().unwrap();
        let workspace = folder.workspace().to_owned();
        fs::create_dir_all(workspace.join("a/b")).unwrap();
        fs::write(workspace.join("a/b/x"), "x").unwrap();
        fs::set_permissions(workspace.join("a/b"), fs::Permissions::from_mode(0o000)).unwrap();
        fs::set_permissions(workspace.join("a"), fs::Permissions::from_mode(0o555)).unwrap();
        folder.remove().unwrap();
        assert!(!workspace.parent().unwrap().exists());
    }
}
