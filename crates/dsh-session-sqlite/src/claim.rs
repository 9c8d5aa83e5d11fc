//! The claim of the one writer of a session: it ends with its holder, however that ends.
//!
//! SQLite locks a database, not a row. So the claim is an advisory lock of the system on a file beside the database, with the
//! holder's process number in it; and a table in this process.
//!
//! **Invariant**: who has the lock has it on the file that the name leads to. The file is removed under the lock, and who gets a
//! lock on a file that was removed meanwhile tries again.

use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsh_session::StorageError;
use parking_lot::Mutex;

use crate::place::{self, Place};

/// File systems take names of 255 bytes.
const MAX_NAME: usize = 200;

/// Who writes to what.
pub(crate) struct Claims {
    /// None for a database in memory: nobody else can have it.
    folder: Option<PathBuf>,
    held: Mutex<HashSet<String>>,
}

/// The right to write to a session.
pub(crate) struct Claim {
    claims: Arc<Claims>,
    id: String,
    file: Option<(File, PathBuf)>,
}

impl Claims {
    pub(crate) fn new(place: &Place) -> Self {
        let folder = match place {
            Place::Memory => None,
            Place::File(path) => {
                let mut name = path.as_os_str().to_owned();
                name.push("-writers");
                Some(PathBuf::from(name))
            }
        };
        Self { folder, held: Mutex::default() }
    }

    /// Takes a session, if nobody has it.
    pub(crate) fn take(self: &Arc<Self>, id: &str) -> Result<Claim, StorageError> {
        if !self.held.lock().insert(id.to_owned()) {
            let holder = format!("this process ({})", std::process::id());
            return Err(StorageError::Busy { id: id.to_owned(), holder });
        }
        // From here on, dropping it gives the session back.
        let mut claim = Claim { claims: self.clone(), id: id.to_owned(), file: None };
        if let Some(folder) = &self.folder {
            place::make_folder(folder)?;
            claim.file = Some(lock(&folder.join(file_name(id)), id)?);
        }
        Ok(claim)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some((file, path)) = self.file.take() {
            // A file that stays is locked again by the next writer. Elsewhere it could not be told from its successor.
            if cfg!(unix) {
                let _ = std::fs::remove_file(path);
            }
            drop(file);
        }
        self.claims.held.lock().remove(&self.id);
    }
}

fn lock(path: &Path, id: &str) -> Result<(File, PathBuf), StorageError> {
    let failed = |error: io::Error| StorageError::io(format!("lock {}", path.display()), error);
    loop {
        let mut file = options().open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) if !is_named(&file, path).map_err(failed)? => {}
            Ok(()) => {
                file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())).map_err(failed)?;
                return Ok((file, path.to_owned()));
            }
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let pid = file.take(20).read_to_string(&mut text).ok().and_then(|_| text.parse::<u32>().ok());
                let holder = pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
                return Err(StorageError::Busy { id: id.to_owned(), holder });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    options
}

/// Whether the name still leads to the file.
#[cfg(unix)]
fn is_named(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;

    let ours = file.metadata()?;
    match std::fs::symlink_metadata(path) {
        Ok(named) => Ok((ours.dev(), ours.ino()) == (named.dev(), named.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_named(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// A name for an id: safe characters stay, any other unit of UTF-16 becomes `~` and four digits. A long one ends with
/// a checksum; two ids of one name would only wait for each other.
fn file_name(id: &str) -> String {
    let mut name = String::with_capacity(id.len() + 5);
    for unit in id.encode_utf16() {
        match char::from_u32(u32::from(unit)) {
            Some(safe) if safe.is_ascii_alphanumeric() || matches!(safe, '.' | '_' | '-') => name.push(safe),
            _ => name.push_str(&format!("~{unit:04X}")),
        }
    }
    if name.len() > MAX_NAME {
        // FNV-1a: the same in every build.
        let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        name.truncate(MAX_NAME - 20);
        name.push_str(&format!("~~{hash:016x}"));
    }
    name + ".lock"
}

#[cfg(test)]
#[path = "claim_tests.rs"]
mod tests;
