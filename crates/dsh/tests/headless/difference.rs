//! How a run of ours differs from one of the reference, and what of it is known.

use similar::{ChangeTag, TextDiff};

use crate::known::{Differs, KNOWN, Known};
use crate::recording::Recording;

/// The lines that only one of the two has, `-` before the reference's and `+` before ours, and what the table says and is
/// not so. Nothing if all differences are known.
pub(crate) fn unknown(name: &str, theirs: &Recording, ours: &Recording) -> Vec<String> {
    let rows: Vec<&Known> = KNOWN.iter().filter(|row| row.is_about(name)).collect();
    compare(&rows, theirs, ours)
}

pub(crate) fn compare(rows: &[&Known], theirs: &Recording, ours: &Recording) -> Vec<String> {
    let (mut theirs, ours) = (theirs.lines(), ours.lines());
    let mut wrong = Vec::new();
    for row in rows {
        if let Differs::Words(said, instead) = row.differs {
            let count = theirs.iter().filter(|line| line.contains(said)).count();
            if count == 0 || !ours.iter().any(|line| line.contains(instead)) {
                wrong.push(format!("known, but not so any more: {said:?}, we say {instead:?}"));
            }
            theirs.iter_mut().for_each(|line| *line = line.replace(said, instead));
        }
    }
    let differences = differences(&theirs, &ours);
    let patterns: Vec<&str> = rows.iter().flat_map(|row| row.differs.lines()).copied().collect();
    for pattern in &patterns {
        if !differences.iter().any(|line| matches(pattern, line)) {
            wrong.push(format!("known, but not so any more: {pattern}"));
        }
    }
    wrong.extend(differences.into_iter().filter(|line| !patterns.iter().any(|known| matches(known, line))));
    wrong
}

fn differences(theirs: &[String], ours: &[String]) -> Vec<String> {
    let (theirs, ours): (Vec<&str>, Vec<&str>) =
        (theirs.iter().map(String::as_str).collect(), ours.iter().map(String::as_str).collect());
    let diff = TextDiff::from_slices(&theirs, &ours);
    let line = |change: similar::Change<&str>| match change.tag() {
        ChangeTag::Equal => None,
        ChangeTag::Delete => Some(format!("- {}", change.value())),
        ChangeTag::Insert => Some(format!("+ {}", change.value())),
    };
    diff.iter_all_changes().filter_map(line).collect()
}

/// Whether a text is like a pattern, in which `*` stands for any text.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, mut parts)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    while let Some((part, others)) = parts.split_once('*') {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        (rest, parts) = (behind, others);
    }
    rest.ends_with(parts)
}
