use super::bounded;

#[test]
fn a_text_that_is_too_long_keeps_both_ends_and_says_how_much_is_missing() {
    for (text, bytes, expected) in [
        ("", 0, ""),
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abc\n… 1 bytes left out …\nefg"),
        ("abcdefg", 1, "\n… 7 bytes left out …\n"),
        // No character is cut in two.
        ("ää-ää", 6, "ä\n… 5 bytes left out …\nä"),
    ] {
        assert_eq!(bounded(text.to_owned(), bytes), expected, "{text:?} in {bytes}");
    }
}
