//! What a log may hold, and what not.

use dsh_hooks_invariants::{Rule, check};

use crate::fixture::{ended, event, invoked, log, turn_end, turn_start, verdict};

fn not_invoked(id: &str) -> Rule {
    Rule::NotInvoked { handler_id: id.to_owned() }
}

// spec: timeout-jobs-hooks/J64, J62
#[test]
fn pairs_inside_of_turns_are_fine_in_any_number() {
    let mut events = vec![turn_start(1)];
    events.extend([
        invoked(1, "a"),
        invoked(1, "a"),
        invoked(1, "b"),
        ended(1, "a"),
        ended(1, "b"),
        ended(1, "a"),
    ]);
    events.extend([turn_end(1), turn_start(2), invoked(2, "a"), ended(2, "a"), turn_end(2)]);
    assert_eq!(verdict(events), None);
}

// spec: timeout-jobs-hooks/J64
#[test]
fn a_hook_outside_of_a_turn_breaks_a_rule() {
    for (hook, kind) in [(invoked(1, "a"), "hook/invoked"), (ended(1, "a"), "hook/result")] {
        let outside = Rule::OutsideTurn { kind: kind.to_owned() };
        assert_eq!(verdict([hook.clone()]), Some((0, outside.clone())));
        assert_eq!(verdict([turn_start(1), turn_end(1), hook]), Some((2, outside)));
    }
}

// spec: timeout-jobs-hooks/J64
#[test]
fn a_hook_of_another_turn_breaks_a_rule() {
    for (hook, kind) in [(invoked(2, "a"), "hook/invoked"), (ended(2, "a"), "hook/result")] {
        let other = Rule::OtherTurn { kind: kind.to_owned(), turn: 2, open: 1 };
        assert_eq!(verdict([turn_start(1), hook]), Some((1, other)));
    }
}

// spec: timeout-jobs-hooks/J64
#[test]
fn an_end_without_its_beginning_breaks_a_rule() {
    assert_eq!(verdict([turn_start(1), ended(1, "a")]), Some((1, not_invoked("a"))));
    let twice = [turn_start(1), invoked(1, "a"), ended(1, "a"), ended(1, "a")];
    assert_eq!(verdict(twice), Some((3, not_invoked("a"))));
    let elsewhere =
        event("hook/invoked", r#"{"turn":1,"point":"PreToolUse","dialect":"codex","handlerId":"a"}"#);
    assert_eq!(verdict([turn_start(1), elsewhere, ended(1, "a")]), Some((2, not_invoked("a"))));
    // What a crash left running does not end in a later turn.
    let later = [turn_start(1), invoked(1, "a"), turn_end(1), turn_start(2), ended(2, "a")];
    assert_eq!(verdict(later), Some((4, not_invoked("a"))));
    let crashed = [turn_start(1), invoked(1, "a"), turn_start(2), ended(2, "a")];
    assert_eq!(verdict(crashed), Some((3, not_invoked("a"))));
}

// spec: timeout-jobs-hooks/J64
#[test]
fn a_hook_without_a_name_or_of_a_strange_dialect_breaks_a_rule() {
    for data in [
        r#"{"turn":1,"point":"","dialect":"codex","handlerId":"a"}"#,
        r#"{"turn":1,"point":"Stop","dialect":"codex","handlerId":""}"#,
        r#"{"turn":1,"dialect":"codex"}"#,
    ] {
        assert_eq!(
            verdict([turn_start(1), event("hook/invoked", data)]),
            Some((1, Rule::Nameless)),
            "{data}"
        );
    }
    for (dialect, data) in [
        ("gemini", r#"{"turn":1,"point":"Stop","dialect":"gemini","handlerId":"a"}"#),
        ("", r#"{"turn":1,"point":"Stop","handlerId":"a"}"#),
    ] {
        let unknown = Rule::UnknownDialect { dialect: dialect.to_owned() };
        assert_eq!(verdict([turn_start(1), event("hook/invoked", data)]), Some((1, unknown)));
    }
    // A point that this build does not know is a later version's.
    let later = event("hook/invoked", r#"{"turn":1,"point":"PreCompact","dialect":"codex","handlerId":"a"}"#);
    assert_eq!(verdict([turn_start(1), later]), None);
}

// spec: timeout-jobs-hooks/J64
#[test]
fn a_duration_that_is_none_breaks_a_rule() {
    let result = |duration: &str| {
        let data = format!(r#"{{"turn":1,"point":"Stop","handlerId":"a","decision":"pass"{duration}}}"#);
        verdict([turn_start(1), invoked(1, "a"), event("hook/result", &data)])
    };
    for duration in
        ["", r#","durationMs":-1"#, r#","durationMs":"3""#, r#","durationMs":null"#, r#","durationMs":[]"#]
    {
        assert_eq!(result(duration), Some((2, Rule::Duration)), "{duration}");
    }
    for duration in [r#","durationMs":0"#, r#","durationMs":263.74034600000005"#] {
        assert_eq!(result(duration), None, "{duration}");
    }
}

// spec: timeout-jobs-hooks/J64
#[test]
fn data_that_cannot_be_read_breaks_a_rule() {
    for (kind, data) in [
        ("hook/invoked", r#"{"point":"Stop","dialect":"codex","handlerId":"a"}"#),
        ("hook/invoked", r#"{"turn":"1","point":"Stop","dialect":"codex","handlerId":"a"}"#),
        ("hook/result", r#"[1,"Stop","a",1]"#),
        ("hook/result", r#"{"turn":1,"point":7,"handlerId":"a","durationMs":1}"#),
    ] {
        let Some((1, Rule::Readable { kind: named, .. })) = verdict([turn_start(1), event(kind, data)])
        else {
            panic!("{kind} {data} was not refused as it should");
        };
        assert_eq!(named, kind);
    }
}

// spec: timeout-jobs-hooks/J64
#[test]
fn the_texts_are_the_references() {
    let text = |events: Vec<_>| check("s-1", log(events)).unwrap_err().to_string();
    let invoke = |data: &str| vec![turn_start(1), event("hook/invoked", data)];
    let endless = event("hook/result", r#"{"turn":1,"point":"Stop","handlerId":"x","durationMs":-1}"#);
    for (events, expected) in [
        (vec![invoked(1, "x")], "hook/invoked appended outside any open turn"),
        (vec![ended(1, "x")], "hook/result appended outside any open turn"),
        (vec![turn_start(1), ended(2, "x")], "hook/result names turn 2, but turn 1 is open"),
        (invoke(r#"{"turn":1}"#), "hook/invoked point and handlerId must be non-empty"),
        (
            invoke(r#"{"turn":1,"point":"Stop","handlerId":"h","dialect":"x"}"#),
            "hook/invoked carries unknown dialect \"x\"",
        ),
        (vec![turn_start(1), ended(1, "h")], "hook/result has no matching hook/invoked for \"h\""),
        (
            vec![turn_start(1), invoked(1, "x"), endless],
            "hook/result durationMs must be a non-negative finite number",
        ),
    ] {
        let prefix = "invariant violated by \"@deepseek-ai/dsh-hook-protocol\": ";
        assert_eq!(text(events), format!("{prefix}{expected}"));
    }
}
