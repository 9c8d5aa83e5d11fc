//! Text in which every character shows itself, in its place.

use std::fmt::Write as _;

/// JSON text that stays the same JSON, with every character that does not show itself as an escape: controls, marks of
/// direction, blanks of no width, accents that stand alone. So are the characters of scripts that are written from right to
/// left, since a terminal may put them, and what stands beside them, in another order than they are in.
///
/// Line breaks are kept. In JSON text they stand between values only.
#[must_use]
pub fn visible(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for character in json.chars() {
        if shows(character) {
            shown.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        }
    }
    shown
}

fn shows(character: char) -> bool {
    match character {
        '\n' | ' '..='~' => true,
        character if is_blank(character) || is_right_to_left(character) => false,
        // Escaped for a debugger is what cannot be printed.
        character => character.escape_debug().count() == 1,
    }
}

/// Letters and symbols that leave nothing to be seen, or stand for what is not there.
fn is_blank(character: char) -> bool {
    matches!(
        character,
        '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}' | '\u{fffc}' | '\u{1d159}'
    )
}

/// The blocks of the scripts from right to left, as Unicode has reserved them, also for scripts to come.
fn is_right_to_left(character: char) -> bool {
    matches!(
        character,
        '\u{590}'..='\u{8ff}'
            | '\u{fb1d}'..='\u{fdff}'
            | '\u{fe70}'..='\u{feff}'
            | '\u{10800}'..='\u{10fff}'
            | '\u{1e800}'..='\u{1efff}'
    )
}
