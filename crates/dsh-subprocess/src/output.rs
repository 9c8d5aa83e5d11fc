//! A bounded record of a stream: its beginning and its end, and how much was lost between them.

use std::collections::VecDeque;

use crate::cursor::TextCursor;

/// Keeps of a stream of any length what fits.
#[derive(Debug)]
pub struct OutputBuffer {
    head: Vec<u8>,
    head_bytes: usize,
    tail: VecDeque<u8>,
    tail_bytes: usize,
    total: u64,
}

/// What is kept of a stream, as text. Where bytes are missing a cut character is dropped whole, and counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// The beginning; all of it if nothing was dropped.
    pub head: String,
    /// How many bytes are missing between the two.
    pub dropped: u64,
    /// The end; empty if nothing was dropped.
    pub tail: String,
}

/// What is kept of a stream from an offset on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// What is kept before the gap; all of it if there is none.
    pub head: Vec<u8>,
    /// How many bytes are missing between the two.
    pub dropped: u64,
    /// What is kept after the gap.
    pub tail: Vec<u8>,
    /// Where to read on: how many bytes the stream has had.
    pub next: u64,
}

impl OutputBuffer {
    /// Keeps so many bytes of the beginning and so many of the end; a stream of both together is kept whole.
    #[must_use]
    pub fn new(head_bytes: usize, tail_bytes: usize) -> Self {
        Self { head: Vec::new(), head_bytes, tail: VecDeque::new(), tail_bytes, total: 0 }
    }

    /// How many bytes the stream has had.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many of them were dropped.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// The next piece of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_bytes - self.head.len()));
        self.head.extend_from_slice(head);
        let kept = &rest[rest.len().saturating_sub(self.tail_bytes)..];
        let over = (self.tail.len() + kept.len()).saturating_sub(self.tail_bytes);
        self.tail.drain(..over);
        self.tail.extend(kept);
    }

    /// All that is kept, as text. Bytes that are no UTF-8 become the replacement character.
    #[must_use]
    pub fn text(&self) -> Cut {
        TextCursor::default().finish(self.read(0)).1
    }

    /// What is kept of the bytes from `offset` on.
    #[must_use]
    pub fn read(&self, offset: u64) -> Delta {
        let offset = offset.min(self.total);
        let tail_from = self.total - self.tail.len() as u64;
        // Both fit: they are at most as long as what is kept.
        let head = self.head.get(offset.min(self.head.len() as u64) as usize..).unwrap_or_default();
        let tail: Vec<u8> = self.tail.range(offset.saturating_sub(tail_from) as usize..).copied().collect();
        let missing_from = offset.max(self.head.len() as u64);
        let dropped = tail_from.saturating_sub(missing_from);
        Delta { head: head.to_vec(), dropped, tail, next: self.total }
    }
}

impl Cut {
    /// Whether something is missing.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.dropped > 0
    }
}

pub(crate) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// How many bytes at the end begin a character that does not end there.
pub(crate) fn cut_at_end(bytes: &[u8]) -> usize {
    let last = &bytes[bytes.len().saturating_sub(3)..];
    (1..=last.len())
        .find(|back| {
            let start = &last[last.len() - back..];
            std::str::from_utf8(start)
                .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .unwrap_or(0)
}

/// How many bytes at the start continue a character that began before.
pub(crate) fn cut_at_start(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| matches!(byte, 0x80..=0xbf)).count()
}
