//! Text of bytes that come in pieces.

use dsh_subprocess::Decoder;
use proptest::collection::vec;
use proptest::prelude::{any, prop_assert_eq, proptest};

fn decoded(bytes: &[u8], piece: usize) -> String {
    let mut decoder = Decoder::default();
    let mut text: String = bytes.chunks(piece).map(|piece| decoder.push(piece)).collect();
    text.push_str(&decoder.finish());
    text
}

// spec: cases/P6
#[test]
fn text_is_the_same_however_it_was_cut() {
    for bytes in ["aé€😀\n".as_bytes(), b"a\xffb\xc3", b"\xf0\x9f\x98", b"\xe2\x28\xa1 \xf0\x9f\x98a", b""]
    {
        for piece in 1..=bytes.len().max(1) {
            assert_eq!(decoded(bytes, piece), String::from_utf8_lossy(bytes), "{bytes:?} by {piece}");
        }
    }
}

#[test]
fn what_is_whole_does_not_wait() {
    let mut decoder = Decoder::default();
    assert_eq!(decoder.push("aé".as_bytes()), "aé");
    assert_eq!(decoder.push(b"b\xe2\x82"), "b");
    assert_eq!(decoder.push(b"\xacc"), "€c");
    assert_eq!(decoder.push(b""), "");
    assert_eq!(decoder.finish(), "");
}

#[test]
fn what_nothing_completes_is_replaced_at_the_end() {
    let mut decoder = Decoder::default();
    assert_eq!(decoder.push(b"a\xf0\x9f"), "a");
    assert_eq!(decoder.finish(), "\u{fffd}");
}

proptest! {
    #[test]
    fn any_bytes_become_what_they_would_be_in_one_piece(bytes in vec(any::<u8>(), 0..60), piece in 1_usize..8) {
        prop_assert_eq!(decoded(&bytes, piece), String::from_utf8_lossy(&bytes));
    }
}
