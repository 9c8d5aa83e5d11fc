//! A whole log: its header and its events in order.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Problem, ReadError};
use crate::events::Events;
use crate::header::SessionHeader;
use crate::line;
use crate::surface::Surface;

const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// A log that was read whole.
#[derive(Clone, Debug)]
pub struct SessionLog {
    /// Who the session is.
    pub header: SessionHeader,
    /// What happened; the event at index `n` has the number `n`.
    pub events: Events,
    /// What is not part of the log any more, if its end is damaged.
    pub torn: Option<TornTail>,
    /// The number of the first event of each line after the header.
    lines: Vec<u64>,
}

/// The end of a log that was cut while it was written: it was never part of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    /// The first line of it, counted from 1.
    pub line: usize,
    /// Where it begins, in bytes.
    pub offset: usize,
    /// How many bytes of it there are.
    pub bytes: usize,
    /// What is wrong with its first line.
    pub problem: Problem,
}

impl SessionLog {
    /// Reads a log from its bytes: a header line, then one event or one packed row per line.
    ///
    /// A last line without a newline was cut while it was written. From the first line that cannot be read, or has the
    /// wrong number, the rest is left out and told in [`SessionLog::torn`]: unless a whole turn ends in it, which a cut
    /// cannot explain.
    ///
    /// # Errors
    /// The log is damaged before its end, of an unknown version, holds an event of an unknown type, or one that is not
    /// allowed where it stands; the error names the line.
    ///
    /// Source: the plain (not compressed) JSONL files of the reference.
    pub fn parse(bytes: &[u8]) -> Result<Self, ReadError> {
        Self::parse_framed(bytes, 0)
    }

    /// The line that an event is on, counted from 1; a packed row holds many events.
    #[must_use]
    pub fn line_of(&self, seq: u64) -> Option<usize> {
        let lines = self.lines.partition_point(|first| *first <= seq);
        (seq < self.events.len() as u64 && lines > 0).then_some(lines + 1)
    }

    /// As [`parse`](Self::parse), of a log the first `whole` bytes of which are known not to be cut: where something is wrong
    /// with those, the log is damaged.
    ///
    /// # Errors
    /// See [`parse`](Self::parse).
    pub fn parse_framed(bytes: &[u8], whole: usize) -> Result<Self, ReadError> {
        if bytes.starts_with(ZSTD_MAGIC) {
            return Err(ReadError { line: 1, problem: Problem::Compressed });
        }
        Reader::new(bytes, whole).read()
    }
}

pub(crate) struct Reader<'b> {
    bytes: &'b [u8],
    /// How many bytes cannot have been cut.
    whole: usize,
    /// As much of the bytes as is text.
    text: Arc<str>,
    /// Where they stop being text.
    cut: Option<usize>,
}

impl<'b> Reader<'b> {
    pub(crate) fn new(bytes: &'b [u8], whole: usize) -> Self {
        // A cut may go through a character: what is whole is read.
        let (text, cut) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, None),
            Err(error) => {
                let (text, _) = bytes.split_at(error.valid_up_to());
                (std::str::from_utf8(text).unwrap_or_default(), Some(error.valid_up_to()))
            }
        };
        Self { bytes, whole, text: text.into(), cut }
    }

    pub(crate) fn bytes(&self, line: &Line) -> &'b [u8] {
        self.bytes.get(line.range.clone()).unwrap_or_default()
    }

    pub(crate) fn part(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or_default()
    }

    fn read(self) -> Result<SessionLog, ReadError> {
        let mut lines = Lines::new(self.bytes);
        let Some(first) = lines.next() else {
            return Err(ReadError { line: 1, problem: Problem::Empty });
        };
        let header = self.range(&first).and_then(|range| SessionHeader::parse(&self.text[range]));
        let header = header.map_err(|problem| first.error(problem))?;
        let mut events = Events::default();
        let mut surface = Surface::default();
        let mut starts = Vec::new();
        for line in lines {
            let start = events.len() as u64;
            if let Err(problem) = self.admit(&line, &mut surface, &mut events) {
                return match problem {
                    problem if problem.is_unsupported() || problem.is_misplaced() => Err(line.error(problem)),
                    problem => {
                        self.torn(SessionLog { header, events, torn: None, lines: starts }, &line, problem)
                    }
                };
            }
            starts.push(start);
        }
        Ok(SessionLog { header, events, torn: None, lines: starts })
    }

    /// Reads one line; where it fails, nothing of it stays.
    fn admit(&self, line: &Line, surface: &mut Surface, events: &mut Events) -> Result<(), Problem> {
        let range = self.range(line)?;
        if !line.ended {
            return Err(Problem::Unended);
        }
        line::parse(&self.text, range, events.len() as u64)?.fold_into(surface, events)
    }

    /// The line as text, if it can be an object at all.
    pub(crate) fn range(&self, line: &Line) -> Result<Range<usize>, Problem> {
        if let Some(cut) = self.cut.filter(|cut| line.range.contains(cut)) {
            return Err(Problem::NotUtf8 { column: cut - line.range.start + 1 });
        }
        let text = self.text.get(line.range.clone()).ok_or(Problem::NotUtf8 { column: 1 })?;
        match text.trim_start().chars().next() {
            Some('{') => Ok(line.range.clone()),
            Some(_) => Err(Problem::NotJson { reason: "a line starts with `{`".to_owned() }),
            None => Err(Problem::NotJson { reason: "the line is empty".to_owned() }),
        }
    }

    /// Leaves the rest of the log out, from `line` on, if a cut can explain it.
    fn torn(&self, log: SessionLog, line: &Line, problem: Problem) -> Result<SessionLog, ReadError> {
        let rest = &self.bytes[line.range.start..];
        if line.range.start < self.whole {
            return Err(line.error(problem));
        }
        for later in Lines::new(rest) {
            let ends_a_turn = std::str::from_utf8(&rest[later.range.clone()]).is_ok_and(ends_turn);
            if later.ended && ends_a_turn {
                return Err(line.error(problem));
            }
        }
        let torn = TornTail { line: line.number, offset: line.range.start, bytes: rest.len(), problem };
        Ok(SessionLog { torn: Some(torn), ..log })
    }
}

/// Whether a line can be read and ends a turn.
fn ends_turn(line: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Kind<'a> {
        #[serde(borrow, rename = "type")]
        kind: std::borrow::Cow<'a, str>,
    }
    line.contains("turn/end")
        && serde_json::from_str::<Kind<'_>>(line).is_ok_and(|Kind { kind }| kind == "turn/end")
}

/// Splits a log at its newlines; what follows the last newline is a line only if there is something of it.
pub(crate) struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    number: usize,
}

pub(crate) struct Line {
    pub(crate) number: usize,
    range: Range<usize>,
    pub(crate) ended: bool,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, number: 0 }
    }
}

impl Iterator for Lines<'_> {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        self.number += 1;
        let end = memchr::memchr(b'\n', rest);
        let length = end.unwrap_or(rest.len());
        let range = self.at..self.at + length;
        self.at = range.end + 1;
        Some(Line { number: self.number, range, ended: end.is_some() })
    }
}

impl Line {
    fn error(&self, problem: Problem) -> ReadError {
        ReadError { line: self.number, problem }
    }
}
