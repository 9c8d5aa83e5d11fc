//! Each rule, kept and broken.

use dsh_session::NewEvent;
use dsh_session_invariants::{Rule, Violation, check};

use crate::fixture::{
    answer, call, chunk, event, failed_result, log, result, shortened_result, step_end, step_start, turn_end,
    turn_start, verdict,
};

/// The rule that the last event breaks; all before it must be fine.
fn broken_by_last(events: Vec<NewEvent>) -> Rule {
    let (last, violation) = (events.len() as u64 - 1, verdict(events).unwrap_err());
    assert_eq!(violation.seq, last, "{violation}");
    violation.rule
}

fn in_step_of_turn_one() -> Vec<NewEvent> {
    vec![turn_start(1), step_start(1, 1)]
}

fn and(mut events: Vec<NewEvent>, last: NewEvent) -> Vec<NewEvent> {
    events.push(last);
    events
}

// spec: session/S121
#[test]
fn a_log_that_keeps_every_rule_is_fine() {
    let kept = vec![
        event(
            "user/message",
            r#"{"id":"u","role":"user","content":[{"type":"text","text":"x"}],"source":{"kind":"user"}}"#,
        ),
        event("session/end-seed", "{}"),
        event("hook/invoked", r#"{"turn":7,"point":"x"}"#),
        turn_start(1),
        event("request/context", r#"{"provider":"p","model":"m"}"#),
        step_start(1, 1),
        chunk(1, 1),
        answer(1, 1),
        call(1, 1, "c-1"),
        call(1, 1, "c-2"),
        result(1, 1, "c-1"),
        // `c-2` is never answered, which is fine.
        step_end(1, 1),
        event("todo/write", r#"{"todos":[]}"#),
        shortened_result(1, 1, "c-1", 10),
        step_start(1, 2),
        step_end(1, 2),
        turn_end(1),
        turn_start(2),
        step_start(2, 1),
        failed_result(2, 1, "c-3", "TOOL_NOT_STARTED"),
        step_end(2, 1),
        turn_end(2),
    ];
    assert_eq!(verdict(kept), Ok(()));
}

// spec: session/S121
#[test]
fn numbers_must_grow() {
    let events = log([turn_start(1), turn_end(1)]);
    let twice = [&*events[0], &*events[1], &*events[1]];
    let violation = check("s-1", twice).unwrap_err();
    assert_eq!((violation.rule, violation.seq), (Rule::Sequence, 1));
}

// spec: session/S121
#[test]
fn a_turn_starts_only_when_none_is_open_and_turns_count_from_one() {
    assert_eq!(broken_by_last(vec![turn_start(2)]), Rule::TurnStart);
    assert_eq!(broken_by_last(vec![turn_start(0)]), Rule::TurnStart);
    assert_eq!(broken_by_last(vec![turn_start(1), turn_start(2)]), Rule::TurnStart);
    assert_eq!(broken_by_last(vec![turn_start(1), turn_end(1), turn_start(1)]), Rule::TurnStart);
    assert_eq!(broken_by_last(vec![turn_start(1), turn_end(1), turn_start(3)]), Rule::TurnStart);
}

// spec: session/S121
#[test]
fn the_end_of_a_turn_names_the_open_one_and_leaves_no_step_open() {
    assert_eq!(broken_by_last(vec![turn_end(1)]), Rule::TurnEnd);
    assert_eq!(broken_by_last(vec![turn_start(1), turn_end(2)]), Rule::TurnEnd);
    assert_eq!(broken_by_last(and(in_step_of_turn_one(), turn_end(1))), Rule::TurnEnd);
}

// spec: session/S121
#[test]
fn a_step_starts_in_its_open_turn_and_steps_count_from_one_in_each() {
    assert_eq!(broken_by_last(vec![step_start(1, 1)]), Rule::StepStart);
    assert_eq!(broken_by_last(vec![turn_start(1), step_start(2, 1)]), Rule::StepStart);
    assert_eq!(broken_by_last(vec![turn_start(1), step_start(1, 2)]), Rule::StepStart);
    assert_eq!(broken_by_last(and(in_step_of_turn_one(), step_start(1, 2))), Rule::StepStart);
    let mut second_turn = in_step_of_turn_one();
    second_turn.extend([step_end(1, 1), turn_end(1), turn_start(2)]);
    assert_eq!(broken_by_last(and(second_turn, step_start(2, 2))), Rule::StepStart);
}

// spec: session/S121
#[test]
fn what_belongs_to_a_step_names_the_open_turn_and_step() {
    type Of = fn(u64, u64) -> NewEvent;
    let of_a_step: [Of; 5] = [
        step_end,
        chunk,
        answer,
        |turn, step| call(turn, step, "c-1"),
        |turn, step| result(turn, step, "c-1"),
    ];
    for make in of_a_step {
        assert_eq!(broken_by_last(vec![make(1, 1)]), Rule::InStep);
        assert_eq!(broken_by_last(vec![turn_start(1), make(1, 1)]), Rule::InStep);
        assert_eq!(broken_by_last(and(in_step_of_turn_one(), make(1, 2))), Rule::InStep);
        assert_eq!(broken_by_last(and(in_step_of_turn_one(), make(2, 1))), Rule::InStep);
        let ended = and(in_step_of_turn_one(), step_end(1, 1));
        assert_eq!(broken_by_last(and(ended, make(1, 1))), Rule::InStep);
    }
}

// spec: session/S121
#[test]
fn a_result_answers_a_call_of_the_same_step() {
    assert_eq!(broken_by_last(and(in_step_of_turn_one(), result(1, 1, "c-1"))), Rule::CallBeforeResult);
    let mut other_step = in_step_of_turn_one();
    other_step.extend([call(1, 1, "c-1"), step_end(1, 1), step_start(1, 2)]);
    assert_eq!(broken_by_last(and(other_step, result(1, 2, "c-1"))), Rule::CallBeforeResult);
    let other_call = and(in_step_of_turn_one(), call(1, 1, "c-1"));
    assert_eq!(broken_by_last(and(other_call, result(1, 1, "c-2"))), Rule::CallBeforeResult);
}

// spec: session/S121
#[test]
fn only_the_code_of_a_call_that_was_not_started_stands_for_the_call() {
    let not_started = failed_result(1, 1, "c-1", "TOOL_NOT_STARTED");
    assert_eq!(verdict(and(in_step_of_turn_one(), not_started)), Ok(()));
    let unknown = failed_result(1, 1, "c-1", "UNKNOWN_TOOL");
    assert_eq!(broken_by_last(and(in_step_of_turn_one(), unknown)), Rule::CallBeforeResult);
    let elsewhere = failed_result(1, 2, "c-1", "TOOL_NOT_STARTED");
    assert_eq!(broken_by_last(and(in_step_of_turn_one(), elsewhere)), Rule::InStep);
}

// spec: session/S121
#[test]
fn a_result_in_the_place_of_another_needs_an_open_turn_and_nothing_else() {
    let mut answered = in_step_of_turn_one();
    answered.extend([call(1, 1, "c-1"), result(1, 1, "c-1"), step_end(1, 1), turn_end(1)]);
    let outside = and(answered.clone(), shortened_result(1, 1, "c-1", 3));
    assert_eq!(broken_by_last(outside), Rule::InTurn);
    let inside = and(and(answered, turn_start(2)), shortened_result(1, 1, "c-1", 3));
    assert_eq!(verdict(inside), Ok(()));
}

// spec: session/S121
#[test]
fn lists_of_things_to_do_and_requests_need_an_open_turn() {
    let header = r#"{"header":{"config":{"provider":"p","model":"m"}},"reason":"initial"}"#;
    for (kind, data) in [
        ("todo/write", r#"{"todos":[]}"#),
        ("request/header", header),
        ("request/context", r#"{"provider":"p","model":"m"}"#),
    ] {
        assert_eq!(broken_by_last(vec![event(kind, data)]), Rule::InTurn);
        assert_eq!(broken_by_last(vec![turn_start(1), turn_end(1), event(kind, data)]), Rule::InTurn);
        assert_eq!(verdict(vec![turn_start(1), event(kind, data)]), Ok(()));
    }
}

#[test]
fn data_that_cannot_be_read_breaks_a_rule_of_its_own() {
    assert_eq!(broken_by_last(vec![event("turn/start", "{}")]), Rule::Readable);
    assert_eq!(broken_by_last(and(in_step_of_turn_one(), event("step/end", "[1,1]"))), Rule::Readable);
    let no_step = event("assistant/chunk", r#"{"turn":1}"#);
    assert_eq!(broken_by_last(and(in_step_of_turn_one(), no_step)), Rule::Readable);
}

#[test]
fn a_violation_names_the_session_the_event_the_rule_and_what_was_expected() {
    let violation: Violation = verdict(vec![turn_start(1), turn_start(2)]).unwrap_err();
    assert_eq!(
        violation.to_string(),
        "session `s-1`: event 1 (`turn/start`) breaks the rule `turn-start`: \
         expected the end of turn 1, found the start of turn 2"
    );
}
