//! How an answer is read.

use dsh_hooks::{Decision, HookOutput, Point, Said, Stop, decode};
use serde_json::{Value, json};

fn read(stdout: &str) -> HookOutput {
    decode(Some(0), stdout, "", Some(Point::PreToolUse))
}

fn answered(answer: &Value) -> HookOutput {
    read(&answer.to_string())
}

/// An answer with a part that is meant for the point.
fn own(part: &str) -> HookOutput {
    read(&format!(r#"{{"hookSpecificOutput":{{"hookEventName":"PreToolUse",{part}}}}}"#))
}

fn at_point() -> HookOutput {
    HookOutput { event_name: Some("PreToolUse".to_owned()), ..HookOutput::default() }
}

fn plain(text: &str) -> HookOutput {
    HookOutput { plain_stdout: Some(text.to_owned()), ..HookOutput::default() }
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

// spec: timeout-jobs-hooks/J58, J85, J78
#[test]
fn the_exit_code_says_what_counts() {
    let answer = r#"{"decision":"approve","continue":false,"systemMessage":"m"}"#;
    let blocked = |reason: Option<&str>| HookOutput {
        said: Some(Said::Block),
        reason: reason.map(str::to_owned),
        ..HookOutput::default()
    };
    let decode = |code, stderr| decode(code, answer, stderr, None);
    assert_eq!(decode(Some(2), " not this one\nsecond line\n"), blocked(Some("not this one\nsecond line")));
    assert_eq!(decode(Some(2), " \n"), blocked(None));
    assert_eq!(decode(Some(0), "ignored").said, Some(Said::Approve));
    for code in [Some(1), Some(3), Some(127), Some(-2), None] {
        assert_eq!(decode(code, "err"), HookOutput::default(), "{code:?}");
    }
}

// spec: timeout-jobs-hooks/J58, J59
#[test]
fn what_is_no_object_is_kept_as_text() {
    for text in ["plain text", "[1]", r#"[{"decision":"block"}]"#, "\"block\"", "null", "{broken", "{'a':1}"]
    {
        assert_eq!(read(&format!("  \u{feff}{text} \r\n")), plain(text), "{text}");
    }
    for text in [r#"{"decision":"block"} {}"#, r#"{"decision":"block"}}"#, r#"{"decision":"block",}"#] {
        assert_eq!(read(text), plain(text));
    }
    assert_eq!(read(""), HookOutput::default());
    assert_eq!(read(" \n\u{feff}"), HookOutput::default());
    assert_eq!(read("{}"), HookOutput::default());
}

// spec: timeout-jobs-hooks/J58, J86
#[test]
fn an_answer_that_was_cut_off_decides_nothing() {
    let answer = r#"{"decision":"block","reason":"é😀","hookSpecificOutput":{"hookEventName":"PreToolUse"}}"#;
    for (cut, _) in answer.char_indices().skip(1) {
        assert_eq!(read(&answer[..cut]), plain(&answer[..cut]));
    }
    assert_eq!(read(answer).said, Some(Said::Block));
}

// spec: timeout-jobs-hooks/J59
#[test]
fn the_fields_of_every_point() {
    let answer = json!({
        "continue": false, "stopReason": "enough", "systemMessage": " careful ", "decision": "block",
        "reason": "  no  ", "suppressOutput": true,
    });
    let expected = HookOutput {
        said: Some(Said::Block),
        reason: text("  no  "),
        stop: Some(Stop { reason: text("enough") }),
        system_message: text(" careful "),
        ..HookOutput::default()
    };
    assert_eq!(answered(&answer), expected);
    let stop = Some(Stop { reason: None });
    assert_eq!(answered(&json!({"continue": false})), HookOutput { stop, ..HookOutput::default() });
    let approved = HookOutput { said: Some(Said::Approve), ..HookOutput::default() };
    assert_eq!(answered(&json!({"decision": "approve", "continue": true, "stopReason": "x"})), approved);
}

// spec: timeout-jobs-hooks/J59
#[test]
fn words_and_types_that_mean_nothing_are_ignored() {
    for word in ["allow", "deny", "ask", "Block", "block ", ""] {
        assert_eq!(answered(&json!({"decision": word})).said, None, "{word:?}");
    }
    let odd = json!({
        "continue": "false", "stopReason": 1, "systemMessage": ["m"], "decision": true, "reason": {},
        "hookSpecificOutput": [1],
    });
    assert_eq!(answered(&odd), HookOutput::default());
    for continues in [json!(null), json!(0), json!(true)] {
        assert_eq!(answered(&json!({"continue": continues})).stop, None);
    }
    assert_eq!(own(r#""permissionDecision":"maybe","additionalContext":1,"updatedInput":null"#), at_point());
    assert_eq!(own(r#""permissionDecision":"approve""#), at_point());
}

// spec: timeout-jobs-hooks/J59
#[test]
fn the_part_for_the_point_goes_before_the_rest() {
    for (word, said, decision) in [
        ("allow", Said::Allow, Decision::Allow),
        ("ask", Said::Ask, Decision::Ask),
        ("deny", Said::Deny, Decision::Deny),
    ] {
        let output = own(&format!(r#""permissionDecision":"{word}","permissionDecisionReason":"why""#));
        assert_eq!(output, HookOutput { said: Some(said), reason: text("why"), ..at_point() });
        assert_eq!(output.decision(), Some(decision));
    }
    let both = |part: Value| {
        let mut part = part;
        part["hookEventName"] = json!("PreToolUse");
        answered(&json!({"decision": "block", "reason": "top", "hookSpecificOutput": part}))
    };
    let output = both(json!({"permissionDecision": "allow"}));
    assert_eq!((output.said, output.reason), (Some(Said::Allow), text("top")));
    let output = both(json!({"permissionDecisionReason": "own"}));
    assert_eq!((output.said, output.reason), (Some(Said::Block), text("own")));
    let output = own(r#""additionalContext":" c \n","updatedInput":{"b":1,"a":{"c":[]}}"#);
    let Value::Object(input) = json!({"b": 1, "a": {"c": []}}) else { unreachable!() };
    let expected = HookOutput { additional_context: text(" c \n"), updated_input: Some(input), ..at_point() };
    assert_eq!(output, expected);
}

// spec: timeout-jobs-hooks/J60
#[test]
fn a_part_for_another_point_is_discarded() {
    let answer = |name: Option<&str>| {
        let mut own = json!({
            "permissionDecision": "deny", "permissionDecisionReason": "own", "additionalContext": "c",
            "updatedInput": {"a": 1},
        });
        if let Some(name) = name {
            own["hookEventName"] = json!(name);
        }
        json!({"continue": false, "decision": "block", "reason": "top", "hookSpecificOutput": own})
            .to_string()
    };
    let kept = |name: Option<&str>| HookOutput {
        said: Some(Said::Block),
        reason: text("top"),
        stop: Some(Stop::default()),
        event_name: name.map(str::to_owned),
        ..HookOutput::default()
    };
    for name in [None, Some("PostToolUse"), Some("pretooluse"), Some("")] {
        assert_eq!(read(&answer(name)), kept(name), "{name:?}");
        let unasked = decode(Some(0), &answer(name), "", None);
        assert_eq!((unasked.said, unasked.reason), (Some(Said::Deny), text("own")), "{name:?}");
    }
    assert_eq!(read(&answer(Some("PreToolUse"))).said, Some(Said::Deny));
}

// spec: timeout-jobs-hooks/J59
#[test]
fn of_a_key_that_is_there_twice_the_last_counts() {
    assert_eq!(read(r#"{"decision":"approve","decision":"block"}"#).said, Some(Said::Block));
    assert_eq!(read(r#"{"decision":"block","decision":null}"#).said, None);
    assert_eq!(own(r#""permissionDecision":"allow","permissionDecision":"deny""#).said, Some(Said::Deny));
    assert_eq!(read(r#"{"d\u0065cision":"block"}"#).said, Some(Said::Block));
}

// spec: timeout-jobs-hooks/J84
#[test]
fn depth_and_size_do_not_hide_a_decision() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        assert_eq!(read(&format!(r#"{{"x":{deep},"decision":"block"}}"#)).said, Some(Said::Block));
        assert_eq!(own(&format!(r#""additionalContext":{deep}"#)), at_point());
        assert_eq!(
            read(&format!(r#"{{"hookSpecificOutput":{deep},"decision":"block"}}"#)).said,
            Some(Said::Block)
        );
        assert_eq!(read(&deep.replace('1', "")).said, None);
    }
    let padding = "x".repeat(10 << 20);
    assert_eq!(read(&format!(r#"{{"pad":"{padding}","decision":"block"}}"#)).said, Some(Said::Block));
}

// spec: timeout-jobs-hooks/J59
#[test]
fn half_a_character_does_not_hide_a_decision() {
    let output = read(r#"{"\udc00":1,"decision":"block","reason":"cut \ud83d"}"#);
    assert_eq!(output.said, Some(Said::Block));
    assert!(output.reason.unwrap().starts_with("cut \u{fffd}"));
    assert_eq!(read(r#"{"decision":"block","reason":"\ud83d\ude00"}"#).reason, text("😀"));
    let nul = "{\"decision\":\"block\",\"reason\":\"a\\u0000b\"}";
    assert_eq!(read(nul).reason, text("a\0b"));
    assert_eq!(read("{\"decision\":\"block\0\"}").said, None);
}

#[test]
fn numbers_of_a_rewritten_input_stay_what_they_are() {
    let output = own(r#""updatedInput":{"id":9007199254740993,"max":18446744073709551615,"half":0.5}"#);
    let input = Value::Object(output.updated_input.unwrap());
    assert_eq!(input.to_string(), r#"{"id":9007199254740993,"max":18446744073709551615,"half":0.5}"#);
}

#[test]
fn a_rewritten_input_that_cannot_be_kept_forbids_the_call() {
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    for (input, why) in [
        (r#"{"path":"a","path":"b"}"#, "the key \"path\" is given twice"),
        (r#"{"n":0.1000000000000000055511151231257827}"#, "cannot be kept exactly"),
        (r#"{"text":"\ud83d"}"#, "not valid JSON"),
        (&deep, "nested deeper than 128 levels"),
        ("[1]", "it is no object"),
        (r#""{}""#, "it is no object"),
        ("5", "it is no object"),
        ("false", "it is no object"),
    ] {
        let output = own(&format!(r#""permissionDecision":"allow","updatedInput":{input}"#));
        assert_eq!((output.said, output.updated_input), (Some(Said::Deny), None));
        let reason = output.reason.unwrap();
        assert!(
            reason.starts_with("the hook's updatedInput cannot be used: ") && reason.contains(why),
            "{reason}"
        );
    }
    // A denial keeps its reason, and where no call is about to be made nothing is forbidden.
    let twice = r#""updatedInput":{"a":1,"a":2}"#;
    let denied = own(&format!(r#""permissionDecision":"deny","permissionDecisionReason":"no",{twice}"#));
    assert_eq!((denied.said, denied.reason), (Some(Said::Deny), text("no")));
    let stop = format!(r#"{{"hookSpecificOutput":{{"hookEventName":"Stop",{twice}}}}}"#);
    assert_eq!(decode(Some(0), &stop, "", Some(Point::Stop)).said, None);
}

// spec: timeout-jobs-hooks/J58, timeout-jobs-hooks/J59
#[test]
fn of_a_text_the_first_64_kib_are_kept_with_a_note_of_the_rest() {
    const MAX: usize = 64 << 10;
    let fits = "x".repeat(MAX);
    assert_eq!(read(&fits), plain(&fits));
    // The last character that begins within the bound ends beyond it.
    let long = format!("{}é{}", "x".repeat(MAX - 1), "y".repeat(100));
    let kept = format!("{}\n[102 more bytes of the hook's text were dropped]", "x".repeat(MAX - 1));
    assert_eq!(read(&long), plain(&kept));
    assert_eq!(decode(Some(2), "", &long, None).reason, text(&kept));
    let whole = answered(&json!({
        "decision": "block", "reason": long, "continue": false, "stopReason": long, "systemMessage": long,
        "hookSpecificOutput": { "hookEventName": "PreToolUse", "additionalContext": long },
    }));
    assert_eq!((&whole.reason, &whole.system_message), (&text(&kept), &text(&kept)));
    assert_eq!(whole.stop, Some(Stop { reason: text(&kept) }));
    assert_eq!(whole.additional_context, text(&kept));
    let own = own(&json!({ "permissionDecision": "ask", "permissionDecisionReason": long })
        .to_string()
        .replace(['{', '}'], ""));
    assert_eq!((own.said, own.reason), (Some(Said::Ask), text(&kept)));
}
