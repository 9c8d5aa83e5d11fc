//! Text of others, made safe to print.

use std::fmt::Write as _;

/// The text on one line, with every character that could move the cursor, change colours or reorder what is shown
/// written as its code.
pub(crate) fn visible(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            '\r' => safe.push_str("\\r"),
            char if is_hidden(char) => {
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(char));
            }
            char => safe.push(char),
        }
    }
    safe
}

/// [`visible`] and no longer than `max_chars`.
pub(crate) fn shortened(text: &str, max_chars: usize) -> String {
    // One visible character comes from one of the text at least, so no more of it is needed.
    let start: String = text.chars().take(max_chars + 1).collect();
    let safe = visible(&start);
    if safe.chars().count() <= max_chars {
        return safe;
    }
    let mut cut: String = safe.chars().take(max_chars.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// JSON text with the same characters escaped inside its strings, where alone they can occur.
pub(crate) fn visible_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for char in json.chars() {
        if is_hidden(char) {
            for unit in char.encode_utf16(&mut [0; 2]) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(char);
        }
    }
    safe
}

/// Control characters, and those that set the direction of text or take no space.
fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::{shortened, visible, visible_json};

    #[test]
    fn what_could_change_the_terminal_is_written_as_its_code() {
        assert_eq!(
            visible("a\x1b[2Jb\x07\r\n\tc\u{9b}d\u{202e}e\u{0}"),
            "a\\u{1b}[2Jb\\u{7}\\r\\n\\tc\\u{9b}d\\u{202e}e\\u{0}"
        );
        assert_eq!(visible("plain é😀 \\n"), "plain é😀 \\n");
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(shortened("abcdef", 6), "abcdef");
        assert_eq!(shortened("abcdefg", 6), "abcde…");
        assert_eq!(shortened("\x1b\x1b", 6), "\\u{1b…");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let text = "a\u{9b}\u{202e}\u{e0041}\x1bé";
        let safe = visible_json(&serde_json::to_string(text).unwrap());
        assert!(safe.is_ascii() || safe.contains('é'));
        assert!(!safe.contains('\u{9b}'));
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
    }
}
