//! Reading a stream as text, piece by piece.

use crate::output::{Cut, Delta, cut_at_end, cut_at_start, lossy};

/// Where a reader of a stream is. What it gives are whole characters: one of which a part was dropped is dropped whole, and
/// counted, whichever reads its parts fall into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextCursor {
    offset: u64,
    /// What follows may be the rest of a character whose beginning was dropped.
    in_dropped: bool,
}

impl TextCursor {
    /// Where to read from; see [`Collected::read`](crate::Collected::read).
    #[must_use]
    pub fn offset(self) -> u64 {
        self.offset
    }

    /// The text of what was read from the offset on, and where to read on. A character that is cut at the end waits for the
    /// next read.
    #[must_use]
    pub fn advance(self, delta: Delta) -> (Self, Cut) {
        self.take(delta, cut_at_end)
    }

    /// As [`advance`](Self::advance), of a stream that has ended: nothing waits any more.
    #[must_use]
    pub fn finish(self, delta: Delta) -> (Self, Cut) {
        self.take(delta, |_| 0)
    }

    fn take(self, delta: Delta, waits: impl Fn(&[u8]) -> usize) -> (Self, Cut) {
        let Delta { mut head, mut dropped, mut tail, next } = delta;
        let after_gap = dropped > 0 || self.in_dropped;
        // Without a gap inside, all of it is what comes after one.
        if dropped == 0 {
            head.append(&mut tail);
            std::mem::swap(&mut head, &mut tail);
        }
        let waiting = waits(&tail);
        tail.truncate(tail.len() - waiting);
        let rest = if after_gap { cut_at_start(&tail) } else { 0 };
        let cut = cut_at_end(&head);
        dropped += (cut + rest) as u64;
        let to = Self { offset: next - waiting as u64, in_dropped: after_gap && rest == tail.len() };
        let (before, after) = (lossy(&head[..head.len() - cut]), lossy(&tail[rest..]));
        if dropped == 0 {
            return (to, Cut { head: after, ..Cut::default() });
        }
        (to, Cut { head: before, dropped, tail: after })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::OutputBuffer;

    fn whole(text: &str) -> Cut {
        Cut { head: text.into(), ..Cut::default() }
    }

    /// What a reader gets of a text that comes in pieces if it looks after every so many, and how many bytes it lost.
    fn read_in_pieces(text: &str, piece: usize, kept: [usize; 2], every: usize) -> (String, u64) {
        let mut buffer = OutputBuffer::new(kept[0], kept[1]);
        let (mut cursor, mut read, mut dropped) = (TextCursor::default(), String::new(), 0);
        let mut take = |(to, cut): (TextCursor, Cut)| {
            dropped += cut.dropped;
            read.extend([cut.head, cut.tail]);
            to
        };
        for (at, piece) in text.as_bytes().chunks(piece).enumerate() {
            buffer.push(piece);
            if at % every == 0 {
                cursor = take(cursor.advance(buffer.read(cursor.offset())));
            }
        }
        cursor = take(cursor.finish(buffer.read(cursor.offset())));
        assert_eq!(cursor.offset(), text.len() as u64);
        (read, dropped)
    }

    // spec: cases/P6, fs-shell-sandbox/F98
    #[test]
    fn pieces_of_whole_characters_add_up_to_the_stream_wherever_it_is_cut() {
        let text = "aé€😀\n😀é€".repeat(3);
        for piece in 1..=5 {
            for kept in [[0, 60], [60, 0], [0, 9], [7, 0], [5, 6], [0, 1], [0, 2], [0, 3], [1, 1], [0, 0]] {
                for every in 1..=4 {
                    let (read, dropped) = read_in_pieces(&text, piece, kept, every);
                    let how = format!("by {piece}, {kept:?} kept, read every {every}: {read}");
                    assert!(!read.contains(char::REPLACEMENT_CHARACTER), "{how}");
                    assert_eq!(read.len() as u64 + dropped, text.len() as u64, "{how}");
                    assert!(dropped > 0 || read == text, "{how}");
                    assert!(kept[0] + kept[1] < 60 || dropped == 0, "{how}");
                }
            }
        }
    }

    #[test]
    fn a_character_that_is_cut_at_the_end_waits_for_the_rest_of_it() {
        let mut buffer = OutputBuffer::new(2, 100);
        buffer.push(b"a\xe2\x82");
        let (cursor, cut) = TextCursor::default().advance(buffer.read(0));
        assert_eq!((cursor.offset(), cut), (1, whole("a")));
        buffer.push(b"\xacb");
        let (cursor, cut) = cursor.advance(buffer.read(1));
        assert_eq!((cursor.offset(), cut), (5, whole("€b")));
    }

    #[test]
    fn what_is_no_character_is_the_replacement_character_and_nothing_is_dropped() {
        let mut buffer = OutputBuffer::new(0, 100);
        buffer.push(b"\x80a\xe2\x82");
        let (cursor, cut) = TextCursor::default().advance(buffer.read(0));
        assert_eq!((cursor.offset(), cut), (2, whole("\u{fffd}a")));
        let (cursor, cut) = cursor.finish(buffer.read(2));
        assert_eq!((cursor.offset(), cut), (4, whole("\u{fffd}")));
    }
}
