#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use std::borrow::Cow;

use super::{COMPRESSED_FROM, LEVEL, MAX_PACKED_BYTES, StoredData};

fn problem(frame: Vec<u8>, most: usize) -> String {
    StoredData::Frame(frame).text(most).unwrap_err().to_string()
}

// spec: session/S105
#[test]
fn a_text_is_compressed_from_4096_bytes_on() {
    let text = |length| Cow::Owned("a".repeat(length));
    assert_eq!(StoredData::of(text(COMPRESSED_FROM - 1)), StoredData::Text(text(4_095)));
    let StoredData::Frame(frame) = StoredData::of(text(4_096)) else { panic!("not compressed") };
    assert!(frame.len() < 100, "{}", frame.len());
    assert_eq!(StoredData::Frame(frame).text(4_096).unwrap(), text(4_096));
}

#[test]
fn a_frame_that_unfolds_to_too_much_is_refused_before_it_is_unfolded() {
    let bomb = zstd::bulk::compress(&vec![b' '; 64 * 1024 * 1024], LEVEL).unwrap();
    assert!(bomb.len() < 10_000, "{}", bomb.len());
    assert!(problem(bomb, MAX_PACKED_BYTES).contains("67108864 bytes long, more than 1048576"));
}

#[test]
fn bytes_that_are_not_exactly_one_sound_frame_are_refused() {
    let frame = zstd::bulk::compress(&vec![b'a'; 10_000], LEVEL).unwrap();
    let streamed = zstd::stream::encode_all(&b"aaaa"[..], LEVEL).unwrap();
    let two = [frame.clone(), frame.clone()].concat();
    assert!(problem(b"{}".to_vec(), 100).contains("no frame of zstd"));
    assert!(problem(Vec::new(), 100).contains("no frame of zstd"));
    assert!(problem(streamed, 100).contains("how long its content is"));
    assert!(problem(two, 1 << 20).contains("exactly one frame"));
    assert!(problem(frame[..frame.len() - 1].to_vec(), 1 << 20).contains("exactly one frame"));
    let text = zstd::bulk::compress(&[0xff; 5_000], LEVEL).unwrap();
    assert!(problem(text, 1 << 20).contains("UTF-8"));
}

// spec: session/S105
#[test]
fn a_frame_with_a_bit_turned_over_never_gives_another_text() {
    let StoredData::Frame(frame) = StoredData::of(Cow::Owned("abc".repeat(2_000))) else {
        panic!("not compressed")
    };
    for bit in 0..frame.len() * 8 {
        let mut turned = frame.clone();
        turned[bit / 8] ^= 1 << (bit % 8);
        let text = StoredData::Frame(turned);
        // A bit that says nothing about the content may turn.
        let read = text.text(1 << 20);
        assert!(read.is_err() || read.unwrap() == "abc".repeat(2_000), "bit {bit}");
    }
}
