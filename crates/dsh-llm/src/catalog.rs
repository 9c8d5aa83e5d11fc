//! An adapter's list of models.

use std::collections::HashSet;

use crate::code;
use crate::error::LlmError;
use crate::info::ModelEntry;

/// Checks that a list can be chosen from: of this provider, with ids that are there once, and names.
pub(crate) fn checked_entries(entries: Vec<ModelEntry>, provider: &str) -> Result<Vec<ModelEntry>, LlmError> {
    let mut seen = HashSet::new();
    let wrong = entries.iter().find_map(|entry| {
        if entry.provider != provider {
            Some(format!("lists model {:?} of provider {:?}", entry.id, entry.provider))
        } else if entry.id.is_empty() || entry.name.is_empty() {
            Some("lists a model without id or name".to_owned())
        } else if !seen.insert(&entry.id) {
            Some(format!("lists model {:?} twice", entry.id))
        } else {
            None
        }
    });
    match wrong {
        Some(wrong) => {
            Err(LlmError::new(code::INVALID_CATALOG, format!("the adapter of provider {provider:?} {wrong}")))
        }
        None => Ok(entries),
    }
}
