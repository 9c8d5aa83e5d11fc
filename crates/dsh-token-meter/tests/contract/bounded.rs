//! The conversation as one number.

use dsh_session::NewEvent;
use dsh_token_meter::{BoundedSurface, ClaimMismatch};

use crate::fixture::{Written, said};

fn folded(written: &Written) -> Result<u64, ClaimMismatch> {
    let surface =
        written.0.events().iter().try_fold(BoundedSurface::default(), |it, event| it.after(&event))?;
    Ok(surface.tokens())
}

fn claim(start: u64, end: u64, tokens: u64) -> String {
    format!(
        r#"{{"shadowedRange":{{"start":{start},"end":{end}}},"shadowedSeqs":[{start}],"shadowedTokenCount":{tokens}}}"#
    )
}

/// Two messages of 18 each are there; then what the test adds, and one of 9 in the place of the first.
fn replaced(before: impl FnOnce(&Written, u64)) -> Result<u64, ClaimMismatch> {
    let written = Written::new();
    let forty = "0123456789".repeat(4);
    let first = written.user(&forty);
    written.user(&forty);
    before(&written, first);
    written.add(NewEvent::user(said("0123")).unwrap().replacing(first, first).made_from(vec![first]));
    folded(&written)
}

// spec: llm/S81
#[test]
fn a_replacement_takes_away_what_the_event_before_it_said() {
    for kind in ["compaction/summary", "compaction/prune"] {
        let tokens = replaced(|written, first| {
            written.raw(kind, &claim(first, first, 18));
        });
        assert_eq!(tokens, Ok(18 + 9), "{kind}");
    }
}

// spec: llm/S81
#[test]
fn a_replacement_of_which_nothing_was_said_changes_nothing() {
    assert_eq!(replaced(|_, _| {}), Ok(36));
}

// spec: llm/S81
#[test]
fn what_was_said_holds_for_the_next_event_alone() {
    let tokens = replaced(|written, first| {
        written.raw("compaction/prune", &claim(first, first, 18));
        written.raw("plan/mode", r#"{"active":true}"#);
    });
    assert_eq!(tokens, Ok(36));
}

// spec: llm/S81
#[test]
fn a_replacement_of_another_part_is_an_error() {
    let mismatch = replaced(|written, first| {
        written.raw("compaction/prune", &claim(first, first + 1, 36));
    });
    let expected = ClaimMismatch { seq: 4, start: 1, end: 1, claimed_start: 1, claimed_end: 2 };
    assert_eq!(mismatch, Err(expected));
}

// spec: llm/S81
#[test]
fn more_cannot_go_than_there_is() {
    let tokens = replaced(|written, first| {
        written.raw("compaction/prune", &claim(first, first, 1_000));
    });
    assert_eq!(tokens, Ok(9));
}
