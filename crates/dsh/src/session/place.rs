//! Where sessions are kept.

use std::fmt::{self, Display};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use dsh_session::Storage;
use dsh_session_jsonl::{Compression, JsonlStorage, session_folder};

use super::check::is_fine;
use super::database;
use super::trouble::told;
use crate::exit::Failure;
use crate::home::home;
use crate::visible::visible;

/// Where sessions are kept: a folder of logs, or a database.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Folder(PathBuf),
    Database(PathBuf),
}

impl Place {
    /// The place that an argument names, else that of the user. Only the latter may not be there yet.
    pub(crate) fn named(argument: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = argument else { return Self::of_user() };
        match fs::metadata(path) {
            Ok(_) => Self::at(path),
            Err(error) => {
                let shown = visible(&path.display().to_string());
                Err(Failure::bad_input(match error.kind() {
                    io::ErrorKind::NotFound => anyhow!("there is no folder and no database {shown}"),
                    _ => anyhow!(error).context(format!("cannot look at {shown}")),
                }))
            }
        }
    }

    /// As [`named`](Self::named), for one who adds a session: what is not there yet is made when that is done, a database if
    /// it is named like one.
    pub(crate) fn to_fill(argument: Option<&Path>) -> Result<Self, Failure> {
        match argument {
            Some(path) if !path.exists() => {
                let is_database =
                    path.extension().is_some_and(|end| end == "db" || end == "sqlite" || end == "sqlite3");
                let path = absolute(path)?;
                Ok(if is_database { Self::Database(path) } else { Self::Folder(path) })
            }
            argument => Self::named(argument),
        }
    }

    fn of_user() -> Result<Self, Failure> {
        let path = home()?.join("sessions");
        if path.exists() { Self::at(&path) } else { Ok(Self::Folder(absolute(&path)?)) }
    }

    /// The place that is there.
    fn at(path: &Path) -> Result<Self, Failure> {
        let path = absolute(path)?;
        if path.is_dir() {
            let place = Self::Folder(path);
            return match place.meant_above() {
                None => Ok(place),
                Some(hint) => Err(Failure::bad_input(anyhow!("{place} is {hint}"))),
            };
        }
        if !path.is_file() {
            // To read of a pipe would be to wait for it.
            let shown = visible(&path.display().to_string());
            return Err(Failure::bad_input(anyhow!("{shown} is neither a folder nor a regular file")));
        }
        database::look(&path)?;
        Ok(Self::Database(path))
    }

    /// Opens it. A folder holds logs of one encoding, which is found out.
    pub(crate) fn open(&self) -> Result<Box<dyn Storage>, Failure> {
        match self {
            Self::Folder(root) => {
                let mut config = dsh_session_jsonl::Config::new(root);
                config.compression = self.encoding(root)?;
                Ok(Box::new(JsonlStorage::open(config).map_err(|error| told(error, self))?))
            }
            Self::Database(path) => self.open_database(path),
        }
    }

    #[cfg(feature = "sqlite")]
    fn open_database(&self, path: &Path) -> Result<Box<dyn Storage>, Failure> {
        Ok(Box::new(self.sqlite(path)?))
    }

    #[cfg(not(feature = "sqlite"))]
    fn open_database(&self, _: &Path) -> Result<Box<dyn Storage>, Failure> {
        Err(Failure::bad_input(anyhow!("{self} is a file; this build reads no databases (feature `sqlite`)")))
    }

    /// The database, opened.
    #[cfg(feature = "sqlite")]
    pub(crate) fn sqlite(&self, path: &Path) -> Result<dsh_session_sqlite::SqliteStore, Failure> {
        use dsh_session_sqlite::JournalMode;

        let name = path.to_str().ok_or_else(|| {
            Failure::bad_input(anyhow!("the database {self} has a name that is no text: rename it"))
        })?;
        let mut config = dsh_session_sqlite::Config::new(name);
        if path.exists() {
            // Another mode would change the file.
            config.journal_mode = match database::look(path)? {
                database::Journal::Ahead => JournalMode::Wal,
                database::Journal::Rollback => JournalMode::Delete,
            };
        }
        dsh_session_sqlite::SqliteStore::new(&config).map_err(|error| told(error, self))
    }

    /// The command that says what is wrong with a session.
    pub(crate) fn advice(&self, id: &str) -> String {
        // A log that is sound where it is looked at alone is wrong for where it is.
        let log = self.log_of(id).filter(|log| !is_fine(log));
        visible(&match log {
            Some(log) => format!("dsh session check {}", quoted(&log)),
            None => {
                let (Self::Folder(path) | Self::Database(path)) = self;
                format!("dsh session --store {} check", quoted(path))
            }
        })
    }

    /// The file of a session, found by the name of its folder alone.
    pub(crate) fn log_of(&self, id: &str) -> Option<PathBuf> {
        let Self::Folder(root) = self else { return None };
        let name = session_folder(id).ok()?;
        folders(root).into_iter().find_map(|project| log_in(&project.join(&name)))
    }

    /// What to do where no sessions are.
    pub(crate) fn hint(&self) -> Option<String> {
        let Self::Folder(root) = self else { return None };
        let below = root.join("sessions");
        match (is_root(root), is_root(&below)) {
            (true, _) => None,
            (false, true) => Some(did_you_mean(&below)),
            (false, false) => Some(
                "a store is a folder that holds `PROJECT/ID/session.jsonl.zstd` (or `.jsonl`), or a database"
                    .to_owned(),
            ),
        }
    }

    /// What a folder is that is inside of a store.
    fn meant_above(&self) -> Option<String> {
        let Self::Folder(path) = self else { return None };
        if is_root(path) {
            return None;
        }
        if log_in(path).is_some() {
            let root = path.parent()?.parent()?;
            return Some(format!("the folder of one session: {}", did_you_mean(root)));
        }
        folders(path).iter().any(|session| log_in(session).is_some()).then_some(())?;
        Some(format!("the folder of one project: {}", did_you_mean(path.parent()?)))
    }

    /// A store's text in the words of this program's command line.
    pub(crate) fn in_our_words(&self, text: &str) -> String {
        let Self::Database(path) = self else { return text.to_owned() };
        let mut text = text.replace("choose another `path`", "name another one with --store");
        let folder = path.parent().and_then(|folder| fs::metadata(folder).ok());
        if folder.is_some_and(|folder| folder.permissions().readonly()) {
            text.push_str("; SQLite has to write beside a database, and this folder cannot be written: copy the database into one that can");
        }
        text
    }

    /// How a new log of the user's sessions is to be written: as those that are there, of which one is looked at.
    pub(crate) fn encoding_of_first(root: &Path) -> Compression {
        let sessions = folders(root).into_iter().flat_map(|project| folders(&project));
        let kinds = [Compression::Zstd, Compression::None];
        let kind = |session: PathBuf| kinds.into_iter().find(|kind| session.join(kind.file_name()).is_file());
        sessions.into_iter().find_map(kind).unwrap_or_default()
    }

    /// The encoding of the logs that are there; compressed where there are none.
    fn encoding(&self, root: &Path) -> Result<Compression, Failure> {
        let mut found: [Option<PathBuf>; 2] = [None, None];
        for session in folders(root).iter().flat_map(|project| folders(project)) {
            for (found, kind) in found.iter_mut().zip([Compression::None, Compression::Zstd]) {
                let log = session.join(kind.file_name());
                if found.is_none() && log.exists() {
                    *found = Some(log);
                }
            }
        }
        match found {
            [Some(plain), Some(packed)] => Err(Failure::bad_input(anyhow!(
                "{self} holds logs of both kinds, plain ones ({}) and compressed ones ({}): move one kind into another folder",
                visible(&plain.display().to_string()),
                visible(&packed.display().to_string())
            ))),
            [Some(_), None] => Ok(Compression::None),
            [None, _] => Ok(Compression::Zstd),
        }
    }
}

fn did_you_mean(path: &Path) -> String {
    visible(&format!("did you mean `--store {}`?", quoted(path)))
}

/// Whether logs are where those of a store are.
fn is_root(path: &Path) -> bool {
    folders(path).iter().any(|project| folders(project).iter().any(|session| log_in(session).is_some()))
}

fn log_in(session: &Path) -> Option<PathBuf> {
    let logs = [Compression::Zstd, Compression::None].map(|kind| session.join(kind.file_name()));
    logs.into_iter().find(|log| log.is_file())
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    Ok(std::path::absolute(path)
        .with_context(|| format!("cannot find {}", visible(&path.display().to_string())))?)
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |char: char| char.is_alphanumeric() || "/._-+,:@".contains(char);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Safe to print.
impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Folder(path) | Self::Database(path)) = self;
        f.write_str(&visible(&path.display().to_string()))
    }
}
