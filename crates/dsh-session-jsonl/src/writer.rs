//! The one who adds to a log: a new log, and a batch at the end of one.
//!
//! **Invariants**
//! 1. The first `length` bytes of the file are acknowledged, or were found sound when the log was opened. They are never
//!    written again in their place.
//! 2. After a failed call the file has exactly these bytes (and, before a repair, the torn ones that were found), or the
//!    writer is poisoned.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsh_session::{Event, SessionHeader, StorageError, Writer, rows};

use crate::config::{Compression, Config, Fsync};
use crate::disk::{Disk, DiskFile, Stat};
use crate::frames;
use crate::lock::Lock;
use crate::reader::Torn;

/// A log that was taken for writing.
pub(crate) struct LogWriter {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) style: Style,
    pub(crate) id: String,
    pub(crate) path: PathBuf,
    pub(crate) file: Box<dyn DiskFile>,
    pub(crate) length: u64,
    /// The number of the next event.
    pub(crate) next: u64,
    /// What a repair has to take away.
    pub(crate) torn: Option<Torn>,
    pub(crate) poisoned: bool,
    pub(crate) _lock: Lock,
}

/// How a log is written.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    compression: Compression,
    pack_chunks: bool,
    fsync: Fsync,
}

impl Style {
    pub(crate) fn of(config: &Config) -> Self {
        let Config { compression, pack_chunks, fsync, .. } = *config;
        Self { compression, pack_chunks, fsync }
    }

    pub(crate) fn lines(self, events: &[Arc<Event>]) -> String {
        let mut text = String::new();
        for row in rows(events, self.pack_chunks) {
            row.write_line(&mut text);
        }
        text
    }

    /// The bytes that a batch of lines is in a file; none for no lines.
    pub(crate) fn batch(self, lines: Vec<u8>) -> io::Result<Vec<u8>> {
        match self.compression {
            _ if lines.is_empty() => Ok(lines),
            Compression::None => Ok(lines),
            Compression::Zstd => frames::pack(&lines),
        }
    }

    pub(crate) fn sync(self, file: &mut dyn DiskFile) -> io::Result<()> {
        match self.fsync {
            Fsync::Always => file.sync(),
            Fsync::Never => Ok(()),
        }
    }

    pub(crate) fn sync_folder(self, disk: &dyn Disk, folder: &Path) -> io::Result<()> {
        match self.fsync {
            Fsync::Always => disk.sync_folder(folder),
            Fsync::Never => Ok(()),
        }
    }
}

/// Where a log is written before it gets its name; whoever holds the session's lock may take an old one away.
pub(crate) fn temporary(log: &Path) -> PathBuf {
    let name = log.file_name().unwrap_or_default().to_string_lossy();
    log.with_file_name(format!(".{name}.tmp"))
}

/// Makes a new log in its folder, which is locked.
pub(crate) fn create(
    disk: Arc<dyn Disk>,
    style: Style,
    lock: Lock,
    path: PathBuf,
    header: &SessionHeader,
    first: &[Arc<Event>],
) -> Result<LogWriter, StorageError> {
    let id = header.id.clone();
    let failed = |error: io::Error| StorageError::io(format!("make `{}`", path.display()), error);
    check_order(&id, 0, first)?;
    let mut line = header.to_line().map_err(|reason| failed(io::Error::other(reason)))?;
    line.push('\n');
    let mut bytes = style.batch(line.into_bytes()).map_err(failed)?;
    bytes.extend(style.batch(style.lines(first).into_bytes()).map_err(failed)?);

    let temporary = temporary(&path);
    let _ = disk.remove(&temporary);
    let published = write_new(&*disk, style, &temporary, |file| file.write_all(&bytes))
        .and_then(|file| publish(&*disk, &temporary, &path).map(|()| file));
    let _ = disk.remove(&temporary);
    let file = published.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => StorageError::Exists { id: id.clone() },
        _ => failed(error),
    })?;
    let folder = path.parent().unwrap_or(&path);
    if let Err(error) = style.sync_folder(&*disk, folder) {
        let undone = disk.remove(&path).and_then(|()| style.sync_folder(&*disk, folder));
        return Err(failed(match undone {
            Ok(()) => error,
            Err(undo) => both(&error, &undo),
        }));
    }
    let (length, next) = (bytes.len() as u64, first.len() as u64);
    Ok(LogWriter { disk, style, id, path, file, length, next, torn: None, poisoned: false, _lock: lock })
}

/// Gives the new file its name. A link that was made and reported as failed, as network file systems may do, is made.
fn publish(disk: &dyn Disk, temporary: &Path, path: &Path) -> io::Result<()> {
    let Err(error) = disk.link(temporary, path) else { return Ok(()) };
    let number = |path: &Path| disk.stat(path).ok().map(|stat| (stat.device, stat.inode));
    let made = number(path).filter(|number| number.1 != 0);
    if made.is_some() && made == number(temporary) { Ok(()) } else { Err(error) }
}

/// Makes a file, fills it and forces it onto the disk.
pub(crate) fn write_new(
    disk: &dyn Disk,
    style: Style,
    path: &Path,
    fill: impl FnOnce(&mut dyn DiskFile) -> io::Result<()>,
) -> io::Result<Box<dyn DiskFile>> {
    let mut file = disk.create_new(path)?;
    fill(&mut *file)?;
    style.sync(&mut *file)?;
    Ok(file)
}

impl LogWriter {
    pub(crate) fn failed(&self, error: io::Error) -> StorageError {
        StorageError::io(format!("write to `{}`", self.path.display()), error)
    }

    /// Adds bytes to the end, or nothing at all.
    fn add(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        let added = self.file.write_all(bytes).and_then(|()| self.style.sync(&mut *self.file));
        let Err(error) = added else {
            self.length += bytes.len() as u64;
            return Ok(());
        };
        let undone = self.file.truncate(self.length).and_then(|()| self.style.sync(&mut *self.file));
        match undone {
            Ok(()) => Err(self.failed(error)),
            Err(undo) => {
                self.poisoned = true;
                Err(self.failed(both(&error, &undo)))
            }
        }
    }

    /// Fails unless the log is as this writer has left it: a lock is only seen by those who look at it.
    fn check_untouched(&self) -> Result<(), StorageError> {
        let stale = || StorageError::Stale { id: self.id.clone() };
        let own = self.file.stat().map_err(|error| self.failed(error))?;
        let named = match self.disk.stat(&self.path) {
            Ok(stat) => stat,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(stale()),
            Err(error) => return Err(self.failed(error)),
        };
        let file = |stat: &Stat| (stat.device, stat.inode, stat.size_bytes);
        if file(&own) == file(&named) && own.size_bytes == self.length { Ok(()) } else { Err(stale()) }
    }

    fn write(&mut self, events: &[Arc<Event>]) -> Result<(), StorageError> {
        if self.poisoned {
            return Err(StorageError::Poisoned { id: self.id.clone() });
        }
        check_order(&self.id, self.next, events)?;
        self.check_untouched()?;
        let lines = self.style.lines(events).into_bytes();
        match self.torn.take() {
            None => {
                let bytes = self.style.batch(lines).map_err(|error| self.failed(error))?;
                self.add(&bytes)?;
            }
            Some(torn) => {
                let replaced = self.replace(&torn, lines);
                if replaced.is_err() {
                    self.torn = Some(torn);
                }
                replaced?;
            }
        }
        self.next += events.len() as u64;
        Ok(())
    }
}

impl Writer for LogWriter {
    fn append(&mut self, events: &[Arc<Event>]) -> Result<(), StorageError> {
        if events.is_empty() { Ok(()) } else { self.write(events) }
    }

    fn repair(&mut self, closers: &[Arc<Event>]) -> Result<(), StorageError> {
        if closers.is_empty() && self.torn.is_none() { Ok(()) } else { self.write(closers) }
    }
}

fn check_order(id: &str, next: u64, events: &[Arc<Event>]) -> Result<(), StorageError> {
    for (expected, event) in (next..).zip(events) {
        if event.seq() != expected {
            let found = event.seq();
            return Err(StorageError::io(
                format!("add to session `{id}`"),
                format!("expected the event {expected}, got {found}"),
            ));
        }
    }
    Ok(())
}

/// One error that tells of two: what failed, and that it could not be undone.
pub(crate) fn both(error: &io::Error, undo: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{error}; and to undo it failed as well: {undo}"))
}
