//! Where a path leads, and the text that is there.

use std::fs::{self, File};
use std::io::{self, Read};

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

impl From<ReadError> for ToolError {
    fn from(error: ReadError) -> Self {
        let code = match &error {
            ReadError::NotFound { .. } => "FS_NOT_FOUND",
            ReadError::NotAFile { .. } => "FS_NOT_REGULAR_FILE",
            ReadError::Binary { .. } | ReadError::NotUtf8 { .. } => "FS_NOT_TEXT",
            ReadError::Denied { .. } => "FS_PERMISSION_DENIED",
            ReadError::Outside(_) | ReadError::LeadsOut { .. } => "FS_SANDBOX_DENIED",
            ReadError::Io { .. } => "FS_IO_ERROR",
            ReadError::Aborted => return Self::aborted(),
        };
        Self::new(error.to_string()).with_kind(ErrorInfo::fixed("FsError", code))
    }
}

/// Opens a file of the workspace. Blocks.
///
/// # Errors
/// Refuses what is not a regular file, and what lies outside once all links are followed.
pub(crate) fn open(workspace: &Workspace, path: &WorkspacePath) -> Result<File, ReadError> {
    let shown = || path.shown.display().to_string();
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ReadError::NotFound { path: shown() },
        io::ErrorKind::PermissionDenied => ReadError::Denied { path: shown() },
        _ => ReadError::Io { path: shown(), source },
    };
    let root = workspace.root().canonicalize().map_err(failed)?;
    let real = path.real.canonicalize().map_err(failed)?;
    if !real.starts_with(&root) {
        return Err(ReadError::LeadsOut { path: shown() });
    }
    // Looked at before it is opened: opening a pipe would wait for its writer.
    if !fs::metadata(&real).map_err(failed)?.is_file() {
        return Err(ReadError::NotAFile { path: shown() });
    }
    File::open(&real).map_err(failed)
}

/// Reads `count` lines from line `first` on, and counts all of them. Blocks.
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
        let read = match file.read(&mut buffer[held..]) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(source) => return Err(ReadError::Io { path: shown(), source }),
        };
        let new = &buffer[held..held + read];
        if new[..read.min(BINARY_PROBE_BYTES.saturating_sub(seen))].contains(&0) {
            return Err(ReadError::Binary { path: shown() });
        }
        seen += read;
        let bytes = &buffer[..held + read];
        let valid = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) if error.error_len().is_none() && read > 0 => {
                std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => return Err(ReadError::NotUtf8 { path: shown() }),
        };
        window.push(valid);
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
    use std::io::Read;

    use dsh_tools::Workspace;
    use tokio_util::sync::CancellationToken;

    use super::{ReadError, select};
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
        let path = Workspace::new("/w", None).locate("f")?;
        let limits = Limits { max_line_chars: 10, max_bytes: 100 };
        select(Slow(bytes), &path, (1, 10), limits, &CancellationToken::new())
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
        let path = Workspace::new("/w", None).locate("f").unwrap();
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        let limits = Limits { max_line_chars: 10, max_bytes: 100 };
        assert!(matches!(select(Slow(b"a"), &path, (1, 1), limits, &cancelled), Err(ReadError::Aborted)));
    }
}
