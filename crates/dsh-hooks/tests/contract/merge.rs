//! What several answers come to.

use dsh_hooks::{Decision, HookOutput, Merged, Said, Stop, merge};
use serde_json::{Map, Value, json};

fn said(said: Said, reason: &str) -> HookOutput {
    HookOutput { said: Some(said), reason: Some(reason.to_owned()), ..HookOutput::default() }
}

fn decided(outputs: &[HookOutput]) -> (Option<Decision>, Option<String>) {
    let merged = merge(outputs);
    (merged.decision, merged.reason)
}

fn input(value: Value) -> Option<Map<String, Value>> {
    value.as_object().cloned()
}

// spec: timeout-jobs-hooks/J61
#[test]
fn nothing_comes_to_nothing() {
    assert_eq!(merge(&[]), Merged::default());
    assert_eq!(merge(&[HookOutput::default(), HookOutput::default()]), Merged::default());
}

// spec: timeout-jobs-hooks/J61, cases/H2
#[test]
fn the_strongest_decision_wins_in_any_order() {
    let words = [
        (None, None),
        (Some(Said::Approve), Some(Decision::Allow)),
        (Some(Said::Allow), Some(Decision::Allow)),
        (Some(Said::Ask), Some(Decision::Ask)),
        (Some(Said::Block), Some(Decision::Deny)),
        (Some(Said::Deny), Some(Decision::Deny)),
    ];
    for (one, first) in words {
        for (two, second) in words {
            let outputs = [one, two].map(|said| HookOutput { said, ..HookOutput::default() });
            assert_eq!(decided(&outputs), (first.max(second), None), "{one:?} and {two:?}");
        }
    }
}

// spec: timeout-jobs-hooks/J61
#[test]
fn only_the_reasons_of_the_winners_are_given() {
    let outputs = [
        said(Said::Ask, "asked"),
        said(Said::Deny, "B"),
        said(Said::Allow, "fine"),
        HookOutput { said: Some(Said::Block), ..HookOutput::default() },
        said(Said::Block, ""),
        said(Said::Block, "C"),
        HookOutput { reason: Some("nothing said".to_owned()), ..HookOutput::default() },
    ];
    assert_eq!(decided(&outputs), (Some(Decision::Deny), Some("B\n\nC".to_owned())));
    assert_eq!(decided(&outputs[..1]), (Some(Decision::Ask), Some("asked".to_owned())));
    assert_eq!(decided(&outputs[2..3]), (Some(Decision::Allow), None));
    assert_eq!(decided(&outputs[3..5]), (Some(Decision::Deny), None));
}

// spec: timeout-jobs-hooks/J61
#[test]
fn texts_come_in_order_and_the_first_stop_counts() {
    let output = |stop: Option<Option<&str>>, message: &str, context: &str| HookOutput {
        stop: stop.map(|reason| Stop { reason: reason.map(str::to_owned) }),
        system_message: Some(message.to_owned()),
        additional_context: Some(context.to_owned()),
        ..HookOutput::default()
    };
    let outputs =
        [output(None, "m1", ""), output(Some(None), "", "c2\n"), output(Some(Some("late")), "m3", "c3")];
    let expected = Merged {
        stop: Some(Stop { reason: None }),
        system_messages: vec!["m1".to_owned(), "m3".to_owned()],
        additional_contexts: vec!["c2\n".to_owned(), "c3".to_owned()],
        ..Merged::default()
    };
    assert_eq!(merge(&outputs), expected);
}

// spec: cases/H2
#[test]
fn the_last_input_that_was_given_counts() {
    let rewrite = |value| HookOutput { updated_input: input(value), ..HookOutput::default() };
    let outputs = [rewrite(json!({"a": 1})), rewrite(json!({"a": 2})), HookOutput::default()];
    assert_eq!(merge(&outputs).updated_input, input(json!({"a": 2})));
}
