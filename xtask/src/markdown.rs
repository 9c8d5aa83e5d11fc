//! The little of markdown that the rules read: fences, code spans and table cells.

/// One line of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Counted from 1.
    pub number: usize,
    /// The line without its end.
    pub text: &'a str,
    /// Where it stands.
    pub place: Place<'a>,
}

/// Whether a line is prose or belongs to a fenced block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    /// Outside fenced blocks.
    Prose,
    /// The opening or closing line of a fenced block.
    Fence,
    /// Inside a fenced block that opened on line `opened` with this info string.
    Block {
        /// What follows the opening fence: `sh`, `rust`, …
        info: &'a str,
        /// The line number of the opening fence.
        opened: usize,
    },
}

/// The lines of a document with the place of each.
pub fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut open: Option<(&str, &str, usize)> = None;
    text.lines().enumerate().map(move |(index, text)| {
        let number = index + 1;
        let trimmed = text.trim();
        let marker = fence_marker(trimmed);
        let place = match (open, marker) {
            (None, Some(marker)) => {
                open = Some((marker, trimmed[marker.len()..].trim(), number));
                Place::Fence
            }
            (None, None) => Place::Prose,
            // A block ends at a bare fence of the same character that is at least as long.
            (Some((opening, ..)), Some(marker)) if trimmed == marker && marker.starts_with(opening) => {
                open = None;
                Place::Fence
            }
            (Some((_, info, opened)), _) => Place::Block { info, opened },
        };
        Line { number, text, place }
    })
}

/// The line with the content of its code spans blanked out.
pub fn without_code_spans(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let ticks = rest[start..].len() - rest[start..].trim_start_matches('`').len();
        let (before, after) = (&rest[..start], &rest[start + ticks..]);
        out.push_str(before);
        match find_run(after, ticks) {
            Some(end) => {
                out.push(' ');
                rest = &after[end + ticks..];
            }
            None => rest = after,
        }
    }
    out.push_str(rest);
    out
}

/// The trimmed cells of a table row; `\|` stands for a bar. None when the line is not a row.
pub fn cells(line: &str) -> Option<Vec<String>> {
    let row = line.trim().strip_prefix('|')?;
    let mut cells = vec![String::new()];
    let mut chars = row.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' if chars.peek() == Some(&'|') => {
                chars.next();
                push(&mut cells, '|');
            }
            '|' => cells.push(String::new()),
            other => push(&mut cells, other),
        }
    }
    // The closing bar leaves an empty cell behind it.
    if cells.last().is_some_and(|cell| cell.trim().is_empty()) {
        cells.pop();
    }
    Some(cells.iter().map(|cell| cell.trim().to_owned()).collect())
}

fn push(cells: &mut [String], char: char) {
    if let Some(cell) = cells.last_mut() {
        cell.push(char);
    }
}

fn fence_marker(trimmed: &str) -> Option<&str> {
    let first = trimmed.chars().next().filter(|char| matches!(char, '`' | '~'))?;
    let length = trimmed.len() - trimmed.trim_start_matches(first).len();
    (length >= 3).then(|| &trimmed[..length])
}

/// Where a run of exactly `ticks` backticks begins.
fn find_run(text: &str, ticks: usize) -> Option<usize> {
    let mut from = 0;
    while let Some(start) = text[from..].find('`').map(|found| found + from) {
        let length = text[start..].len() - text[start..].trim_start_matches('`').len();
        if length == ticks {
            return Some(start);
        }
        from = start + length;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_fence_holds_a_shorter_one() {
        let places: Vec<_> = lines("a\n````sh\n```\nb\n````\nc").map(|line| line.place).collect();
        let block = Place::Block { info: "sh", opened: 2 };
        assert_eq!(places, [Place::Prose, Place::Fence, block, block, Place::Fence, Place::Prose]);
    }

    #[test]
    fn code_spans_vanish_and_a_lone_tick_does_not_swallow_the_line() {
        assert_eq!(without_code_spans("a `[x](y)` b ``c ` d`` e"), "a   b   e");
        assert_eq!(without_code_spans("it`s [x](y)"), "its [x](y)");
    }

    #[test]
    fn an_escaped_bar_stays_in_its_cell() {
        assert_eq!(cells(r"| `\|a\| a` | b |").unwrap(), ["`|a| a`", "b"]);
        assert_eq!(cells("| a | |").unwrap(), ["a", ""]);
        assert_eq!(cells("| a | b").unwrap(), ["a", "b"]);
        assert_eq!(cells("prose"), None);
    }
}
