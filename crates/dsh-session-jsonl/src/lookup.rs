//! Finding the folder of a session among all projects, and the header of a log.

use std::io;
use std::path::{Path, PathBuf};

use dsh_session::{Problem, SessionHeader, StorageError};
use serde_json::{Map, Value};

use crate::config::Compression;
use crate::disk::{Disk, DiskFile};
use crate::frames::{self, Broken, Extent};
use crate::path::{self, session_folder};
use crate::reader::{Source, is_one_line};

/// No header is longer, packed or not.
const HEADER_LIMIT: usize = 1 << 20;

/// The root, and what kind of logs belongs there.
pub(crate) struct Root<'a> {
    pub(crate) disk: &'a dyn Disk,
    pub(crate) path: &'a Path,
    pub(crate) compression: Compression,
}

impl Root<'_> {
    /// The log of a session, if there is one.
    pub(crate) fn find(&self, id: &str) -> Result<Option<PathBuf>, StorageError> {
        let name = session_folder(id).map_err(place)?;
        let mut found: Option<PathBuf> = None;
        for project in self.projects()? {
            for flat in [Compression::Zstd, Compression::None] {
                let suffix = flat.file_name().trim_start_matches("session");
                self.refuse_if_there(&project.join(format!("{name}{suffix}")), flat_layout)?;
            }
            let Some(log) = self.log_in(&project.join(&name))? else { continue };
            if let Some(first) = found.replace(log.clone()) {
                return Err(stored_twice(id, &first, &log));
            }
        }
        Ok(found)
    }

    /// All logs.
    pub(crate) fn all(&self) -> Result<Vec<PathBuf>, StorageError> {
        let mut logs = Vec::new();
        for project in self.projects()? {
            for entry in self.list(&project)? {
                let path = project.join(&entry.name);
                if entry.is_folder {
                    logs.extend(self.log_in(&path)?);
                } else if is_flat(&entry.name) {
                    return Err(flat_layout(&path));
                }
            }
        }
        Ok(logs)
    }

    /// The folders of projects; none where there is no root.
    fn projects(&self) -> Result<Vec<PathBuf>, StorageError> {
        let entries = self.list(self.path)?;
        let folders = entries.into_iter().filter(|entry| entry.is_folder);
        Ok(folders.map(|entry| self.path.join(entry.name)).collect())
    }

    fn list(&self, path: &Path) -> Result<Vec<crate::disk::Entry>, StorageError> {
        match self.disk.list(path) {
            Ok(entries) => Ok(entries),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(StorageError::io(format!("list `{}`", path.display()), error)),
        }
    }

    fn log_in(&self, folder: &Path) -> Result<Option<PathBuf>, StorageError> {
        let other = self.compression.other();
        self.refuse_if_there(&folder.join(other.file_name()), |path| StorageError::Place {
            what: format!(
                "`{}` does not belong to this store, which is set to `compression: {}`: open the root with \
                     `compression: {}`, or take another root",
                path.display(),
                self.compression.setting(),
                other.setting()
            ),
            source: None,
        })?;
        let log = folder.join(self.compression.file_name());
        Ok(self.is_there(&log)?.then_some(log))
    }

    fn refuse_if_there(
        &self,
        path: &Path,
        error: impl FnOnce(&Path) -> StorageError,
    ) -> Result<(), StorageError> {
        if self.is_there(path)? { Err(error(path)) } else { Ok(()) }
    }

    fn is_there(&self, path: &Path) -> Result<bool, StorageError> {
        match self.disk.stat(path) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(false)
            }
            Err(error) => Err(StorageError::io(format!("look at `{}`", path.display()), error)),
        }
    }

    /// Fails unless the header belongs where its log was found.
    pub(crate) fn check_place(&self, log: &Path, header: &SessionHeader) -> Result<(), StorageError> {
        let expected = self.path.join(path::relative(header).map_err(place)?);
        let folder = log.parent().unwrap_or(log);
        if expected == folder {
            return Ok(());
        }
        // On a file system that ignores case both names may be those of one folder.
        if let (Ok(one), Ok(two)) = (self.disk.stat(&expected), self.disk.stat(folder))
            && one.inode != 0
            && (one.device, one.inode) == (two.device, two.inode)
        {
            return Ok(());
        }
        let what =
            format!("its log is `{}`, but its header belongs into `{}`", log.display(), expected.display());
        Err(StorageError::Corrupt { id: header.id.clone(), what })
    }
}

/// Reads the header of a log and nothing behind it; none if there is no whole header, so no session.
pub(crate) fn read_header(
    file: &mut dyn DiskFile,
    log: &Path,
    compression: Compression,
) -> Result<Option<SessionHeader>, StorageError> {
    let shown = log.display().to_string();
    let name = log.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let source = Source { id: &name, path: &shown };
    let failed = |error: io::Error| StorageError::io(format!("read `{shown}`"), error);
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 4096];
    loop {
        let count = file.read_at(bytes.len() as u64, &mut buffer).map_err(failed)?;
        bytes.extend_from_slice(&buffer[..count]);
        let line = match compression {
            Compression::None => {
                bytes.iter().position(|byte| *byte == b'\n').map(|end| bytes[..=end].to_vec())
            }
            Compression::Zstd => header_frame(source, &bytes)?,
        };
        if let Some(line) = line {
            return header_of(source, &String::from_utf8_lossy(&line));
        }
        if count == 0 || bytes.len() > HEADER_LIMIT {
            return Ok(None);
        }
    }
}

/// The header line, if the frame that holds it is whole.
fn header_frame(source: Source<'_>, bytes: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
    let frame = match frames::extent(bytes) {
        Extent::Cut => return Ok(None),
        Extent::Invalid(what) => return Err(source.corrupt(what)),
        Extent::Whole(length) => &bytes[..length],
    };
    let mut line = Vec::new();
    frames::unpack(frame, &mut line, HEADER_LIMIT as u64).map_err(|error| match error {
        Broken::TooLong => source.too_long(HEADER_LIMIT as u64),
        Broken::Invalid(error) => source.corrupt(error),
    })?;
    if is_one_line(&line) {
        Ok(Some(line))
    } else {
        Err(source.corrupt("the first frame must hold the header line, and it alone"))
    }
}

/// A log of another version is listed, so that it can be asked for and the error then says what it needs.
fn header_of(source: Source<'_>, line: &str) -> Result<Option<SessionHeader>, StorageError> {
    let problem = match SessionHeader::parse(line) {
        Ok(header) => return Ok(Some(header)),
        Err(problem) => problem,
    };
    let Ok(mut fields) = serde_json::from_str::<Map<String, Value>>(line) else { return Ok(None) };
    let parse =
        |fields: &Map<String, Value>| SessionHeader::parse(&Value::Object(fields.clone()).to_string());
    if matches!(problem, Problem::UnsupportedVersion { .. }) {
        fields.insert("version".to_owned(), dsh_session::FORMAT_VERSION.into());
        return Ok(parse(&fields).ok());
    }
    // A header in all but a field that cannot belong to this place: that is no half-written file.
    for field in ["sandboxMode", "approvalPolicy", "cwd"] {
        fields.shift_remove(field);
    }
    match parse(&fields) {
        Ok(_) => Err(source.corrupt(problem)),
        Err(_) => Ok(None),
    }
}

fn is_flat(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    name.ends_with(".jsonl") || name.ends_with(".jsonl.zstd")
}

fn flat_layout(path: &Path) -> StorageError {
    let what = format!(
        "`{}` is a log of an older layout: move it into a folder of its own, as `ID/session.jsonl`, or away",
        path.display()
    );
    StorageError::Place { what, source: None }
}

pub(crate) fn stored_twice(id: &str, first: &Path, second: &Path) -> StorageError {
    let what = format!(
        "it is stored twice, as `{}` and as `{}`: move one of them away",
        first.display(),
        second.display()
    );
    StorageError::Corrupt { id: id.to_owned(), what }
}

pub(crate) fn place(error: path::PathError) -> StorageError {
    StorageError::Place { what: error.to_string(), source: None }
}
