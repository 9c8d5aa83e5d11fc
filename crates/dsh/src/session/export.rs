//! `dsh session export`: a session as one plain log.

use std::fs;
use std::io::{self, Write};

use anyhow::{Context as _, anyhow};
use dsh_session::{Storage, Stored, rows};

use super::place::Place;
use super::{stored, unreadable};
use crate::cli::SessionExportArgs;
use crate::exit::{Exit, Failure, UNWRITTEN, say};
use crate::visible::visible;

pub(crate) fn export(place: &Place, args: &SessionExportArgs) -> Result<Exit, Failure> {
    let storage = place.open()?;
    let text = text(&*storage, args, place)?;
    let Some(path) = &args.output else {
        io::stdout().lock().write_all(text.as_bytes()).context(UNWRITTEN)?;
        return Ok(Exit::Fine);
    };
    let shown = visible(&path.display().to_string());
    // Never over a file that is there.
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| {
        Failure::bad_input(
            anyhow!(error).context(format!("cannot make {shown}; name a file that does not exist")),
        )
    })?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .with_context(|| format!("cannot write {shown}"))?;
    say(format_args!("{} bytes written to {shown}", text.len()));
    Ok(Exit::Fine)
}

fn text(storage: &dyn Storage, args: &SessionExportArgs, place: &Place) -> Result<String, Failure> {
    if storage.has_raw() && !args.unpacked {
        let raw = storage.read_raw(&args.id).map_err(unreadable)?;
        if let Some(raw) = raw {
            return Ok(raw.content);
        }
    }
    let stored = stored(storage, &args.id, place)?;
    if let Some(torn) = &stored.torn {
        say(format_args!("the end of the log is damaged and left out: {}", visible(torn)));
    }
    Ok(written(&stored, !args.unpacked)?)
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
