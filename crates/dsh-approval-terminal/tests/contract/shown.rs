//! What is shown of a question.

use std::sync::Arc;

use dsh_approval_terminal::visible;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixture::{Fixture, PROMPT};

/// What the screen shows of a question with these arguments.
async fn shown(reason: &str, arguments: Value) -> String {
    let fixture = Fixture::new();
    let request =
        fixture.question("bash").of_call("call-1").because(reason).with_arguments(Arc::new(arguments));
    let (_, ()) = tokio::join!(fixture.ask_for(request), async {
        fixture.screen.shows(PROMPT, 1).await;
        fixture.keys.press("n\n");
    });
    fixture.screen.text()
}

#[tokio::test]
async fn a_question_shows_agent_tool_call_reason_and_arguments() {
    let text = shown("deletes the folder", json!({"command": "rm -rf x", "timeout": 5})).await;
    let expected = r#"
Approval needed: agent "ada" wants to use the tool "bash" (call "call-1")
Reason: "deletes the folder"
Arguments: {
    "command": "rm -rf x",
    "timeout": 5
  }
Allow the tool "bash" to do this once? [y/n] "#;
    assert_eq!(text, expected);
}

#[tokio::test]
async fn what_is_not_given_is_said_not_to_be() {
    let fixture = Fixture::new();
    let (_, ()) = tokio::join!(fixture.ask("bash"), async {
        fixture.screen.shows(PROMPT, 1).await;
        fixture.keys.press("n\n");
    });
    let expected = r#"
Approval needed: agent "ada" wants to use the tool "bash"
Reason: none given
Arguments: none given
Allow the tool "bash" to do this once? [y/n] "#;
    assert_eq!(fixture.screen.text(), expected);
}

#[tokio::test]
async fn nothing_that_a_model_wrote_acts_on_the_terminal_or_breaks_a_line() {
    let tricks =
        "ls\r\n\u{1b}[2J\u{9b}1A\u{7f}\u{202e}\u{200b}\u{ad}\u{feff}\u{2028}\u{3164}\u{e0041}\u{a0}e\u{301}";
    let text = shown(tricks, json!({ (tricks): tricks })).await;
    let escaped =
        r"ls\r\n\u001b[2J\u009b1A\u007f\u202e\u200b\u00ad\ufeff\u2028\u3164\udb40\udc41\u00a0e\u0301";
    assert_eq!(text.matches(escaped).count(), 3, "{text}");
    assert_eq!(text.lines().count(), 7, "{text}");
    assert!(text.chars().all(|character| character == '\n' || (' '..='~').contains(&character)), "{text}");
}

#[tokio::test]
async fn long_arguments_are_shown_in_full_and_numbers_digit_by_digit() {
    let long = format!("{}end", "x".repeat(100_000));
    let number: Value = serde_json::from_str("123456789012345678901234567890.10").unwrap();
    let text = shown("", json!({"text": &long, "number": number})).await;
    assert!(text.contains(&format!("{long}\"")));
    assert!(text.contains("\"number\": 123456789012345678901234567890.10\n"), "{text}");
}

#[test]
fn nothing_that_leaves_no_mark_is_shown_as_it_is() {
    let shown: Vec<String> = ('\u{0}'..=char::MAX)
        .filter(|it| !matches!(it, '\n' | ' ') && leaves_no_mark(*it))
        .filter(|it| visible(&it.to_string()) == it.to_string())
        .map(|it| format!("U+{:04X}", u32::from(it)))
        .collect();
    assert_eq!(shown, Vec::<String>::new());
}

/// Blank or default ignorable in Unicode, or left blank by common fonts.
fn leaves_no_mark(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || matches!(
            u32::from(character),
            0xAD | 0x34F
                | 0x61C
                | 0x115F
                | 0x1160
                | 0x17B4
                | 0x17B5
                | 0x180B..=0x180F
                | 0x200B..=0x200F
                | 0x202A..=0x202E
                | 0x2060..=0x206F
                | 0x2800
                | 0x3164
                | 0xFE00..=0xFE0F
                | 0xFEFF
                | 0xFFA0
                | 0xFFF0..=0xFFFC
                | 0x16FE4
                | 0x1BCA0..=0x1BCA3
                | 0x1D159
                | 0x1D173..=0x1D17A
                | 0xE0000..=0xE0FFF
        )
}

#[test]
fn nothing_that_a_terminal_may_reorder_is_shown_as_it_is() {
    let scripts = [
        ('\u{590}', '\u{8ff}'),
        ('\u{fb1d}', '\u{fdff}'),
        ('\u{fe70}', '\u{feff}'),
        ('\u{10800}', '\u{10fff}'),
        ('\u{1e800}', '\u{1efff}'),
    ];
    let shown: Vec<String> = scripts
        .into_iter()
        .flat_map(|(first, last)| first..=last)
        .filter(|it| visible(&it.to_string()) == it.to_string())
        .map(|it| format!("U+{:04X}", u32::from(it)))
        .collect();
    assert_eq!(shown, Vec::<String>::new());
    assert_eq!(visible("\"rm \u{5d0}/ \u{1e900}\""), r#""rm \u05d0/ \ud83a\udd00""#);
    // What is written from left to right stays as it is.
    assert_eq!(visible("\"é ж 漢 ﬁ 😀\""), "\"é ж 漢 ﬁ 😀\"");
}

proptest! {
    #[test]
    fn what_is_shown_is_the_same_json_and_shows_every_character(key in any::<String>(), value in any::<String>()) {
        let arguments = json!({ (key): [value] });
        let shown = visible(&format!("{arguments:#}"));
        prop_assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), arguments);
        prop_assert!(!shown.chars().any(|it| it != '\n' && it.is_control()));
        let hidden = shown.contains(['\u{200b}', '\u{200e}', '\u{202a}', '\u{2066}', '\u{feff}', '\u{2028}']);
        prop_assert!(!hidden);
    }
}
