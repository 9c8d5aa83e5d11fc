#![allow(clippy::unwrap_used, reason = "a test ends by panicking")]

use proptest::prelude::*;

use super::{MAX_SAFE, decode, encode};

// spec: session/S105
#[test]
fn a_list_is_its_first_number_and_then_folded_differences() {
    for (sources, bytes) in [
        (&[][..], &[][..]),
        (&[0], &[0]),
        (&[127], &[0x7f]),
        (&[128], &[0x80, 0x01]),
        (&[2, 3, 1], &[2, 2, 3]),
        (&[5, 5], &[5, 0]),
        (&[0, 64], &[0, 0x80, 0x01]),
        (&[64, 0], &[64, 0x7f]),
        (&[MAX_SAFE], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]),
    ] {
        assert_eq!(encode(sources).unwrap(), bytes, "{sources:?}");
        assert_eq!(decode(bytes).unwrap(), sources);
    }
}

// spec: session/S105
#[test]
fn lists_that_are_cut_or_written_otherwise_or_out_of_range_are_refused() {
    for (bytes, reason) in [
        (&[0x80][..], "cut"),
        (&[1, 0xff, 0xff], "cut"),
        (&[0x80, 0x00], "more bytes than it needs"),
        (&[0xff, 0x80, 0x00], "more bytes than it needs"),
        (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x10], "out of range"),
        (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], "out of range"),
        (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], "out of range"),
        (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "out of range"),
        (&[0, 1], "out of range"),
        (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 2], "out of range"),
    ] {
        let error = decode(bytes).unwrap_err().to_string();
        assert!(error.contains(reason), "{bytes:?}: {error}");
    }
}

#[test]
fn a_number_that_is_not_safe_is_not_written() {
    assert_eq!(encode(&[1, MAX_SAFE + 1]), None);
}

proptest! {
    // spec: session/S105
    #[test]
    fn every_list_is_read_as_it_was_written(sources in prop::collection::vec(0..=MAX_SAFE, 0..50)) {
        prop_assert_eq!(decode(&encode(&sources).unwrap()).unwrap(), sources);
    }

    // spec: session/S105
    #[test]
    fn bytes_that_are_read_are_the_only_way_to_write_their_list(bytes in prop::collection::vec(any::<u8>(), 0..24)) {
        if let Ok(sources) = decode(&bytes) {
            prop_assert_eq!(encode(&sources).unwrap(), bytes);
        }
    }
}
