//! How bash gets a command.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use dsh_shell::ShellError;
use tempfile::TempDir;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

/// The longest argument that a program can be given on Linux is 128 KiB with the NUL that ends it (`MAX_ARG_STRLEN`).
const MAX_ARGUMENT_BYTES: usize = 128 * 1024 - 1;

/// What bash is started with.
pub(crate) struct CommandLine {
    pub(crate) argv: [String; 3],
    /// Where a long command waits for bash.
    pub(crate) script: Option<Script>,
}

/// A folder with a file in it. Dropped, it is removed as soon as a thread is free that may wait for the disk.
pub(crate) struct Script {
    /// None once it is being removed.
    folder: Option<TempDir>,
}

impl CommandLine {
    /// Has bash run a command. A long one is put into a file that only the user can read, and that bash reads whole before
    /// it runs anything of it; to the command all is as if it were an argument: `$0`, line numbers, and the name in errors.
    pub(crate) fn new(command: String) -> Result<Self, ShellError> {
        if command.contains('\0') {
            return Err(ShellError::Nul);
        }
        if !is_long(&command) {
            return Ok(Self { argv: argv(command), script: None });
        }
        let folder = put_away(&command).map_err(ShellError::Script)?;
        let argv = argv(reader(&file_in(&folder), &command));
        Ok(Self { argv, script: Some(Script { folder: Some(folder) }) })
    }

    /// As [`new`](Self::new); a file is written by another thread.
    pub(crate) async fn written_aside(command: String) -> Result<Self, ShellError> {
        if !is_long(&command) {
            return Self::new(command);
        }
        let written = spawn_blocking(|| Self::new(command)).await;
        written.map_err(|lost| ShellError::Script(lost.into()))?
    }
}

impl Script {
    /// Removes it, and waits until that is done.
    pub(crate) async fn remove(mut self) {
        let folder = self.folder.take();
        // If nothing is run any more it is dropped, and thereby removed, all the same.
        let _ = spawn_blocking(|| drop(folder)).await;
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let folder = self.folder.take();
        if let (Some(folder), Ok(runtime)) = (folder, Handle::try_current()) {
            runtime.spawn_blocking(|| drop(folder));
        }
    }
}

fn is_long(command: &str) -> bool {
    command.len() > MAX_ARGUMENT_BYTES
}

fn argv(command: String) -> [String; 3] {
    ["bash".to_owned(), "-c".to_owned(), command]
}

fn put_away(command: &str) -> io::Result<TempDir> {
    let folder = tempfile::Builder::new()
        .prefix("dsh-command-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file_in(&folder))?;
    file.write_all(command.as_bytes())?;
    Ok(folder)
}

fn file_in(folder: &TempDir) -> PathBuf {
    folder.path().join("command")
}

/// A command that runs the one in the file. Without the file it fails: it never passes for a command that did nothing.
fn reader(file: &Path, command: &str) -> String {
    let file = quoted(file);
    // Taken off by the substitution; it matters to a line that ends in a backslash.
    let newline = if command.ends_with('\n') { "$'\\n'" } else { "" };
    format!(
        "[ -r {file} ] || {{ echo 'bash: the file with the command is gone' >&2; exit 126; }}; eval \"$(<{file})\"{newline}"
    )
}

/// A path as bash takes it.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}
