//! `dsh session fork`: a new session from the beginning of a stored one.

use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, anyhow};
use dsh_session::{Seed, Session, SessionHeader, fork_prefix};
use serde_json::json;

use super::place::Place;
use super::{stored, unreadable};
use crate::cli::SessionForkArgs;
use crate::exit::{Exit, Failure, UNWRITTEN};
use crate::visible::visible;

pub(crate) fn fork(place: &Place, args: &SessionForkArgs) -> Result<Exit, Failure> {
    let storage = place.open()?;
    let parent = stored(&*storage, &args.id, place)?;
    let inherited = fork_prefix(&args.id, &parent.events, args.at).map_err(Failure::bad_input)?;
    let id = args.name.clone().unwrap_or_else(|| format!("session-{}", uuid::Uuid::new_v4()));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let mut header = SessionHeader::new(&id, u64::try_from(now).unwrap_or_default());
    header.cwd = parent.header.cwd;
    header.parent_session = Some(parent.header.id);
    header.seed_length = Some(inherited.len() as u64);
    let count = inherited.len();
    let child = Session::new(header, Some(Seed::from(inherited)))
        .map_err(|error| Failure::bad_input(anyhow!(error)))?;
    let events: Vec<_> = child.events().iter().collect();
    drop(storage.create(child.header(), &events).map_err(unreadable)?);
    let path = storage.locate(child.header()).map(|location| match location {
        dsh_session::Location::Jsonl { path } => path.display().to_string(),
        _ => String::new(),
    });
    let mut out = io::stdout().lock();
    if args.json {
        let line = json!({ "session": id, "parent": args.id, "inherited": count, "path": path });
        writeln!(out, "{line}").context(UNWRITTEN)?;
    } else {
        writeln!(out, "{} ({count} events of {})", visible(&id), visible(&args.id)).context(UNWRITTEN)?;
    }
    Ok(Exit::Fine)
}
