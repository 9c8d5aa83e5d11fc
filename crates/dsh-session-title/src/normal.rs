//! What a title may look like: one line of visible text.

/// Makes one line of text: without terminal sequences, control characters and marks of direction or no width, blanks
/// collapsed and trimmed, and cut to `max_bytes` between two characters.
///
/// Joiners of no width stay, as they belong to the characters around them. A terminal's command (OSC) that never ends takes
/// the rest with it. Normalizing twice changes nothing more.
///
/// # Examples
/// ```
/// use dsh_session_title::normalized;
///
/// assert_eq!(normalized(" fix \u{1b}[31mthe\u{1b}[0m\n\n bug ", 80), "fix the bug");
/// assert_eq!(normalized("žluťoučký", 5), "žlu");
/// assert_eq!(normalized("\u{200b}\u{7}", 80), "");
/// ```
#[must_use]
pub fn normalized(text: &str, max_bytes: usize) -> String {
    let mut line = String::new();
    let mut blank = false;
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if let Some(after) = after_sequence(rest) {
            rest = after;
            continue;
        }
        rest = &rest[character.len_utf8()..];
        if character.is_whitespace() {
            blank = true;
        } else if !is_unseen(character) {
            if blank && !line.is_empty() {
                line.push(' ');
            }
            blank = false;
            line.push(character);
            // What comes after the limit cannot show any more.
            if line.len() > max_bytes {
                break;
            }
        }
    }
    cut(&mut line, max_bytes);
    line
}

/// The first words of a normalized line, cut as the line itself is.
pub(crate) fn first_words(line: &str, max_words: usize, max_bytes: usize) -> String {
    let end = line.match_indices(' ').nth(max_words - 1).map_or(line.len(), |(end, _)| end);
    let mut words = line[..end].to_owned();
    cut(&mut words, max_bytes);
    words
}

/// Keeps what fits, up to the end of a character, and no blank at the end.
fn cut(line: &mut String, max_bytes: usize) {
    let mut end = max_bytes.min(line.len());
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line.truncate(line[..end].trim_end().len());
}

/// What follows the terminal sequence that the text begins with; none if it begins with none.
fn after_sequence(text: &str) -> Option<&str> {
    let escaped = text.strip_prefix('\u{1b}');
    let after = |introducer: char, single: char| {
        escaped.and_then(|text| text.strip_prefix(introducer)).or_else(|| text.strip_prefix(single))
    };
    if let Some(command) = after(']', '\u{9d}') {
        let ends = ["\u{7}", "\u{1b}\\", "\u{9c}"];
        let ends = ends.iter().filter_map(|end| command.find(end).map(|at| at + end.len()));
        return Some(&command[ends.min().unwrap_or(command.len())..]);
    }
    if let Some(control) = after('[', '\u{9b}') {
        let body = control.trim_start_matches(|c: char| matches!(c, '\u{20}'..='\u{3f}'));
        // Without its last character it is none, and what looks like its middle is what somebody wrote.
        return Some(body.strip_prefix(|c: char| matches!(c, '\u{40}'..='\u{7e}')).unwrap_or(control));
    }
    escaped?.strip_prefix(|c: char| matches!(c, '\u{40}'..='\u{5f}'))
}

/// Controls, marks of direction, and characters of no width that join nothing.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
        )
}
