//! Other answers for a recording: all of them, or some.

use std::collections::HashSet;
use std::path::Path;

use serde::Deserialize;

use crate::entry::Entry;
use crate::error::LoadError;

/// Some answers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Patches {
    patches: Vec<Patch>,
}

/// One answer in the place of another; at the end it is one more.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Patch {
    at: usize,
    entry: Entry,
}

/// Whether an override file holds all answers, so that the recording's own do not count.
pub(crate) fn replaces_all(text: &str) -> bool {
    text.trim_start().starts_with('[')
}

/// The answers with those of the override file in their places.
pub(crate) fn apply(text: &str, mut entries: Vec<Entry>, path: &Path) -> Result<Vec<Entry>, LoadError> {
    let wrong = |problem: String| LoadError::Overrides { path: path.to_owned(), problem };
    let unreadable = |error: serde_json::Error| {
        wrong(format!(
            "a list of answers, or {{\"patches\": [{{\"at\": 0, \"entry\": …}}]}}, is expected: {error}"
        ))
    };
    if replaces_all(text) {
        entries = serde_json::from_str(text).map_err(unreadable)?;
    } else {
        let Patches { patches } = serde_json::from_str(text).map_err(unreadable)?;
        let mut seen = HashSet::new();
        for Patch { at, entry } in patches {
            if !seen.insert(at) {
                return Err(wrong(format!("answer {at} is replaced twice")));
            }
            if at > entries.len() {
                return Err(wrong(format!("answer {at} is replaced, and there are {}", entries.len())));
            }
            match entries.get_mut(at) {
                Some(old) => *old = entry,
                None => entries.push(entry),
            }
        }
    }
    match entries.iter().find_map(Entry::unknown) {
        Some(chunk) => Err(wrong(format!("a piece is of an unknown type: {chunk}"))),
        None => Ok(entries),
    }
}
