//! Which session is meant: by its id, or by the beginning of it.

use anyhow::anyhow;
use dsh_session::{Storage, Stored};

use super::place::Place;
use super::trouble::told;
use crate::exit::{Failure, say};
use crate::visible::visible;

/// More ids than this are not listed.
const MAX_LISTED: usize = 5;

/// Reads one session; that there is none, or more than one, is the caller's mistake.
pub(crate) fn stored(storage: &dyn Storage, given: &str, place: &Place) -> Result<Stored, Failure> {
    let read = |id: &str| storage.read(id).map_err(|error| told(error, place));
    if let Some(stored) = read(given)? {
        return Ok(stored);
    }
    let id = completed(storage, given, place)?;
    read(&id)?.ok_or_else(|| none(given, place))
}

/// The whole id of the one session that is meant; it is looked for among those that can be listed.
pub(crate) fn completed(storage: &dyn Storage, given: &str, place: &Place) -> Result<String, Failure> {
    let listed = storage.list().map_err(|error| told(error, place))?;
    let mut ids: Vec<String> = listed.into_iter().map(|listed| listed.header.id).collect();
    if ids.iter().any(|id| id == given) {
        return Ok(given.to_owned());
    }
    ids.retain(|id| id.starts_with(given));
    ids.sort();
    match ids.as_slice() {
        [] => Err(none(given, place)),
        [id] => Ok(id.clone()),
        several => {
            let shown: Vec<String> =
                several.iter().take(MAX_LISTED).map(|id| format!("`{}`", visible(id))).collect();
            let more = match several.len().saturating_sub(MAX_LISTED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let (given, shown) = (visible(given), shown.join(", "));
            Err(Failure::bad_input(anyhow!("`{given}` may be {shown}{more}: give more of the id")))
        }
    }
}

fn none(given: &str, place: &Place) -> Failure {
    let hint = place.hint().unwrap_or_else(|| "`dsh session ls` names those that are".to_owned());
    Failure::bad_input(anyhow!("there is no session `{}` in {place}; {hint}", visible(given)))
}

/// Says what of a session was left out, if anything was.
pub(crate) fn warn_of_damage(stored: &Stored) {
    if let Some(torn) = &stored.torn {
        say(format_args!("the end of the log is damaged and left out: {}", visible(torn)));
    }
}
