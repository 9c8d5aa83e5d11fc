//! Texts of hooks: white space as the programs see it that hooks were written for, and how much is kept.

/// How many bytes of one text are kept: what a hook says goes to the model, and stays in its conversation.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// Without the white space around it, a byte order mark included.
pub(crate) fn trimmed(text: &str) -> &str {
    text.trim_matches(|char: char| (char.is_whitespace() && char != '\u{85}') || char == '\u{feff}')
}

/// As [`trimmed`], unless nothing is left.
pub(crate) fn some_text(text: &str) -> Option<String> {
    Some(trimmed(text)).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The beginning of a text that is too long, and a line that says how much is missing.
pub(crate) fn bounded(mut text: String) -> String {
    if text.len() > MAX_TEXT_BYTES {
        let cut = (0..=MAX_TEXT_BYTES).rev().find(|cut| text.is_char_boundary(*cut)).unwrap_or(0);
        let dropped = text.len() - cut;
        text.truncate(cut);
        text.push_str(&format!("\n[{dropped} more bytes of the hook's text were dropped]"));
    }
    text
}
