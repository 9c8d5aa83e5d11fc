//! What the model is told.

/// The short reminder. It has no values, so that it reads the same for every call.
pub(crate) const GENTLE: &str = "You have just made the same tool call with the same arguments again. Study its last result \
     before you go on: if the task is not finished, another approach or other arguments will help more than one more \
     repetition.";

/// The detailed reminder.
pub(crate) fn detailed(tool: &str, count: u64, arguments: &str, max_chars: u64) -> String {
    format!(
        "The same tool call has been made several times in a row:\n\
         - tool: {tool}\n\
         - consecutive_calls: {count}\n\
         - arguments: {}\n\
         These calls make no progress. Do not call this tool with exactly these arguments again. Look at the latest result, \
         then take another action, use other arguments, or finish if there is enough evidence.",
        preview(arguments, max_chars)
    )
}

/// The first characters, with how many more there are. Characters are UTF-16 units.
fn preview(text: &str, max_chars: u64) -> String {
    let units = |text: &str| text.encode_utf16().count() as u64;
    let total = units(text);
    if total <= max_chars {
        return text.to_owned();
    }
    let mut taken = 0;
    let fits = |character: &char| {
        taken += character.len_utf16() as u64;
        taken <= max_chars
    };
    let head: String = text.chars().take_while(fits).collect();
    let more = total - units(&head);
    format!("{head}… (+{more} more chars)")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

    use super::*;

    // spec: timeout-jobs-hooks/J17
    #[test]
    fn only_what_is_longer_than_the_cap_is_cut_and_no_character_in_two() {
        assert_eq!(preview("abcde", 5), "abcde");
        assert_eq!(preview("abcdef", 5), "abcde… (+1 more chars)");
        assert_eq!(preview("é€é€é€", 4), "é€é€… (+2 more chars)");
        assert_eq!(preview("ab😀cd", 4), "ab😀… (+2 more chars)");
        assert_eq!(preview("ab😀cd", 3), "ab… (+4 more chars)");
        assert_eq!(preview("abc", u64::MAX), "abc");
    }
}
