//! Where a path leads, and the text that is there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use dsh_tools::{ErrorInfo, OutsideWorkspace, ToolError, Workspace, WorkspacePath};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::window::{Limits, Selection, Window};

/// How much of a file is looked at to tell text from binary data.
const BINARY_PROBE_BYTES: usize = 8_192;

/// Why a file cannot be read.
#[derive(Debug, Error)]
pub(crate) enum ReadError {
    #[error("cannot read \"{path}\": not found")]
    NotFound { path: String },
    #[error("cannot read \"{path}\": not a regular file")]
    NotAFile { path: String },
    #[error("cannot read \"{path}\": binary file")]
    Binary { path: String },
    #[error("cannot read \"{path}\": invalid UTF-8 text")]
    NotUtf8 { path: String },
    #[error("cannot read \"{path}\": permission denied")]
    Denied { path: String },
    #[error("cannot read: {0}")]
    Outside(#[from] OutsideWorkspace),
    #[error("cannot read \"{path}\": it leads out of the workspace")]
    LeadsOut { path: String },
    #[error("cannot read \"{path}\": {source}")]
    Io { path: String, source: io::Error },
    #[error("read aborted")]
    Aborted,
}

impl ReadError {
    /// What the model is told, with the code that `?` alone would leave out.
    pub(crate) fn coded(self) -> ToolError {
        let code = match &self {
            Self::NotFound { .. } => "FS_NOT_FOUND",
            Self::NotAFile { .. } => "FS_NOT_REGULAR_FILE",
            Self::Binary { .. } | Self::NotUtf8 { .. } => "FS_NOT_TEXT",
            Self::Denied { .. } => "FS_PERMISSION_DENIED",
            Self::Outside(_) | Self::LeadsOut { .. } => "FS_SANDBOX_DENIED",
            Self::Io { .. } => "FS_IO_ERROR",
            Self::Aborted => return ToolError::aborted(),
        };
        ToolError::new(self.to_string()).coded(ErrorInfo::fixed("FsError", code))
    }
}

/// Opens a file of the workspace, without waiting for anybody.
///
/// What a path names can change between two looks at it, so what counts is the look at the open file.
///
/// # Errors
/// Refuses what is not a regular file, and what lies outside once all links are followed.
pub(crate) fn open(workspace: &Workspace, path: &WorkspacePath) -> Result<File, ReadError> {
    let shown = || path.shown.display().to_string();
    let failed = |source: io::Error| failure(source, path);
    let root = workspace.root().canonicalize().map_err(failed)?;
    let real = path.real.canonicalize().map_err(failed)?;
    if !real.starts_with(&root) {
        return Err(ReadError::LeadsOut { path: shown() });
    }
    // A courtesy: opening a pipe would wake its writer.
    if !fs::metadata(&real).map_err(failed)?.is_file() {
        return Err(ReadError::NotAFile { path: shown() });
    }
    open_inside(&root, &real, path)
}

/// Opens `real`, and takes nothing for granted that was found out about it before.
fn open_inside(root: &Path, real: &Path, path: &WorkspacePath) -> Result<File, ReadError> {
    let shown = || path.shown.display().to_string();
    // Else opening a pipe would wait for its writer.
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(real);
    let file = opened.map_err(|source| failure(source, path))?;
    let unknown = |source| ReadError::Io { path: shown(), source };
    if !place(&file, real).map_err(unknown)?.starts_with(root) {
        return Err(ReadError::LeadsOut { path: shown() });
    }
    if !file.metadata().map_err(unknown)?.is_file() {
        return Err(ReadError::NotAFile { path: shown() });
    }
    Ok(file)
}

fn failure(source: io::Error, path: &WorkspacePath) -> ReadError {
    let shown = path.shown.display().to_string();
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ReadError::NotFound { path: shown },
        io::ErrorKind::PermissionDenied => ReadError::Denied { path: shown },
        // A socket cannot be opened at all.
        _ if source.raw_os_error() == Some(libc::ENXIO) => ReadError::NotAFile { path: shown },
        _ => ReadError::Io { path: shown, source },
    }
}

/// Where an open file lies.
#[cfg(target_os = "linux")]
fn place(file: &File, _opened: &Path) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd as _;
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Where an open file lies: where its path leads now, if that is still this file.
#[cfg(not(target_os = "linux"))]
fn place(file: &File, opened: &Path) -> io::Result<PathBuf> {
    use std::os::unix::fs::MetadataExt as _;
    let now = opened.canonicalize()?;
    let (held, named) = (file.metadata()?, fs::metadata(&now)?);
    if (held.dev(), held.ino()) == (named.dev(), named.ino()) {
        Ok(now)
    } else {
        Err(io::Error::other("it changed while it was opened"))
    }
}

/// Reads `count` lines from line `first` on, and counts all of them that [`Limits`] let it see. Blocks.
pub(crate) fn select(
    mut file: impl Read,
    path: &WorkspacePath,
    (first, count): (usize, usize),
    limits: Limits,
    cancellation: &CancellationToken,
) -> Result<Selection, ReadError> {
    let shown = || path.shown.display().to_string();
    let mut window = Window::new(first, count, limits);
    let mut buffer = vec![0; 64 * 1024];
    let (mut held, mut seen) = (0, 0);
    loop {
        if cancellation.is_cancelled() {
            return Err(ReadError::Aborted);
        }
        // One byte more than is scanned tells whether the file ends there.
        let room = (limits.max_scanned - seen).saturating_add(1).min(buffer.len() - held);
        let read = match file.read(&mut buffer[held..held + room]) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(source) => return Err(ReadError::Io { path: shown(), source }),
        };
        let new = &buffer[held..held + read];
        if new[..read.min(BINARY_PROBE_BYTES.saturating_sub(seen))].contains(&0) {
            return Err(ReadError::Binary { path: shown() });
        }
        seen += read;
        let goes_on = seen > limits.max_scanned;
        let bytes = &buffer[..held + read - usize::from(goes_on)];
        let valid = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) if error.error_len().is_none() && read > 0 => {
                std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => return Err(ReadError::NotUtf8 { path: shown() }),
        };
        window.push(valid);
        if goes_on {
            return Ok(window.cut_off());
        }
        if read == 0 {
            return Ok(window.finish());
        }
        let (done, end) = (valid.len(), bytes.len());
        buffer.copy_within(done..end, 0);
        held = end - done;
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::path::Path;
    use std::process::Command;

    use dsh_tools::Workspace;
    use tokio_util::sync::CancellationToken;

    use super::{ReadError, open_inside, select};
    use crate::window::{Limits, Selection};

    /// Gives one byte per read.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let length = self.0.len().min(1);
            (&mut self.0).take(length as u64).read(buffer)
        }
    }

    fn read(bytes: &[u8]) -> Result<Selection, ReadError> {
        let path = Workspace::new("/w", None).unwrap().locate("f")?;
        let limits = Limits { max_line_chars: 10, max_bytes: 100, max_scanned: 1_000 };
        select(Slow(bytes), &path, (1, 10), limits, &CancellationToken::new())
    }

    /// What is there when the file is opened: nothing that was found out before holds any more.
    fn swapped(make: impl FnOnce(&Path, &Path)) -> Result<File, ReadError> {
        let folder = tempfile::tempdir().unwrap();
        let outer = folder.path().canonicalize().unwrap();
        let root = outer.join("workspace");
        fs::create_dir(&root).unwrap();
        fs::write(outer.join("secret"), "secret").unwrap();
        fs::write(root.join("inside"), "fine").unwrap();
        make(&outer, &root);
        let path = Workspace::new(&root, None).unwrap().locate("x")?;
        open_inside(&root, &root.join("x"), &path)
    }

    #[test]
    fn a_link_that_appears_before_the_open_does_not_lead_out() {
        let out = swapped(|outer, root| symlink(outer.join("secret"), root.join("x")).unwrap());
        assert!(matches!(out, Err(ReadError::LeadsOut { .. })), "{out:?}");
        let inside = swapped(|_, root| symlink("inside", root.join("x")).unwrap());
        assert_eq!(std::io::read_to_string(inside.unwrap()).unwrap(), "fine");
    }

    #[test]
    fn a_pipe_that_appears_before_the_open_is_not_waited_for() {
        let pipe = swapped(|_, root| {
            assert!(Command::new("mkfifo").arg(root.join("x")).status().unwrap().success());
        });
        assert!(matches!(pipe, Err(ReadError::NotAFile { .. })), "{pipe:?}");
        let socket = swapped(|_, root| drop(UnixListener::bind(root.join("x")).unwrap()));
        assert!(matches!(socket, Err(ReadError::NotAFile { .. })), "{socket:?}");
    }

    #[test]
    fn no_more_than_a_bound_is_scanned() {
        let path = Workspace::new("/w", None).unwrap().locate("f").unwrap();
        let limits = Limits { max_line_chars: 3, max_bytes: 100, max_scanned: 6 };
        let read = |text: &str| {
            let text = text.as_bytes();
            select(Slow(text), &path, (1, 10), limits, &CancellationToken::new()).unwrap()
        };
        for (text, lines, cut_off) in [
            ("a\nb\nc\n", &["a", "b", "c"][..], false),
            ("a\nb\ncd", &["a", "b", "cd"], false),
            ("a\nb\nc\nd", &["a", "b", "c"], true),
            ("a\nb\ncde", &["a", "b"], true),
            ("a\nb\nc\u{e9}", &["a", "b"], true),
            ("abcdefgh", &["abc... (line truncated to 3 chars)"], true),
        ] {
            let selection = read(text);
            assert_eq!(selection.lines, lines, "{text:?}");
            assert_eq!((selection.total, selection.cut_off), (lines.len(), cut_off), "{text:?}");
        }
    }

    #[test]
    fn characters_cut_between_two_reads_are_put_together() {
        assert_eq!(read("é€😀\nx".as_bytes()).unwrap().lines, ["é€😀", "x"]);
    }

    #[test]
    fn text_that_ends_inside_a_character_is_refused() {
        assert!(matches!(read(b"ab\xc3"), Err(ReadError::NotUtf8 { .. })));
        assert!(matches!(read(b"a\xffb"), Err(ReadError::NotUtf8 { .. })));
    }

    #[test]
    fn a_zero_byte_makes_a_file_binary() {
        assert!(matches!(read(b"a\0b"), Err(ReadError::Binary { .. })));
    }

    #[test]
    fn a_cancelled_read_stops() {
        let path = Workspace::new("/w", None).unwrap().locate("f").unwrap();
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        let limits = Limits { max_line_chars: 10, max_bytes: 100, max_scanned: 1_000 };
        assert!(matches!(select(Slow(b"a"), &path, (1, 1), limits, &cancelled), Err(ReadError::Aborted)));
    }
}
