//! `dsh session import`: a log becomes a session of the store.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use dsh_session::{Problem, SessionHeader, StorageError};
use dsh_session_jsonl::{Compression, Decoded, decode};

use super::count::count;
use super::input::{self, MAX_LOG_BYTES};
use super::out::Out;
use super::place::Place;
use super::progress;
use super::trouble::unstored;
use crate::cli::SessionImportArgs;
use crate::exit::{Exit, Failure, UNWRITTEN, say};
use crate::visible::visible;

const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

pub(crate) fn import(place: &Place, args: &SessionImportArgs, out: &mut Out) -> Result<Exit, Failure> {
    let (mut header, decoded) = read(&args.file)?;
    if let Some(name) = &args.name {
        header.id.clone_from(name);
    }
    let storage = place.open()?;
    let work = progress::spinner("storing");
    let events: Vec<_> = decoded.events.iter().collect();
    let stored = storage.create(&header, &events).map(drop);
    work.finish_and_clear();
    stored.map_err(|error| unstored(error, place))?;
    let (id, events) = (visible(&header.id), count(events.len(), "event"));
    writeln!(out, "{id} ({events})").context(UNWRITTEN)?;
    Ok(Exit::Fine)
}

/// The log; what is damaged at its end is told of and left out.
fn read(path: &Path) -> Result<(SessionHeader, Decoded), Failure> {
    let name = input::name(path);
    let shown = visible(&name);
    let bytes = input::read(path)
        .map_err(|error| Failure::bad_input(anyhow!(error).context(format!("cannot read {shown}"))))?;
    if bytes.is_empty() {
        return Err(Failure::bad_input(anyhow!("{shown}: {}", Problem::Empty)));
    }
    let compression = if bytes.starts_with(ZSTD_MAGIC) { Compression::Zstd } else { Compression::None };
    let work = progress::spinner("reading");
    let decoded = decode("", &name, &bytes, compression, MAX_LOG_BYTES);
    work.finish_and_clear();
    let decoded = decoded.map_err(|error| match error {
        StorageError::Corrupt { what, .. } | StorageError::Unsupported { what, .. } => {
            let what = visible(&what);
            Failure::bad_input(anyhow!("the log cannot be read: {what}; `dsh session check FILE` says more"))
        }
        other => Failure::bad_input(anyhow!(other)),
    })?;
    if let Some(torn) = &decoded.torn {
        say(format_args!("the end of the log is damaged and left out: {}", visible(&torn.why)));
    }
    Ok((decoded.header.clone(), decoded))
}
