//! Where sessions are kept.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use dsh_session::Storage;
use dsh_session_jsonl::{Compression, JsonlStorage};

use crate::exit::Failure;
use crate::visible::visible;

/// Where sessions are kept: a folder of logs, or a database.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Folder(PathBuf),
    Database(PathBuf),
}

impl Place {
    /// The place that an argument names, else that of the user.
    pub(crate) fn named(argument: Option<&Path>) -> Result<Self, Failure> {
        let path = match argument {
            Some(path) if path.exists() => path.to_owned(),
            Some(path) => {
                let path = visible(&path.display().to_string());
                return Err(Failure::bad_input(anyhow!("there is no folder and no database {path}")));
            }
            None => home()?.join("sessions"),
        };
        let path = std::path::absolute(&path).with_context(|| format!("cannot find {}", path.display()))?;
        Ok(if path.is_file() { Self::Database(path) } else { Self::Folder(path) })
    }

    /// Opens it. A folder holds logs of one encoding, which is found out.
    pub(crate) fn open(&self) -> Result<Box<dyn Storage>, Failure> {
        match self {
            Self::Folder(root) => {
                let mut config = dsh_session_jsonl::Config::new(root);
                config.compression = encoding(root);
                Ok(Box::new(JsonlStorage::open(config)?))
            }
            Self::Database(path) => database(path),
        }
    }
}

#[cfg(feature = "sqlite")]
fn database(path: &Path) -> Result<Box<dyn Storage>, Failure> {
    let name = path.to_str().ok_or_else(|| {
        let path = visible(&path.display().to_string());
        Failure::bad_input(anyhow!("the database {path} has a name that is no text: rename it"))
    })?;
    let config = dsh_session_sqlite::Config::new(name);
    Ok(Box::new(dsh_session_sqlite::SqliteStore::new(&config)?))
}

#[cfg(not(feature = "sqlite"))]
fn database(path: &Path) -> Result<Box<dyn Storage>, Failure> {
    let path = visible(&path.display().to_string());
    Err(Failure::bad_input(anyhow!("{path} is a file; this build reads no databases (feature `sqlite`)")))
}

/// The encoding of the first log that is found; compressed where there is none.
fn encoding(root: &Path) -> Compression {
    let folders = |path: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    };
    let plain = Compression::None.file_name();
    let is_plain = |session: &PathBuf| session.join(plain).exists();
    match folders(root).iter().any(|project| folders(project).iter().any(is_plain)) {
        true => Compression::None,
        false => Compression::Zstd,
    }
}

/// The user's folder: `DSH_HOME`, else `~/.dsh`.
fn home() -> Result<PathBuf, Failure> {
    let named = std::env::var_os("DSH_HOME").filter(|home| !home.to_string_lossy().trim().is_empty());
    let of_user = std::env::home_dir();
    match (named, of_user) {
        (Some(home), of_user) => {
            let home = PathBuf::from(home);
            match (home.strip_prefix("~"), of_user) {
                (Ok(rest), Some(of_user)) => Ok(of_user.join(rest)),
                _ => Ok(home),
            }
        }
        (None, Some(of_user)) => Ok(of_user.join(".dsh")),
        (None, None) => Err(Failure::bad_input(anyhow!(
            "neither DSH_HOME nor a home folder is known: name the folder of sessions with --store DIR"
        ))),
    }
}

/// Safe to print.
impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Folder(path) | Self::Database(path)) = self;
        f.write_str(&visible(&path.display().to_string()))
    }
}
