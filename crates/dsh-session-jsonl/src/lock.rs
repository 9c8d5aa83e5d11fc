//! One writer for each session: an advisory lock of the operating system on a file beside the log.
//!
//! The lock is held by an open file, so it goes with its holder, even if that is killed, and a second writer in the same
//! process is refused like one of another process. The file stays: taking it away would let two hold a lock each. It is
//! not the log itself, because a repaired log is another file under the same name.

use std::path::Path;

use dsh_session::StorageError;

use crate::disk::{Disk, Locking};

const FILE_NAME: &str = "session.lock";

/// A session that nobody else writes to, until this is dropped.
pub(crate) struct Lock {
    _held: Box<dyn Send>,
}

impl Lock {
    /// Takes the session `id` in its folder, which is there.
    pub(crate) fn take(disk: &dyn Disk, folder: &Path, id: &str) -> Result<Self, StorageError> {
        let path = folder.join(FILE_NAME);
        let note = std::process::id().to_string();
        match disk.lock(&path, &note) {
            Ok(Locking::Held(held)) => Ok(Self { _held: held }),
            Ok(Locking::Busy(note)) => Err(StorageError::Busy { id: id.to_owned(), holder: holder(&note) }),
            Err(error) => Err(StorageError::io(format!("lock `{}`", path.display()), error)),
        }
    }
}

fn holder(note: &str) -> String {
    match note.trim().parse::<u32>() {
        Ok(pid) if pid == std::process::id() => format!("this process ({pid})"),
        Ok(pid) => format!("process {pid}"),
        // It is between taking the lock and writing its number.
        Err(_) => "another writer".to_owned(),
    }
}
