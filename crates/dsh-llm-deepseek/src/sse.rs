//! Server-sent events, cut out of bytes that come in any pieces.
//!
//! **Invariants**
//! 1. What comes out does not depend on where the bytes were cut.
//! 2. A line ends with LF, CRLF or CR, and as soon as that is known: after a CR nothing is waited for.
//! 3. Bytes that make a whole event within one piece are not copied.
//!
//! Source: the event stream format of the HTML standard. Only `data` counts here; an event without it is none.

use dsh_llm::{LlmError, code};

/// The most bytes of one event: more than any answer has.
const MAX_EVENT: usize = 64 << 20;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// What the body of an answer has said so far.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// The beginning of a line whose end is still to come.
    held: Vec<u8>,
    /// The data of an event whose end is still to come.
    data: Data,
    /// Whether a line has ended with CR: a LF after it is no other line.
    after_cr: bool,
    /// Whether the first line is over, which may begin with a byte order mark.
    begun: bool,
}

#[derive(Debug, Default)]
enum Data {
    #[default]
    None,
    Lines(Vec<u8>),
}

/// What was taken of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// All of it; whether a line has ended in it.
    All { has_line: bool },
    /// The stream says that it is over; what follows does not count.
    Done,
}

/// What a line, or the end of an event, is for.
enum Line<'a> {
    Data(&'a [u8]),
    End,
    Other,
}

impl Events {
    /// Takes the next bytes, and tells the data of each event that ends in them. `[DONE]` counts when its line is over.
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        mut told: impl FnMut(&[u8]) -> Result<(), LlmError>,
    ) -> Result<Taken, LlmError> {
        let mut has_line = false;
        // The data of an event that is whole but for its end: its bytes are in this piece.
        let mut whole: Option<&[u8]> = None;
        loop {
            if self.after_cr && !bytes.is_empty() {
                self.after_cr = false;
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else { break };
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            self.after_cr = bytes[end] == b'\r';
            bytes = rest;
            has_line = true;
            if self.held.is_empty() {
                match parsed(self.without_bom(line)) {
                    Line::Data(data) if is_done(data) => {
                        // Whoever leaves the blank line out has ended the event before it all the same.
                        return self.tell(whole.take(), &mut told).map(|()| Taken::Done);
                    }
                    Line::Data(data) if whole.is_none() && matches!(self.data, Data::None) => {
                        whole = Some(data)
                    }
                    Line::Data(data) => {
                        if let Some(first) = whole.take() {
                            self.data.push(first)?;
                        }
                        self.data.push(data)?;
                    }
                    Line::End => self.tell(whole.take(), &mut told)?,
                    Line::Other => {}
                }
                continue;
            }
            if let Some(first) = whole.take() {
                self.data.push(first)?;
            }
            let mut line_bytes = std::mem::take(&mut self.held);
            line_bytes.extend_from_slice(line);
            match parsed(self.without_bom(&line_bytes)) {
                Line::Data(data) if is_done(data) => return self.tell(None, &mut told).map(|()| Taken::Done),
                Line::Data(data) => self.data.push(data)?,
                Line::End => self.tell(None, &mut told)?,
                Line::Other => {}
            }
            line_bytes.clear();
            self.held = line_bytes;
        }
        if let Some(first) = whole {
            self.data.push(first)?;
        }
        bounded(self.held.len() + bytes.len())?;
        self.held.extend_from_slice(bytes);
        Ok(Taken::All { has_line })
    }

    /// The bytes have ended. Whether they end with `[DONE]`, without anything after it: then the event before it is told.
    pub(crate) fn end(
        &mut self,
        mut told: impl FnMut(&[u8]) -> Result<(), LlmError>,
    ) -> Result<bool, LlmError> {
        let line = std::mem::take(&mut self.held);
        let is_over = matches!(parsed(self.without_bom(&line)), Line::Data(data) if is_done(data));
        if is_over {
            self.tell(None, &mut told)?;
        }
        Ok(is_over)
    }

    fn tell(
        &mut self,
        whole: Option<&[u8]>,
        told: &mut impl FnMut(&[u8]) -> Result<(), LlmError>,
    ) -> Result<(), LlmError> {
        match (whole, std::mem::take(&mut self.data)) {
            (Some(data), _) if !data.is_empty() => told(data),
            (None, Data::Lines(data)) if !data.is_empty() => told(&data),
            (Some(_) | None, Data::None | Data::Lines(_)) => Ok(()),
        }
    }

    /// The first line without the mark that may stand before it.
    fn without_bom<'a>(&mut self, line: &'a [u8]) -> &'a [u8] {
        if std::mem::replace(&mut self.begun, true) { line } else { line.strip_prefix(BOM).unwrap_or(line) }
    }
}

impl Data {
    fn push(&mut self, line: &[u8]) -> Result<(), LlmError> {
        match self {
            Self::None => *self = Self::Lines(line.to_vec()),
            Self::Lines(lines) => {
                bounded(lines.len() + line.len())?;
                lines.push(b'\n');
                lines.extend_from_slice(line);
            }
        }
        Ok(())
    }
}

fn parsed(line: &[u8]) -> Line<'_> {
    match line {
        [] => Line::End,
        [b'd', b'a', b't', b'a', b':', value @ ..] => Line::Data(value.strip_prefix(b" ").unwrap_or(value)),
        b"data" => Line::Data(&[]),
        _ => Line::Other,
    }
}

fn is_done(data: &[u8]) -> bool {
    data.trim_ascii() == b"[DONE]"
}

fn bounded(bytes: usize) -> Result<(), LlmError> {
    if bytes <= MAX_EVENT {
        return Ok(());
    }
    let message = format!(
        "the answer has an event of more than {} MiB: this is no stream of chat completions",
        MAX_EVENT >> 20
    );
    Err(LlmError::new(code::MALFORMED_RESPONSE, message))
}

#[cfg(test)]
mod tests;
