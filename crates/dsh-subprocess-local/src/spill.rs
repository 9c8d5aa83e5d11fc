//! Files with all of a long stream.
//!
//! **Invariants**
//! 1. A file is called whole only when all of the stream is in it. Whatever ends the writing before that removes it.
//! 2. What is written is counted before, so all files together never take more than they may.
//!
//! **Lock order:** `made`, then the watchdog's; `room`, then a stream's `spill`. Under `room` nothing blocks.

use std::fs::{Permissions, remove_file};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use dsh_subprocess::Spill;
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt;
use tokio::task::spawn_blocking;

use crate::config::Config;
use crate::kept::Kept;
use crate::room::{Removed, Room};
use crate::watchdog::Watchdog;

/// How much is handed over at once: each time costs a turn on another thread.
const BATCH_BYTES: usize = 512 * 1024;

/// The folder of a provider's files, which only the user can enter. It is made when the first one is needed, and removed with
/// all that is in it when the provider is unloaded, or by the watchdog if the host dies, unless it is to be kept.
pub(crate) struct SpillFolder {
    root: Option<PathBuf>,
    is_kept: bool,
    watchdog: Arc<Watchdog>,
    made: Arc<Mutex<Made>>,
    room: Arc<Mutex<Room>>,
}

enum Made {
    NotYet,
    Folder(TempDir),
    Removed,
}

/// A file that is being written. It is removed when this is dropped before it is whole.
pub(crate) struct SpillFile {
    file: File,
    /// What is still to be handed over.
    batch: Vec<u8>,
    path: PathBuf,
    /// What it is in `room`.
    number: u64,
    room: Arc<Mutex<Room>>,
    kept: Weak<Kept>,
    written: u64,
    max_bytes: u64,
    is_whole: bool,
}

/// Why there is no file any more.
#[derive(Debug)]
pub(crate) enum Lost {
    TooLong,
    NoRoom,
    Failed(io::Error),
}

impl SpillFolder {
    pub(crate) fn new(config: &Config, watchdog: Arc<Watchdog>) -> Self {
        let room = Arc::new(Mutex::new(Room::new(config.max_spill_total_bytes)));
        let made = Arc::new(Mutex::new(Made::NotYet));
        Self { root: config.spill_root.clone(), is_kept: config.keep_spill_files, watchdog, made, room }
    }

    /// Begins the file of a stream.
    pub(crate) async fn create(
        &self,
        name: String,
        max_bytes: u64,
        kept: &Arc<Kept>,
    ) -> Result<SpillFile, Lost> {
        let (root, watchdog, made) = (self.root.clone(), Arc::clone(&self.watchdog), Arc::clone(&self.made));
        let watchdog = (!self.is_kept).then_some(watchdog);
        let folder = spawn_blocking(move || made.lock().folder(root, watchdog.as_deref())).await;
        let path = folder.map_err(io::Error::from)?.map_err(Lost::Failed)?.join(name);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&path).await?;
        let kept = Arc::downgrade(kept);
        let number = self.room.lock().begin(path.clone(), Weak::clone(&kept));
        let room = Arc::clone(&self.room);
        Ok(SpillFile {
            file,
            batch: Vec::new(),
            path,
            number,
            room,
            kept,
            written: 0,
            max_bytes,
            is_whole: false,
        })
    }

    /// Removes it, unless it is kept: then there are no further files in it. Blocks.
    pub(crate) fn remove(&self) {
        let made = std::mem::replace(&mut *self.made.lock(), Made::Removed);
        if let Made::Folder(folder) = made
            && !self.is_kept
            && let Err(error) = folder.close()
        {
            tracing::warn!(%error, "the folder of long output was not removed");
        }
    }
}

impl Made {
    /// The folder, which is the watchdog's business if there is one to tell.
    fn folder(&mut self, root: Option<PathBuf>, watchdog: Option<&Watchdog>) -> io::Result<PathBuf> {
        if let Self::NotYet = self {
            let root = std::path::absolute(root.unwrap_or_else(std::env::temp_dir))?;
            let mut folder = tempfile::Builder::new();
            folder.prefix("dsh-subprocess-");
            folder.permissions(Permissions::from_mode(0o700));
            // What drops it must not remove what is kept.
            folder.disable_cleanup(watchdog.is_none());
            let folder = folder.tempdir_in(root)?;
            if let Some(watchdog) = watchdog {
                watchdog.owns(folder.path());
            }
            *self = Self::Folder(folder);
        }
        match self {
            Self::Folder(folder) => Ok(folder.path().to_owned()),
            Self::NotYet | Self::Removed => Err(io::Error::other("the folder was removed")),
        }
    }
}

impl SpillFile {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds to the file, in batches; see [`hand_over`](Self::hand_over).
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), Lost> {
        self.written += bytes.len() as u64;
        if self.written > self.max_bytes {
            return Err(Lost::TooLong);
        }
        let Some(removed) = self.room.lock().take(self.number, bytes.len() as u64) else {
            return Err(Lost::NoRoom);
        };
        if !removed.is_empty() {
            spawn_blocking(move || removed.iter().for_each(Removed::remove))
                .await
                .map_err(io::Error::from)?;
        }
        self.batch.extend_from_slice(bytes);
        if self.batch.len() < BATCH_BYTES { Ok(()) } else { self.hand_over().await }
    }

    /// Whether something is still to be handed over.
    pub(crate) fn holds_back(&self) -> bool {
        !self.batch.is_empty()
    }

    /// Has what was added so far written in the background; while what was handed over before is not, this waits.
    pub(crate) async fn hand_over(&mut self) -> Result<(), Lost> {
        self.file.write_all(&self.batch).await?;
        self.batch.clear();
        Ok(())
    }

    /// Waits until all of it is written.
    pub(crate) async fn finish(&mut self) -> Result<(), Lost> {
        self.hand_over().await?;
        self.file.flush().await?;
        self.is_whole = true;
        self.room.lock().end(self.number);
        Ok(())
    }

    /// Removes the file. What is still to be written to it is not waited for.
    pub(crate) async fn discard(mut self) {
        self.is_whole = true;
        self.room.lock().discard(self.number);
        let path = std::mem::take(&mut self.path);
        drop(self);
        let _ = spawn_blocking(move || remove_file(path)).await;
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        if !self.is_whole {
            self.room.lock().discard(self.number);
            if let Some(kept) = self.kept.upgrade() {
                kept.tell(Spill::Failed);
            }
            // Without a runtime the folder goes as well.
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                let path = std::mem::take(&mut self.path);
                runtime.spawn_blocking(move || remove_file(path));
            }
        }
    }
}

impl From<io::Error> for Lost {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}
