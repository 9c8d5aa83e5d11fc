//! Logs that cannot be measured.

use dsh_token_meter::{MeterError, TokenMeter};

use crate::fixture::{Written, text};

/// What is wrong with a log, which is the same the second time.
fn wrong(written: &Written) -> MeterError {
    let meter = TokenMeter::default();
    let first = meter.measure(&written.0, None).unwrap_err();
    assert_eq!(meter.measure(&written.0, None), Err(first.clone()));
    written.user("more");
    assert_eq!(meter.measure(&written.0, None), Err(first.clone()));
    first
}

// spec: llm/S79
#[test]
fn a_step_that_starts_in_another_one_is_an_error() {
    let written = Written::new();
    written.step(1);
    let seq = written.step(2);
    assert_eq!(wrong(&written), MeterError::StepOpen { seq, turn: 1, step: 2 });
}

// spec: llm/S79
#[test]
fn a_step_that_ends_without_its_start_is_an_error() {
    let not_open = |seq, step| MeterError::StepNotOpen { seq, kind: "step/end".to_owned(), turn: 1, step };
    let written = Written::new();
    let seq = written.ends(1);
    assert_eq!(wrong(&written), not_open(seq, 1));
    let written = Written::new();
    written.step(1);
    let seq = written.ends(2);
    assert_eq!(wrong(&written), not_open(seq, 2));
}

// spec: llm/S79
#[test]
fn an_answer_outside_of_its_step_is_an_error() {
    let written = Written::new();
    written.step(1);
    written.ends(1);
    let seq = written.answers(1, "late", None, None);
    let kind = "assistant/message".to_owned();
    assert_eq!(wrong(&written), MeterError::StepNotOpen { seq, kind, turn: 1, step: 1 });
}

// spec: llm/S79
#[test]
fn an_answer_is_made_from_pieces_of_its_own_step() {
    let written = Written::new();
    written.step(1);
    let before = written.piece(1, text("of the step before"));
    written.ends(1);
    written.step(2);
    let no_piece = written.user("no piece");
    let other = written.piece(1, text("names another step"));
    let own = written.piece(2, text("own"));
    for named in [before, no_piece, other] {
        let written = copy(&written);
        let seq = written.answers(2, "own", None, Some(vec![own, named]));
        assert_eq!(wrong(&written), MeterError::Source { seq, named });
    }
    let written = copy(&written);
    written.answers(2, "own", None, Some(vec![own]));
    assert!(TokenMeter::default().measure(&written.0, None).is_ok());
}

// spec: llm/S79
#[test]
fn an_answer_is_not_made_from_pieces_of_an_earlier_step_of_the_same_number() {
    let written = Written::new();
    written.step(1);
    let named = written.piece(1, text("of the step before"));
    written.ends(1);
    written.step(1);
    let seq = written.answers(1, "own", None, Some(vec![named]));
    assert_eq!(wrong(&written), MeterError::Source { seq, named });
}

// spec: llm/S79
#[test]
fn what_cannot_be_read_is_an_error() {
    let written = Written::new();
    let seq = written.raw("step/start", r#"{"turn":1}"#);
    assert!(
        matches!(wrong(&written), MeterError::Readable { seq: at, kind, .. } if at == seq && kind == "step/start")
    );
}

/// A log of the same events.
fn copy(written: &Written) -> Written {
    let copy = dsh_session::Session::detached("copy");
    for event in &written.0.events() {
        let mut new = dsh_session::NewEvent::raw(event.kind(), event.data().get()).unwrap();
        if event.is_surface() {
            new = new.appended();
        }
        copy.append(new).unwrap();
    }
    Written(copy)
}
