//! The place of the database: a file that nobody else can read or exchange, or memory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use dsh_session::StorageError;

/// Where a database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In this process alone.
    Memory,
    /// In a file, named by an absolute path.
    File(PathBuf),
}

impl Place {
    /// The place that a configuration names, as far as it is there already. Makes nothing.
    pub(crate) fn new(path: &str) -> Result<Self, StorageError> {
        if path == ":memory:" {
            return Ok(Self::Memory);
        }
        let path = std::path::absolute(path).map_err(|error| unusable(path, error))?;
        let (Some(folder), Some(_)) = (path.parent(), path.file_name()) else {
            return Err(refused(format!("session database {}: the path must name a file", path.display())));
        };
        match present(folder)? {
            true => {
                check_folder(folder)?;
                check_files(&path)?;
            }
            false => check_ancestor(folder)?,
        }
        Ok(Self::File(path))
    }

    /// Whether there is a database already.
    pub(crate) fn exists(&self) -> Result<bool, StorageError> {
        match self {
            Self::Memory => Ok(true),
            Self::File(path) => present(path),
        }
    }

    /// For messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Memory => "in memory".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }
}

/// Makes folder and file where they are missing, for the user alone, and checks what is there. Gives the path without
/// links among the folders above.
pub(crate) fn prepare(path: &Path) -> Result<PathBuf, StorageError> {
    let folder = path.parent().unwrap_or(path);
    make_folder(folder)?;
    match new_file().open(path) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(unusable(path.display(), error)),
    }
    check_files(path)?;
    let real = fs::canonicalize(folder).map_err(|error| unusable(folder.display(), error))?;
    Ok(path.file_name().map_or(real.clone(), |name| real.join(name)))
}

/// Makes a folder for the user alone, if it is missing, and checks it.
pub(crate) fn make_folder(folder: &Path) -> Result<(), StorageError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| unusable(folder.display(), error))?;
    check_folder(folder)
}

fn new_file() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// What is above a folder that is still missing must be able to hold it.
fn check_ancestor(folder: &Path) -> Result<(), StorageError> {
    for above in folder.ancestors().skip(1) {
        if present(above)? {
            return match fs::metadata(above) {
                Ok(found) if found.is_dir() => Ok(()),
                Ok(_) => Err(refused(format!("{} is no folder: choose another `path`", above.display()))),
                Err(error) => Err(unusable(above.display(), error)),
            };
        }
    }
    Ok(())
}

fn check_folder(folder: &Path) -> Result<(), StorageError> {
    let found = fs::symlink_metadata(folder).map_err(|error| unusable(folder.display(), error))?;
    let name = folder.display();
    if found.is_symlink() {
        return Err(refused(format!(
            "the session database's folder {name} is a symbolic link: name its target"
        )));
    }
    if !found.is_dir() {
        return Err(refused(format!("{name} is no folder: choose another `path`")));
    }
    check_owner(folder, &found, 0o022, "go-w")
}

/// The database and what SQLite keeps beside it.
fn check_files(path: &Path) -> Result<(), StorageError> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let file = Path::new(&name);
        match fs::symlink_metadata(file) {
            Ok(found) => check_file(file, &found)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(unusable(file.display(), error)),
        }
    }
    Ok(())
}

fn check_file(file: &Path, found: &fs::Metadata) -> Result<(), StorageError> {
    let name = file.display();
    if found.is_symlink() {
        return Err(refused(format!("the session database {name} is a symbolic link: name its target")));
    }
    if !found.is_file() {
        return Err(refused(format!(
            "the session database {name} is no regular file: choose another `path`"
        )));
    }
    check_owner(file, found, 0o077, "go=")
}

#[cfg(unix)]
fn check_owner(path: &Path, found: &fs::Metadata, forbidden: u32, remedy: &str) -> Result<(), StorageError> {
    use std::os::unix::fs::MetadataExt as _;

    let user = rustix::process::geteuid().as_raw();
    let name = path.display();
    if found.uid() != user {
        let owner = found.uid();
        return Err(refused(format!(
            "{name} belongs to user {owner}, not to {user}: sessions need a place of one's own"
        )));
    }
    if found.mode() & forbidden != 0 {
        let mode = found.mode() & 0o7777;
        return Err(refused(format!(
            "{name} is open to other users (mode {mode:o}): run `chmod {remedy} {name}`"
        )));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_owner(_: &Path, _: &fs::Metadata, _: u32, _: &str) -> Result<(), StorageError> {
    Ok(())
}

fn present(path: &Path) -> Result<bool, StorageError> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(unusable(path.display(), error)),
    }
}

pub(crate) fn refused(what: impl Into<String>) -> StorageError {
    StorageError::Place { what: what.into(), source: None }
}

fn unusable(path: impl std::fmt::Display, error: io::Error) -> StorageError {
    StorageError::Place {
        what: format!("the session database's place {path} cannot be used"),
        source: Some(error.into()),
    }
}
