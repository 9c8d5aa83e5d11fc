//! Reading files whole, within bounds.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use crate::error::LoadError;

/// How long a file may be.
const MAX_FILE_BYTES: u64 = 256 << 20;
/// How a file that zstd has packed begins.
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The text of a file, not empty.
pub(crate) fn read(path: &Path) -> Result<String, LoadError> {
    let text = text(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
    if text.trim().is_empty() {
        return Err(LoadError::Empty { path: path.to_owned() });
    }
    Ok(text)
}

fn text(path: &Path) -> io::Result<String> {
    // A pipe that nobody writes to would hold up everything.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let file = fs::File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    if length <= MAX_FILE_BYTES {
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    }
    if length.max(bytes.len() as u64) > MAX_FILE_BYTES {
        return Err(io::Error::other(format!("it is longer than {MAX_FILE_BYTES} bytes")));
    }
    if bytes.starts_with(ZSTD_MAGIC) {
        return Err(io::Error::other("zstd has packed it: unpack it first"));
    }
    let text = String::from_utf8(bytes).map_err(io::Error::other)?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}
