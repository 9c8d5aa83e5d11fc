//! The random id of this installation, which tells its requests from those of others and says nothing about the user.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tokio::sync::OnceCell;
use uuid::Uuid;

/// The file's name in the user's folder. Source: the reference's file of that name.
const FILE: &str = ".anonymous-user-id";

/// The id, read or made when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct Identity {
    id: OnceCell<String>,
}

impl Identity {
    /// The id, the same for as long as the plugin lives.
    pub(crate) async fn id(&self, file: Option<PathBuf>) -> &str {
        self.id.get_or_init(|| async { kept_or_fresh(file).await }).await
    }
}

async fn kept_or_fresh(file: Option<PathBuf>) -> String {
    let file = file.or_else(|| Some(home(std::env::var_os("DSH_HOME"), std::env::home_dir())?.join(FILE)));
    let Some(file) = file else { return fresh() };
    let shown = file.display().to_string();
    let kept = tokio::task::spawn_blocking(move || kept(&file)).await;
    match kept.map_err(io::Error::other).flatten() {
        Ok(id) => id,
        Err(error) => {
            tracing::warn!(
                file = shown,
                error = %error,
                "the anonymous id of this installation cannot be kept: another one is used until this program ends; \
                 mend or remove the file, or set `attribution: false`"
            );
            fresh()
        }
    }
}

fn home(named: Option<OsString>, of_user: Option<PathBuf>) -> Option<PathBuf> {
    let named = named.filter(|named| !named.to_string_lossy().trim().is_empty()).map(PathBuf::from);
    let Some(named) = named else { return of_user.map(|home| home.join(".dsh")) };
    match (named.strip_prefix("~"), of_user) {
        (Ok(rest), Some(of_user)) => Some(of_user.join(rest)),
        _ => Some(named),
    }
}

/// The id that a file holds; of a file that is not there, the one that it then holds. It is whole as soon as it is there.
fn kept(file: &Path) -> io::Result<String> {
    match read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        read => return read,
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_folder(folder)?;
    let id = fresh();
    let part = folder.join(format!("{FILE}.{id}.part"));
    let made = write(&part, &id).and_then(|()| fs::hard_link(&part, file));
    // What is left of a part is nobody's loss.
    let _ = fs::remove_file(&part);
    match made {
        Ok(()) => Ok(id),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(file),
        Err(error) => Err(error),
    }
}

fn read(file: &Path) -> io::Result<String> {
    let text = fs::read_to_string(file)?;
    let id = text.trim();
    match Uuid::try_parse(id) {
        Ok(_) => Ok(id.to_owned()),
        Err(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "it holds no UUID")),
    }
}

fn write(part: &Path, id: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(part)?;
    file.write_all(format!("{id}\n").as_bytes())?;
    file.sync_all()
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn fresh() -> String {
    Uuid::new_v4().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_folder_is_the_named_one_or_that_of_the_home_folder() {
        let found =
            |named: Option<&str>, of_user: Option<&str>| home(named.map(Into::into), of_user.map(Into::into));
        assert_eq!(found(Some("/srv/dsh"), Some("/home/u")), Some("/srv/dsh".into()));
        assert_eq!(found(Some("~/dsh"), Some("/home/u")), Some("/home/u/dsh".into()));
        assert_eq!(found(Some(" "), Some("/home/u")), Some("/home/u/.dsh".into()));
        assert_eq!(found(None, None), None);
    }

    #[test]
    fn of_many_who_make_the_file_at_once_all_get_what_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("home").join(FILE);
        let ids: Vec<String> = std::thread::scope(|scope| {
            let made: Vec<_> = (0..8).map(|_| scope.spawn(|| kept(&file).unwrap())).collect();
            made.into_iter().map(|made| made.join().unwrap()).collect()
        });
        let held = fs::read_to_string(&file).unwrap();
        assert!(ids.iter().all(|id| *id == held.trim()), "{ids:?}");
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
    }
}
