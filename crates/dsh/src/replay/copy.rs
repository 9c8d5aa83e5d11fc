//! Copies a folder without following what leads out of it.

use std::fs::{self, Permissions};
use std::io;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};
use tokio_util::sync::CancellationToken;

/// What was copied, and what was not.
#[derive(Debug, Default)]
pub(crate) struct Copied {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// Pipes, sockets and devices.
    pub(crate) skipped: Vec<PathBuf>,
    /// Links that lead out of the folder. The copy has them as they are: through them the original can be reached.
    pub(crate) leading_out: Vec<PathBuf>,
}

/// Copies what is in `from` into the existing folder `to`. Links are copied as links. Blocks.
///
/// # Errors
/// Stops at the first thing that cannot be read or written, and when `cancellation` says so.
pub(crate) fn copy(
    from: &Path,
    to: &Path,
    cancellation: &CancellationToken,
    progress: impl Fn(&Copied),
) -> anyhow::Result<Copied> {
    let mut copied = Copied::default();
    let mut folders = vec![PathBuf::new()];
    // Set last, innermost first: a folder may not be writable itself.
    let mut permissions: Vec<(PathBuf, Permissions)> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(from.join(&folder)).with_context(|| cannot_read(&from.join(&folder)))? {
            if cancellation.is_cancelled() {
                bail!("interrupted while copying {}", from.display());
            }
            let entry = entry.with_context(|| cannot_read(&from.join(&folder)))?;
            let below = folder.join(entry.file_name());
            let (source, target) = (entry.path(), to.join(&below));
            let kind = entry.file_type().with_context(|| cannot_read(&source))?;
            if kind.is_symlink() {
                let link = fs::read_link(&source).with_context(|| cannot_read(&source))?;
                if leads_out(&folder, &link) {
                    copied.leading_out.push(below);
                }
                std::os::unix::fs::symlink(link, &target).with_context(|| cannot_write(&target))?;
            } else if kind.is_dir() {
                if is_same(&source, to).with_context(|| cannot_read(&source))? {
                    continue;
                }
                fs::create_dir(&target).with_context(|| cannot_write(&target))?;
                let metadata = entry.metadata().with_context(|| cannot_read(&source))?;
                permissions.push((target, metadata.permissions()));
                folders.push(below);
            } else if kind.is_file() {
                copied.bytes += fs::copy(&source, &target)
                    .with_context(|| format!("cannot copy {}", source.display()))?;
                copied.files += 1;
                progress(&copied);
            } else {
                copied.skipped.push(below);
            }
        }
    }
    for (folder, permissions) in permissions.into_iter().rev() {
        fs::set_permissions(&folder, permissions).with_context(|| cannot_write(&folder))?;
    }
    Ok(copied)
}

/// Whether a link in `folder` (which is relative to the top) leads above the top.
fn leads_out(folder: &Path, link: &Path) -> bool {
    let mut depth = folder.components().count();
    for component in link.components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}

/// Whether two paths are one folder, whatever they are called.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let (one, other) = (fs::metadata(one)?, fs::metadata(other)?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

fn cannot_read(path: &Path) -> String {
    format!("cannot read {}", path.display())
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    use tokio_util::sync::CancellationToken;

    use super::{copy, leads_out};

    #[test]
    fn files_folders_and_links_are_copied_as_they_are() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (from, to) = (from.path(), to.path());
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::write(from.join("a/b/x"), "x").unwrap();
        fs::set_permissions(from.join("a/b/x"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(from.join("a/b"), fs::Permissions::from_mode(0o555)).unwrap();
        symlink("a/b/x", from.join("inside")).unwrap();
        symlink("/etc/passwd", from.join("outside")).unwrap();
        let _socket = UnixListener::bind(from.join("socket")).unwrap();
        let copied = copy(from, to, &CancellationToken::new(), |_| {}).unwrap();
        assert_eq!((copied.files, copied.bytes), (1, 1));
        assert_eq!(copied.skipped, [Path::new("socket")]);
        assert_eq!(copied.leading_out, [Path::new("outside")]);
        assert_eq!(fs::read(to.join("a/b/x")).unwrap(), b"x");
        assert_eq!(fs::metadata(to.join("a/b/x")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::metadata(to.join("a/b")).unwrap().permissions().mode() & 0o777, 0o555);
        assert_eq!(fs::read_link(to.join("outside")).unwrap(), Path::new("/etc/passwd"));
        fs::set_permissions(from.join("a/b"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(to.join("a/b"), fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_copy_inside_the_folder_does_not_copy_itself() {
        let from = tempfile::tempdir().unwrap();
        let to = from.path().join("deep/copy");
        fs::create_dir_all(&to).unwrap();
        fs::write(from.path().join("x"), "x").unwrap();
        assert_eq!(copy(from.path(), &to, &CancellationToken::new(), |_| {}).unwrap().files, 1);
    }

    #[test]
    fn a_cancelled_copy_stops() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(from.path().join("x"), "x").unwrap();
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        assert!(copy(from.path(), to.path(), &cancelled, |_| {}).is_err());
    }

    #[test]
    fn a_link_is_judged_by_where_it_leads() {
        assert!(!leads_out(Path::new("a"), Path::new("../b")));
        assert!(leads_out(Path::new("a"), Path::new("../../b")));
        assert!(leads_out(Path::new(""), Path::new("/x")));
    }
}
