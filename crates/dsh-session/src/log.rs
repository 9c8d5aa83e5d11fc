//! A whole log: its header and its events in order.

use crate::error::{Problem, ReadError};
use crate::event::Event;
use crate::header::SessionHeader;
use crate::line;

const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// A log that was read whole.
#[derive(Clone, Debug)]
pub struct SessionLog {
    /// Who the session is.
    pub header: SessionHeader,
    /// What happened; the event at index `n` has the number `n`.
    pub events: Vec<Event>,
    /// What was left of a last line that was cut while it was written, if the log ends in one.
    pub torn: Option<TornTail>,
}

/// A last line without its end: the write was cut, the line was never part of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    /// The line, counted from 1.
    pub line: usize,
    /// How many bytes of it there are.
    pub bytes: usize,
}

impl SessionLog {
    /// Reads a log from its bytes: a header line, then one event or one packed row per line.
    ///
    /// A last line that has no newline and cannot be decoded was cut while it was written; it is left out and told in
    /// [`SessionLog::torn`].
    ///
    /// # Errors
    /// Any other line that is broken, out of sequence or of an unknown type fails the whole log; the error names the
    /// line.
    ///
    /// Source: the plain (not compressed) JSONL files of the reference.
    pub fn parse(bytes: &[u8]) -> Result<Self, ReadError> {
        if bytes.starts_with(ZSTD_MAGIC) {
            return Err(ReadError { line: 1, problem: Problem::Compressed });
        }
        let mut lines = Lines::new(bytes);
        let Some(first) = lines.next() else {
            return Err(ReadError { line: 1, problem: Problem::Empty });
        };
        let header = first.text().and_then(SessionHeader::parse).map_err(|problem| first.error(problem))?;
        let mut events: Vec<Event> = Vec::new();
        for line in lines {
            match line.text().and_then(|text| line::parse(text, events.len() as u64)) {
                Ok(read) => events.extend(read),
                Err(Problem::NotUtf8 { .. } | Problem::NotJson { .. }) if !line.ended => {
                    let torn = TornTail { line: line.number, bytes: line.bytes.len() };
                    return Ok(Self { header, events, torn: Some(torn) });
                }
                Err(problem) => return Err(line.error(problem)),
            }
        }
        Ok(Self { header, events, torn: None })
    }
}

/// Splits a log at its newlines; what follows the last newline is a line only if there is something of it.
struct Lines<'a> {
    rest: &'a [u8],
    number: usize,
}

struct Line<'a> {
    number: usize,
    bytes: &'a [u8],
    ended: bool,
}

impl<'a> Lines<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, number: 0 }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        let (bytes, rest) = match end {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        Some(Line { number: self.number, bytes, ended: end.is_some() })
    }
}

impl<'a> Line<'a> {
    /// The line as text, if it can be an object at all.
    fn text(&self) -> Result<&'a str, Problem> {
        let text = std::str::from_utf8(self.bytes)
            .map_err(|error| Problem::NotUtf8 { column: error.valid_up_to() + 1 })?;
        match text.trim_start().chars().next() {
            Some('{') => Ok(text),
            Some(_) => Err(Problem::NotJson { reason: "a line starts with `{`".to_owned() }),
            None => Err(Problem::NotJson { reason: "the line is empty".to_owned() }),
        }
    }

    fn error(&self, problem: Problem) -> ReadError {
        ReadError { line: self.number, problem }
    }
}
