//! A file that is named on the command line, or standard input.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// The most bytes of text that one log may hold, unpacked.
pub(crate) const MAX_LOG_BYTES: u64 = 4 << 30;

/// Whether a path means standard input.
pub(crate) fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// What a path is called in messages, as it is.
pub(crate) fn name(path: &Path) -> String {
    match is_standard_input(path) {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    }
}

/// All bytes; a pipe is read to its end.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !is_standard_input(path) {
        return fs::read(path);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}
