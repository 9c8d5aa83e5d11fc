//! The part of a text that one call gives: some lines, within limits, out of a text of any length.

use std::mem;

/// What bounds the lines of one call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// How many characters of a line are given.
    pub(crate) max_line_chars: usize,
    /// How many bytes of lines are given, one more per line break.
    pub(crate) max_bytes: usize,
    /// How many bytes of the file are looked at, to give lines and to count them.
    pub(crate) max_scanned: usize,
}

/// Selects lines from a text that arrives in pieces. Counts lines to the end and keeps no more than it gives.
#[derive(Debug)]
pub(crate) struct Window {
    limits: Limits,
    first: usize,
    count: usize,
    lines: Vec<String>,
    bytes: usize,
    capped: bool,
    total: usize,
    line: String,
    line_chars: usize,
    line_has_text: bool,
}

/// The lines that were selected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    /// The number of the first line, counted from 1.
    pub(crate) first: usize,
    /// The lines without their ends.
    pub(crate) lines: Vec<String>,
    /// How many lines the text has, up to where it was cut off.
    pub(crate) total: usize,
    /// Whether the limit of bytes ended the selection.
    pub(crate) capped: bool,
    /// Whether the text goes on beyond what was scanned.
    pub(crate) cut_off: bool,
}

impl Window {
    /// Selects `count` lines from line `first` on, which is counted from 1.
    pub(crate) fn new(first: usize, count: usize, limits: Limits) -> Self {
        Self {
            limits,
            first,
            count,
            lines: Vec::new(),
            bytes: 0,
            capped: false,
            total: 0,
            line: String::new(),
            line_chars: 0,
            line_has_text: false,
        }
    }

    pub(crate) fn push(&mut self, text: &str) {
        let mut rest = text;
        while let Some(end) = rest.find('\n') {
            self.push_part(&rest[..end]);
            self.end_line();
            rest = &rest[end + 1..];
        }
        self.push_part(rest);
    }

    /// A line break at the end of the text adds no line.
    pub(crate) fn finish(mut self) -> Selection {
        if self.line_has_text {
            self.end_line();
        }
        self.selection(false)
    }

    /// The text goes on. A last line of which we do not have all that would be given is not given.
    pub(crate) fn cut_off(mut self) -> Selection {
        if self.line_chars > self.limits.max_line_chars + 1 {
            self.end_line();
        }
        self.selection(true)
    }

    fn selection(self, cut_off: bool) -> Selection {
        let Self { first, lines, total, capped, .. } = self;
        Selection { first, lines, total, capped, cut_off }
    }

    /// One character more than is given is kept, because the last one may be a carriage return.
    fn push_part(&mut self, part: &str) {
        self.line_has_text |= !part.is_empty();
        if !self.is_selected(self.total + 1) {
            return;
        }
        let room = (self.limits.max_line_chars + 1).saturating_sub(self.line_chars);
        match part.char_indices().nth(room) {
            None => {
                self.line.push_str(part);
                self.line_chars += part.chars().count();
            }
            Some((end, _)) => {
                self.line.push_str(&part[..end]);
                // More than room for one more: a carriage return at the end is now certainly beyond the limit.
                self.line_chars = self.limits.max_line_chars + 2;
            }
        }
    }

    fn end_line(&mut self) {
        self.total += 1;
        self.line_has_text = false;
        let mut line = mem::take(&mut self.line);
        let mut chars = mem::take(&mut self.line_chars);
        if !self.is_selected(self.total) {
            return;
        }
        if chars <= self.limits.max_line_chars + 1 && line.ends_with('\r') {
            line.pop();
            chars -= 1;
        }
        if chars > self.limits.max_line_chars {
            let end = line.char_indices().nth(self.limits.max_line_chars).map_or(line.len(), |(end, _)| end);
            line.truncate(end);
            line.push_str(&format!("... (line truncated to {} chars)", self.limits.max_line_chars));
        }
        let needed = line.len() + usize::from(!self.lines.is_empty());
        if self.bytes + needed > self.limits.max_bytes {
            self.capped = true;
            return;
        }
        self.bytes += needed;
        self.lines.push(line);
    }

    fn is_selected(&self, number: usize) -> bool {
        !self.capped && number >= self.first && self.lines.len() < self.count
    }
}

#[cfg(test)]
mod tests {
    use super::{Limits, Selection, Window};

    const LIMITS: Limits = Limits { max_line_chars: 5, max_bytes: 20, max_scanned: usize::MAX };

    fn select(text: &str, first: usize, count: usize) -> Selection {
        let select = |piece: usize| {
            let mut window = Window::new(first, count, LIMITS);
            let chars: Vec<char> = text.chars().collect();
            for part in chars.chunks(piece) {
                window.push(&part.iter().collect::<String>());
            }
            window.finish()
        };
        let whole = select(usize::MAX);
        for piece in 1..4 {
            assert_eq!(select(piece), whole, "{text:?} in pieces of {piece}");
        }
        whole
    }

    fn selection(first: usize, lines: &[&str], total: usize, capped: bool) -> Selection {
        Selection {
            first,
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            total,
            capped,
            cut_off: false,
        }
    }

    #[test]
    fn lines_end_at_line_feeds_and_lose_a_carriage_return() {
        assert_eq!(select("a\nb\r\n\nc", 1, 9), selection(1, &["a", "b", "", "c"], 4, false));
        assert_eq!(select("a\n", 1, 9), selection(1, &["a"], 1, false));
        assert_eq!(select("\n\n", 1, 9), selection(1, &["", ""], 2, false));
        assert_eq!(select("", 1, 9), selection(1, &[], 0, false));
        assert_eq!(select("a\rb\r", 1, 9), selection(1, &["a\rb"], 1, false));
    }

    #[test]
    fn the_window_is_cut_out_and_all_lines_are_counted() {
        assert_eq!(select("a\nb\nc\nd\n", 2, 2), selection(2, &["b", "c"], 4, false));
        assert_eq!(select("a\nb\n", 3, 1), selection(3, &[], 2, false));
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        assert_eq!(select("ééééé\r\n", 1, 9), selection(1, &["ééééé"], 1, false));
        assert_eq!(select("éééééx", 2, 9), selection(2, &[], 1, false));
        let limits = Limits { max_bytes: 1_000, ..LIMITS };
        for text in ["éééééx\ny", "éééééxx\r\ny", "ééééé\r\r\ny", "ééééé12345678\ny"] {
            for piece in 1..20 {
                let mut window = Window::new(1, 9, limits);
                for part in text.chars().collect::<Vec<_>>().chunks(piece) {
                    window.push(&part.iter().collect::<String>());
                }
                let lines = window.finish().lines;
                assert_eq!(
                    lines,
                    ["ééééé... (line truncated to 5 chars)", "y"],
                    "{text:?} in pieces of {piece}"
                );
            }
        }
    }

    #[test]
    fn the_first_line_beyond_the_bytes_ends_the_selection() {
        assert_eq!(
            select("aaaaa\nbbbbb\nccccc\nd\ne\n", 1, 9),
            selection(1, &["aaaaa", "bbbbb", "ccccc", "d"], 5, true)
        );
        assert_eq!(
            select("aaaaa\nbbbbb\nccccc\nddddd\ne\n", 1, 9),
            selection(1, &["aaaaa", "bbbbb", "ccccc"], 5, true)
        );
    }
}
