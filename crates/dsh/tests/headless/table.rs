//! The table of differences, and what compares with it.

use std::collections::BTreeSet;
use std::fs;

use crate::difference::{compare, matches};
use crate::known::{Differs, KNOWN, Known};
use crate::recording::{Ended, Recording, here};

/// The names of the files of a folder, without their ends.
fn names(folder: &str) -> BTreeSet<String> {
    let files = fs::read_dir(here(folder)).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
    files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

fn recording(events: &[&str]) -> Recording {
    let process = Ended { exit: Some(0), stdout: "Done.\n".to_owned(), stderr: String::new() };
    let events = events.iter().map(|event| format!("event {event}")).collect();
    Recording { process: Some(process), requests: Vec::new(), events, beside: Vec::new() }
}

#[test]
fn every_recording_is_compared() {
    let tests = [include_str!("same.rs"), include_str!("resumed.rs")].concat();
    let recorded = names("recorded");
    for name in &recorded {
        assert!(tests.contains(&format!("{name:?}")), "no test compares {name}");
    }
    for name in names("scripts") {
        assert!(recorded.contains(&name), "{name} was not recorded");
    }
}

#[test]
fn every_known_difference_is_about_recordings_and_has_its_row_in_the_document() {
    let document = fs::read_to_string(here("../../../../docs/fidelity.md")).unwrap();
    let rows: Vec<&str> = document.lines().filter(|line| line.starts_with("| `")).collect();
    let recorded = names("recorded");
    for known in KNOWN {
        for pattern in known.recordings {
            let name_of = pattern.strip_prefix('!').unwrap_or(pattern);
            assert!(recorded.iter().any(|name| matches(name_of, name)), "{pattern} is no recording");
        }
        if let Some(id) = known.fidelity {
            let id = format!("`{id}`");
            let is_about = |row: &str| row.split(" | ").next().is_some_and(|ids| ids.contains(&id));
            assert!(rows.iter().any(|row| is_about(row)), "docs/fidelity.md has no row for {id}");
        }
        assert!(!known.why.is_empty());
    }
}

#[test]
fn a_difference_that_is_not_known_is_told_as_a_line() {
    let (theirs, ours) =
        (recording(&["turn/start 1", "turn/end 1"]), recording(&["turn/start 1", "turn/end 2"]));
    assert_eq!(compare(&[], &theirs, &ours), ["- event turn/end 1", "+ event turn/end 2"]);
    assert_eq!(compare(&[], &theirs, &theirs), Vec::<String>::new());
}

#[test]
fn a_known_difference_is_not_told_and_has_to_be_there() {
    let (theirs, ours) = (recording(&["one", "the end"]), recording(&["one", "our end", "more"]));
    let rows = [known(Differs::Words("the end", "our end")), known(Differs::Lines(&["+ event mo*"]))];
    let rows: Vec<&Known> = rows.iter().collect();
    assert_eq!(compare(&rows, &theirs, &ours), Vec::<String>::new());
    let told = compare(&rows, &recording(&["one"]), &recording(&["one"]));
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|line| line.starts_with("known, but not so any more: ")));
    // The words of ours have to be there too.
    assert_eq!(compare(&rows[..1], &theirs, &recording(&["one"])).len(), 2);
}

fn known(differs: Differs) -> Known {
    Known { recordings: &["x"], differs, fidelity: None, why: "it is a test" }
}

#[test]
fn a_star_stands_for_any_text() {
    for (pattern, text) in
        [("a", "a"), ("*", ""), ("a*", "a"), ("a*c", "abbc"), ("a*b*c", "a1b2c"), ("*b", "ab")]
    {
        assert!(matches(pattern, text), "{pattern} {text}");
    }
    for (pattern, text) in [("a", "ab"), ("a*c", "ab"), ("a*b*c", "a2c"), ("*b", "ba"), ("ab*b", "ab")] {
        assert!(!matches(pattern, text), "{pattern} {text}");
    }
}
