//! `dsh session export`: a session as one plain log.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context as _, anyhow};
use dsh_session::{Storage, StorageError, Stored, rows};

use super::count::count;
use super::input::{self, MAX_LOG_BYTES};
use super::meant::{completed, stored, warn_of_damage};
use super::out::Out;
use super::place::Place;
use super::trouble::told;
use crate::cli::SessionExportArgs;
use crate::exit::{Exit, Failure, UNWRITTEN, say};
use crate::visible::visible;

pub(crate) fn export(place: &Place, args: &SessionExportArgs, out: &mut Out) -> Result<Exit, Failure> {
    let text = if args.raw { unchecked(place, args)? } else { checked(place, args)?.into_bytes() };
    match args.output.as_deref().filter(|path| !input::is_standard_input(path)) {
        None => out.write_all(&text).context(UNWRITTEN)?,
        Some(path) => {
            make(path, &text)?;
            let shown = visible(&path.display().to_string());
            say(format_args!("{} written to {shown}", count(text.len(), "byte")));
        }
    }
    Ok(Exit::Fine)
}

/// The text of a session that was read and found sound, or what is sound of it.
fn checked(place: &Place, args: &SessionExportArgs) -> Result<String, Failure> {
    let storage = place.open()?;
    let stored = stored(&*storage, &args.id, place)?;
    warn_of_damage(&stored);
    if stored.torn.is_none() && !args.unpacked && storage.has_raw() {
        let verbatim = verbatim(&*storage, &stored).map_err(|error| told(error, place))?;
        if let Some(text) = verbatim {
            return Ok(text);
        }
    }
    Ok(written(&stored, !args.unpacked)?)
}

/// The stored text, if it is still the one that was read.
fn verbatim(storage: &dyn Storage, stored: &Stored) -> Result<Option<String>, StorageError> {
    let id = &stored.header.id;
    let raw = storage.read_raw(id)?;
    let is_same = storage.revision(id)?.is_some_and(|now| now == stored.revision);
    Ok(raw.filter(|_| is_same).map(|raw| raw.content))
}

fn written(stored: &Stored, pack: bool) -> anyhow::Result<String> {
    let mut text =
        stored.header.to_line().map_err(|reason| anyhow!("the header cannot be written: {reason}"))?;
    text.push('\n');
    let events: Vec<_> = stored.events.iter().collect();
    for row in rows(&events, pack) {
        row.write_line(&mut text);
    }
    Ok(text)
}

/// The text of a session's file, whatever is wrong with it.
fn unchecked(place: &Place, args: &SessionExportArgs) -> Result<Vec<u8>, Failure> {
    if let Place::Database(_) = place {
        return Err(Failure::bad_input(anyhow!(
            "{place} is a database, which stores no text: leave out --raw"
        )));
    }
    let log = match place.log_of(&args.id) {
        Some(log) => log,
        None => {
            let id = completed(&*place.open()?, &args.id, place)?;
            place.log_of(&id).ok_or_else(|| anyhow!("session `{}` has no file", visible(&id)))?
        }
    };
    let shown = log.display().to_string();
    let bytes = input::read(&log).with_context(|| format!("cannot read {}", visible(&shown)))?;
    let unpacked = dsh_session_jsonl::unpack(&shown, &bytes, MAX_LOG_BYTES).map_err(|error| match error {
        StorageError::Corrupt { what, .. } => {
            Failure::bad_input(anyhow!("it cannot be unpacked: {}", visible(&what)))
        }
        other => told(other, place),
    })?;
    say(format_args!("the text of {} as it is, not checked", visible(&shown)));
    Ok(unpacked.text.into_owned())
}

/// Makes a file for the user alone, whole or not at all, and never over one that is there.
fn make(path: &Path, text: &[u8]) -> Result<(), Failure> {
    let shown = visible(&path.display().to_string());
    let failed = |error: io::Error| {
        let why = match error.kind() {
            io::ErrorKind::AlreadyExists => return there(&shown),
            io::ErrorKind::NotFound => "its folder does not exist; make that first",
            io::ErrorKind::NotADirectory => "its folder is none",
            io::ErrorKind::PermissionDenied => "its folder cannot be written by this user",
            io::ErrorKind::ReadOnlyFilesystem => "its file system cannot be written",
            io::ErrorKind::StorageFull => "its disk is full",
            _ => return Failure::from(anyhow!(error).context(format!("cannot make {shown}"))),
        };
        Failure::bad_input(anyhow!("cannot make {shown}: {why}"))
    };
    if path.symlink_metadata().is_ok() {
        return Err(there(&shown));
    }
    if path.file_name().is_none() {
        return Err(Failure::bad_input(anyhow!("cannot make {shown}: it names no file")));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".dsh-export-").tempfile_in(folder).map_err(failed)?;
    file.write_all(text).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    file.persist_noclobber(path).map_err(|error| failed(error.error))?;
    Ok(())
}

fn there(shown: &str) -> Failure {
    Failure::bad_input(anyhow!("cannot make {shown}: it is there already; name a file that does not exist"))
}
