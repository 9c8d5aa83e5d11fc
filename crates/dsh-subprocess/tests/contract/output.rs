//! What is kept of a stream.

use dsh_subprocess::{Cut, Delta, OutputBuffer};
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

use crate::fixture::{PIECES, filled};

fn whole(text: &str) -> Cut {
    Cut { head: text.to_owned(), ..Cut::default() }
}

#[test]
fn a_stream_that_fits_is_kept_whole() {
    for piece in PIECES {
        assert_eq!(filled(4, 4, b"abcdefg", piece).text(), whole("abcdefg"));
    }
    assert_eq!(OutputBuffer::new(4, 4).text(), whole(""));
    assert!(!OutputBuffer::new(0, 0).text().is_truncated());
}

// spec: fs-shell-sandbox/F92
#[test]
fn a_stream_that_just_fits_is_not_truncated() {
    for (head_bytes, tail_bytes) in [(4, 4), (0, 8), (8, 0), (7, 1)] {
        for piece in PIECES {
            let buffer = filled(head_bytes, tail_bytes, b"abcdefgh", piece);
            assert_eq!((buffer.text(), buffer.dropped()), (whole("abcdefgh"), 0));
            assert!(!buffer.text().is_truncated());
            let buffer = filled(head_bytes, tail_bytes, b"abcdefghi", piece);
            assert_eq!((buffer.text().is_truncated(), buffer.dropped()), (true, 1));
        }
    }
}

// spec: fs-shell-sandbox/F92
#[test]
fn of_a_longer_stream_both_ends_stay_and_the_loss_is_counted() {
    for piece in PIECES {
        let buffer = filled(4, 4, b"abcdefghijk", piece);
        assert_eq!(buffer.text(), Cut { head: "abcd".into(), dropped: 3, tail: "hijk".into() });
        assert_eq!((buffer.total(), buffer.dropped()), (11, 3));
        let buffer = filled(0, 4, b"abcdefghijk", piece);
        assert_eq!(buffer.text(), Cut { head: String::new(), dropped: 7, tail: "hijk".into() });
        let buffer = filled(4, 0, b"abcdefghijk", piece);
        assert_eq!(buffer.text(), Cut { head: "abcd".into(), dropped: 7, tail: String::new() });
        let buffer = filled(0, 0, b"abcdefghijk", piece);
        assert_eq!(buffer.text(), Cut { head: String::new(), dropped: 11, tail: String::new() });
    }
}

/// Every way to cut text of characters of one length between head and tail, at every byte.
// spec: cases/P6
#[test]
fn a_cut_at_any_byte_leaves_whole_characters_and_a_count() {
    for character in ["x", "é", "€", "😀"] {
        let text = format!("a{}", character.repeat(12));
        for shift in 0..2 {
            let text = &text[shift..];
            for head_bytes in 0..=text.len() + 1 {
                for tail_bytes in 0..=text.len() + 1 {
                    for piece in [usize::MAX, 1, 3] {
                        check_cut(text, head_bytes, tail_bytes, piece);
                    }
                }
            }
        }
    }
}

fn check_cut(text: &str, head_bytes: usize, tail_bytes: usize, piece: usize) {
    let Cut { head, dropped, tail } = filled(head_bytes, tail_bytes, text.as_bytes(), piece).text();
    let at = format!("{text} at {head_bytes} and {tail_bytes} by {piece}: {head} {dropped} {tail}");
    assert_eq!(dropped > 0, text.len() > head_bytes + tail_bytes, "{at}");
    assert_eq!(head.len() + tail.len() + usize::try_from(dropped).unwrap(), text.len(), "{at}");
    // No replacement character: what is left is text of the stream, from its two ends.
    assert!(text.starts_with(&head) && text.ends_with(&tail), "{at}");
    if dropped > 0 {
        assert!(head.len() <= head_bytes && head.len() + 4 > head_bytes, "{at}");
        assert!(tail.len() <= tail_bytes && tail.len() + 4 > tail_bytes, "{at}");
    }
}

#[test]
fn bytes_that_are_no_text_are_replaced_and_a_gap_takes_none_of_them() {
    assert_eq!(filled(10, 10, b"a\xffb", 1).text(), whole("a\u{fffd}b"));
    // Nothing is missing of a stream that ends within a character: it is shown as it is.
    assert_eq!(filled(10, 10, b"a\xe2\x82", 1).text(), whole("a\u{fffd}"));
    let cut = filled(2, 2, b"a\xffxxxx\xffb", 1).text();
    assert_eq!(cut, Cut { head: "a\u{fffd}".into(), dropped: 4, tail: "\u{fffd}b".into() });
}

// spec: fs-shell-sandbox/F92
#[test]
fn reading_on_gives_each_byte_once_and_says_what_is_missing() {
    let mut buffer = OutputBuffer::new(2, 4);
    buffer.push(b"abc");
    let first = buffer.read(0);
    assert_eq!(first, Delta { head: b"ab".into(), dropped: 0, tail: b"c".into(), next: 3 });
    buffer.push(b"def");
    let second = buffer.read(first.next);
    assert_eq!(second, Delta { head: vec![], dropped: 0, tail: b"def".into(), next: 6 });
    assert_eq!(buffer.read(6), Delta { next: 6, ..Delta::default() });
    buffer.push(b"ghijkl");
    let third = buffer.read(second.next);
    assert_eq!(third, Delta { head: vec![], dropped: 2, tail: b"ijkl".into(), next: 12 });
    // From before the gap, from within it, from behind it, and from the future.
    assert_eq!(buffer.read(1), Delta { head: b"b".into(), dropped: 6, tail: b"ijkl".into(), next: 12 });
    assert_eq!(buffer.read(5), Delta { head: vec![], dropped: 3, tail: b"ijkl".into(), next: 12 });
    assert_eq!(buffer.read(10), Delta { head: vec![], dropped: 0, tail: b"kl".into(), next: 12 });
    assert_eq!(buffer.read(99), Delta { next: 12, ..Delta::default() });
    assert_eq!(buffer.read(u64::MAX), Delta { next: 12, ..Delta::default() });
}

proptest! {
    /// Against the plain vector of all bytes.
    #[test]
    fn it_keeps_what_a_vector_would_have_at_both_ends(
        head_bytes in 0_usize..20,
        tail_bytes in 0_usize..20,
        pieces in vec(vec(any::<u8>(), 0..15), 0..8),
        offset in 0_u64..120,
    ) {
        let mut buffer = OutputBuffer::new(head_bytes, tail_bytes);
        let mut all = Vec::new();
        for piece in &pieces {
            buffer.push(piece);
            all.extend_from_slice(piece);
        }
        let head = head_bytes.min(all.len());
        let tail = all.len() - tail_bytes.min(all.len() - head);
        let from = usize::try_from(offset).unwrap().min(all.len());
        let delta = buffer.read(offset);
        prop_assert_eq!(&delta.head, &all[from.min(head)..head]);
        prop_assert_eq!(&delta.tail, &all[from.max(tail)..]);
        prop_assert_eq!(delta.dropped, tail.saturating_sub(from.max(head)) as u64);
        prop_assert_eq!((delta.next, buffer.total()), (all.len() as u64, all.len() as u64));
        prop_assert_eq!(buffer.dropped(), (tail - head) as u64);
        let cut = buffer.text();
        prop_assert_eq!(cut.is_truncated(), tail > head);
        prop_assert!(cut.dropped >= buffer.dropped() && cut.dropped <= buffer.dropped() + 6);
    }
}
