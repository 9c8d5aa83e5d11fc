//! What a log may hold, and what not.

use dsh_approval_invariants::{Rule, check};

use crate::fixture::{asked, decided, event, log, policy, turn_end, turn_start, verdict};

// spec: approval-permissions/A25, A81
#[test]
fn pairs_inside_of_turns_and_policies_anywhere_are_fine() {
    let mut events = vec![policy("never"), turn_start(1), policy("ask")];
    for (id, outcome) in [("a", "allowed-once"), ("b", "rejected"), ("c", "cancelled"), ("d", "unavailable")]
    {
        events.extend([asked(id), decided(id, outcome)]);
    }
    events.extend([asked("x"), asked("y"), decided("y", "rejected"), decided("x", "rejected")]);
    // An id may come back once its question is decided.
    events.extend([asked("a"), decided("a", "rejected"), turn_end(1), policy("never")]);
    assert_eq!(verdict(events), None);
}

// spec: approval-permissions/A25, A81
#[test]
fn a_question_outside_of_a_turn_breaks_a_rule() {
    assert_eq!(verdict([asked("a")]), Some((0, Rule::AskedOutsideTurn)));
    assert_eq!(verdict([turn_start(1), turn_end(1), asked("a")]), Some((2, Rule::AskedOutsideTurn)));
}

// spec: approval-permissions/A25
#[test]
fn a_question_without_a_tool_breaks_a_rule() {
    for data in [r#"{"id":"a","toolName":""}"#, r#"{"id":"a"}"#] {
        let question = event("approval/asked", data);
        assert_eq!(verdict([turn_start(1), question]), Some((1, Rule::NoToolName)), "{data}");
    }
}

// spec: approval-permissions/A25
#[test]
fn asking_an_open_question_again_breaks_a_rule() {
    let again = Rule::RepeatedId { id: "a".to_owned() };
    assert_eq!(verdict([turn_start(1), asked("a"), asked("a")]), Some((2, again.clone())));
    // Also in a later turn: the first one is still open.
    assert_eq!(
        verdict([turn_start(1), asked("a"), turn_end(1), turn_start(2), asked("a")]),
        Some((4, again))
    );
}

// spec: approval-permissions/A25, A27
#[test]
fn an_outcome_needs_an_open_turn_but_not_the_turn_of_its_question() {
    let before = || [turn_start(1), asked("a"), turn_end(1)];
    let outside = before().into_iter().chain([decided("a", "rejected")]);
    assert_eq!(verdict(outside), Some((3, Rule::DecidedOutsideTurn)));
    let later = before().into_iter().chain([turn_start(2), decided("a", "rejected")]);
    assert_eq!(verdict(later), None);
}

// spec: approval-permissions/A25
#[test]
fn an_outcome_without_an_open_question_breaks_a_rule() {
    let not_asked = |id: &str| Rule::NotAsked { id: id.to_owned() };
    assert_eq!(verdict([turn_start(1), decided("a", "rejected")]), Some((1, not_asked("a"))));
    let twice = [turn_start(1), asked("a"), decided("a", "rejected"), decided("a", "rejected")];
    assert_eq!(verdict(twice), Some((3, not_asked("a"))));
}

// spec: approval-permissions/A25, A1, A2
#[test]
fn words_that_are_no_outcome_or_policy_break_a_rule() {
    let outcome = Rule::UnknownOutcome { outcome: "always".to_owned() };
    assert_eq!(verdict([turn_start(1), asked("a"), decided("a", "always")]), Some((2, outcome)));
    let unknown = Rule::UnknownPolicy { policy: "Ask".to_owned() };
    assert_eq!(verdict([policy("Ask")]), Some((0, unknown)));
}

// spec: approval-permissions/A25
#[test]
fn data_that_cannot_be_read_breaks_a_rule() {
    for (kind, data) in [
        ("approval/asked", r#"{"toolName":"bash"}"#),
        ("approval/asked", r#"{"id":7,"toolName":"bash"}"#),
        ("approval/decided", r#"["a","rejected"]"#),
        ("approval/decided", r#"{"id":"a"}"#),
        ("approval/policy", "{}"),
    ] {
        let Some((1, Rule::Readable { kind: named, .. })) = verdict([turn_start(1), event(kind, data)])
        else {
            panic!("{kind} {data} was not refused as it should");
        };
        assert_eq!(named, kind);
    }
}

// spec: approval-permissions/A26
#[test]
fn a_question_that_a_crash_left_open_breaks_no_rule() {
    assert_eq!(verdict([turn_start(1), asked("a")]), None);
    assert_eq!(verdict([turn_start(1), asked("a"), turn_end(1), turn_start(2)]), None);
}

// spec: approval-permissions/A25
#[test]
fn the_texts_are_the_references() {
    let text = |events: Vec<_>| check("s-1", log(events)).unwrap_err().to_string();
    let prefix = "invariant violated by \"@deepseek-ai/dsh-user-approval\": ";
    let nameless = event("approval/asked", r#"{"id":"x","toolName":""}"#);
    for (events, expected) in [
        (vec![asked("x")], "approval/asked appended outside any open turn"),
        (vec![turn_start(1), nameless], "approval/asked toolName must be non-empty"),
        (vec![turn_start(1), asked("x"), asked("x")], "approval/asked repeated open id \"x\""),
        (vec![decided("x", "rejected")], "approval/decided appended outside any open turn"),
        (
            vec![turn_start(1), decided("x", "rejected")],
            "approval/decided has no matching approval/asked for id \"x\"",
        ),
        (
            vec![turn_start(1), asked("x"), decided("x", "y")],
            "approval/decided carries unknown outcome \"y\"",
        ),
        (vec![policy("y")], "approval/policy carries unknown policy \"y\""),
    ] {
        assert_eq!(text(events), format!("{prefix}{expected}"));
    }
}
