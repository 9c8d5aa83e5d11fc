//! Whether a file is a database of sessions: found out before SQLite opens it, which would make one of an empty file.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::anyhow;

use crate::exit::Failure;
use crate::visible::visible;

const MAGIC: &[u8] = b"SQLite format 3\0";
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// SQLite's header, at the beginning of the file.
const HEADER_BYTES: u64 = 100;
/// Where the header names the program that the database is of, and `DSHP`, which is ours.
const APPLICATION: std::ops::Range<usize> = 68..72;
const OURS: &[u8] = b"DSHP";
/// Where the header says how the database is to be written, and what says that a log is beside it.
const WRITE_VERSION: usize = 18;
const WRITE_AHEAD: u8 = 2;

/// How a database keeps its transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Journal {
    /// In a log beside it.
    Ahead,
    /// In a journal that is there during a transaction.
    Rollback,
}

/// Whether a file says that it is a SQLite database, whosever.
pub(crate) fn is_database(path: &Path) -> bool {
    beginning(path).is_ok_and(|bytes| bytes.starts_with(MAGIC))
}

/// How the database of sessions is written that a file is.
pub(crate) fn look(path: &Path) -> Result<Journal, Failure> {
    let shown = visible(&path.display().to_string());
    let refused = |why: &str| Failure::bad_input(anyhow!("{shown} is no session database: {why}"));
    let bytes = beginning(path)
        .map_err(|error| Failure::bad_input(anyhow!(error).context(format!("cannot read {shown}"))))?;
    if bytes.is_empty() {
        return Err(refused("it is empty"));
    }
    if bytes.starts_with(b"{") || bytes.starts_with(ZSTD_MAGIC) {
        return Err(refused("it looks like a log; `dsh session check FILE` looks at one"));
    }
    if !bytes.starts_with(MAGIC) {
        return Err(refused("it is no SQLite database"));
    }
    // Until its log is taken over, the header of a new database may not say yet whose it is.
    let is_ours = bytes.get(APPLICATION) == Some(OURS) || has_log(path);
    if !is_ours {
        return Err(refused("it is another program's"));
    }
    match bytes.get(WRITE_VERSION) {
        Some(&WRITE_AHEAD) => Ok(Journal::Ahead),
        _ => Ok(Journal::Rollback),
    }
}

fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(Path::new(&log)).is_ok_and(|log| log.len() > 0)
}

fn beginning(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(HEADER_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
