//! Text of others, made safe to print.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

/// How many characters may share one column: an accent or two belong to a letter, a thousand do not.
const MAX_CHARS_PER_COLUMN: usize = 4;

/// The text on one line, with every character that could move the cursor, change colours or reorder what is shown
/// written as its code.
pub(crate) fn visible(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        push(&mut safe, char);
    }
    safe
}

/// [`visible`], but lines and tabs stay what they are, and letters stay joined as their languages join them.
pub(crate) fn visible_lines(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\n' | '\t' | '\u{200c}' | '\u{200d}' => safe.push(char),
            '\r' if chars.peek() == Some(&'\n') => {}
            char => push(&mut safe, char),
        }
    }
    safe
}

/// [`visible`] and no wider than `max_columns`. A code is left out as a whole.
pub(crate) fn shortened(text: &str, max_columns: usize) -> String {
    let mut safe = String::new();
    let (mut columns, mut fits) = (0, 0);
    for (count, char) in text.chars().enumerate() {
        let start = safe.len();
        push(&mut safe, char);
        columns += safe[start..].width();
        if columns > max_columns || count >= max_columns * MAX_CHARS_PER_COLUMN {
            safe.truncate(fits);
            safe.push('…');
            return safe;
        }
        // One column is kept for the sign that something is missing.
        if columns < max_columns {
            fits = safe.len();
        }
    }
    safe
}

/// [`shortened`], and filled up with spaces to `columns`.
pub(crate) fn fitted(text: &str, columns: usize) -> String {
    let mut safe = shortened(text, columns);
    let missing = columns.saturating_sub(safe.width());
    safe.extend(std::iter::repeat_n(' ', missing));
    safe
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

fn push(safe: &mut String, char: char) {
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
    use super::{fitted, shortened, visible, visible_json, visible_lines};

    #[test]
    fn what_could_change_the_terminal_is_written_as_its_code() {
        assert_eq!(
            visible("a\x1b[2Jb\x07\r\n\tc\u{9b}d\u{202e}e\u{0}"),
            "a\\u{1b}[2Jb\\u{7}\\r\\n\\tc\\u{9b}d\\u{202e}e\\u{0}"
        );
        assert_eq!(visible("plain é😀 \\n"), "plain é😀 \\n");
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(
            visible_lines("a\n\tb\r\nc\rd\x1b]0;e\x07\u{202e}\n"),
            "a\n\tb\nc\\rd\\u{1b}]0;e\\u{7}\\u{202e}\n"
        );
        assert_eq!(visible_lines("👨\u{200d}👩\u{200d}👧"), "👨\u{200d}👩\u{200d}👧");
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(shortened("abcdef", 6), "abcdef");
        assert_eq!(shortened("abcdefg", 6), "abcde…");
    }

    #[test]
    fn a_code_is_not_cut_in_the_middle() {
        assert_eq!(shortened("\x1b\x1b", 12), "\\u{1b}\\u{1b}");
        assert_eq!(shortened("\x1b\x1b", 11), "\\u{1b}…");
        assert_eq!(shortened("\x1b\x1b", 6), "…");
        assert_eq!(shortened("ab\n", 3), "ab…");
    }

    #[test]
    fn a_text_is_as_wide_as_the_terminal_shows_it() {
        assert_eq!(shortened("漢字", 4), "漢字");
        assert_eq!(shortened("漢字", 3), "漢…");
        assert_eq!(shortened("漢字漢", 4), "漢…");
        assert_eq!(fitted("漢", 4), "漢  ");
        assert_eq!(fitted("e\u{301}", 2), "e\u{301} ");
        let heap = shortened(&format!("e{}", "\u{301}".repeat(10_000)), 5);
        assert!(heap.chars().count() <= 21, "{}", heap.chars().count());
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
