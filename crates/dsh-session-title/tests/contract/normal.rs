//! What becomes of a text that is to be a title.

use dsh_session_title::normalized;
use proptest::prelude::*;

fn line(text: &str) -> String {
    normalized(text, usize::MAX)
}

// spec: session/S118
#[test]
fn terminal_sequences_are_left_out() {
    assert_eq!(line("\u{1b}[1;31mred\u{1b}[0m and \u{9b}4mlined"), "red and lined");
    assert_eq!(line("\u{1b}]0;window\u{7}a \u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\"), "a link");
    assert_eq!(line("a\u{9d}0;t\u{9c}b"), "ab");
    assert_eq!(line("a\u{1b}Mb"), "ab");
    // A command that never ends takes the rest; an escape that begins nothing goes alone.
    assert_eq!(line("see \u{1b}]0;never ended"), "see");
    assert_eq!(line("a \u{1b}7x \u{1b}cy \u{1b}"), "a 7x cy");
    assert_eq!(line("a\u{1b}[é"), "aé");
}

// spec: session/S118
#[test]
fn controls_and_marks_that_cannot_be_seen_are_left_out() {
    assert_eq!(line("one\u{7}two\u{0}\u{7f}\u{85}three"), "onetwo three");
    assert_eq!(line("a\u{200b}b\u{200e}\u{202e}c\u{2066}d\u{feff}e\u{2060}f\u{61c}g"), "abcdefg");
    // Joiners are part of what is written.
    assert_eq!(line("👩\u{200d}💻 می\u{200c}خواهم"), "👩\u{200d}💻 می\u{200c}خواهم");
}

// spec: session/S118
#[test]
fn blanks_are_collapsed_and_trimmed() {
    assert_eq!(line(" \t a\r\n\n b\u{a0}\u{2028}c \u{200b} "), "a b c");
    assert_eq!(line(" \n\u{1b}[0m "), "");
}

// spec: session/S118
#[test]
fn a_title_is_cut_between_two_characters_and_ends_in_none_that_is_blank() {
    assert_eq!(normalized("ééé", 5), "éé");
    assert_eq!(normalized("👍👍", 7), "👍");
    assert_eq!(normalized("👍", 3), "");
    assert_eq!(normalized("abc def", 4), "abc");
    assert_eq!(normalized("abc", 3), "abc");
}

proptest! {
    // spec: session/S118
    #[test]
    fn whatever_comes_in_a_title_is_one_line_within_its_limit(
        text in "([ -~]|\u{1b}[\\[\\]A-Za-z]|\\PC|[\u{0}-\u{20}\u{7f}-\u{a0}\u{200b}-\u{200f}\u{2028}-\u{202e}]){0,40}",
        max_bytes in 1usize..60,
    ) {
        let title = normalized(&text, max_bytes);
        prop_assert!(title.len() <= max_bytes);
        prop_assert!(!title.chars().any(char::is_control));
        prop_assert!(!title.contains("  "));
        prop_assert_eq!(title.trim(), &title);
        prop_assert_eq!(&normalized(&title, max_bytes), &title);
        prop_assert!(line(&text).starts_with(&title));
    }
}
