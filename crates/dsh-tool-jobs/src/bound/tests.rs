#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use proptest::prelude::*;

use super::*;

const MARKER: &str = "\n[output truncated]";
const SUFFIX: &str = "\n[status: completed]";

// spec: timeout-jobs-hooks/J48, timeout-jobs-hooks/J49
#[test]
fn the_forms_are_those_of_the_reference_at_each_limit() {
    let digits = "0123456789".repeat(5);
    let text = "a€ü😀fghijklmn";
    for (text, limit, expected) in [
        (text, 1, "]"),
        (text, 19, "[status: completed]"),
        (text, 20, "\n[status: completed]"),
        (text, 21, "]\n[status: completed]"),
        (text, 24, "ted]\n[status: completed]"),
        (text, 38, "[output truncated]\n[status: completed]"),
        (text, 39, "a€ü😀fghijklmn\n[status: completed]"),
        (text, usize::MAX, "a€ü😀fghijklmn\n[status: completed]"),
        (&digits, 45, "456789\n[output truncated]\n[status: completed]"),
        (&digits, 50, "90123456789\n[output truncated]\n[status: completed]"),
        (&"€".repeat(20), 45, "€€\n[output truncated]\n[status: completed]"),
        (&"€".repeat(20), 50, "€€€\n[output truncated]\n[status: completed]"),
        (&"😀".repeat(15), 45, "😀\n[output truncated]\n[status: completed]"),
        (&"😀".repeat(15), 80, &format!("{}\n[status: completed]", "😀".repeat(15))),
    ] {
        assert_eq!(bounded(text, MARKER, SUFFIX, limit), expected, "{limit}");
    }
}

// spec: timeout-jobs-hooks/J49
#[test]
fn a_marker_is_not_repeated() {
    let text = "abcdefghijklmn\n[output truncated]";
    for (limit, expected) in [
        (41, "[output truncated]\n[status: completed, d]"),
        (44, "mn\n[output truncated]\n[status: completed, d]"),
        (53, "defghijklmn\n[output truncated]\n[status: completed, d]"),
        (56, "abcdefghijklmn\n[output truncated]\n[status: completed, d]"),
    ] {
        assert_eq!(bounded(text, MARKER, "\n[status: completed, d]", limit), expected, "{limit}");
    }
}

proptest! {
    // spec: timeout-jobs-hooks/J49
    #[test]
    fn what_is_bounded_fits_and_keeps_as_much_of_the_end_as_there_is_room_for(
        text in "[aä€😀\n]{0,40}", marker in "\n[mü]{0,8}", suffix in "[s€]{0,8}", limit in 0_usize..120,
    ) {
        let bounded = bounded(&text, &marker, &suffix, limit);
        let whole = format!("{text}{suffix}");
        prop_assert!(bounded.len() <= limit);
        if whole.len() <= limit {
            prop_assert_eq!(bounded, whole);
            return Ok(());
        }
        let end = format!("{marker}{suffix}");
        if end.len() >= limit {
            prop_assert!(end.ends_with(&bounded) && limit - bounded.len() < 4);
            return Ok(());
        }
        let kept = bounded.strip_suffix(&end).unwrap();
        let unmarked = text.strip_suffix(&marker).unwrap_or(&text);
        prop_assert!(unmarked.ends_with(kept));
        // Only a character that would not fit is missing.
        prop_assert!(kept == unmarked || limit - bounded.len() < 4);
    }

    #[test]
    fn a_cut_never_goes_through_a_character(text in "[aä€😀]{0,20}", bytes in 0_usize..80) {
        let (head, tail) = (head(&text, bytes), tail(&text, bytes));
        prop_assert!(text.starts_with(head) && text.ends_with(tail));
        for kept in [head, tail] {
            prop_assert!(kept.len() <= bytes);
            prop_assert!(kept == text || bytes - kept.len() < 4);
        }
    }
}
