//! What is told of a store's errors: what is wrong, and what to run next.

use std::error::Error;

use anyhow::anyhow;
use dsh_session::StorageError;

use super::place::Place;
use crate::exit::Failure;
use crate::visible::visible;

/// As [`told`], where something was to be stored: that the machine did not let it is nobody's input.
pub(crate) fn unstored(error: StorageError, place: &Place) -> Failure {
    match error {
        StorageError::Io { .. } => Failure::from(anyhow!("{}", place.in_our_words(&text(&error)))),
        error => told(error, place),
    }
}

/// What is named and cannot be read is bad input; that somebody else is at work on it is a failure.
pub(crate) fn told(error: StorageError, place: &Place) -> Failure {
    let text = place.in_our_words(&text(&error));
    match &error {
        StorageError::Corrupt { id, .. } | StorageError::Unsupported { id, .. } => {
            let next = place.advice(id);
            Failure::bad_input(anyhow!("{text}; `{next}` says more"))
        }
        StorageError::Exists { id } => Failure::bad_input(anyhow!(
            "there is a session `{}` in {place} already: choose another id with --as",
            visible(id)
        )),
        StorageError::Place { .. } | StorageError::Io { .. } => Failure::bad_input(anyhow!("{text}")),
        _ => Failure::from(anyhow!("{text}")),
    }
}

/// An error and its causes, each once, safe to print.
fn text(error: &StorageError) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut next: Option<&dyn Error> = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        // What SQLite says comes twice, the second time with a number that nobody needs.
        let numbered = text.strip_prefix("Error code ").and_then(|rest| rest.split_once(": "));
        let is_noise = numbered.is_some() && !said.is_empty();
        if !is_noise && !said.iter().any(|before| before.ends_with(&text)) {
            said.push(text);
        }
        next = error.source();
    }
    visible(&said.join(": "))
}
