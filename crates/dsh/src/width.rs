//! How wide the output may be.

use unicode_width::UnicodeWidthStr as _;

use crate::visible::shortened;

/// Below this a table's columns tell nothing any more: what belongs together is stacked.
pub(crate) const MIN_TABLE: usize = 60;

/// The width of the terminal that standard output is, if it is one.
pub(crate) fn terminal_width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(std::io::stdout())?;
    // A terminal that does not know its size says 0.
    Some(usize::from(width.0)).filter(|width| *width > 0)
}

/// The words on as many lines as they need in this width; a word that is wider is shortened.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = shortened(word, columns);
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= columns => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn words_are_broken_into_lines_that_fit() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a longest b", 4), ["a", "lon…", "b"]);
        assert_eq!(wrapped("", 4), Vec::<String>::new());
    }
}
