//! A bounded record of an output stream: its head and its tail, and how much was lost between them.

use std::collections::VecDeque;

/// Collects a stream of any length in bounded memory.
#[derive(Debug)]
pub(crate) struct Capture {
    head: Vec<u8>,
    head_bytes: usize,
    tail: VecDeque<u8>,
    tail_bytes: usize,
    dropped: u64,
}

impl Capture {
    /// Keeps `max_bytes` at most: one half from the start, the other from the end.
    pub(crate) fn new(max_bytes: usize) -> Self {
        let head_bytes = max_bytes / 2;
        Self {
            head: Vec::new(),
            head_bytes,
            tail: VecDeque::new(),
            tail_bytes: max_bytes - head_bytes,
            dropped: 0,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_bytes - self.head.len()));
        self.head.extend_from_slice(head);
        let kept = &rest[rest.len().saturating_sub(self.tail_bytes)..];
        let over = (self.tail.len() + kept.len()).saturating_sub(self.tail_bytes);
        self.tail.drain(..over);
        self.tail.extend(kept);
        self.dropped += (over + rest.len() - kept.len()) as u64;
    }

    /// The text of the stream. Where bytes were dropped a line says how many; a character cut there is dropped whole.
    /// Bytes that are no UTF-8 become the replacement character.
    pub(crate) fn into_text(self) -> String {
        let tail: Vec<u8> = self.tail.into();
        if self.dropped == 0 {
            return lossy([self.head, tail].concat());
        }
        let head = &self.head[..self.head.len() - cut_at_end(&self.head)];
        let start = cut_at_start(&tail);
        let dropped = self.dropped + (self.head.len() - head.len() + start) as u64;
        let mut text = lossy(head.to_vec());
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!(
            "[output truncated: {dropped} bytes dropped here; full output: (unavailable)]\n"
        ));
        text.push_str(&lossy(tail[start..].to_vec()));
        text
    }
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// How many bytes at the end begin a character that does not end there.
fn cut_at_end(bytes: &[u8]) -> usize {
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
fn cut_at_start(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| matches!(byte, 0x80..=0xbf)).count()
}

#[cfg(test)]
mod tests {
    use super::Capture;

    fn capture(max_bytes: usize, pieces: &[&[u8]]) -> String {
        let mut capture = Capture::new(max_bytes);
        for piece in pieces {
            capture.push(piece);
        }
        capture.into_text()
    }

    #[test]
    fn a_stream_within_the_limit_is_kept_whole() {
        assert_eq!(capture(8, &[b"abcd", b"", b"efgh"]), "abcdefgh");
        assert_eq!(capture(8, &[]), "");
    }

    #[test]
    fn beyond_the_limit_head_and_tail_stay_and_the_loss_is_counted() {
        let expected = "abcd\n[output truncated: 3 bytes dropped here; full output: (unavailable)]\nhijk";
        assert_eq!(capture(8, &[b"abcdefghijk"]), expected);
        assert_eq!(capture(8, &[b"abc", b"defg", b"hijk"]), expected);
        let bytes: Vec<&[u8]> = b"abcdefghijk".chunks(1).collect();
        assert_eq!(capture(8, &bytes), expected);
    }

    // spec: cases/P6
    #[test]
    fn a_cut_inside_a_character_leaves_valid_text() {
        for text in ["aé".repeat(20), "a€".repeat(20), "a😀".repeat(20)] {
            for limit in 0..text.len() + 2 {
                for piece in [1, 3, 1_000] {
                    let pieces: Vec<&[u8]> = text.as_bytes().chunks(piece).collect();
                    let captured = capture(limit, &pieces);
                    assert!(!captured.contains('\u{fffd}'), "{limit}: {captured}");
                    assert_eq!(captured.contains("truncated"), limit < text.len());
                }
            }
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(capture(100, &[b"a\xffb"]), "a\u{fffd}b");
    }
}
