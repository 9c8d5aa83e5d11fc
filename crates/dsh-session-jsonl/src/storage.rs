//! The store: finds, reads, lists, makes and takes logs.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsh_session::{
    Event, Listed, Location, Opened, RawLog, SessionHeader, Storage, StorageError, Stored, Writer,
};

use crate::config::Config;
use crate::disk::{Access, Disk, DiskFile, RealDisk};
use crate::lock::Lock;
use crate::lookup::{self, Root, place, read_header};
use crate::path;
use crate::reader::{self, Decoded, Source, Torn};
use crate::revision;
use crate::writer::{self, LogWriter, Style};

/// How often a log is read again because it was written to meanwhile.
const READS: usize = 100;

/// Sessions as files of lines below one folder.
///
/// Everything blocks. Reads take no lock: a log that is written to meanwhile is read again until it has held still. A
/// session is written to by one [`Writer`] at a time, in all processes together.
pub struct JsonlStorage {
    config: Config,
    disk: Arc<dyn Disk>,
}

/// A log and the bytes that were in its file at one moment.
struct Snapshot {
    path: PathBuf,
    bytes: Vec<u8>,
    revision: String,
}

impl JsonlStorage {
    /// Opens a store. A root that is not there yet is made when the first session is stored.
    ///
    /// # Errors
    /// The root is no folder that can be read, or holds logs of the other kind or of an older layout.
    pub fn open(config: Config) -> Result<Self, StorageError> {
        Self::open_on(config, Arc::new(RealDisk))
    }

    /// As [`open`](Self::open), on a file system of one's own.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_on(mut config: Config, disk: Arc<dyn Disk>) -> Result<Self, StorageError> {
        let unusable = |error: io::Error| StorageError::Place {
            what: format!("the root `{}` of the sessions cannot be used", config.root.display()),
            source: Some(error.into()),
        };
        // An empty path is the folder that the process is in.
        let root = std::path::absolute(Path::new(".").join(&config.root)).map_err(unusable)?;
        match disk.list(&root) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(unusable(error)),
        }
        config.root = root;
        let storage = Self { config, disk };
        storage.root().all()?;
        Ok(storage)
    }

    fn root(&self) -> Root<'_> {
        Root { disk: &*self.disk, path: &self.config.root, compression: self.config.compression }
    }

    /// Reads the file of a session until it was the same before and after.
    fn snapshot(&self, id: &str) -> Result<Option<Snapshot>, StorageError> {
        for _ in 0..READS {
            let Some(path) = self.root().find(id)? else { return Ok(None) };
            let shown = path.display().to_string();
            let failed = |error: io::Error| StorageError::io(format!("read `{shown}`"), error);
            let mut file = match self.disk.open(&path, Access::Read) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(error)),
            };
            let before = file.stat().map_err(failed)?;
            if before.size_bytes > self.config.max_log_bytes {
                return Err(Source { id, path: &shown }.too_long(self.config.max_log_bytes));
            }
            let bytes = read_all(&mut *file, before.size_bytes).map_err(failed)?;
            if self.disk.stat(&path).is_ok_and(|after| after == before) {
                return Ok(Some(Snapshot { path, bytes, revision: revision::of(&before) }));
            }
        }
        Err(StorageError::Stale { id: id.to_owned() })
    }

    fn decode(&self, id: &str, snapshot: Snapshot) -> Result<(Stored, Option<Torn>), StorageError> {
        let Snapshot { path, bytes, revision } = snapshot;
        let Config { compression, max_log_bytes, .. } = self.config;
        let Decoded { header, events, torn } =
            reader::decode(id, &path.display().to_string(), &bytes, compression, max_log_bytes)?;
        self.check_identity(id, &path, &header)?;
        let why = torn.as_ref().map(|torn| torn.why.clone());
        Ok((Stored { header, events, torn: why, revision }, torn))
    }

    fn check_identity(&self, id: &str, path: &Path, header: &SessionHeader) -> Result<(), StorageError> {
        if header.id != id {
            let what = format!("`{}` holds the session `{}`", path.display(), header.id);
            return Err(StorageError::Corrupt { id: id.to_owned(), what });
        }
        self.root().check_place(path, header)
    }

    /// Makes the folder of a log and those above it, each durable before what is in it.
    fn make_folders(&self, folder: &Path) -> Result<(), StorageError> {
        let failed = |error: io::Error| StorageError::io(format!("make `{}`", folder.display()), error);
        let missing: Vec<&Path> =
            folder.ancestors().take_while(|folder| self.disk.stat(folder).is_err()).collect();
        for folder in missing.iter().rev() {
            match self.disk.make_folder(folder) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
        self.sync_above(folder, missing.len()).map_err(failed)
    }
}

impl JsonlStorage {
    /// Forces the names of a folder and of so many above it onto the disk, but no fewer than two: those were maybe made by
    /// somebody who stopped before they were durable.
    fn sync_above(&self, folder: &Path, count: usize) -> io::Result<()> {
        let style = Style::of(&self.config);
        folder
            .ancestors()
            .skip(1)
            .take(count.max(2))
            .try_for_each(|folder| style.sync_folder(&*self.disk, folder))
    }

    /// Forces what was read onto the disk: its writer may have stopped before it had done so, and what is added is only as
    /// durable as what is before it.
    fn settle(&self, log: &Path, file: &mut dyn DiskFile) -> io::Result<()> {
        let folder = log.parent().unwrap_or(log);
        let style = Style::of(&self.config);
        style.sync(file)?;
        style.sync_folder(&*self.disk, folder)?;
        self.sync_above(folder, 0)
    }
}

impl Storage for JsonlStorage {
    fn locate(&self, header: &SessionHeader) -> Option<Location> {
        let folder = self.config.root.join(path::relative(header).ok()?);
        Some(Location::Jsonl { path: folder.join(self.config.compression.file_name()) })
    }

    fn create(&self, header: &SessionHeader, first: &[Arc<Event>]) -> Result<Box<dyn Writer>, StorageError> {
        let folder = self.config.root.join(path::relative(header).map_err(place)?);
        if self.root().find(&header.id)?.is_some() {
            return Err(StorageError::Exists { id: header.id.clone() });
        }
        self.make_folders(&folder)?;
        let lock = Lock::take(&*self.disk, &folder, &header.id)?;
        let log = folder.join(self.config.compression.file_name());
        let style = Style::of(&self.config);
        Ok(Box::new(writer::create(self.disk.clone(), style, lock, log, header, first)?))
    }

    fn open(&self, id: &str) -> Result<Option<Opened>, StorageError> {
        let Some(path) = self.root().find(id)? else { return Ok(None) };
        let lock = Lock::take(&*self.disk, path.parent().unwrap_or(&path), id)?;
        // Read only now: before the lock was held, its holder may have written.
        let Some(snapshot) = self.snapshot(id)? else { return Ok(None) };
        if snapshot.path != path {
            return Err(StorageError::Stale { id: id.to_owned() });
        }
        let length = snapshot.bytes.len() as u64;
        let (stored, torn) = self.decode(id, snapshot)?;
        let settled = self.disk.open(&path, Access::Append).and_then(|mut file| {
            self.settle(&path, &mut *file)?;
            Ok(file)
        });
        let file = settled.map_err(|error| StorageError::io(format!("open `{}`", path.display()), error))?;
        let writer = LogWriter {
            disk: self.disk.clone(),
            style: Style::of(&self.config),
            id: id.to_owned(),
            path,
            file,
            length,
            next: stored.events.len() as u64,
            torn,
            poisoned: false,
            _lock: lock,
        };
        Ok(Some(Opened { stored, writer: Box::new(writer) }))
    }

    fn read(&self, id: &str) -> Result<Option<Stored>, StorageError> {
        let Some(snapshot) = self.snapshot(id)? else { return Ok(None) };
        self.decode(id, snapshot).map(|(stored, _)| Some(stored))
    }

    fn list(&self) -> Result<Vec<Listed>, StorageError> {
        let root = self.root();
        let mut listed = Vec::new();
        let mut logs = HashMap::new();
        for log in root.all()? {
            let found = match self.list_one(&root, &log) {
                Ok(found) => found,
                Err(error) => {
                    // One log that is out of place does not hide the others.
                    left_out(&log, &error);
                    continue;
                }
            };
            let Some(one) = found else { continue };
            if let Some(first) = logs.insert(one.header.id.clone(), log.clone()) {
                left_out(&log, &lookup::stored_twice(&one.header.id, &first, &log));
                continue;
            }
            listed.push(one);
        }
        Ok(listed)
    }

    fn revision(&self, id: &str) -> Result<Option<String>, StorageError> {
        let Some(path) = self.root().find(id)? else { return Ok(None) };
        match self.disk.stat(&path) {
            Ok(stat) => Ok(Some(revision::of(&stat))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StorageError::io(format!("look at `{}`", path.display()), error)),
        }
    }

    fn has_raw(&self) -> bool {
        true
    }

    fn read_raw(&self, id: &str) -> Result<Option<RawLog>, StorageError> {
        let Some(Snapshot { path, bytes, .. }) = self.snapshot(id)? else { return Ok(None) };
        let shown = path.display().to_string();
        let source = Source { id, path: &shown };
        let Config { compression, max_log_bytes, .. } = self.config;
        let content = reader::raw_text(source, &bytes, compression, max_log_bytes)?;
        let header = SessionHeader::parse(content.lines().next().unwrap_or_default())
            .map_err(|problem| StorageError::of_problem(id, &format!("`{shown}`: line 1"), &problem))?;
        self.check_identity(id, &path, &header)?;
        Ok(Some(RawLog { header, filename: "session.jsonl".to_owned(), content }))
    }
}

/// Reads a file whole, or as much of it as there is now.
fn read_all(file: &mut dyn DiskFile, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    let mut at = 0;
    while at < bytes.len() {
        match file.read_at(at as u64, &mut bytes[at..]) {
            Ok(0) => break,
            Ok(count) => at += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(at);
    Ok(bytes)
}

impl JsonlStorage {
    /// The session of a log that was found; none if it has no whole header.
    fn list_one(&self, root: &Root<'_>, log: &Path) -> Result<Option<Listed>, StorageError> {
        let failed = |error: io::Error| StorageError::io(format!("read `{}`", log.display()), error);
        let mut file = match self.disk.open(log, Access::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let stat = file.stat().map_err(failed)?;
        let Some(header) = read_header(&mut *file, log, self.config.compression)? else {
            let log = log.display().to_string();
            tracing::warn!(log, "a log without a whole header is left out of the list");
            return Ok(None);
        };
        root.check_place(log, &header)?;
        Ok(Some(Listed { header, revision: revision::of(&stat) }))
    }
}

fn left_out(log: &Path, error: &StorageError) {
    let log = log.display().to_string();
    tracing::warn!(log, error = error as &dyn std::error::Error, "a session is left out of the list");
}
