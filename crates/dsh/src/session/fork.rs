//! `dsh session fork`: a new session from the beginning of a stored one.

use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, anyhow};
use dsh_session::{Events, ForkError, Location, Seed, Session, SessionHeader, fork_prefix};
use serde_json::json;

use super::count::count;
use super::meant::{stored, warn_of_damage};
use super::out::Out;
use super::place::Place;
use super::trouble::unstored;
use crate::cli::SessionForkArgs;
use crate::exit::{Exit, Failure, UNWRITTEN};
use crate::visible::visible;

pub(crate) fn fork(place: &Place, args: &SessionForkArgs, out: &mut Out) -> Result<Exit, Failure> {
    let storage = place.open()?;
    let parent = stored(&*storage, &args.id, place)?;
    warn_of_damage(&parent);
    let parent_id = parent.header.id;
    let inherited = fork_prefix(&parent_id, &parent.events, args.at)
        .map_err(|error| impossible(error, &parent.events))?;
    let id = args.name.clone().unwrap_or_else(|| format!("session-{}", uuid::Uuid::new_v4()));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let mut header = SessionHeader::new(&id, u64::try_from(now).unwrap_or_default());
    header.cwd = parent.header.cwd;
    header.parent_session = Some(parent_id.clone());
    header.seed_length = Some(inherited.len() as u64);
    let inherited_count = inherited.len();
    let child = Session::new(header, Some(Seed::from(inherited)))
        .map_err(|error| Failure::bad_input(anyhow!(error)))?;
    let events: Vec<_> = child.events().iter().collect();
    drop(storage.create(child.header(), &events).map_err(|error| unstored(error, place))?);
    let path = storage.locate(child.header()).map(|location| match location {
        Location::Jsonl { path } => path.display().to_string(),
        _ => String::new(),
    });
    if args.json {
        let line = json!({ "session": id, "parent": parent_id, "inherited": inherited_count, "path": path });
        writeln!(out, "{line}").context(UNWRITTEN)?;
    } else {
        let events = count(inherited_count, "event");
        writeln!(out, "{} ({events} of {})", visible(&id), visible(&parent_id)).context(UNWRITTEN)?;
    }
    Ok(Exit::Fine)
}

/// Says where a fork is possible instead.
fn impossible(error: ForkError, events: &Events) -> Failure {
    let text = match error {
        ForkError::InvalidBoundary { id, boundary, len } => {
            let last = match len.checked_sub(1) {
                Some(last) => format!("its last event is {last}"),
                None => "it has no events".to_owned(),
            };
            format!("session `{id}` has no event {boundary}: {last}")
        }
        ForkError::OpenTurn { id, boundary, since } => {
            let before = since.checked_sub(1);
            let after = events
                .iter()
                .skip(usize::try_from(boundary).unwrap_or(usize::MAX))
                .find(|event| event.kind() == "turn/end")
                .map(|event| event.seq());
            let possible = match (before, after) {
                (Some(before), Some(after)) => format!("possible are --at {before} and --at {after}"),
                (Some(only), None) | (None, Some(only)) => format!("possible is --at {only}"),
                (None, None) => "there is no event at which it can be forked".to_owned(),
            };
            format!(
                "session `{id}` cannot be forked at {boundary}: the turn that began at {since} is open there; {possible}"
            )
        }
        other => other.to_string(),
    };
    Failure::bad_input(anyhow!("{}", visible(&text)))
}
