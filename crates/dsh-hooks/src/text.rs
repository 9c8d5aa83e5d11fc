//! White space as the programs see it that hooks were written for.

/// Without the white space around it, a byte order mark included.
pub(crate) fn trimmed(text: &str) -> &str {
    text.trim_matches(|char: char| (char.is_whitespace() && char != '\u{85}') || char == '\u{feff}')
}

/// As [`trimmed`], unless nothing is left.
pub(crate) fn some_text(text: &str) -> Option<String> {
    Some(trimmed(text)).filter(|text| !text.is_empty()).map(str::to_owned)
}
